"""`pixelbrax sweep`: agents with different settings, side by side in one program."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.parse import as_typed
from pixelbrax.cli.settings import read
from pixelbrax.cli.train import Args as TrainArgs
from pixelbrax.cli.train import launch
from pixelbrax.errors import ConfigError, check_count, check_number
from pixelbrax.experiments import seeds
from pixelbrax.training import MAX_AGENTS, TrainConfig


@dataclass(frozen=True)
class Args(TrainArgs):
    """Arguments of `pixelbrax sweep`: those of `train`, and what varies."""

    vary: tuple[str, ...] = ()
    """Settings and their values, such as learning_rate=3e-4,1e-3 discount=0.97,0.99: an agent for each combination."""


def main(argv: list[str]) -> int:
    """Trains an agent for every combination and seed."""
    args = read(Args, argv, "sweep", "Trains agents with different settings side by side in one program.")
    if args.resume:
        raise ConfigError("resume a sweep with `pixelbrax train --resume FOLDER`")
    varieties = combinations(args.config, args.vary)
    check_count("number of agents", len(varieties) * check_count("num_seeds", args.num_seeds), most=MAX_AGENTS)
    configs = {
        ",".join([*names, name]): config
        for names, varied in varieties
        for name, config in seeds(varied, args.num_seeds).items()
    }
    enable_compilation_cache()
    return launch(args, configs, as_typed("sweep", argv), "sweep")


def combinations(config: TrainConfig, vary: Sequence[str]) -> list[tuple[list[str], TrainConfig]]:
    """Settings of every combination of the values, with what varies in each.

    Raises:
      ConfigError: a name is not a setting that can vary, or a value is invalid.
    """
    if not vary:
        known = ", ".join(config.agent.SWEEPABLE)
        raise ConfigError(f"--vary says what differs, such as learning_rate=3e-4,1e-3; choose from {known}")
    axes = [_values(text, config.agent.SWEEPABLE) for text in vary]
    for name, _ in axes:
        if reason := config.idle.get(name):
            raise ConfigError(f"{name} would change nothing: {reason}")
    if len({name for name, _ in axes}) < len(axes):
        raise ConfigError("--vary names a setting twice: give all its values at once, separated by commas")
    check_count("number of combinations", math.prod(len(values) for _, values in axes), most=MAX_AGENTS)
    result = []
    for values in itertools.product(*(values for _, values in axes)):
        chosen = dict(zip((name for name, _ in axes), values, strict=True))
        varied = replace(config, agent=replace(config.agent, **{name: float(text) for name, text in chosen.items()}))
        varied.agent.validate()
        result.append(([f"{name}={text}" for name, text in chosen.items()], varied))
    return result


def _values(text: str, sweepable: Sequence[str]) -> tuple[str, list[str]]:
    name, _, values = text.partition("=")
    name, texts = name.replace("-", "_"), values.split(",")
    if name not in sweepable:
        raise ConfigError(f"{name!r} cannot vary within a program: choose from {', '.join(sweepable)}")
    if not values:
        raise ConfigError(f"--vary {text} has no values: write {name}=A,B, without spaces")
    numbers: dict[np.float32, list[str]] = {}
    for value in texts:
        try:
            number = float(value)
        except ValueError as e:
            raise ConfigError(f"--vary {text}: {value!r} is not a number") from e
        # Compiled programs compute in float32, which has no more digits.
        numbers.setdefault(np.float32(check_number(name, number)), []).append(value)
    for same in numbers.values():
        if len(same) > 1:
            raise ConfigError(f"--vary {text}: {' and '.join(same)} are the same value: give it once")
    return name, texts
