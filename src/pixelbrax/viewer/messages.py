"""What a page may say to its session: JSON objects, each checked when it is read."""

import json
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, get_args

from pixelbrax.errors import (
    ConfigError,
    check_choice,
    check_count,
    check_flag,
    check_keywords,
    check_number,
    check_seed,
)

MAX_BYTES = 16_384  # of a message
_MAX_TEXT = 200  # characters
_MAX_DIGITS = 18  # of a whole number
_MAX_ACTIONS = 1_000

Source = Literal["policy", "random", "sliders"]
View = Literal["color", "segmentation", "depth"]
SOURCES: tuple[Source, ...] = get_args(Source)
VIEWS: tuple[View, ...] = get_args(View)


@dataclass(frozen=True)
class Choose:
    """Other settings of the environment, which is then built anew; those that are left out stay."""

    task: str | None = None
    engine: str | None = None
    distractors: Sequence[str] | None = None
    camera: str | None = None
    """Name or number of a camera of the model; "" for the task's own."""
    resolution: int | None = None
    """Height and width of the observation, pixels."""
    grayscale: bool | None = None

    def __post_init__(self):
        for name in ("task", "engine", "camera"):
            if (text := getattr(self, name)) is not None:
                _check_text(name, text)
        if self.distractors is not None:
            if not isinstance(self.distractors, list | tuple) or len(self.distractors) > 16:
                raise ConfigError(f"distractors is {self.distractors!r:.80}: it must be a list of at most 16 names")
            for name in self.distractors:
                _check_text("distractors", name)
            object.__setattr__(self, "distractors", tuple(self.distractors))
        if self.resolution is not None:
            check_count("resolution", self.resolution)
        if self.grayscale is not None:
            check_flag("grayscale", self.grayscale)


@dataclass(frozen=True)
class Pause:
    """Pause the simulation, or let it go on."""

    paused: bool

    def __post_init__(self):
        check_flag("paused", self.paused)


@dataclass(frozen=True)
class Step:
    """Simulate one step, also while paused."""


@dataclass(frozen=True)
class Restart:
    """Begin the first episode of a seed; by default of the same."""

    seed: int | None = None

    def __post_init__(self):
        if self.seed is not None:
            check_seed(self.seed)


@dataclass(frozen=True)
class Act:
    """Where actions come from; with "sliders" also the values."""

    source: Source
    action: Sequence[float] | None = None
    """One number in [-1, 1] for each actuator."""

    def __post_init__(self):
        check_choice("source", self.source, SOURCES)
        if self.action is not None:
            if not isinstance(self.action, list | tuple) or len(self.action) > _MAX_ACTIONS:
                raise ConfigError(f"action is {self.action!r:.80}: it must be a list of numbers")
            values = tuple(check_number(f"action[{i}]", x, -1, 1) for i, x in enumerate(self.action))
            object.__setattr__(self, "action", values)


@dataclass(frozen=True)
class Show:
    """Which images are shown."""

    view: View

    def __post_init__(self):
        check_choice("view", self.view, VIEWS)


@dataclass(frozen=True)
class Drag:
    """The pointer moved on the free camera's picture, right and down, in units of the picture's height."""

    how: Literal["orbit", "pan"]
    right: float
    down: float

    def __post_init__(self):
        check_choice("how", self.how, ("orbit", "pan"))
        for name in ("right", "down"):
            check_number(name, getattr(self, name), -10, 10)


@dataclass(frozen=True)
class Zoom:
    """The wheel turned; one notch moves the free camera away by a tenth of its distance."""

    notches: float

    def __post_init__(self):
        check_number("notches", self.notches, -50, 50)


@dataclass(frozen=True)
class Home:
    """The free camera goes to where the agent's camera is."""


@dataclass(frozen=True)
class Follow:
    """Whether the free camera moves along with the body."""

    follows: bool

    def __post_init__(self):
        check_flag("follows", self.follows)


@dataclass(frozen=True)
class Speed:
    """Simulated seconds a second."""

    factor: float

    def __post_init__(self):
        check_number("factor", self.factor, 0.01, 100)


@dataclass(frozen=True)
class Strength:
    """Factor on the strengths of the distractors."""

    factor: float

    def __post_init__(self):
        check_number("factor", self.factor, 0, 10)


@dataclass(frozen=True)
class Record:
    """Begin a recording, or end it."""

    recording: bool

    def __post_init__(self):
        check_flag("recording", self.recording)


Message = Choose | Pause | Step | Restart | Act | Show | Drag | Zoom | Home | Follow | Speed | Strength | Record
_KINDS: dict[str, type] = {kind.__name__.lower(): kind for kind in get_args(Message)}


def parse_message(data: bytes) -> Message:
    """The message in a JSON object, whose "type" is the lower-case name of one of the classes here.

    Raises:
      ConfigError: it is no such object, or a field is unknown, missing or has a value that is not allowed.
    """
    given = parse_object(data)
    name = check_choice("type", _short(given.pop("type", None)), list(_KINDS))
    kind = _KINDS[name]
    check_keywords(f"the message {name!r}", [_short(field) for field in given], [field.name for field in fields(kind)])
    for field in fields(kind):
        if field.default is MISSING and field.name not in given:
            raise ConfigError(f"the message {name!r} has no {field.name!r}: it must have one")
    return kind(**given)


def parse_object(data: bytes) -> dict[str, Any]:
    """A JSON object.

    Raises:
      ConfigError: it is too long, no JSON, or no object.
    """
    if len(data) > MAX_BYTES:
        raise ConfigError(f"the message has {len(data)} bytes: it must have at most {MAX_BYTES}")
    try:
        given = json.loads(data, parse_int=_whole)
    except ConfigError:
        raise
    except (ValueError, RecursionError) as e:
        raise ConfigError(f"the message is no JSON ({e!s:.80})") from None
    if not isinstance(given, dict):
        raise ConfigError(f"the message is {given!r:.80}: it must be a JSON object")
    return given


def _whole(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ConfigError(f"the message has a number of {len(text)} digits: it must have at most {_MAX_DIGITS}")
    return int(text)


def _short(value: Any) -> Any:
    """A name as messages of errors may quote it."""
    return value[:_MAX_TEXT] if isinstance(value, str) else f"{value!r:.80}" if value is not None else None


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise ConfigError(f"{name} is {value!r:.80}: it must be text of at most {_MAX_TEXT} characters")
