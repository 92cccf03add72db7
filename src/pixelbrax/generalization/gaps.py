"""Gaps: a policy's return under the test setting of each pair of a suite, beside that under the train setting."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pixelbrax.errors import ConfigError
from pixelbrax.generalization.benchmark import differences
from pixelbrax.generalization.pairs import Pair, PairSuite
from pixelbrax.training import EnvConfig, Evaluation, interval


@dataclass(frozen=True)
class PairResult:
    """Returns under the train and test settings of a pair.

    Attributes:
      pair: the train and test settings.
      trained: returns under the train setting.
      tested: returns under the test setting.
      gap: mean of the first minus mean of the second.
      gap_low, gap_high: 95 % interval of the gap over episodes of this one policy: both sides are in the same ones, so
        it is the bootstrap of the mean of their differences.
    """

    pair: Pair
    trained: Evaluation
    tested: Evaluation
    gap: float
    gap_low: float
    gap_high: float

    @classmethod
    def of(cls, pair: Pair, trained: Evaluation, tested: Evaluation) -> "PairResult":
        """The gap and its interval."""
        low, high = interval(trained.returns - tested.returns, _mean)
        return cls(pair, trained, tested, trained.mean - tested.mean, low, high)

    def as_dict(self) -> dict[str, object]:
        """The result, for JSON files."""
        return {
            "task": self.pair.task,
            "train": list(self.pair.train),
            "test": list(self.pair.test),
            "trained": self.trained.as_dict(),
            "tested": self.tested.as_dict(),
            "gap": self.gap,
            "gap_interval": [self.gap_low, self.gap_high],
        }


def pairs_for(suite: PairSuite, config: EnvConfig) -> tuple[Pair, ...]:
    """The pairs that match a run's task and train setting.

    Raises:
      ConfigError: there is none; the message says which train settings the suite has.
    """
    pairs = suite.of(config.task)
    if not pairs:
        known = _listed(pair.task for pair in suite.pairs)
        raise ConfigError(f"{suite.name} has no pair of {config.task}: its tasks are {known}")
    mine = tuple(name if "@" in name else f"{name}@train" for name in config.distractors)
    chosen = tuple(pair for pair in pairs if pair.train == mine)
    if not chosen:
        known = _listed(" + ".join(p.train).replace("@train", "") or "nothing" for p in pairs)
        raise ConfigError(
            f"{suite.name} has no pair of {config.task} trained with {' + '.join(config.distractors) or 'nothing'}: "
            f"its train settings are {known}"
        )
    return chosen


def departures(suite: PairSuite, config: EnvConfig) -> tuple[str, ...]:
    """Where a run's environment is not the suite's: then its returns do not compare with those of other runs."""
    expected = EnvConfig(task=config.task, image_size=suite.image_size, frame_stack=suite.frame_stack)
    return tuple(differences(config.resolved(), expected.resolved()))


def evaluate_pairs(pairs: tuple[Pair, ...], evaluate: Callable[[tuple[str, ...]], Evaluation]) -> Iterator[PairResult]:
    """Evaluates a policy under the train setting, which all pairs share, and under each test setting.

    Args:
      pairs: from `pairs_for`.
      evaluate: evaluates the policy under the named distractors, always in the same episodes.

    Yields:
      Each pair's result, as soon as it is known.
    """
    trained = evaluate(pairs[0].train)
    for pair in pairs:
        yield PairResult.of(pair, trained, evaluate(pair.test))


def _mean(scores: np.ndarray) -> np.ndarray:
    return scores.mean(-1)


def _listed(names) -> str:
    return ", ".join(dict.fromkeys(names))
