"""Anyone's own creature: an MJCF model stepped by MJX, with a reward in JAX."""

import contextlib
import copy
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float

from pixelbrax.errors import ConfigError
from pixelbrax.physics.base import PhysicsState, checked_action, exact
from pixelbrax.physics.functions import array, called, check_like
from pixelbrax.physics.mjx import body_pose, check_implementation, mjx
from pixelbrax.precision import in_float32

Source = str | os.PathLike[str] | mujoco.MjSpec | mujoco.MjModel

RewardFn = Callable[[mjx.Data, Float[Array, " action_size"], mjx.Data], Float[Array, ""]]
TerminateFn = Callable[[mjx.Data], Bool[Array, ""]]
ResetFn = Callable[[Array, mjx.Data], mjx.Data]
ObserveFn = Callable[[mjx.Data], Float[Array, " obs_size"]]

_REWARD = "reward_fn(data before, action, data after) -> () number"
_TERMINATE = "terminate_fn(data) -> () bool"
_RESET = "reset_fn(key, data) -> mjx.Data"
_OBSERVE = "observe_fn(data) -> (obs_size,) numbers"

_NOISE = 0.01  # radians or metres, and a second: so much initial states differ unless `reset_fn` says otherwise


def load_model(source: Source) -> mujoco.MjModel:
    """The compiled model of an MJCF file, a specification, or itself.

    Raises:
      ConfigError: there is no such file, or MuJoCo cannot compile it; the message names the file and MuJoCo's reason.
    """
    if isinstance(source, mujoco.MjModel):
        return source
    if isinstance(source, mujoco.MjSpec):
        name, load = f"MjSpec {source.modelname!r}", source.compile
    else:
        path = Path(source)
        if not path.is_file():
            raise ConfigError(f"{path}: {'a folder, not an MJCF file' if path.is_dir() else 'no such file'}")
        name, load = str(path), lambda: mujoco.MjModel.from_xml_path(str(path))
    try:
        return load()
    except ValueError as e:
        raise ConfigError(f"{name}: {e}") from e


class MjcfPhysics:
    """A model and functions of its data as `Physics`.

    Actions in [-1, 1] span the control range of actuators that have one, and are the control of the others.
    """

    cheap_reset = False  # a reset solves for the initial accelerations, which is most of a step

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
        implementation: str = "jax",
    ):
        """Compiles the model and checks the functions' shapes.

        Args:
          source: MJCF file, `mujoco.MjSpec` or `mujoco.MjModel`.
          reward_fn: data before, action, data after -> () reward of the step.
          terminate_fn: data -> () bool, whether the task ends there; by default never.
          reset_fn: key, data in the first keyframe (or the model's reference pose) -> data of an initial state; by
            default a little noise is added to positions and velocities.
          observe_fn: data -> (obs_size,); by default qpos and qvel.
          control_dt: seconds an action lasts, a multiple of the model's timestep; by default one timestep.
          implementation: MJX's "jax", or "warp" on an NVIDIA GPU.

        Raises:
          ConfigError: the model or a number cannot be used; or a function cannot be called so, fails, or returns
            something else.
        """
        check_implementation(implementation)
        self.mj_model = load_model(source)
        timestep = self.mj_model.opt.timestep
        self.dt = timestep if control_dt is None else control_dt
        self._substeps = round(self.dt / timestep)
        if self._substeps < 1 or not np.isclose(self._substeps * timestep, self.dt, rtol=1e-3):
            raise ConfigError(
                f"control_dt is {control_dt}: it must be a multiple of the model's timestep {timestep:g} s"
            )
        self.action_size: int = self.mj_model.nu
        if self.action_size == 0:
            raise ConfigError("the model has no actuators: give it at least one")
        with _what_mjx_lacks():
            self.model = mjx.put_model(self.mj_model, impl=implementation)
        self._reward_fn = reward_fn
        self._terminate_fn = terminate_fn or (lambda data: jnp.array(False))
        self._reset_fn = reset_fn or self._add_noise
        self._observe_fn = observe_fn or (lambda data: jnp.concatenate([data.qpos, data.qvel]))
        start = mujoco.MjData(self.mj_model)
        if self.mj_model.nkey:
            mujoco.mj_resetDataKeyframe(self.mj_model, start, 0)
        with _what_mjx_lacks():
            self._start = mjx.put_data(self.mj_model, start, impl=implementation)
        limited = self.mj_model.actuator_ctrllimited.astype(bool)
        low, high = self.mj_model.actuator_ctrlrange.T
        self._middle = jnp.asarray(np.where(limited, (low + high) / 2, 0.0), jnp.float32)
        self._reach = jnp.asarray(np.where(limited, (high - low) / 2, 1.0), jnp.float32)
        self._check_functions()

    def with_model(self, model: Any) -> "MjcfPhysics":
        """See `Physics.with_model`."""
        other = copy.copy(self)
        other.model = model
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
        before: Any = state.data.replace(ctrl=self._middle + self._reach * action)
        after = jax.lax.fori_loop(0, self._substeps, lambda _, data: mjx.step(self.model, data), before)
        return self._state(after, self._reward_fn(before, action, after))

    def coordinates(self, state: PhysicsState) -> Float[Array, " n"]:
        """See `Physics.coordinates`."""
        return jnp.concatenate([state.data.qpos, state.data.qvel])

    @exact
    def body_pose(self, state: PhysicsState) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]]:
        """See `Physics.body_pose`."""
        return body_pose(self.mj_model, self.model, state.data)

    def _state(self, data: Any, reward: Array) -> PhysicsState:
        return PhysicsState(
            data=data,
            obs=self._observe_fn(data).astype(jnp.float32),
            reward=jnp.asarray(reward, jnp.float32),
            terminated=jnp.asarray(self._terminate_fn(data), bool),
            metrics={},
        )

    def _add_noise(self, key: Array, data: Any) -> Any:
        # Quaternions are left alone; all other coordinates are hinges, slides, or a free joint's position.
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
        with _what_mjx_lacks():
            data = jax.eval_shape(mjx.step, self.model, self._start)
        key = jax.eval_shape(lambda: jax.random.key(0))
        action = jax.ShapeDtypeStruct((self.action_size,), jnp.float32)
        array(_REWARD, called(_REWARD, self._reward_fn, data, action, data), ndim=0)
        array(_TERMINATE, called(_TERMINATE, self._terminate_fn, data), ndim=0, boolean=True)
        array(_OBSERVE, called(_OBSERVE, self._observe_fn, data), ndim=1)
        check_like(_RESET, called(_RESET, self._reset_fn, key, self._start), self._start)


@contextlib.contextmanager
def _what_mjx_lacks() -> Iterator[None]:
    try:
        yield
    except NotImplementedError as e:
        raise ConfigError(f"MJX cannot simulate the model: {e}") from e
