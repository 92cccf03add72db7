"""The tasks of `brax.envs`, and two of the Brax paper that Brax no longer has (fetch, grasp)."""

import copy
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from pixelbrax.tasks.camera import CameraSpec
from pixelbrax.tasks.palette import Palette
from pixelbrax.tasks.registry import Sizes, Task, register

if TYPE_CHECKING:
    from pixelbrax.physics import Physics

_PLAIN = Palette()
_RED, _BLUE = (0.85, 0.12, 0.12), (0.15, 0.35, 0.95)


def _load(name: str, backend: str, /, **settings) -> "Physics":
    from pixelbrax.physics import make_brax_physics  # imported on first use

    physics = make_brax_physics(name, backend, **settings)
    physics.mj_model = copy.copy(physics.mj_model)  # a palette changes what is rendered, not what is simulated
    return physics


def _load_v1(name: str, backend: str) -> "Physics":
    from pixelbrax.physics import make_brax_v1_physics

    return make_brax_v1_physics(name, backend)


def _add(
    name: str,
    description: str,
    camera: CameraSpec,
    sizes: Sizes,
    *,
    default: str = "spring",
    backends: tuple[str, ...] = ("spring", "positional", "generalized", "mjx"),
    palette: Palette = _PLAIN,
    load: "Callable[..., Physics]" = _load,
) -> None:
    """Registers a task that runs on `backends`, by default on `default`."""
    ordered = (default, *(backend for backend in backends if backend != default))
    register(Task(name, description, ordered, functools.partial(load, name), camera, palette, sizes))


# The framing of the PixelBrax paper (arXiv 2502.00021) and its reference implementation.
_SIDE = CameraSpec(offset=(0.0, -2.1), height=0.8, target_height=0.6, fovy=55.0)

_add(
    "ant",
    "run with a four-legged body",
    CameraSpec(offset=(1.6, -1.6), height=3.5, target_height=0.0, fovy=40.0),
    Sizes(actions=8, state=27, dt=0.05),
)
_add("halfcheetah", "run with a planar two-legged body", _SIDE, Sizes(actions=6, state=17, dt=0.05))
_add("hopper", "hop with a planar one-legged body", _SIDE, Sizes(actions=3, state=11, dt=0.008))
_add(
    "humanoid",
    "walk with a humanoid body",
    CameraSpec(offset=(1.7, -1.7), height=1.5, target_height=1.1, fovy=50.0),
    Sizes(actions=17, state=244, dt=0.015),
)
_add(
    "humanoidstandup",
    "stand up with a humanoid body",
    CameraSpec(offset=(1.9, -1.9), height=1.4, target_height=0.6, fovy=50.0),
    Sizes(actions=17, state=244, dt=0.015),
)
_add(
    "inverted_double_pendulum",
    "balance two poles, one on the other, on a cart",
    CameraSpec(offset=(0.0, -3.0), height=0.8, target_height=0.5, fovy=50.0, body="cart"),
    Sizes(actions=1, state=8, dt=0.02),
    default="generalized",
)
_add(
    "inverted_pendulum",
    "balance a pole on a cart",
    CameraSpec(offset=(0.0, -2.3), height=0.0, target_height=0.0, fovy=55.0, body="cart"),
    Sizes(actions=1, state=4, dt=0.04),
    default="generalized",
)
_add(
    "pusher",
    "push an object to a goal with an arm",
    CameraSpec(offset=(0.45, -1.2), height=1.6, target_height=-0.25, fovy=50.0, body=None, target=(0.45, -0.25)),
    Sizes(actions=7, state=23, dt=0.05),
    default="generalized",
    palette=Palette(accents=(("object", _BLUE), ("goal", _RED))),
)
_add(
    "reacher",
    "reach a target with a two-jointed arm",
    # From 60 degrees above, over the disc of 0.22 m that target and arm reach. The target's own sphere is smaller
    # than a pixel of small images, and lies inside the arm where the two cross.
    CameraSpec(offset=(0.0, -0.65), height=1.13, target_height=0.0, fovy=20.5, body=None),
    Sizes(actions=2, state=11, dt=0.02),
    default="generalized",
    palette=Palette(accents=(("target", _RED),), discs=(("target", 0.025),)),
)
_add(
    "swimmer",
    "swim with a body of three links",
    CameraSpec(offset=(0.0, -3.0), height=3.2, target_height=0.0, fovy=50.0, body="mid"),
    Sizes(actions=2, state=8, dt=0.04),
    default="generalized",
    backends=("generalized",),
)
_add("walker2d", "walk with a planar two-legged body", _SIDE, Sizes(actions=6, state=17, dt=0.008))
# Brax v1's two tasks with targets. Brax published them on a position-based engine.
_add(
    "fetch",
    "run to a target with a boxy dog, and on to the next",
    # The target may be 17 m away, and 34 m after the first hit: the closest view that shows it and the dog.
    CameraSpec(offset=(0.0, -7.0), height=8.5, target_height=0.8, fovy=40.0, also="target"),
    Sizes(actions=10, state=101, dt=0.02),
    default="positional",
    palette=Palette(accents=(("target", _RED),)),
    load=_load_v1,
)
_add(
    "grasp",
    "carry an object to a target with a four-fingered hand, and on to the next",
    # Seen between two fingers, which would otherwise hide the object.
    CameraSpec(offset=(17.6, -17.6), height=25.8, target_height=3.4, fovy=40.0, body=None),
    Sizes(actions=19, state=132, dt=0.02),
    default="positional",
    palette=Palette(accents=(("object", _BLUE), ("target", _RED))),
    load=_load_v1,
)
