"""Suites of locked pairs of train and test settings.

A suite never changes: its fingerprint covers every constant, and a test keeps frames of every pair. A change needs a
new version.
"""

from dataclasses import dataclass

from pixelbrax.distractors import distractor
from pixelbrax.generalization.settings import digest, settings_of


@dataclass(frozen=True)
class Pair:
    """A train and a test setting: does the policy of the one generalize to the other?

    Attributes:
      task: its name.
      train: distractors that the agent trained with.
      test: distractors that it is tested with.
    """

    task: str
    train: tuple[str, ...]
    test: tuple[str, ...]

    @property
    def name(self) -> str:
        """`task: train -> test`."""
        return f"{self.task}: {' + '.join(self.train) or 'plain'} -> {' + '.join(self.test) or 'plain'}"


@dataclass(frozen=True)
class PairSuite:
    """A named set of pairs.

    Attributes:
      name: with its version.
      image_size, frame_stack: of the observations that its fingerprint and the test's frames refer to.
      pairs: the train and test settings.
    """

    name: str
    image_size: int
    frame_stack: int
    pairs: tuple[Pair, ...]

    def of(self, task: str) -> tuple[Pair, ...]:
        """The pairs of one task."""
        return tuple(pair for pair in self.pairs if pair.task == task)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all settings of all pairs, down to every constant of every distractor."""
        pairs = [
            [
                pair.task,
                *([settings_of(distractor(name, pair.task)) for name in names] for names in (pair.train, pair.test)),
            ]
            for pair in self.pairs
        ]
        return digest({"image_size": self.image_size, "frame_stack": self.frame_stack, "pairs": pairs})
