"""From where an environment is seen: a task's camera, one of the model's, or any other."""

from collections.abc import Callable

import jax.numpy as jnp
import mujoco
from jaxtyping import Array, Float

from pixelbrax.errors import ConfigError
from pixelbrax.render import Camera, ModelCamera, look_at, orbit
from pixelbrax.tasks import CameraSpec

CameraLike = CameraSpec | Camera | str | int
"""A camera that follows a body, one that stands still, or a name or number of a camera of the model."""

View = Callable[[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]], Camera]
"""World positions (metres) and rotation matrices of all bodies -> camera."""


def view(model: mujoco.MjModel, camera: CameraLike) -> View:
    """How a camera moves with the bodies of a model.

    Raises:
      ConfigError: the model has no such camera or body.
    """
    if isinstance(camera, Camera):
        return lambda xpos, xmat: camera
    if isinstance(camera, CameraSpec):
        return _following(model, camera)
    try:
        return ModelCamera.from_mujoco(model, camera).at
    except KeyError as e:
        raise ConfigError(e.args[0]) from e


def default_camera(model: mujoco.MjModel) -> CameraLike:
    """The model's first camera; if it has none, where MuJoCo's viewer first looks from."""
    if model.ncam:
        return 0
    look = model.vis.global_
    return orbit(
        jnp.asarray(model.stat.center, jnp.float32), 1.5 * model.stat.extent, look.azimuth, look.elevation, look.fovy
    )


def _following(model: mujoco.MjModel, spec: CameraSpec) -> View:
    names = [model.body(i).name for i in range(1, model.nbody)]
    if spec.body is not None and spec.body not in names:
        known = ", ".join(map(repr, names))
        raise ConfigError(f"the model has no body {spec.body!r} for the camera to follow: it has {known}")
    body = 0 if spec.body is None else 1 + names.index(spec.body)  # 0 is the world, whose pose is 0

    def at(xpos: Float[Array, "nbody 3"], xmat: Float[Array, "nbody 3 3"]) -> Camera:
        del xmat
        x, y = xpos[body, 0], xpos[body, 1]
        pos = jnp.stack([x + spec.offset[0], y + spec.offset[1], jnp.full_like(x, spec.height)])
        target = jnp.stack([x + spec.target[0], y + spec.target[1], jnp.full_like(x, spec.target_height)])
        return look_at(pos, target, spec.fovy)

    return at
