"""Environments of MuJoCo Playground, and custom `MjxEnv`s."""

import contextlib
import copy
import math
from collections.abc import Hashable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
from jaxtyping import Array, Float

from pixelbrax.errors import ConfigError, check_flag, check_keywords, check_number, warn_caller
from pixelbrax.physics._foreign import SETTING, copied, made_from, physics_state, refuse_wrappers
from pixelbrax.physics._functions import qualified_name
from pixelbrax.physics._mjx import body_pose, check_implementation, mjx, quiet_mujoco
from pixelbrax.physics._reward_weights import RewardWeights, check_weights, weights_and_spec, with_weights
from pixelbrax.physics._suite import SuiteOptions, set_masses, suite_options, use_suite_options
from pixelbrax.physics._suite_episodes import SuiteEpisodes
from pixelbrax.physics.base import PhysicsState, checked_action, raw_key
from pixelbrax.xla import check_float32, exact, in_float32


def make_playground_physics(
    name: str, implementation: str, /, suite: bool = False, **config: Any
) -> "PlaygroundPhysics":
    """A task of the DeepMind Control Suite in MuJoCo Playground.

    Args:
      name: Playground's name, such as "CheetahRun".
      implementation: MJX's "jax", or "warp" on an NVIDIA GPU.
      suite: simulate as the suite does, with its integrator, timestep, solver iterations and so on (`_suite.py`), and
        begin, reward and observe as it does (`_suite_episodes.py`).
      **config: overrides of the task's configuration. Its `action_repeat` and `episode_length` are read by Playground's
        training wrappers alone: giving them is a warning.

    Raises:
      ConfigError: Playground is not installed, or has no such task, implementation or setting; or a setting has a wrong
        type, or `ctrl_dt` is no multiple of `sim_dt`.
    """
    check_implementation(implementation)
    try:
        from mujoco_playground import dm_control_suite
    except ImportError as e:
        raise ConfigError(f"MuJoCo Playground cannot be imported ({e}): pip install 'pixelbrax[playground]'") from e
    if name not in dm_control_suite.ALL_ENVS:  # pyright: ignore
        raise ConfigError(f"MuJoCo Playground has no environment {name!r} in its control suite")
    defaults = dm_control_suite.get_default_config(name)
    known = ["suite", *(key for key, _ in _flat(defaults) if key != "impl")]
    check_keywords(f"the physics of Playground's {name!r}", config, known)
    options = suite_options(name) if check_flag("the physics' suite", suite) else None
    if options is not None:
        if implementation != "jax":
            raise ConfigError(f"physics='suite' runs on the backend 'jax', not on {implementation!r}")
        if "sim_dt" in config:
            raise ConfigError("physics='suite' sets sim_dt: leave out one of the two")
        config["sim_dt"] = options.timestep
    _check_times({key: config.get(key, defaults[key]) for key in ("ctrl_dt", "sim_dt")})
    for key in _OF_WRAPPERS.intersection(config):
        warn_caller(f"the physics' {key} changes nothing: give it as make(..., {key}={config[key]!r})")
    with quiet_mujoco(), _old_names_of_mujoco():
        try:
            env = dm_control_suite.load(name, config_overrides={"impl": implementation, **config})
        except (TypeError, ValueError, NotImplementedError) as e:
            if not config:
                raise
            raise ConfigError(f"Playground's {name!r} cannot be made with {config}: {e}") from e
        made = made_from(type(env), name, implementation, suite, **config)
        if options is not None:
            use_suite_options(env, options)
            env = SuiteEpisodes(env, name)
        physics = PlaygroundPhysics(env, made=made)
        physics.mj_model = _with_the_suites_centers(physics.mj_model, suite_options(name))
        physics.moves_targets = options is None and physics.mj_model.nmocap > 0
    return physics


_OF_WRAPPERS = frozenset(("action_repeat", "episode_length"))
_TOLD = ("impl", "reward_config.scales", "vision_config", *sorted(_OF_WRAPPERS))  # elsewhere, or they change nothing


def _check_times(times: dict[str, Any]) -> None:
    """Refuses an action that lasts no whole number of time steps: Playground would round, and its `dt` be untrue.

    Args:
      times: seconds of an action (ctrl_dt) and of a time step (sim_dt).
    """
    ctrl_dt, sim_dt = (check_number(f"the physics' {key}", times[key], above=0) for key in ("ctrl_dt", "sim_dt"))
    substeps = round(ctrl_dt / sim_dt)
    if substeps < 1 or not math.isclose(substeps * sim_dt, ctrl_dt, rel_tol=1e-3):
        raise ConfigError(f"the physics' ctrl_dt is {ctrl_dt:g} s: it must be a multiple of its sim_dt, {sim_dt:g} s")


def _with_the_suites_centers(model: mujoco.MjModel, options: SuiteOptions) -> mujoco.MjModel:
    """A copy for rendering, in which cameras that follow a center of mass are where the suite's are.

    The suite's targets belong to the world and have no mass. Playground makes them bodies, whose mass affects only that
    center: the fish was outside the image in one episode of eight. Its torso weighs four times the suite's.
    """
    model = copy.copy(model)
    targets = model.body_mocapid >= 0
    model.body_mass[targets] = 0.0
    set_masses(model, options)
    if targets.any() or options.mass:
        mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _flat(config: Any) -> list[tuple[str, Any]]:
    """A configuration's settings by their names; nested ones as "part.name"."""
    found = []
    for name, value in config.items():
        inner = [(f"{name}.{key}", each) for key, each in _flat(value)] if hasattr(value, "items") else [(name, value)]
        found += inner
    return found


@contextlib.contextmanager
def _old_names_of_mujoco() -> Iterator[None]:
    """Lets Playground 0.2's reacher load, which compares versions as strings, so that 3.17 is before 3.3.

    Remove when: a Playground release compares them as numbers, or no longer calls `MjSpec.find_body`.
    """
    if hasattr(mujoco.MjSpec, "find_body"):
        yield
        return
    mujoco.MjSpec.find_body = lambda self, name: self.body(name)
    try:
        yield
    finally:
        del mujoco.MjSpec.find_body


class PlaygroundPhysics:
    """An `MjxEnv` as `Physics`."""

    cheap_reset = False  # some simulate hundreds of steps until the body is at rest
    moves_targets = False  # whether `reset` moves a mocap target after `mjx.forward`, so that it observes the old place

    @in_float32
    def __init__(self, env: Any, *, made: Hashable = None):
        """Takes a `mujoco_playground.MjxEnv`.

        Args:
          env: the environment.
          made: as for `BraxPhysics`.

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
        self.reward_weights: dict[str, float]
        self.reward_weights, self._spec = weights_and_spec(env, self.action_size, made)

    @property
    def facts(self) -> dict[str, str]:
        """The engine, the environment's class and its configuration but reward weights, human-readable."""
        base = self._env.unwrapped
        return {
            "engine": f"MJX ({self._env.mjx_model.impl.value})",
            "environment": qualified_name(base),
            **{f"{SETTING}{name}": str(value) for name, value in _flat(base._config) if not name.startswith(_TOLD)},
        }

    @property
    def model(self) -> Any:
        """MJX's model."""
        return self._env.mjx_model

    def with_model(self, model: Any) -> "PlaygroundPhysics":
        """See `Physics.with_model`."""
        # Playground's own randomization replaces the same attribute.
        return self._with_env(copied(self._env, lambda base: setattr(base, "_mjx_model", model)))

    def with_reward_weights(self, weights: RewardWeights) -> "PlaygroundPhysics":
        """See `Physics.with_reward_weights`."""
        weights = check_weights(type(self._env.unwrapped).__name__, weights, self.reward_weights)
        return self._with_env(with_weights(self._env, weights))

    def _with_env(self, env: Any) -> "PlaygroundPhysics":
        other = copy.copy(self)
        other._env = env
        return other

    @exact
    def reset(self, key: Array) -> PhysicsState:
        """See `Physics.reset`."""
        state = self._env.reset(raw_key(key))
        if self.moves_targets:
            data = mjx.forward(self._env.mjx_model, state.data)
            state = state.replace(obs=self._env._get_obs(data, state.info))
        return physics_state(state, self._spec)

    @exact
    def step(self, state: PhysicsState, action: Float[Array, " action_size"]) -> PhysicsState:
        """See `Physics.step`."""
        return physics_state(self._env.step(state.engine_state, checked_action(action, self.action_size)), self._spec)

    def coordinates(self, state: PhysicsState) -> Float[Array, " n"]:
        """See `Physics.coordinates`."""
        return jnp.concatenate([state.engine_state.data.qpos, state.engine_state.data.qvel])

    @exact
    def body_pose(self, state: PhysicsState) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]]:
        """See `Physics.body_pose`."""
        return body_pose(self.mj_model, self._env.mjx_model, state.engine_state.data)
