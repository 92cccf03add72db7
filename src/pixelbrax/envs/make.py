"""`make` and `wrap`: a task by name, one's own creature, or another library's environment, seen through a camera."""

import os
from collections.abc import Mapping
from typing import Any

import mujoco

from pixelbrax.distractors import resolve
from pixelbrax.envs.cameras import CameraLike
from pixelbrax.envs.pixel_env import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.physics import Physics
from pixelbrax.tasks import get_task


def make(
    source: str | os.PathLike[str] | mujoco.MjSpec | mujoco.MjModel,
    backend: str | None = None,
    camera: CameraLike | Mapping[str, CameraLike] | None = None,
    *,
    physics: Mapping[str, Any] | None = None,
    **settings: Any,
) -> PixelEnv:
    """A task, or a creature of one's own, that is observed through a camera.

    Args:
      source: one of `pixelbrax.list_envs()`; or an MJCF file (its name ends in .xml), a `mujoco.MjSpec` or a
        `mujoco.MjModel`, which MJX then simulates.
      backend: the engine, one of those that `pixelbrax list` shows; by default the task's own. Of MJCF models "jax" or
        "warp".
      camera: see `PixelEnv`; by default the task's own, or the model's first.
      physics: settings of the engine's environment; of an MJCF model at least "reward_fn" (see `MjcfPhysics`).
      **settings: image size, frame stack, action repeat and so on: see `PixelEnv`. Those of `MjcfPhysics` may stand
        here too.

    Raises:
      ConfigError: a name, a file or a number cannot be used.
    """
    own = dict(physics or {})
    if isinstance(source, str) and not source.endswith(".xml"):
        task = get_task(source)
        settings = task.picture | settings
        if "distractors" in settings:
            settings["distractors"] = resolve(settings["distractors"], task.name)
        return PixelEnv(task.physics(backend, **own), task.camera if camera is None else camera, **settings)
    from pixelbrax.physics.mjcf import MjcfPhysics  # MJX is loaded when it is needed

    own |= {name: settings.pop(name) for name in _MJCF_SETTINGS if name in settings}
    if "reward_fn" not in own:
        raise ConfigError(
            "a creature of your own needs reward_fn=...: a function of the data before, the action and the data after"
        )
    return PixelEnv(MjcfPhysics(source, implementation=backend or "jax", **own), camera, **settings)


_MJCF_SETTINGS = ("reward_fn", "terminate_fn", "reset_fn", "observe_fn", "control_dt")


def wrap(env: Any, camera: CameraLike | Mapping[str, CameraLike] | None = None, **settings: Any) -> PixelEnv:
    """An environment of Brax (`brax.envs.Env`) or MuJoCo Playground (`MjxEnv`), observed through a camera.

    It must not reset itself and needs no limit of time: the result does both. Colors are those of its model; floors of
    Brax's models are drawn without end, since its bodies run off what they bound.

    Args:
      env: the environment, or a `Physics`.
      camera: see `PixelEnv`.
      **settings: see `PixelEnv`.

    Raises:
      ConfigError: it is neither, or has no MuJoCo model to draw.
    """
    packages = {kind.__module__.split(".")[0] for kind in type(env).__mro__}
    if "brax" in packages:
        from pixelbrax.physics.brax import BraxPhysics

        env = BraxPhysics(env)
        settings = {"infinite_planes": True} | settings
    elif "mujoco_playground" in packages:
        from pixelbrax.physics.playground import PlaygroundPhysics

        env = PlaygroundPhysics(env)
    elif not isinstance(env, Physics):
        raise ConfigError(
            f"cannot wrap a {type(env).__name__}: it must be a brax.envs.Env, a mujoco_playground.MjxEnv or a Physics"
        )
    return PixelEnv(env, camera, **settings)
