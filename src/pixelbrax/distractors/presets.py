"""Named distractors, and what their names mean.

A name is `suite/preset`, then `:source` if its videos shall not be the built-in ones, then `@test` for the looks that
are held out: "dcs/hard", "pixelbrax/video:davis-2017", "dcs/hard:davis-2017@test". Without "@test" they are those to
train on. What an episode begins with is drawn from numbered levels, of which the two have none in common; nor do they
have clips in common.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pixelbrax.distractors.base import Distractor
from pixelbrax.distractors.levels import Levels
from pixelbrax.distractors.sources import PROCEDURAL
from pixelbrax.distractors.video import SPLITS, Split, Video
from pixelbrax.errors import ConfigError
from pixelbrax.registry import Registry

# Levels to train on begin at 0, levels to test on here.
FIRST_TEST_LEVEL = 1_000_000_000
MANY = 1_000_000


@dataclass(frozen=True)
class Setting:
    """What a preset's members depend on.

    Attributes:
      split: "train" or "test".
      source: of its videos.
      task: name of the task, of which the share of the floor may depend.
    """

    split: Split
    source: str
    task: str

    def video(self, **settings) -> Video:
        """A video of this setting."""
        return Video(self.source, self.split, **settings)


Members = Callable[[Setting], Sequence[Distractor]]


@dataclass(frozen=True)
class Preset:
    """A named set of distractors.

    Attributes:
      name: "suite/preset".
      description: one line, with the source of its numbers.
      members: what it is made of.
      train_levels, test_levels: how many levels there are to train and to test on.
    """

    name: str
    description: str
    members: Members
    train_levels: int = MANY
    test_levels: int = MANY

    def build(self, split: Split, source: str = PROCEDURAL, task: str = "") -> Levels:
        """The distractors of one split."""
        members = tuple(self.members(Setting(split, source, task)))
        if split == "test":
            return Levels(members, FIRST_TEST_LEVEL, self.test_levels)
        return Levels(members, 0, self.train_levels)


_REGISTRY: Registry[Preset] = Registry("distractor")


def register_preset(preset: Preset) -> None:
    """Makes a preset known under its name.

    Raises:
      ConfigError: another has that name.
    """
    _REGISTRY.add(preset)


def preset_names() -> list[str]:
    """Names of all presets, suite by suite."""
    return _REGISTRY.names()


def get_preset(name: str) -> Preset:
    """The preset called `name`.

    Raises:
      ConfigError: there is none; the message suggests the nearest names.
    """
    return _REGISTRY.get(name)


def distractor(name: str, task: str = "") -> Levels:
    """The distractors that a name such as "dcs/hard:davis-2017@test" stands for; see this module.

    Raises:
      ConfigError: there is no such preset or split.
    """
    rest, _, split = name.partition("@")
    preset, _, source = rest.partition(":")
    split = split or "train"
    if split not in SPLITS:
        raise ConfigError(f"{name!r}: there is no split {split!r}, but {' and '.join(SPLITS)}")
    return get_preset(preset).build(split, source or PROCEDURAL, task)  # pyright: ignore[reportArgumentType]


DistractorLike = str | Distractor | Sequence[str | Distractor]
"""A name, a distractor, or several that apply in order."""


def resolve(distractors: DistractorLike, task: str = "") -> tuple[Distractor, ...]:
    """The distractors meant, names looked up.

    Args:
      distractors: one or several.
      task: name of the task they are for.

    Raises:
      ConfigError: a name is unknown, or something is no distractor.
    """
    several = [distractors] if isinstance(distractors, str | Distractor) else list(distractors)
    if wrong := [d for d in several if not isinstance(d, str | Distractor)]:
        raise ConfigError(f"{wrong[0]!r} is no distractor: give a preset's name or a Distractor")
    return tuple(distractor(d, task) if isinstance(d, str) else d for d in several)
