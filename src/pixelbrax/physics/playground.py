"""Environments of MuJoCo Playground, and anyone's own `MjxEnv`."""

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
from jaxtyping import Array, Float

from pixelbrax.errors import ConfigError, check_flag, check_keywords
from pixelbrax.physics.base import PhysicsState, checked_action, exact, raw_key
from pixelbrax.physics.foreign import observation_vector, refuse_wrappers, state_spec
from pixelbrax.physics.mjx import body_pose, check_implementation, quiet_mujoco
from pixelbrax.physics.suite import suite_options, use_suite_options
from pixelbrax.precision import check_float32, in_float32


def make_playground_physics(name: str, implementation: str, suite: bool = False, **config: Any) -> "PlaygroundPhysics":
    """A task of the DeepMind Control Suite in MuJoCo Playground.

    Args:
      name: Playground's name, such as "CheetahRun".
      implementation: MJX's "jax", or "warp" on an NVIDIA GPU.
      suite: simulate as the suite does: its integrator, time step, solver's iterations and so on (`suite.py`).
      **config: overrides of the task's configuration.

    Raises:
      ConfigError: Playground is not installed, or has no such task, implementation or setting.
    """
    check_implementation(implementation)
    try:
        from mujoco_playground import dm_control_suite
    except ImportError as e:
        raise ConfigError(f"MuJoCo Playground cannot be imported ({e}): pip install 'pixelbrax[playground]'") from e
    if name not in dm_control_suite.ALL_ENVS:  # pyright: ignore
        raise ConfigError(f"MuJoCo Playground has no environment {name!r} in its control suite")
    known = _flat_names(dm_control_suite.get_default_config(name))
    known = ["suite", *(key for key in known if key != "impl")]
    check_keywords(f"the physics of Playground's {name!r}", config, known)
    options = suite_options(name) if check_flag("the physics' suite", suite) else None
    if options is not None:
        if implementation != "jax":
            raise ConfigError(f"physics='suite' runs on the backend 'jax', not on {implementation!r}")
        if "sim_dt" in config:
            raise ConfigError("physics='suite' sets sim_dt: leave out one of the two")
        config["sim_dt"] = options.timestep
    with quiet_mujoco(), _old_names_of_mujoco():
        env = dm_control_suite.load(name, config_overrides={"impl": implementation, **config})
        if options is not None:
            use_suite_options(env, options)
        physics = PlaygroundPhysics(env)
        physics.mj_model = _with_weightless_targets(physics.mj_model)
    return physics


def _with_weightless_targets(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy for drawing, whose cameras that follow a center of mass are where the suite's are.

    The suite's targets belong to the world, and have no mass. Playground makes them bodies, whose mass changes nothing
    but that center: the fish was out of sight in every eighth episode.
    """
    model = copy.copy(model)
    targets = model.body_mocapid >= 0
    if targets.any():
        model.body_mass[targets] = 0.0
        mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _flat_names(config: Any) -> list[str]:
    """Names of a configuration's settings, those of parts as "part.name"."""
    names = []
    for name, value in config.items():
        names += [f"{name}.{inner}" for inner in _flat_names(value)] if hasattr(value, "items") else [name]
    return names


@contextlib.contextmanager
def _old_names_of_mujoco() -> Iterator[None]:
    """Lets Playground 0.2's reacher load: it takes MuJoCo 3.17 for older than 3.3, by comparing strings."""
    if hasattr(mujoco.MjSpec, "find_body"):
        yield
        return
    mujoco.MjSpec.find_body = lambda self, name: self.body(name)
    try:
        yield
    finally:
        del mujoco.MjSpec.find_body


def _with_model(env: Any, model: Any) -> Any:
    """A copy of an environment, in all its wrappers, with another model."""
    env = copy.copy(env)
    if env.unwrapped is env:
        env._mjx_model = model  # as Playground's own randomization does it
    else:
        env.env = _with_model(env.env, model)
    return env


class PlaygroundPhysics:
    """An `MjxEnv` as `Physics`."""

    cheap_reset = False  # some let the body come to rest for hundreds of steps

    @in_float32
    def __init__(self, env: Any):
        """Takes a `mujoco_playground.MjxEnv`.

        Raises:
          ConfigError: it runs on Warp, and this machine has no NVIDIA GPU; it was made in double precision; it fails;
            or it resets, times or vectorizes itself.
        """
        refuse_wrappers(env)
        if env.mjx_model.impl.value == "warp" and jax.default_backend() != "gpu":
            raise ConfigError(
                "this environment's MJX runs on Warp, which needs an NVIDIA GPU: "
                'load it with config_overrides={"impl": "jax"}'
            )
        check_float32(type(env.unwrapped).__name__, env.mjx_model)
        self._env = env
        self.mj_model: mujoco.MjModel = env.mj_model
        self.action_size: int = env.action_size
        self.dt = float(env.dt)
        self._spec = state_spec(env, self.action_size)

    @property
    def model(self) -> Any:
        """MJX's model."""
        return self._env.mjx_model

    def with_model(self, model: Any) -> "PlaygroundPhysics":
        """See `Physics.with_model`."""
        other = copy.copy(self)
        other._env = _with_model(self._env, model)
        return other

    @exact
    def reset(self, key: Array) -> PhysicsState:
        """See `Physics.reset`."""
        return self._wrap(self._env.reset(raw_key(key)))

    @exact
    def step(self, state: PhysicsState, action: Float[Array, " action_size"]) -> PhysicsState:
        """See `Physics.step`."""
        return self._wrap(self._env.step(state.data, checked_action(action, self.action_size)))

    def coordinates(self, state: PhysicsState) -> Float[Array, " n"]:
        """See `Physics.coordinates`."""
        return jnp.concatenate([state.data.data.qpos, state.data.data.qvel])

    @exact
    def body_pose(self, state: PhysicsState) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]]:
        """See `Physics.body_pose`."""
        return body_pose(self.mj_model, self._env.mjx_model, state.data.data)

    def _wrap(self, state: Any) -> PhysicsState:
        state = jax.tree.map(lambda x, spec: jnp.broadcast_to(x, spec.shape).astype(spec.dtype), state, self._spec)
        return PhysicsState(
            data=state,
            obs=observation_vector(state.obs),
            reward=state.reward.astype(jnp.float32),
            terminated=state.done > 0,
            metrics={name: value.astype(jnp.float32) for name, value in state.metrics.items()},
        )
