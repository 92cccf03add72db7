"""Checks of the arguments of `PixelEnv`, before anything is compiled."""

import functools
import inspect
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from pixelbrax.distractors import Distraction
from pixelbrax.envs.cameras import CameraLike
from pixelbrax.envs.state import FINAL_OBS, State
from pixelbrax.errors import ConfigError, check_color, check_keywords, check_pair, warn_caller
from pixelbrax.physics import THREEFRY, check_default_prng
from pixelbrax.tasks import Rgb

Init = TypeVar("Init", bound=Callable[..., None])


def suggests_keywords(init: Init) -> Init:
    """Makes an `__init__` raise ConfigError for unknown keywords; the message suggests the nearest."""
    names = list(inspect.signature(init).parameters)[1:]

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        check_keywords(type(self).__name__, kwargs, names)
        init(self, *args, **kwargs)

    return checked  # pyright: ignore[reportReturnType]


def check_key(name: str, key: Any, function: str) -> None:
    """Refuses anything but a single PRNG key of the kind `THREEFRY`.

    Args:
      name: of the argument, for the message.
      key: a typed key, or a raw uint32 key.
      function: name of the function that takes it.

    Raises:
      ConfigError: it is no PRNG key, a batch of keys, or of another kind.
    """
    check_default_prng()
    dtype = getattr(key, "dtype", None)
    axes, kind = -1, THREEFRY
    if dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key):
        axes, kind = key.ndim, str(jax.random.key_impl(key))
    elif dtype == jnp.uint32 and key.ndim and key.shape[-1] in (2, 4):
        axes, kind = key.ndim - 1, THREEFRY if key.shape[-1] == 2 else "rbg"
    if axes < 0:
        raise ConfigError(f"{name} is {key!r:.80}: it must be a PRNG key, such as jax.random.key(0)")
    if axes > 0:
        raise ConfigError(
            f"{name} is a batch of keys of shape {key.shape}: it must be one key; for a batch of environments use "
            f"jax.vmap({function})"
        )
    if kind != THREEFRY:
        raise ConfigError(
            f"{name} is a key of the PRNG {kind!r}: it must be one of {THREEFRY!r}, such as "
            f'jax.random.key(0, impl="{THREEFRY}")'
        )


def named_cameras(camera: Any, image_size: Any = None) -> dict[str, CameraLike]:
    """Cameras by name, from one camera or a dict of several; one is each of those that `image_size` is a dict of.

    Raises:
      ConfigError: there is no camera, or a name or camera has the wrong type.
    """
    by = "image_size" if isinstance(image_size, Mapping) and not isinstance(camera, Mapping) else "camera"
    cameras: dict[str, Any]
    if by == "image_size":
        cameras = dict.fromkeys(image_size, camera)
    else:
        cameras = dict(camera) if isinstance(camera, Mapping) else {"camera": camera}
    if not cameras:
        raise ConfigError(f"{by} is empty: name at least one camera")
    for name, one in cameras.items():
        if not isinstance(name, str) or not name:
            raise ConfigError(f"{by} has the name {name!r}: names of cameras must be non-empty strings")
        if isinstance(one, bool) or not isinstance(one, (*typing.get_args(CameraLike), np.integer)):
            which = f"camera {name!r}" if isinstance(camera, Mapping) else "camera"
            raise ConfigError(
                f"{which} is {one!r:.80}: it must be the name or index of a camera of the model, a CameraSpec or a "
                "Camera; for several, a dict of these by name"
            )
    return cameras


def checked_sky(sky: Any) -> tuple[Rgb, Rgb]:
    """Colors straight down and straight up.

    Raises:
      ConfigError: they are not two colors.
    """
    down, up = check_pair("sky", sky, "two colors, straight down and straight up")
    return check_color("sky's color straight down", down), check_color("sky's color straight up", up)


def check_origin(state: State, expected: Mapping[str, tuple[int, ...]], autoreset: str) -> None:
    """Refuses to step a state of another environment.

    Args:
      state: to step.
      expected: shapes of the environment's images, by name.
      autoreset: the environment's. A state of same-step auto-reset says of an episode that it is over when the next one
        has begun.

    Raises:
      ConfigError: the state's images have other names or shapes, or it is of another auto-reset.
    """
    if FINAL_OBS in state.info and autoreset != "same_step":
        raise ConfigError(
            f'the state is from an environment with autoreset="same_step", and this one has "{autoreset}"'
        )
    shapes = {name: jnp.shape(image) for name, image in state.obs.items() if name in expected}
    if shapes != expected:
        raise ConfigError(
            f"the state is from another environment: its images are {_written(shapes)}, and this environment's are "
            f"{_written(expected)}"
        )


def check_shown(distraction: Distraction, names: Sequence[str], outputs: Collection[str]) -> None:
    """Refuses distractors that no output shows: those that change frames change pixels, not depth or silhouettes.

    It warns of those that change nothing, as the scene has nothing that they change.

    Args:
      distraction: the distractors.
      names: by which they were given.
      outputs: of the environment.

    Raises:
      ConfigError: none of them changes the scene, or one changes it by the pixels that it has seen, and pixels are not
        among the outputs.
    """
    composed, given = distraction.composed, " + ".join(names)
    alone = "changes pixels alone" if composed.changes_frames and not composed.changes_scenes else ""
    if composed.remembers_frames and not composed.changes_frames:
        alone = "remembers pixels"
    if alone and "pixels" not in outputs:
        raise ConfigError(f"{given} {alone}, but outputs is {', '.join(outputs)}: leave it out, or name pixels")
    for distractor, name in zip(distraction.given, names, strict=True):
        if lacking := distractor.lacks(distraction.context):
            warn_caller(f"{name} changes nothing: the scene has no {lacking}")


def _written(shapes: Mapping[str, Iterable[int]]) -> str:
    return ", ".join(f"{name} of shape {tuple(shape)}" for name, shape in shapes.items()) or "none"
