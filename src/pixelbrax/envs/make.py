"""`make` and `wrap`: a task by name, one's own creature, or another library's environment, seen through a camera."""

import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import mujoco

from pixelbrax.distractors import resolve
from pixelbrax.envs.cameras import CameraLike
from pixelbrax.envs.pixel_env import PixelEnv
from pixelbrax.errors import ConfigError, check_choice, check_keywords
from pixelbrax.physics import Physics
from pixelbrax.precision import in_float32
from pixelbrax.tasks import get_task, task_names

_SETTINGS = tuple(p.name for p in inspect.signature(PixelEnv).parameters.values() if p.kind is p.KEYWORD_ONLY)
_MJCF_SETTINGS = ("reward_fn", "terminate_fn", "reset_fn", "observe_fn", "control_dt")
_MODEL_FILES = (".xml", ".mjcf", ".urdf")


@in_float32
def make(
    source: str | os.PathLike[str] | mujoco.MjSpec | mujoco.MjModel,
    backend: str | None = None,
    camera: CameraLike | Mapping[str, CameraLike] | None = None,
    *,
    physics: Mapping[str, Any] | Literal["suite"] | None = None,
    **settings: Any,
) -> PixelEnv:
    """A task, or a creature of one's own, that is observed through a camera.

    Args:
      source: one of `pixelbrax.list_envs()`; or a path of an MJCF file, a `mujoco.MjSpec` or a `mujoco.MjModel`, which
        MJX then simulates. Text ending in .xml, .mjcf or .urdf is a path, unless a task has that name.
      backend: the engine, one of those that `pixelbrax list` shows; by default the task's own. Of MJCF models "jax" or
        "warp".
      camera: see `PixelEnv`; by default the task's own, or the model's first.
      physics: settings of the engine's environment: of Brax's tasks those of its constructor, of Playground's those of
        its configuration; of an MJCF model at least "reward_fn" (see `MjcfPhysics`). "suite", or {"suite": True} beside
        others, simulates `dmc/*` by the DeepMind Control Suite's own numbers instead of Playground's (docs/tasks.md).
      **settings: image size, frame stack, action repeat and so on: see `PixelEnv`. Those of `MjcfPhysics` may stand
        here too.

    Raises:
      ConfigError: a name, a file or a number cannot be used.
    """
    own = _physics_settings(physics)
    check_keywords("make", settings, (*_SETTINGS, *_MJCF_SETTINGS, "backend", "camera", "physics"))
    if isinstance(source, str) and not _is_model_file(source):
        task = get_task(source)
        if of_models := [name for name in settings if name in _MJCF_SETTINGS]:
            raise ConfigError(f"{of_models[0]} is a setting of MJCF models: {source!r} has its own")
        settings = task.picture | settings
        if "distractors" in settings:
            settings["distractors"] = resolve(settings["distractors"], task.name)
        return PixelEnv(task.physics(backend, **own), task.camera if camera is None else camera, **settings)
    if not isinstance(source, str | os.PathLike | mujoco.MjSpec | mujoco.MjModel):
        raise ConfigError(
            f"cannot make an environment of {source!r:.80}: it must be a task's name, an MJCF file, a mujoco.MjSpec or "
            "a mujoco.MjModel; pixelbrax.wrap takes environments of Brax and MuJoCo Playground"
        )
    from pixelbrax.physics.mjcf import MjcfPhysics, load_model  # MJX is loaded when it is needed

    model = load_model(source)
    own |= {name: settings.pop(name) for name in _MJCF_SETTINGS if name in settings}
    check_keywords("the physics of an MJCF model", own, _MJCF_SETTINGS)
    if "reward_fn" not in own:
        raise ConfigError(
            "a creature of your own needs reward_fn=...: a function of the data before, the action and the data after"
        )
    return PixelEnv(MjcfPhysics(model, implementation=backend or "jax", **own), camera, **settings)


def _physics_settings(physics: Any) -> dict[str, Any]:
    if physics is None:
        return {}
    if isinstance(physics, str):
        return {check_choice("physics", physics, ("suite",)): True}
    if not isinstance(physics, Mapping) or not all(isinstance(name, str) for name in physics):
        raise ConfigError(f"physics is {physics!r:.80}: it must be a dict of settings of the engine's environment")
    if "backend" in physics:
        raise ConfigError("physics has 'backend': give it as make(..., backend=...)")
    return dict(physics)


def _is_model_file(source: str) -> bool:
    """Whether text names a file and not a task; raises ConfigError if it is a model itself."""
    if source in task_names():
        return False
    if source.lstrip().startswith("<"):
        raise ConfigError(
            f"cannot make an environment of {source.strip()[:30]!r}...: for XML text give "
            "mujoco.MjSpec.from_string(text)"
        )
    path = Path(source)
    return path.suffix.lower() in _MODEL_FILES or (bool(path.suffix) and os.path.isfile(path))


def wrap(env: Any, camera: CameraLike | Mapping[str, CameraLike] | None = None, **settings: Any) -> PixelEnv:
    """An environment of Brax (`brax.envs.Env`) or MuJoCo Playground (`MjxEnv`), observed through a camera.

    It must not reset, time or vectorize itself, as environments of `brax.envs.create`, of Brax's training wrappers and
    of Playground's `wrap_for_brax_training` do: the result does all of that. Colors are those of its model; floors of
    Brax's models are drawn without end, since its bodies run off what they bound. On Brax's "spring" and "positional"
    engines a model needs Brax's own `<custom>` numerics (`constraint_stiffness`, `spring_inertia_scale`, ...), else
    its bodies may fly apart; a warning names them.

    Args:
      env: the environment, or a `Physics`.
      camera: see `PixelEnv`.
      **settings: see `PixelEnv`.

    Raises:
      ConfigError: it is neither, has no MuJoCo model to draw, fails, or resets, times or vectorizes itself.
    """
    check_keywords("wrap", settings, (*_SETTINGS, "camera"))
    # What is inside tells the engine: Playground puts its environments into Brax's wrappers.
    packages = {kind.__module__.split(".")[0] for kind in type(getattr(env, "unwrapped", env)).__mro__}
    if "brax" in packages:
        from pixelbrax.physics.brax import BraxPhysics

        env = BraxPhysics(env)
        settings = {"infinite_planes": True} | settings
    elif "mujoco_playground" in packages:
        from pixelbrax.physics.playground import PlaygroundPhysics

        env = PlaygroundPhysics(env)
    elif isinstance(env, type):
        raise ConfigError(f"cannot wrap the class {env.__name__}: make an environment of it, {env.__name__}(...)")
    elif not isinstance(env, Physics):
        raise ConfigError(
            f"cannot wrap a {type(env).__name__}: it must be a brax.envs.Env, a mujoco_playground.MjxEnv or a Physics"
        )
    return PixelEnv(env, camera, **settings)
