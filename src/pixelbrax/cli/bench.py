"""`pixelbrax bench WHAT`: picks the benchmark."""

import importlib

from pixelbrax.errors import ConfigError

_BENCHMARKS = {"render": "the renderer alone", "env": "whole environments: physics, rendering and the rest"}


def main(argv: list[str]) -> int:
    """Runs one of the benchmarks.

    Raises:
      ConfigError: there is none of that name.
    """
    if argv and argv[0] in ("-h", "--help"):
        print("usage: pixelbrax bench WHAT [options]\n")
        for name, what in _BENCHMARKS.items():
            print(f"  {name:<8}{what}")
        return 0
    known = ", ".join(_BENCHMARKS)
    if not argv:
        raise ConfigError(f"name a benchmark: {known}")
    name, *rest = argv
    if name not in _BENCHMARKS:
        raise ConfigError(f"unknown benchmark {name!r}: there are {known}")
    return importlib.import_module(f"pixelbrax.cli.bench_{name}").main(rest)
