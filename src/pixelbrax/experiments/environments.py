"""Environments made in Python: the settings that describe them, or facts that identify them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import jax
import mujoco
import numpy as np

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.physics import SETTING, RandomFactors, RandomizationFn, model_checksums, qualified_name
from pixelbrax.tasks import CameraSpec
from pixelbrax.training import EnvConfig, clips_of, words_of

_NEWER = ("cameras of the model", "sky", "planes", "settings of the engine", "rest of the model")
"""Facts that older runs and datasets lack, and some environments: compared where both have them."""
_FACTORS = "random factors of "
_OLD_FACTORS = {"pixelbrax.physics.scales.random_factors.<locals>.randomize", "pixelbrax.physics.scales.RandomFactors"}


def config_of(env: PixelEnv) -> EnvConfig:
    """Settings that describe an environment made in Python.

    If `pixelbrax.make` made it from a task's name and plain settings, these are those settings; otherwise they describe
    what is observed, and `EnvConfig.facts` identifies the environment.
    """
    return _settings_of(env) or _facts_config(env)


def check_env(env: Any) -> PixelEnv:
    """The same; raises ConfigError if it is no environment of this package."""
    if not isinstance(env, PixelEnv):
        raise ConfigError(f"the environment is {env!r:.80}: it must come from pixelbrax.make or pixelbrax.wrap")
    return env


def check_same_env(env: PixelEnv, config: EnvConfig, run: Path) -> None:
    """Refuses an environment other than the one that a run was trained in.

    Raises:
      ConfigError: they differ, and the message names the differences; or it is none of this package.
    """
    if found := differences(config_of(check_env(env)), config):
        raise ConfigError(f"{run} was trained in another environment: {'; '.join(found)}")


def differences(given: EnvConfig, kept: EnvConfig) -> list[str]:
    """In what an environment differs from that of a run or a dataset; empty if in nothing."""
    ours, theirs = (_plain(each) for each in (given, kept))
    newer = {*_NEWER, *(name for name in ours | theirs if name.startswith(SETTING))}
    unknown = {name for name in newer if name not in ours or name not in theirs}
    return [
        f"{name} is {ours.get(name, 'not there')} instead of {theirs.get(name, 'not there')}"
        for name in dict.fromkeys([*theirs, *ours])
        if name not in unknown and not _equal(ours.get(name), theirs.get(name))
    ]


def _settings_of(env: PixelEnv) -> EnvConfig | None:
    """The settings of an environment that `make` made, if all of them are text or numbers."""
    settings = {name: value for name, value in (env.recipe or {}).items() if value is not None}
    source = settings.pop("source", None)
    known = {field.name for field in fields(EnvConfig)} - {"task", "obs", "facts", "randomization", "physics_settings"}
    if not isinstance(source, str) or ("/" not in source and Path(source).suffix):
        return None
    outputs = env.images.outputs
    settings.pop("outputs", None)
    if outputs not in ((), ("pixels",)) or len(env.cameras) > 1 or not known >= set(settings):
        return None
    if isinstance(weights := settings.get("reward_weights"), Mapping):
        settings["reward_weights"] = words_of(weights)
    if isinstance(names := settings.get("distractors", ()), str):
        settings["distractors"] = (names,)
    else:
        settings["distractors"] = tuple(names) if isinstance(names, list | tuple) else names
    if isinstance(camera := settings.get("camera"), int) and not isinstance(camera, bool):
        settings["camera"] = str(camera)
    kinds = {"camera": str, "backend": str, "physics": str, "distractors": tuple, "reward_weights": tuple}
    if not all(isinstance(settings[name], kind) for name, kind in kinds.items() if name in settings):
        return None
    if not all(isinstance(name, str) for name in settings["distractors"]):
        return None
    if not all(isinstance(v, int) for k, v in settings.items() if k not in kinds):
        return None
    return EnvConfig(task=source, obs="pixels" if outputs else "state", **settings).resolved()


def _facts_config(env: PixelEnv) -> EnvConfig:
    height, _ = env.images.shape
    return EnvConfig(
        task=_label(env),
        image_size=height,
        frame_stack=env.images.frame_stack,
        action_repeat=env.action_repeat,
        episode_length=env.episode_length,
        obs="pixels" if env.images.outputs else "state",
        grayscale=env.images.grayscale,
        shadows=env.images.shadows,
        reflections=env.images.reflections,
        tendons=env.images.tendons,
        samples=env.images.samples,
        facts=tuple(f"{name}: {value}" for name, value in _facts(env).items()),
    )


def _label(env: PixelEnv) -> str:
    """A name for people."""
    source = (env.recipe or {}).get("source")
    if isinstance(source, str | Path):
        return Path(source).stem if Path(source).suffix else str(source)
    named = getattr(env.physics, "facts", {}).get("environment", "").rpartition(".")[2]
    model = env.physics.mj_model.names.split(b"\0")[0].decode(errors="replace")
    unnamed = "" if model in ("", "MuJoCo Model") else model
    return named or unnamed or type(env.physics).__name__


def _facts(env: PixelEnv) -> dict[str, str]:
    """Facts that identify an environment, by names for people."""
    physics, images = env.physics, env.images
    sizes = dict.fromkeys(f"{height}x{width}" for _, (height, width) in images.shapes)
    model = physics.mj_model
    own: dict[str, str] = getattr(physics, "facts", {})
    channels = "gray" if images.grayscale else "RGB"
    facts = {"physics": qualified_name(physics), **own}
    known, rest = model_checksums(model)
    facts["model"] = f"{model.nbody} bodies, {model.ngeom} geoms, {model.nu} actuators, sha256 {known}"
    facts["rest of the model"] = f"sha256 {rest}"
    facts["observation"] = f"{' and '.join(sizes)} {channels}" if images.outputs else "states"
    facts["outputs"] = ", ".join(images.outputs) or "none"
    facts["cameras"] = ", ".join(env.cameras)
    if posed := {name: view for name, view in env.views.items() if not isinstance(view, str | int | np.integer)}:
        facts["camera poses"] = f"sha256 {_checksum(posed)}"
    if images.outputs:
        facts |= _facts_of_images(env)
    if env.recipe is not None:
        facts["settings of the engine"] = _engine_settings(env.recipe)
    facts["action_size"] = str(env.action_size)
    facts["state_size"] = str(env.observation_spec["state"].shape[0])
    facts["seconds per action"] = f"{env.dt:.6g}"
    if weights := env.default_params.reward_weights:
        facts["reward_weights"] = ", ".join(f"{name} {value:g}" for name, value in sorted(weights.items()))
    if env.autoreset != "next_step":
        facts["autoreset"] = env.autoreset
    if env.randomization_fn is not None:
        facts["randomization_fn"] = _described(env.randomization_fn)
    if members := env.distractors.distractors:
        facts["distractors"] = f"{', '.join(_names(members))}, sha256 {_distractor_checksum(members)}"
    params = env.default_params
    if (changed := _checksum(params.distractors)) != _checksum(env.distractors.params):
        facts["parameters of distractors"] = f"sha256 {changed}"
    if ranges := {name: float(share) for name, share in params.randomization.items() if share != 1}:
        facts["ranges of randomization"] = ", ".join(f"{name} {share:g}" for name, share in sorted(ranges.items()))
    return facts


def _facts_of_images(env: PixelEnv) -> dict[str, str]:
    """What images show that neither the model tells nor the poses of cameras."""
    scene, model, facts = env.scene, env.physics.mj_model, {}
    if named := [view for view in env.views.values() if isinstance(view, str | int | np.integer)]:
        cameras = [model.camera(view if isinstance(view, str) else int(view)) for view in named]
        facts["cameras of the model"] = ", ".join(camera.name or str(camera.id) for camera in cameras)
    colors = [" ".join(f"{part:.3g}" for part in color) for color in np.asarray(scene.sky_rgb).tolist()]
    facts["sky"] = " to ".join(colors) if scene.sky_texture < 0 else "a texture"
    sizes = np.asarray(scene.geom_size)[np.array(scene.geom_type) == mujoco.mjtGeom.mjGEOM_PLANE]
    planes = [f"{x:.3g} x {y:.3g} m" if x or y else "infinite" for x, y, _ in sizes.tolist()]
    facts["planes"] = ", ".join(planes) or "none"
    return facts


def _engine_settings(recipe: Mapping[str, Any]) -> str:
    """What `pixelbrax.make` was given as `physics`, without functions and `control_dt`, which other facts tell."""
    given = recipe.get("physics") or {}
    given = {given: True} if isinstance(given, str) else given
    plain = {name: value for name, value in given.items() if isinstance(value, str | int | float | tuple | list)}
    plain.pop("control_dt", None)
    return ", ".join(f"{name}={plain[name]}" for name in sorted(plain)) or "none"


def _described(function: RandomizationFn) -> str:
    """A function's name, or the ranges of random factors."""
    if not isinstance(function, RandomFactors):
        return qualified_name(function)
    return _FACTORS + ", ".join(f"{name} {half:g}" for name, half in function.ranges)


def _checksum(tree: Any) -> str:
    """Checksum of a pytree's numbers and structure, or of what can be written of it."""
    leaves, structure = jax.tree.flatten(tree)
    parts = [repr(x) if isinstance(x, CameraSpec) else np.asarray(x).tobytes().hex() for x in leaves]
    return hashlib.sha256(repr([str(structure), parts]).encode()).hexdigest()[:12]


def _names(distractors: Sequence[Any]) -> list[str]:
    """Class names of distractors; composed ones are listed one by one."""
    inner = [(each, getattr(each, "distractors", None)) for each in distractors]
    return [name for each, several in inner for name in (_names(several) if several else [type(each).__name__])]


def _distractor_checksum(distractors: Sequence[Any]) -> str:
    """Checksum of all settings of distractors, and of their clips."""

    def plain(value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            each = {f.name: plain(getattr(value, f.name)) for f in fields(value)}
            return [type(value).__name__, {name: x for name, x in each.items() if x is not None}]
        if isinstance(value, tuple | list):
            return [plain(item) for item in value]
        return repr(value) if isinstance(value, str | int | float | bool) else None

    clips = [clips_of(each) for each in distractors]
    return hashlib.sha256(repr([plain(tuple(distractors)), clips]).encode()).hexdigest()[:12]


def _plain(config: EnvConfig) -> dict[str, Any]:
    """Settings and facts in one table; a fact replaces a setting of the same name."""
    settings = {f.name: getattr(config, f.name) for f in fields(config) if f.name not in ("facts", "distractors")}
    facts = dict(fact.split(": ", 1) for fact in config.facts)
    settings = {name: value for name, value in settings.items() if value not in (None, "")}
    return settings | {"distractors": " + ".join(config.distractors) or "none"} | facts


def _equal(a: Any, b: Any) -> bool:
    """Whether two facts are equal; a script's function has another module name when the script is imported.

    Older versions kept no ranges of random factors, but the name of what scaled them, and not what a partial function
    is given.
    """
    if {a, b} & _OLD_FACTORS:
        return all(isinstance(x, str) and (x in _OLD_FACTORS or x.startswith(_FACTORS)) for x in (a, b))
    if not (isinstance(a, str) and isinstance(b, str)):
        return a == b
    (a, given), (b, other) = (each.partition("(")[::2] for each in (a, b))
    if given and other and given != other:
        return False
    if "__main__" in (a.split(".")[0], b.split(".")[0]):
        return a.rpartition(".")[2] == b.rpartition(".")[2]
    return a == b
