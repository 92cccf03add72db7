"""All suites by name."""

from pixelbrax.errors import ConfigError, nearest
from pixelbrax.generalization.benchmark import Benchmark
from pixelbrax.generalization.gen_v1 import GEN_V1
from pixelbrax.generalization.gen_v2 import GEN_V2, GEN_V2_LITE
from pixelbrax.generalization.pairs import PairSuite

SUITES: dict[str, PairSuite | Benchmark] = {suite.name: suite for suite in (GEN_V1, GEN_V2, GEN_V2_LITE)}


def get_suite(name: str) -> PairSuite | Benchmark:
    """The suite called `name`.

    Raises:
      ConfigError: there is none.
    """
    if name not in SUITES:
        raise ConfigError(f"unknown suite {name!r}: {nearest(name, list(SUITES))}")
    return SUITES[name]


def get_benchmark(name: str) -> Benchmark:
    """The benchmark called `name`.

    Raises:
      ConfigError: there is none, or it is a suite of pairs.
    """
    suite = get_suite(name)
    if not isinstance(suite, Benchmark):
        raise ConfigError(f"{name} is a suite of pairs and has no leaderboard: pixelbrax eval RUN --suite {name}")
    return suite
