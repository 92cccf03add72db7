"""Generalization benchmarks: locked pairs of train and test settings.

A suite never changes: its fingerprint covers every constant, and a test keeps frames of every pair. A change needs a
new version.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from pixelbrax.distractors.base import Distractor
from pixelbrax.distractors.presets import distractor
from pixelbrax.errors import ConfigError


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
class Suite:
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
        settings = {
            "image_size": self.image_size,
            "frame_stack": self.frame_stack,
            "pairs": [
                [
                    pair.task,
                    *([_settings(distractor(name, pair.task)) for name in names] for names in (pair.train, pair.test)),
                ]
                for pair in self.pairs
            ],
        }
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def get_suite(name: str) -> Suite:
    """The suite called `name`.

    Raises:
      ConfigError: there is none.
    """
    if name not in SUITES:
        raise ConfigError(f"unknown suite {name!r}: there is {', '.join(SUITES)}")
    return SUITES[name]


# Classes that have another name in locked fingerprints.
_LOCKED_NAMES = {"BackgroundOnly": "Behind"}
# Settings that came after a suite was locked: a fingerprint does not have them where they change nothing.
_ADDED = {
    "by_material": False,
    "fixed": False,
    "from_start": False,
    "headlight": True,
    "one_way": False,
    "whole": False,
}


def _settings(value: Any) -> Any:
    """A distractor's settings, as JSON has them."""
    if isinstance(value, Distractor):
        given = {name: getattr(value, name) for name in value.__dataclass_fields__ if name != "bank"}
        fields = {name: _settings(x) for name, x in given.items() if name not in _ADDED or x != _ADDED[name]}
        name = type(value).__name__
        return [_LOCKED_NAMES.get(name, name), fields]
    if isinstance(value, tuple):
        return [_settings(item) for item in value]
    return repr(value)


_TASKS = ("halfcheetah", "ant", "walker2d", "humanoid")
# Train setting -> test settings, one axis after the other.
_QUESTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "",
        (
            *(f"gen-v1/{name}" for name in ("color_hard", "video_easy", "video_hard", "camera-medium")),
            *(f"gen-v1/{name}" for name in ("light-color-hard", "moving-light-hard")),
            "filter/hue",
            "filter/gaussian-noise",
            "new/occluders",
            "new/storm",
        ),
    ),
    ("pixelbrax/color", ("pixelbrax/color", "gen-v1/color_easy")),
    ("pixelbrax/video", ("pixelbrax/video", "gen-v1/video_hard")),
    ("gen-v1/dcs-medium", ("gen-v1/dcs-medium", "gen-v1/dcs-hard")),
    ("gen-v1/dmcr-100", ("gen-v1/dmcr-100",)),
)


def _named(preset: str, split: str) -> tuple[str, ...]:
    return (f"{preset}@{split}",) if preset else ()


SUITES = {
    "PixelBraxGen-v1": Suite(
        "PixelBraxGen-v1",
        image_size=64,
        frame_stack=3,
        pairs=tuple(
            Pair(task, _named(train, "train"), _named(test, "test"))
            for task in _TASKS
            for train, tests in _QUESTIONS
            for test in tests
        ),
    )
}
