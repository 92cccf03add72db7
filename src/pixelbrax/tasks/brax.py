"""The tasks of `brax.envs`, and those two of Brax's paper that it no longer has."""

import copy
import functools

from pixelbrax.physics.base import Physics
from pixelbrax.tasks.camera import CameraSpec
from pixelbrax.tasks.look import Look
from pixelbrax.tasks.registry import Sizes, Task, register


def _load(name: str, backend: str, **settings) -> Physics:
    from pixelbrax.physics.brax import make_brax_physics  # the engine is loaded when it is needed

    physics = make_brax_physics(name, backend, **settings)
    physics.mj_model = copy.copy(physics.mj_model)  # `Look` changes what is drawn, not what the engine simulates
    return physics


def _register(
    name: str, description: str, camera: CameraSpec, look: Look, sizes: tuple[int, int, float], *backends: str
) -> None:
    register(Task(name, description, backends, functools.partial(_load, name), camera, look, Sizes(*sizes)))


def _load_of_paper(name: str, backend: str) -> Physics:
    from pixelbrax.tasks.fetch import Fetch
    from pixelbrax.tasks.grasp import Grasp
    from pixelbrax.tasks.pursuit import PursuitPhysics

    return PursuitPhysics({"fetch": Fetch, "grasp": Grasp}[name](backend))


_PLAIN = Look()
_RED, _BLUE = (0.85, 0.12, 0.12), (0.15, 0.35, 0.95)
_ALL = ("spring", "positional", "generalized", "mjx")
# The paper's framing (arXiv 2502.00021 and its reference implementation): offset, height and field of view.
_SIDE = CameraSpec(offset=(0.0, -2.1), height=0.8, target_height=0.6, fovy=55.0)
_CART = CameraSpec((0.0, -2.3), 0.0, 0.0, 55.0, body="cart")
_HUMANOID = CameraSpec((1.7, -1.7), 1.5, 1.1, 50.0)

_register("ant", "run with a four-legged body", CameraSpec((1.6, -1.6), 3.5, 0.0, 40.0), _PLAIN, (8, 27, 0.05), *_ALL)
_register("halfcheetah", "run with a planar two-legged body", _SIDE, _PLAIN, (6, 17, 0.05), *_ALL)
_register("hopper", "hop with a planar one-legged body", _SIDE, _PLAIN, (3, 11, 0.008), *_ALL)
_register("humanoid", "walk with a humanoid body", _HUMANOID, _PLAIN, (17, 244, 0.015), *_ALL)
_register(
    "humanoidstandup",
    "stand up with a humanoid body",
    CameraSpec((1.9, -1.9), 1.4, 0.6, 50.0),
    _PLAIN,
    (17, 244, 0.015),
    *_ALL,
)
_register(
    "inverted_double_pendulum",
    "balance two poles, one on the other, on a cart",
    CameraSpec((0.0, -3.0), 0.8, 0.5, 50.0, body="cart"),
    _PLAIN,
    (1, 8, 0.02),
    *("generalized", "spring", "positional", "mjx"),
)
_register(
    "inverted_pendulum",
    "balance a pole on a cart",
    _CART,
    _PLAIN,
    (1, 4, 0.04),
    *("generalized", "spring", "positional", "mjx"),
)
_register(
    "pusher",
    "push an object to a goal with an arm",
    CameraSpec((0.45, -1.2), 1.6, -0.25, 50.0, body=None, target=(0.45, -0.25)),
    Look(accents=(("object", _BLUE), ("goal", _RED))),
    (7, 23, 0.05),
    *("generalized", "spring", "positional", "mjx"),
)
_register(
    "reacher",
    "reach a target with a two-jointed arm",
    # From 60 degrees above, over the disc of 0.22 m that target and arm reach. The target's own sphere is smaller
    # than a pixel of small images, and lies inside of the arm where the two cross.
    CameraSpec((0.0, -0.65), 1.13, 0.0, 20.5, body=None),
    Look(accents=(("target", _RED),), discs=(("target", 0.025),)),
    (2, 11, 0.02),
    *("generalized", "spring", "positional", "mjx"),
)
_register(
    "swimmer",
    "swim with a body of three links",
    CameraSpec((0.0, -3.0), 3.2, 0.0, 50.0, body="mid"),
    _PLAIN,
    (2, 8, 0.04),
    "generalized",
)
_register("walker2d", "walk with a planar two-legged body", _SIDE, _PLAIN, (6, 17, 0.008), *_ALL)
# The engine on which Brax published these two was position-based.
_PURSUIT = ("positional", "spring", "generalized", "mjx")
register(
    Task(
        "fetch",
        "run to a target with a boxy dog, and on to the next",
        _PURSUIT,
        functools.partial(_load_of_paper, "fetch"),
        # The target may be 17 m away, and 34 m after the first hit: the closest view that has it and the dog.
        CameraSpec((0.0, -7.0), 8.5, 0.8, 40.0, also="target"),
        Look(accents=(("target", _RED),)),
        Sizes(10, 101, 0.02),
    )
)
register(
    Task(
        "grasp",
        "carry an object to a target with a four-fingered hand, and on to the next",
        _PURSUIT,
        functools.partial(_load_of_paper, "grasp"),
        # Between two fingers, which would hide the object.
        CameraSpec((17.6, -17.6), 25.8, 3.4, 40.0, body=None),
        Look(accents=(("object", _BLUE), ("target", _RED))),
        Sizes(19, 132, 0.02),
    )
)
