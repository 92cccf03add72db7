"""Your own MJCF model, simulated by MJX, with a reward in JAX."""

import copy
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float

from pixelbrax.errors import ConfigError, check_number, check_path, warn_caller
from pixelbrax.physics._compile_errors import compile_error
from pixelbrax.physics._functions import array, called, check_like, qualified_name
from pixelbrax.physics._mjx import body_pose, check_implementation, mjx
from pixelbrax.physics._reward_weights import RewardWeights, check_weights
from pixelbrax.physics.base import PhysicsState, check_default_prng, checked_action
from pixelbrax.physics.controls import control_scale
from pixelbrax.physics.first_steps import simulated_suspicions
from pixelbrax.physics.mjx_checks import check_rangefinders, ignored_by_mjx, what_mjx_lacks
from pixelbrax.physics.model_checks import check_model, reference_start, suspicions
from pixelbrax.xla import exact, in_float32

Source = str | os.PathLike[str] | mujoco.MjSpec | mujoco.MjModel

RewardFn = Callable[..., Float[Array, ""]]
TerminateFn = Callable[[mjx.Data], Bool[Array, ""]]
ResetFn = Callable[[Array, mjx.Data], mjx.Data]
ObserveFn = Callable[[mjx.Data], Float[Array, " obs_size"]]

_REWARD = "reward_fn(data before, action, data after) -> () number"
_WEIGHTED_REWARD = "reward_fn(data before, action, data after, weights) -> () number"
_TERMINATE = "terminate_fn(data) -> () bool"
_RESET = "reset_fn(key, data) -> mjx.Data"
_OBSERVE = "observe_fn(data) -> (obs_size,) numbers"

_MANY_SUBSTEPS = 1000  # of an action: more are probably of a control_dt in milliseconds
_NOISE = 0.01  # scale of the default noise of initial states: radians or meters, and those per second


def load_model(source: Source) -> mujoco.MjModel:
    """The compiled model of an MJCF file or a specification; a model is returned unchanged.

    Raises:
      ConfigError: it is none of these, there is no such file, or MuJoCo cannot compile it; the message names the file,
        the line, the element and the remedy.
    """
    if isinstance(source, mujoco.MjModel):
        return source
    path = None
    if isinstance(source, mujoco.MjSpec):
        name, load = f"MjSpec {source.modelname!r}", source.compile
    else:
        path = _existing_file(source)
        name, load = str(path), lambda: mujoco.MjModel.from_xml_path(str(path))
    try:
        return load()
    except (ValueError, mujoco.FatalError) as e:
        spec = source if isinstance(source, mujoco.MjSpec) else _parsed(path)
        raise ConfigError(compile_error(name, e, path, spec)) from e


def _existing_file(source: Any) -> Path:
    path = check_path("the model", source)
    if (text := str(path).strip()).startswith("<"):
        raise ConfigError(
            f"there is no file {text[:30]!r}...: write XML text into one, or load it by mujoco.MjSpec.from_string(text)"
        )
    try:
        missing = "" if path.is_file() else "a folder, not an MJCF file" if path.is_dir() else "no such file"
    except OSError as e:  # such as a name that is too long
        missing = f"no such file ({e.strerror})"
    if missing:
        raise ConfigError(f"{str(path)[:200]}: {missing}")
    if path.suffix.lower() == ".mjb":
        raise ConfigError(
            f"{path}: a compiled model, not an MJCF file: load it by mujoco.MjModel.from_binary_path(...)"
        )
    return path


def _parsed(path: Path | None) -> mujoco.MjSpec | None:
    """The specification in a file that cannot be compiled; None if it cannot be parsed either."""
    try:
        return mujoco.MjSpec.from_file(str(path))
    except (ValueError, mujoco.FatalError):
        return None


_RECORDED = "pixelbrax.physics.mjcf.MjcfPhysics.__init__.<locals>.<lambda>"
"""The default functions' name in `facts`, by which runs recorded them when they were local."""


class MjcfPhysics:
    """An MJCF model and functions of its data as `Physics`.

    Actions in [-1, 1] are scaled to the control range of actuators that have one, and passed to the others unchanged.

    What the functions see after a step is MuJoCo's data after `mj_step`: `qpos`, `qvel` and `act` are of its end, and
    what is computed from them (`xpos`, `site_xpos`, `sensordata`, ...) of the beginning of its last substep, of
    `timestep` seconds. Images show the end.
    """

    cheap_reset = False  # a reset solves for the initial accelerations, which costs most of a step

    @in_float32
    def __init__(
        self,
        source: Source,
        reward_fn: RewardFn,
        *,
        terminate_fn: TerminateFn | None = None,
        reset_fn: ResetFn | None = None,
        observe_fn: ObserveFn | None = None,
        control_dt: float | None = None,
        reward_weights: Mapping[str, float] | None = None,
        implementation: str = "jax",
    ):
        """Compiles and checks the model, and checks the functions by tracing them.

        What looks like a mistake in the model (see `suspicions` and `simulated_suspicions`) is a warning.

        Args:
          source: an MJCF file, a `mujoco.MjSpec` or a `mujoco.MjModel`.
          reward_fn: data before, action, data after -> () reward of the step. The `ctrl` of the data before is that
            of the previous action. With `reward_weights` it is called with a fourth argument, a dict of them.
          terminate_fn: data -> () bool, whether the episode terminates; by default never.
          reset_fn: PRNG key, data at the first keyframe (or the reference pose), with poses and sensors but without
            contacts -> data of an initial state; by default it adds a little noise to positions and velocities.
          observe_fn: data -> (obs_size,); by default qpos and qvel.
          control_dt: seconds an action lasts, a multiple of the model's timestep; by default one timestep.
          reward_weights: weights of the reward's terms by name. They can change later without recompilation.
          implementation: MJX's "jax", or "warp" on an NVIDIA GPU.

        Raises:
          ConfigError: the model or a setting is invalid; a function takes other arguments, fails, or returns
            something else; or JAX's default PRNG is another than `THREEFRY`.
        """
        check_implementation(implementation)
        check_default_prng()
        self.mj_model = copy.copy(load_model(source))  # a task's palette changes what is rendered, in place
        check_model(self.mj_model)
        timestep = self.mj_model.opt.timestep
        self.dt = timestep if control_dt is None else check_number("control_dt", control_dt, above=0)
        self._substeps = round(self.dt / timestep)
        if self._substeps < 1 or not np.isclose(self._substeps * timestep, self.dt, rtol=1e-3):
            raise ConfigError(f"control_dt={control_dt} must be a multiple of the model's timestep, {timestep:g} s")
        if self._substeps > _MANY_SUBSTEPS:
            warn_caller(
                f"control_dt={control_dt} is {self._substeps:,} time steps of {timestep:g} s: it is in seconds, and "
                "each action will take that long to simulate"
            )
        self.action_size: int = self.mj_model.nu
        start = None if reset_fn else reference_start(self.mj_model)
        if implementation == "jax":
            check_rangefinders(self.mj_model)
        ignored = ignored_by_mjx(self.mj_model) if implementation == "jax" else []
        for line in suspicions(self.mj_model, start) + simulated_suspicions(self.mj_model, self.dt, start) + ignored:
            warn_caller(line)
        with what_mjx_lacks(self.mj_model):
            self.model = mjx.put_model(self.mj_model, impl=implementation)
        self._reward_fn = reward_fn
        self.reward_weights = _checked_weights(reward_weights)
        self._weights: dict[str, Any] = dict(self.reward_weights)
        self._terminate_fn = terminate_fn or _never
        self._reset_fn = reset_fn or self._add_noise
        self._observe_fn = observe_fn or _coordinates
        with what_mjx_lacks(self.mj_model):
            self._start = mjx.put_data(self.mj_model, _first_data(self.mj_model), impl=implementation)
        self._middle, self._reach = (jnp.asarray(part) for part in control_scale(self.mj_model))
        self._check_functions()
        if terminate_fn is not None and reset_fn is None:
            self._warn_if_over()

    @property
    def facts(self) -> dict[str, str]:
        """The engine and the functions, human-readable."""
        functions = {
            "reward_fn": self._reward_fn,
            "terminate_fn": self._terminate_fn,
            "reset_fn": self._reset_fn,
            "observe_fn": self._observe_fn,
        }
        return {"engine": f"MJX ({self.model.impl.value})"} | {
            k: _RECORDED if f in (_never, _coordinates) else qualified_name(f) for k, f in functions.items()
        }

    def with_model(self, model: Any) -> "MjcfPhysics":
        """See `Physics.with_model`."""
        other = copy.copy(self)
        other.model = model
        return other

    def with_reward_weights(self, weights: RewardWeights) -> "MjcfPhysics":
        """See `Physics.with_reward_weights`."""
        other = copy.copy(self)
        other._weights = self._weights | check_weights("the MJCF model's reward_fn", weights, self.reward_weights)
        return other

    @exact
    def reset(self, key: Array) -> PhysicsState:
        """See `Physics.reset`."""
        data = mjx.forward(self.model, self._reset_fn(key, self._start))
        return self._state(data, jnp.zeros(()))

    @exact
    def step(self, state: PhysicsState, action: Float[Array, " action_size"]) -> PhysicsState:
        """See `Physics.step`."""
        action = checked_action(action, self.action_size)
        before: Any = state.engine_state
        driven = before.replace(ctrl=self._middle + self._reach * action)
        after = jax.lax.fori_loop(0, self._substeps, lambda _, data: mjx.step(self.model, data), driven)
        return self._state(after, self._reward(before, action, after))

    def coordinates(self, state: PhysicsState) -> Float[Array, " n"]:
        """See `Physics.coordinates`."""
        return jnp.concatenate([state.engine_state.qpos, state.engine_state.qvel])

    @exact
    def body_pose(self, state: PhysicsState) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]]:
        """See `Physics.body_pose`."""
        return body_pose(self.mj_model, self.model, state.engine_state)

    def _reward(self, *step: Any) -> Array:
        return self._reward_fn(*step, self._weights) if self._weights else self._reward_fn(*step)

    def _state(self, data: Any, reward: Array) -> PhysicsState:
        return PhysicsState(
            engine_state=data,
            obs=self._observe_fn(data).astype(jnp.float32),
            reward=jnp.asarray(reward, jnp.float32),
            terminated=jnp.asarray(self._terminate_fn(data), bool),
            metrics={},
        )

    def _add_noise(self, key: Array, data: Any) -> Any:
        # All coordinates except quaternions: hinges, slides, and positions of free joints.
        model = self.mj_model
        plain = np.ones(model.nq, bool)
        for kind, start in zip(model.jnt_type, model.jnt_qposadr, strict=True):
            if kind == mujoco.mjtJoint.mjJNT_FREE:
                plain[start + 3 : start + 7] = False
            elif kind == mujoco.mjtJoint.mjJNT_BALL:
                plain[start : start + 4] = False
        position_key, velocity_key = jax.random.split(key)
        qpos = data.qpos + _NOISE * plain * jax.random.uniform(position_key, (model.nq,), minval=-1.0)
        qvel = data.qvel + _NOISE * jax.random.normal(velocity_key, (model.nv,))
        return data.replace(qpos=qpos, qvel=qvel)

    def _check_functions(self) -> None:
        with what_mjx_lacks(self.mj_model):
            data = jax.eval_shape(mjx.step, self.model, self._start)
        key = jax.eval_shape(lambda: jax.random.key(0))
        action = jax.ShapeDtypeStruct((self.action_size,), jnp.float32)
        form, weights = (_WEIGHTED_REWARD, (self._weights,)) if self._weights else (_REWARD, ())
        array(form, called(form, self._reward_fn, data, action, data, *weights), ndim=0)
        array(_TERMINATE, called(_TERMINATE, self._terminate_fn, data), ndim=0, boolean=True)
        array(_OBSERVE, called(_OBSERVE, self._observe_fn, data), ndim=1)
        check_like(_RESET, called(_RESET, self._reset_fn, key, self._start), self._start)

    def _warn_if_over(self) -> None:
        """Warns if episodes end where they begin."""
        with jax.ensure_compile_time_eval():
            over = bool(self._terminate_fn(self._start))
        if over:
            warn_caller(
                "terminate_fn is True where episodes begin, in the first keyframe or the reference pose: each ends "
                "with its first step. Correct it, or begin elsewhere, by a <key qpos=.../> or a reset_fn"
            )


def _never(data: Any) -> Array:
    """The default `terminate_fn`; no local function, which could not be pickled."""
    del data
    return jnp.array(False)


def _coordinates(data: Any) -> Array:
    """The default `observe_fn`."""
    return jnp.concatenate([data.qpos, data.qvel])


def _first_data(model: mujoco.MjModel) -> mujoco.MjData:
    """Data at the first keyframe or the reference pose, with all that follows from it but contacts and constraints.

    MuJoCo may find more contacts than MJX has room for.
    """
    free, data = copy.copy(model), mujoco.MjData(model)
    free.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(free, data)
    return data


def _checked_weights(weights: Any) -> dict[str, float]:
    if weights is None:
        return {}
    if not isinstance(weights, Mapping) or not weights or not all(isinstance(name, str) for name in weights):
        raise ConfigError(f"reward_weights is {weights!r:.80}: it must be a dict of numbers, like {{'forward': 1.0}}")
    return {name: check_number(f"the reward weight {name!r}", value) for name, value in weights.items()}
