"""Algorithms by name."""

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import NamedTuple

from pixelbrax.errors import ConfigError
from pixelbrax.learning import Agent, AgentConfig
from pixelbrax.registry import Registry


class Algorithm(NamedTuple):
    """An algorithm and its name in TOML files and on the command line.

    Attributes:
      name: lowercase letters, digits and hyphens; also the name of its TOML table.
      config: a frozen dataclass of its settings, its own subclass of `AgentConfig`.
      make: makes an agent from (environment, network settings, settings, number of updates in the run). Settings in
        `config.SWEEPABLE` may be traced.
      has_teacher: whether `make` takes a fifth argument, a `Teacher`: the policy of the run that the settings `teacher`
        and `teacher_updates` name.
    """

    name: str
    config: type[AgentConfig]
    make: Callable[..., Agent]
    has_teacher: bool = False


_REGISTRY: Registry[Algorithm] = Registry("algorithm")


def register(algorithm: Algorithm) -> None:
    """Registers an algorithm, for `pixelbrax train --algorithm NAME`, TOML files and everything else.

    Raises:
      ConfigError: the name or the class of settings is taken, or cannot be used, or `make` is no function.
    """
    if not isinstance(algorithm, Algorithm):
        raise ConfigError(f"register takes a pixelbrax.algorithms.Algorithm, not {algorithm!r:.80}")
    name, config = algorithm.name, algorithm.config
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise ConfigError(f"the algorithm's name is {name!r}: it must be lowercase letters, digits and hyphens")
    if not (isinstance(config, type) and issubclass(config, AgentConfig) and is_dataclass(config)):
        raise ConfigError(f"the settings of {name} are {config!r:.80}: they must extend AgentConfig")
    if not callable(algorithm.make):
        raise ConfigError(f"{name} has make {algorithm.make!r:.80}: it must be the agent's class, or a function")
    for other in _REGISTRY.values():
        if other.config is config:
            raise ConfigError(f"{config.__name__} holds the settings of {other.name}: make a subclass of it for {name}")
    known = {field.name for field in fields(config)}
    if unknown := [setting for setting in config.SWEEPABLE if setting not in known]:
        raise ConfigError(f"{config.__name__}.SWEEPABLE names {unknown[0]!r}, which is none of its settings")
    _REGISTRY.add(algorithm)


def algorithm_names() -> list[str]:
    """Names of all algorithms, in the order of registration."""
    return _REGISTRY.names()


def get_algorithm(name: str) -> Algorithm:
    """The algorithm called `name`.

    Raises:
      ConfigError: there is none; the message suggests the nearest names.
    """
    return _REGISTRY.get(name)


def algorithm_of(config: AgentConfig) -> Algorithm:
    """The algorithm whose settings these are.

    Raises:
      ConfigError: it is not registered.
    """
    for algorithm in map(get_algorithm, algorithm_names()):
        if algorithm.config is type(config):
            return algorithm
    raise ConfigError(f"{type(config).__name__} belongs to no algorithm: register it by pixelbrax.algorithms.register")
