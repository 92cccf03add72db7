"""Environments of `brax.envs`, on any of its backends."""

import contextlib
import io
import warnings
from typing import Any, cast

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.errors import ConfigError
from pixelbrax.physics.base import PhysicsState

# Importing MJX without Warp prints two lines to standard output, and Brax warns about its own upkeep.
with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from brax import envs as brax_envs
    from brax import math as brax_math
    from brax.envs.base import PipelineEnv

BACKENDS = ("spring", "positional", "generalized", "mjx")


def make_brax_physics(name: str, backend: str, **kwargs: Any) -> "BraxPhysics":
    """The environment `name` of `brax.envs` on a backend.

    Args:
      name: a name in `brax.envs`'s registry, such as "halfcheetah".
      backend: one of `BACKENDS`.
      **kwargs: passed to the Brax environment's constructor.

    Raises:
      ConfigError: Brax has no such environment or backend.
    """
    if backend not in BACKENDS:
        raise ConfigError(f"unknown backend {backend!r}: Brax has {', '.join(BACKENDS)}")
    with warnings.catch_warnings(), _quiet_mujoco():
        warnings.simplefilter("ignore")
        try:
            env = brax_envs.get_environment(name, backend=backend, **kwargs)
        except KeyError as e:
            raise ConfigError(f"Brax has no environment {name!r}") from e
    return BraxPhysics(cast(PipelineEnv, env))


@contextlib.contextmanager
def _quiet_mujoco():
    """Drops MuJoCo's warnings about old attributes in Brax's own MJCF files, which it also writes to a file."""
    previous = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(previous)


class BraxPhysics:
    """A Brax environment as `Physics`."""

    def __init__(self, env: PipelineEnv):
        self._env = env
        self.mj_model: mujoco.MjModel = env.sys.mj_model
        self.action_size: int = env.action_size
        self.dt = float(env.dt)
        # Brax's reset and step states differ in dtypes and shapes in places; everything is cast to the step's.
        key = jax.ShapeDtypeStruct((2,), jnp.uint32)
        action = jax.ShapeDtypeStruct((self.action_size,), jnp.float32)
        self._spec = jax.eval_shape(env.step, jax.eval_shape(env.reset, key), action)

    def reset(self, key: Array) -> PhysicsState:
        """See `Physics.reset`."""
        return self._wrap(self._env.reset(key))

    def step(self, state: PhysicsState, action: Float[Array, " action_size"]) -> PhysicsState:
        """See `Physics.step`."""
        return self._wrap(self._env.step(state.data, action))

    def geom_pose(self, state: PhysicsState) -> tuple[Float[Array, "ngeom 3"], Float[Array, "ngeom 3 3"]]:
        """See `Physics.geom_pose`."""
        model = self.mj_model
        pos, quat = self._body_pose(state)
        pos, quat = pos[model.geom_bodyid], quat[model.geom_bodyid]
        geom_pos = jnp.asarray(model.geom_pos, jnp.float32)
        geom_quat = jnp.asarray(model.geom_quat, jnp.float32)
        xpos = pos + jax.vmap(brax_math.rotate)(geom_pos, quat)
        xmat = jax.vmap(brax_math.quat_to_3x3)(jax.vmap(brax_math.quat_mul)(quat, geom_quat))
        return xpos, xmat

    def body_xpos(self, state: PhysicsState) -> Float[Array, "nbody 3"]:
        """See `Physics.body_xpos`."""
        return self._body_pose(state)[0]

    def _body_pose(self, state: PhysicsState) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 4"]]:
        """Brax's links are MuJoCo's bodies without the world, whose pose is put back in front."""
        links = state.data.pipeline_state.x
        pos = jnp.concatenate([jnp.zeros((1, 3)), links.pos])
        identity = jnp.asarray(np.array([[1.0, 0.0, 0.0, 0.0]], np.float32))
        return pos, jnp.concatenate([identity, links.rot])

    def _wrap(self, state: Any) -> PhysicsState:
        state = jax.tree.map(lambda x, spec: jnp.broadcast_to(x, spec.shape).astype(spec.dtype), state, self._spec)
        return PhysicsState(
            data=state,
            obs=state.obs.astype(jnp.float32),
            reward=state.reward.astype(jnp.float32),
            terminated=state.done > 0,
            metrics={name: value.astype(jnp.float32) for name, value in state.metrics.items()},
        )
