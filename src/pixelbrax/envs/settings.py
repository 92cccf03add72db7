"""The settings of `PixelEnv`, `make` and `wrap` as types, for editors and type checkers."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar

from pixelbrax.distractors import DistractorLike
from pixelbrax.envs.observe import ImageOutput
from pixelbrax.physics import RandomizationFn
from pixelbrax.tasks import Rgb

Autoreset = Literal["next_step", "same_step", "disabled"]
AUTORESETS: tuple[Autoreset, ...] = ("next_step", "same_step", "disabled")
EPISODE_LENGTH = 1000  # frames, by default
Function = TypeVar("Function", bound=Callable[..., Any])


class PixelSettings(TypedDict, total=False):
    """Keyword settings of `PixelEnv`, which documents them. A test keeps the two in sync."""

    image_size: int | Sequence[int] | Mapping[str, int | Sequence[int]]
    frame_stack: int
    action_repeat: int
    episode_length: int
    grayscale: bool
    channels_first: bool
    outputs: ImageOutput | Iterable[ImageOutput]
    shadows: bool
    reflections: bool
    tendons: bool
    samples: int
    autoreset: Autoreset
    sky: tuple[Rgb, Rgb] | None
    infinite_planes: bool
    skip_unsupported: bool
    randomization_fn: RandomizationFn | None
    distractors: DistractorLike


class MjcfSettings(TypedDict, total=False):
    """Settings of `pixelbrax.physics.MjcfPhysics`, which documents them."""

    reward_fn: Callable[..., Any]
    terminate_fn: Callable[..., Any] | None
    reset_fn: Callable[..., Any] | None
    observe_fn: Callable[..., Any] | None
    control_dt: float | None
    reward_weights: Mapping[str, float] | None


class MakeSettings(PixelSettings, MjcfSettings, total=False):
    """Keyword settings of `make`."""


def shows_settings(settings: type, defaults: Callable[..., Any]) -> Callable[[Function], Function]:
    """Lets `inspect.signature`, and so interactive completion, show what a function takes as **settings.

    Args:
      settings: their TypedDict.
      defaults: a function with the settings as keywords; those that it lacks are shown without a default.
    """
    known = inspect.signature(defaults).parameters
    empty = inspect.Parameter.empty

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        shown = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=known[name].default if name in known else empty,
                annotation=kind,
            )
            for name, kind in settings.__annotations__.items()
        ]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        call.__signature__ = signature.replace(parameters=[*own, *shown])  # pyright: ignore
        return call  # pyright: ignore[reportReturnType]

    return decorate
