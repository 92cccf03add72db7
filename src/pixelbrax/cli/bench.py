"""`pixelbrax bench WHAT`: picks the benchmark."""

import importlib

from pixelbrax.cli.parse import pick

_BENCHMARKS = {
    "render": "the renderer alone",
    "env": "whole environments: physics, rendering and the rest",
    "train": "training: acting and learning",
}


def main(argv: list[str]) -> int:
    """Runs one of the benchmarks.

    Raises:
      ConfigError: there is none of that name.
    """
    name, rest = pick(argv, "bench", "benchmark", _BENCHMARKS)
    return importlib.import_module(f"pixelbrax.cli.bench_{name}").main(rest)
