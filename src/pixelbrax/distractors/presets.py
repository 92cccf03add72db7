"""Named distractors, and the syntax of their names.

A name is `suite/preset`, then `:source` for other videos than the procedural ones, then `@test` for the held-out split:
"dcs/hard", "pixelbrax/video:davis-2017", "dcs/hard:davis-2017@test". Without "@test" it is the training split. Each
episode samples a numbered level, as in Procgen, for its initial state. Levels and clips of the splits are disjoint.

The source begins after the first ":"; the split is the text after the last "@" if that is "train" or "test". So a path
may contain both characters: "pixelbrax/video:C:/a@b/bank.npz@test" is the split "test" of "C:/a@b/bank.npz". Only a
file whose own name ends in "@train" or "@test" needs an explicit split, "...:bank@test@train".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pixelbrax.distractors.base import Distractor, no_distractor
from pixelbrax.distractors.kinds.body_video import BodyVideo
from pixelbrax.distractors.kinds.video import Video
from pixelbrax.distractors.kinds.world_video import FloorVideo, SkyVideo
from pixelbrax.distractors.levels import Levels
from pixelbrax.distractors.videos.sources import PROCEDURAL, SPLITS, Split, file_of_source
from pixelbrax.errors import ConfigError, check_count, nearest
from pixelbrax.registry import Registry

# Training levels begin at 0, test levels here.
FIRST_TEST_LEVEL = 1_000_000_000
MANY = 1_000_000


class Setting:
    """What a preset's members depend on.

    Attributes:
      split: "train" or "test".
      source: of its videos.
      task: name of the task, on which the video's opacity on the floor may depend.
      has_videos: whether `source` has been read, so that the preset has videos.
    """

    def __init__(self, split: Split, source: str, task: str):
        self.split: Split = split
        self.task = task
        self.has_videos = False
        self._source = source

    @property
    def domain(self) -> str:
        """The task's name without "dmc/"; it begins with the name of its body, in Brax as in the Control Suite."""
        return self.task.removeprefix("dmc/")

    @property
    def source(self) -> str:
        """Source of its videos: "procedural", "scenes", "davis-2017" or a file."""
        self.has_videos = True
        return self._source

    def video(self, **settings) -> Video:
        """A video of this source and split, laid over the image."""
        return Video(self.source, self.split, **settings)

    def sky_video(self, **settings) -> SkyVideo:
        """A video of this source and split on the sky."""
        return SkyVideo(self.source, self.split, **settings)

    def floor_video(self, **settings) -> FloorVideo:
        """A video of this source and split on the floor."""
        return FloorVideo(self.source, self.split, **settings)

    def body_video(self, **settings) -> BodyVideo:
        """A video of this source and split on the body."""
        return BodyVideo(self.source, self.split, **settings)


Members = Callable[[Setting], Sequence[Distractor]]


@dataclass(frozen=True)
class Preset:
    """A named set of distractors.

    Attributes:
      name: "suite/preset", without spaces, ":" and "@", which separate source and split.
      description: one line, with the source of its numbers.
      members: function from a `Setting` to a list of distractors.
      train_levels, test_levels: numbers of training and test levels.

    Raises:
      ConfigError: the name is invalid, the description no text, `members` no function, or there are too many levels.
    """

    name: str
    description: str
    members: Members
    train_levels: int = MANY
    test_levels: int = MANY

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name or any(c in ":@" or c.isspace() for c in self.name):
            raise ConfigError(f"a preset cannot be called {self.name!r}: use a word without spaces, ':' and '@'")
        if not isinstance(self.description, str):
            raise ConfigError(f"{self.name}: description is {self.description!r:.80}: it must be text")
        if not callable(self.members):
            raise ConfigError(f"{self.name}: members is {self.members!r}: it must be a function of a Setting")
        check_count(f"{self.name}: train_levels", self.train_levels, most=FIRST_TEST_LEVEL)
        check_count(f"{self.name}: test_levels", self.test_levels, most=FIRST_TEST_LEVEL)

    def build(self, split: Split, source: str | None = None, task: str = "") -> Levels:
        """The distractors of one split.

        Args:
          split: "train" or "test".
          source: of its videos; None for the built-in ones.
          task: name of the task.

        Raises:
          ConfigError: there is a source, but the preset has no videos; or its members are no distractors.
        """
        setting = Setting(split, PROCEDURAL if source is None else source, task)
        members = self.members(setting)
        if not isinstance(members, list | tuple):
            raise ConfigError(f"{self.name}: members returns {members!r}: it must return a list of distractors")
        if source is not None and not setting.has_videos:
            raise ConfigError(f"{self.name} has no videos: leave out ':{source}'")
        first, count = (FIRST_TEST_LEVEL, self.test_levels) if split == "test" else (0, self.train_levels)
        return Levels(tuple(members), first, count)


_REGISTRY: Registry[Preset] = Registry("distractor", "pixelbrax list --distractors")


def register_preset(preset: Preset) -> None:
    """Registers a preset.

    Raises:
      ConfigError: its name is taken, or it is no `Preset`.
    """
    if not isinstance(preset, Preset):
        raise ConfigError(f"register_preset takes a Preset, not {preset!r:.80}")
    _REGISTRY.add(preset)


def list_distractors() -> list[str]:
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
      ConfigError: there is no such preset or split, a source is named for a preset without videos, or source and split
        are ambiguous.
    """
    preset, source, split = _parts(name)
    if any(c.isspace() for c in preset.strip()) and all(word in list_distractors() for word in preset.split()):
        raise ConfigError(f"{name!r} is several names: give each separately, as in {tuple(preset.split())}")
    return get_preset(preset).build(split, source, task)


def _parts(name: str) -> tuple[str, str | None, Split]:
    """Preset, source and split of a name."""
    preset, colon, rest = name.partition(":")
    if not colon:
        preset, at, split = name.partition("@")
        split = _split(name, split) if at else "train"
    if not preset:
        raise ConfigError(f"a distractor is called {name!r}: it must be the name of a preset, such as dcs/hard")
    if not colon:
        return preset, None, split
    source, at, split = rest.rpartition("@")
    if not at or split not in SPLITS:
        source, split = rest, "train"
    elif file_of_source(rest) is not None:
        raise ConfigError(f"{name!r}: there is a file {rest}: append its split, {rest}@train or {rest}@test")
    if not source:
        raise ConfigError(f"{name!r}: name a source after the ':', or leave that out")
    return preset, source, _split(name, split)


def _split(name: str, split: str) -> Split:
    if split not in SPLITS:
        raise ConfigError(f"{name!r}: there is no split {split!r}: {nearest(split, SPLITS)}")
    return split  # pyright: ignore[reportReturnType]


DistractorLike = str | Distractor | Sequence[str | Distractor]
"""A name, a distractor, or several that apply in order."""


def resolve(distractors: DistractorLike, task: str = "") -> tuple[Distractor, ...]:
    """The distractors, with names looked up.

    Args:
      distractors: one or several.
      task: name of the task they are for.

    Raises:
      ConfigError: a name is unknown, or something is no distractor.
    """
    several = [distractors] if isinstance(distractors, str | Distractor) else distractors
    if not isinstance(several, list | tuple):
        raise ConfigError(f"distractors is {no_distractor(several, 'a preset name, a Distractor, or a list of them')}")
    for i, one in enumerate(several):
        if not isinstance(one, str | Distractor):
            raise ConfigError(f"distractors[{i}] is {no_distractor(one, 'a preset name or a Distractor')}")
    return tuple(distractor(d, task) if isinstance(d, str) else d for d in several)


def names_of(distractors: DistractorLike) -> tuple[str, ...]:
    """The names by which distractors were given; of those that were not named, their classes'."""
    several = [distractors] if isinstance(distractors, str | Distractor) else distractors
    return tuple(one if isinstance(one, str) else type(one).__name__ for one in several)
