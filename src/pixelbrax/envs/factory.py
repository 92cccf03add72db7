"""`make` and `wrap`: environments from a task's name, your own model, or another library's environment."""

import copy
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import mujoco
import numpy as np
from typing_extensions import Unpack

from pixelbrax.envs.camera_checks import camera_suspicions, soft_bodies, unseen
from pixelbrax.envs.cameras import CameraLike
from pixelbrax.envs.checks import named_cameras
from pixelbrax.envs.params import EnvParams
from pixelbrax.envs.pixel_env import PixelEnv
from pixelbrax.envs.scene import has_skybox
from pixelbrax.envs.settings import AUTORESETS, Autoreset, MakeSettings, MjcfSettings, PixelSettings, shows_settings
from pixelbrax.errors import ConfigError, check_choice, check_keywords, warn_caller
from pixelbrax.physics import Physics
from pixelbrax.tasks import get_task, task_names
from pixelbrax.xla import in_float32

_SETTINGS, _MJCF_SETTINGS = tuple(PixelSettings.__annotations__), tuple(MjcfSettings.__annotations__)
_BRAX_BACKENDS = ("spring", "positional", "generalized", "mjx")
_MODEL_FILES = (".xml", ".mjcf", ".urdf")


@shows_settings(MakeSettings, PixelEnv)
@in_float32
def make(
    source: str | os.PathLike[str] | mujoco.MjSpec | mujoco.MjModel,
    backend: str | None = None,
    camera: CameraLike | Mapping[str, CameraLike] | None = None,
    *,
    physics: Mapping[str, Any] | Literal["suite"] | None = None,
    **settings: Unpack[MakeSettings],
) -> PixelEnv:
    """An environment from a task's name or your own model, observed through a camera.

    Args:
      source: one of `pixelbrax.list_tasks()`; or the path of an MJCF file, a `mujoco.MjSpec` or a `mujoco.MjModel`,
        which MJX then simulates. Text ending in .xml, .mjcf or .urdf is a path, unless a task has that name.
      backend: the engine, one of those that `pixelbrax list` shows; by default the task's own. For MJCF models "jax" or
        "warp".
      camera: see `PixelEnv`; by default the task's own, or the model's first.
      physics: settings of the engine's environment: for Brax's tasks its constructor's arguments, for Playground's its
        configuration, for an MJCF model at least "reward_fn" (see `MjcfPhysics`). "suite", or {"suite": True} beside
        others, simulates `dmc/*` with the DeepMind Control Suite's own constants instead of Playground's
        (docs/tasks.md).
      **settings: image size, frame stack, action repeat and so on: see `PixelEnv`. For a task also `reward_weights`,
        some of its reward's, by name; for an MJCF model the settings of `MjcfPhysics`.

    Raises:
      ConfigError: a name, a file or a setting cannot be used; the message suggests the nearest name.
    """
    named = source if isinstance(source, str | os.PathLike) else None  # no MjSpec: it cannot be pickled
    recipe = {"source": named, "backend": backend, "camera": camera, "physics": physics, **settings}
    own = _physics_settings(physics)
    chosen: dict[str, Any] = dict(settings)
    check_keywords("make", chosen, (*_SETTINGS, *_MJCF_SETTINGS, "backend", "camera", "physics"))
    if isinstance(source, str) and not is_model_file(source):
        env = _of_task(source, backend, camera, own, chosen)
    else:
        env = _of_model(source, backend, camera, own, chosen)
    _warn_of_sky(env, settings)
    env.recipe = recipe
    return env


def _of_task(name: str, backend: str | None, camera: Any, own: dict[str, Any], chosen: dict[str, Any]) -> PixelEnv:
    """The environment of a task; see `make`."""
    task = get_task(name)
    weights = chosen.pop("reward_weights", None)
    if of_models := [setting for setting in chosen if setting in _MJCF_SETTINGS]:
        raise ConfigError(f"{of_models[0]} is a setting of MJCF models: {name!r} has its own")
    if own.get("suite") is True and not task.name.startswith("dmc/"):
        raise ConfigError(f"physics='suite' is for tasks of the DeepMind Control Suite, dmc/NAME, not {name!r}")
    chosen = task.env_settings | chosen
    distractors = chosen.pop("distractors", ())
    physics = task.load_physics(backend, **own)
    view = task.camera if camera is None else camera
    if camera is None and task.is_own and task.camera == 0 and not physics.mj_model.ncam:
        view = None  # the first camera of a model without any is the default one, as of a file
    env = PixelEnv(physics, view, **chosen)
    env._task = task.name
    env._set_distractors(distractors)
    if weights is not None:
        env._set_default_params(EnvParams(reward_weights=weights))
    if task.is_own:
        from pixelbrax.physics import reference_start

        _warn_of_cameras(env, view, reference_start(env.physics.mj_model))
    return env


def _of_model(source: Any, backend: str | None, camera: Any, own: dict[str, Any], chosen: dict[str, Any]) -> PixelEnv:
    """The environment of an MJCF model; see `make`."""
    if not isinstance(source, str | os.PathLike | mujoco.MjSpec | mujoco.MjModel):
        raise ConfigError(
            f"cannot make an environment from {source!r:.80}: it must be a task's name, an MJCF file, a mujoco.MjSpec "
            "or a mujoco.MjModel; pixelbrax.wrap takes environments of Brax and MuJoCo Playground"
        )
    from pixelbrax.physics import MjcfPhysics, load_model, reference_start  # MJX is loaded when it is needed

    model = load_model(source)
    if backend in _BRAX_BACKENDS:
        raise ConfigError(
            f"backend {backend!r}: make simulates MJCF models by MJX ('jax' or 'warp'); for Brax's engines describe "
            "the model as a pixelbrax.creatures.Creature, or write a brax.envs.base.PipelineEnv with "
            f"sys=pixelbrax.physics.load_system(FILE, {backend!r}), and give it to pixelbrax.wrap"
        )
    if twice := [name for name in own if name in chosen]:
        raise ConfigError(f"{twice[0]} is given twice, as a setting of make and in physics: leave out one of the two")
    own |= {name: chosen.pop(name) for name in _MJCF_SETTINGS if name in chosen}
    check_keywords("the physics of an MJCF model", own, _MJCF_SETTINGS)
    if "reward_fn" not in own:
        raise ConfigError(
            "an MJCF model needs reward_fn=...: a function of the data before, the action and the data after"
        )
    env = PixelEnv(MjcfPhysics(model, implementation=backend or "jax", **own), camera, **chosen)
    _warn_of_cameras(env, camera, None if own.get("reset_fn") else reference_start(model))
    return env


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


def is_model_file(source: str) -> bool:
    """Whether text names a file and not a task; raises ConfigError if it is XML."""
    if source in task_names():
        return False
    if source.lstrip().startswith("<"):
        raise ConfigError(
            f"cannot make an environment from {source.strip()[:30]!r}...: for XML text give "
            "mujoco.MjSpec.from_string(text)"
        )
    path = Path(source)
    return path.suffix.lower() in _MODEL_FILES or (bool(path.suffix) and os.path.isfile(path))


@shows_settings(PixelSettings, PixelEnv)
def wrap(
    env: Any, camera: CameraLike | Mapping[str, CameraLike] | None = None, **settings: Unpack[PixelSettings]
) -> PixelEnv:
    """An environment of Brax (`brax.envs.Env`) or MuJoCo Playground (`MjxEnv`), observed through a camera.

    It must not reset, time or vectorize itself, as environments of `brax.envs.create`, of Brax's training wrappers and
    of Playground's `wrap_for_brax_training` do: the result does all of that. Colors are those of its model. Floors of
    Brax's models are rendered without bounds, because their bodies run beyond them. On Brax's "spring" and "positional"
    engines a model needs Brax's own `<custom>` numerics (`constraint_stiffness`, `spring_inertia_scale`, ...), else its
    bodies may fly apart; a warning tells what a model without any needs.

    Args:
      env: the environment, or a `Physics`.
      camera: see `PixelEnv`.
      **settings: see `PixelEnv`.

    Raises:
      ConfigError: it is none of these, has no MuJoCo model to render, fails, or resets, times or vectorizes itself.
    """
    start = None
    chosen: dict[str, Any] = dict(settings)
    check_keywords("wrap", chosen, (*_SETTINGS, "camera"))
    # The unwrapped environment determines the library: Playground uses Brax's wrappers.
    packages = {kind.__module__.split(".")[0] for kind in type(getattr(env, "unwrapped", env)).__mro__}
    if "brax" in packages:
        own, env = env, _brax_physics(env)
        _warn_of_model(own)
        start = np.asarray(own.unwrapped.sys.init_q)
        chosen = {"infinite_planes": True} | chosen
    elif "mujoco_playground" in packages:
        from pixelbrax.physics import PlaygroundPhysics, ignored_by_mjx

        own, env = env, PlaygroundPhysics(env)
        for line in ignored_by_mjx(own.mj_model) if own.mjx_model.impl.value == "jax" else ():
            warn_caller(line)
    elif isinstance(env, type):
        raise ConfigError(f"cannot wrap the class {env.__name__}: make an environment of it, {env.__name__}(...)")
    elif not isinstance(env, Physics):
        raise ConfigError(
            f"cannot wrap a {type(env).__name__}: it must be a brax.envs.Env, a mujoco_playground.MjxEnv or a Physics"
        )
    made = PixelEnv(env, camera, **chosen)
    _warn_of_sky(made, settings)
    _warn_of_cameras(made, camera, start)
    return made


def _brax_physics(env: Any) -> Physics:
    """A Brax environment as `Physics`; if Brax refuses its model, the error names the thing and the remedy."""
    from pixelbrax.physics import BraxPhysics, check_for_brax

    try:
        return BraxPhysics(env)
    except ConfigError:
        base = getattr(env, "unwrapped", env)
        model = getattr(getattr(base, "sys", None), "mj_model", None)
        if model is not None and getattr(base, "backend", "mjx") != "mjx":
            check_for_brax(model)
        raise


def _warn_of_model(env: Any) -> None:
    """Warns of what looks like a mistake in the model of someone's own Brax environment."""
    from pixelbrax.physics import check_model, ignored_by_brax, suspicions

    base = env.unwrapped
    model: mujoco.MjModel = base.sys.mj_model
    check_model(model)
    for line in suspicions(model, np.asarray(base.sys.init_q)) + ignored_by_brax(model, base.backend):
        warn_caller(line)


def _warn_of_sky(env: PixelEnv, settings: Mapping[str, Any]) -> None:
    """Warns of a sky that was asked for and is not rendered."""
    if settings.get("sky") is not None and env.images.outputs and has_skybox(env.physics.mj_model):
        warn_caller("sky changes nothing: the model has a skybox, which is rendered instead. Leave out one of the two")


def _warn_of_cameras(env: PixelEnv, camera: Any, start: np.ndarray | None) -> None:
    """Warns of someone's own model of which images show nothing; `start` is None if the first pose is not known."""
    if not env.images.outputs:
        return
    model, shapes = env.physics.mj_model, dict(env.images.shapes)
    lines = unseen(model)
    if not lines and start is not None and (camera is not None or model.ncam):
        cameras = named_cameras(0 if camera is None else camera, shapes)
        lines = camera_suspicions(model, cameras, shapes, start)
    for line in dict.fromkeys(soft_bodies(model) + lines):
        warn_caller(line)


def with_autoreset(env: PixelEnv, autoreset: Autoreset) -> PixelEnv:
    """The same environment with another auto-reset; they share the physics, the scene and the videos.

    Args:
      env: which stays as it is.
      autoreset: "next_step", "same_step" or "disabled", as in `PixelEnv`.

    Raises:
      ConfigError: there is no such auto-reset.
    """
    if check_choice("autoreset", autoreset, AUTORESETS) == env.autoreset:
        return env
    other = copy.copy(env)
    other.autoreset = autoreset
    if other.recipe is not None:
        other.recipe = {**other.recipe, "autoreset": autoreset}
    return other


@in_float32
def with_default_params(env: PixelEnv, params: EnvParams) -> PixelEnv:
    """The same environment with other `default_params`, with which every `reset` begins that is given none.

    `PixelEnv.with_distractors` keeps those of them that are not the distractors' own.

    Args:
      env: which stays as it is.
      params: concrete; what is None or missing keeps its default.

    Raises:
      ConfigError: a parameter is unknown, or has a wrong shape or a value that is not allowed.
    """
    other = copy.copy(env)
    other._set_default_params(params)
    return other


def without_images(env: PixelEnv) -> PixelEnv:
    """The same environment, in which nothing is rendered: observations are the engine's own; they share the physics."""
    if not env.images.outputs:
        return env
    other = copy.copy(env)
    other.images = replace(env.images, outputs=())
    return other.with_distractors(())
