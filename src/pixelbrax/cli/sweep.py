"""`pixelbrax sweep`: agents of different settings, side by side in one program."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.processes import joined
from pixelbrax.cli.train import Args as TrainArgs
from pixelbrax.cli.train import read, seeds, start
from pixelbrax.errors import ConfigError
from pixelbrax.training import TrainConfig
from pixelbrax.training.cohort import VARIABLE


@dataclass(frozen=True)
class Args(TrainArgs):
    """What `pixelbrax sweep` takes: what `train` does, and what varies."""

    vary: tuple[str, ...] = ()
    """Settings and their values, such as learning_rate=3e-4,1e-3 discount=0.97,0.99: an agent for each combination."""


def main(argv: list[str]) -> int:
    """Trains an agent for every combination and seed."""
    args = read(Args, argv, "sweep", "Trains agents of different settings side by side in one program.")
    if args.resume:
        raise ConfigError("go on with a sweep by `pixelbrax train --resume FOLDER`")
    configs = {
        ",".join([*names, name]): config
        for names, varied in combinations(args.config, args.vary)
        for name, config in seeds(varied, args.num_seeds).items()
    }
    enable_compilation_cache()
    with joined(args.coordinator, args.num_processes, args.process_id):
        return start(args, configs)


def combinations(config: TrainConfig, vary: Sequence[str]) -> list[tuple[list[str], TrainConfig]]:
    """Settings of every combination of the values, with what varies in each.

    Raises:
      ConfigError: something is no setting that can vary, or no value of it.
    """
    if not vary:
        raise ConfigError(f"--vary says what differs, such as learning_rate=3e-4,1e-3; it can be {', '.join(VARIABLE)}")
    axes = [_values(text) for text in vary]
    if len({name for name, _ in axes}) < len(axes):
        raise ConfigError("--vary names a setting twice: give all its values at once, separated by commas")
    result = []
    for values in itertools.product(*(values for _, values in axes)):
        chosen = dict(zip((name for name, _ in axes), values, strict=True))
        varied = replace(config, agent=replace(config.agent, **{name: float(text) for name, text in chosen.items()}))
        varied.agent.validate()
        result.append(([f"{name}={text}" for name, text in chosen.items()], varied))
    return result


def _values(text: str) -> tuple[str, list[str]]:
    name, _, values = text.partition("=")
    name, texts = name.replace("-", "_"), values.split(",")
    if name not in VARIABLE:
        raise ConfigError(f"{name!r} cannot vary within a program: it can be {', '.join(VARIABLE)}")
    for value in texts:
        try:
            float(value)
        except ValueError as e:
            raise ConfigError(f"--vary {text}: {value!r} is no number") from e
    if len(set(texts)) < len(texts):
        raise ConfigError(f"--vary {text}: a value is there twice")
    return name, texts
