"""Environments of Brax on any of its backends: those of `brax.envs`, and custom ones."""

import contextlib
import importlib
import inspect
import warnings
from collections.abc import Hashable, Iterator
from typing import Any, cast

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.errors import ConfigError, check_count, check_flag, check_keywords, warn_caller
from pixelbrax.physics._foreign import copied, made_from, physics_state, refuse_wrappers, settings_of
from pixelbrax.physics._functions import qualified_name
from pixelbrax.physics._mjx import body_pose, quiet_mujoco
from pixelbrax.physics._reward_weights import RewardWeights, check_weights, weights_and_spec, with_weights
from pixelbrax.physics.base import PhysicsState, checked_action, raw_key
from pixelbrax.physics.scales import OF_VECTORS
from pixelbrax.xla import by_component, check_float32, exact, in_float32

with warnings.catch_warnings():  # Brax warns that it is no longer maintained
    warnings.simplefilter("ignore")
    from brax import envs as brax_envs
    from brax import math as brax_math
    from brax.envs.base import PipelineEnv
    from brax.io import mjcf as brax_mjcf  # noqa: F401  (for `load_system`)

    from pixelbrax.physics._brax_patches import patched

BACKENDS = (*OF_VECTORS, "generalized", "mjx")


@contextlib.contextmanager
def quiet_brax() -> Iterator[None]:
    """Suppresses the warnings of Brax (no longer maintained) and of MuJoCo when a system is loaded."""
    with warnings.catch_warnings(), quiet_mujoco():
        warnings.simplefilter("ignore")
        yield


def make_brax_physics(name: str, backend: str, /, **kwargs: Any) -> "BraxPhysics":
    """The environment `name` of `brax.envs` on a backend.

    Args:
      name: a name in `brax.envs`'s registry, such as "halfcheetah".
      backend: one of `BACKENDS`.
      **kwargs: passed to the Brax environment's constructor.

    Raises:
      ConfigError: Brax has no such environment, backend or setting.
    """
    if backend not in BACKENDS:
        raise ConfigError(f"unknown backend {backend!r}: Brax has {', '.join(BACKENDS)}")
    try:
        kind = brax_envs._envs[name]
    except KeyError as e:
        raise ConfigError(f"Brax has no environment {name!r}") from e
    _check_settings(f"the physics of Brax's {name!r}", kind, kwargs)
    with quiet_brax():
        try:
            made = made_from(kind, backend, **kwargs)
            return BraxPhysics(kind(backend=backend, **kwargs), made=made)
        except (TypeError, NotImplementedError) as e:
            if not kwargs:
                raise
            raise ConfigError(f"Brax's {name!r} cannot be made with {kwargs}: {e}") from e


def _check_settings(what: str, kind: Any, given: dict[str, Any]) -> None:
    """Refuses settings that Brax would take for others: unknown ones, numbers of frames below 1, text for a bool, NaN.

    Args:
      what: whose settings they are, for messages.
      kind: class of the environment.
      given: keywords of its constructor.
    """
    check_keywords(what, given, _settings_of(kind))
    defaults = {parameter.name: parameter.default for parameter in inspect.signature(kind).parameters.values()}
    for name, value in given.items():
        if name == "n_frames":
            check_count(f"{what}: n_frames", value)
        elif isinstance(defaults.get(name, False), bool):  # debug has no default here
            if not (isinstance(value, int) and value in (0, 1)):  # as earlier runs may have it, and Brax reads it
                check_flag(f"{what}: {name}", value)
        elif any(isinstance(x, float | np.floating) and np.isnan(x) for x in jax.tree.leaves(value)):
            raise ConfigError(f"{what}: {name} is {value!r:.80}: it must be a number")


def _settings_of(kind: Any) -> list[str]:
    """Keywords of a Brax environment's constructor, except the backend."""
    parameters = inspect.signature(kind).parameters.values()
    names = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "backend"]
    return names + ["n_frames", "debug"] * (len(names) + 1 < len(parameters))  # passed on to Brax's PipelineEnv


_NUMERICS = {
    "constraint_stiffness": 8000,
    "constraint_limit_stiffness": 2500,
    "constraint_vel_damping": 50,
    "constraint_ang_damping": 10,
    "spring_mass_scale": 0.5,
    "spring_inertia_scale": 1,
}
"""The `<custom>` numerics that Brax's "spring" and "positional" engines need most, with values to start from, which
lie between those of Brax's own models (ant, halfcheetah, humanoid, ...)."""
_DEFAULTS = (2000, 1000, 0, 0, 0, 0)  # the defaults of `brax.io.mjcf`, in the same order


def _warn_of_missing_numerics(env: PipelineEnv) -> None:
    if env.backend not in OF_VECTORS:
        return
    link, sys = env.sys.link, env.sys
    values = [getattr(link if name.startswith("constraint") else sys, name) for name in _NUMERICS]
    if all(np.all(np.asarray(value) == default) for value, default in zip(values, _DEFAULTS, strict=True)):
        numerics = "".join(f'<numeric name="{name}" data="{value}"/>' for name, value in _NUMERICS.items())
        warn_caller(
            f"{type(env).__name__}'s model has none of the <custom> numerics that Brax's {env.backend!r} engine needs: "
            f"without them its bodies may fly apart. Begin with <custom>{numerics}</custom> in its MJCF and tune them, "
            'or use backend="mjx" or "generalized"'
        )


class BraxPhysics:
    """A Brax environment as `Physics`."""

    cheap_reset = True

    @in_float32
    def __init__(self, env: Any, componentwise: bool | None = None, *, made: Hashable = None):
        """Takes a `brax.envs.Env`, also inside wrappers that do not reset, time or vectorize it.

        On "spring" and "positional" it warns if the system has none of Brax's own `<custom>` numerics: without them
        joints are loose, and bodies fly apart. It warns of reward weights that cannot be data.

        Args:
          env: the environment.
          componentwise: rewrite its steps for GPUs (`xla.by_component`); by default on a GPU, if the engine computes on
            small vectors.
          made: hashable; environments with an equal one are alike, and only the first is traced.

        Raises:
          ConfigError: it is not a Brax environment whose system was loaded from MJCF; it was made in double precision;
            it fails; or it resets, times or vectorizes itself.
        """
        refuse_wrappers(env)
        base = getattr(env, "unwrapped", env)
        if not isinstance(base, PipelineEnv) or base.sys.mj_model is None:
            raise ConfigError(
                f"{type(base).__name__} cannot be rendered: it must be a brax.envs.base.PipelineEnv "
                "whose system was loaded from MJCF"
            )
        check_float32(type(base).__name__, base.sys)
        _warn_of_missing_numerics(base)
        if componentwise is None:
            componentwise = jax.default_backend() == "gpu" and env.unwrapped.backend in OF_VECTORS
        self._componentwise = componentwise
        self._use(env)
        self.mj_model: mujoco.MjModel = self._base.sys.mj_model
        self.action_size: int = env.action_size
        self.dt = float(self._base.dt)
        self.reward_weights: dict[str, float]
        with patched(self._base):
            self.reward_weights, self._spec = weights_and_spec(env, self.action_size, made)

    @property
    def facts(self) -> dict[str, str]:
        """The engine, the environment's class and its settings but reward weights, human-readable."""
        return {
            "engine": f"Brax {self._base.backend}",
            "environment": qualified_name(self._base),
            **settings_of(self._env, self.reward_weights),
        }

    @property
    def metric_bounds(self) -> dict[str, tuple[float, float]]:
        """The least and the largest value of metrics, by name, as far as the environment knows them."""
        return dict(getattr(self._base, "metric_bounds", {}))

    @property
    def backend(self) -> str:
        """Brax's engine, one of `BACKENDS`."""
        return self._base.backend

    @property
    def model(self) -> Any:
        """The Brax system."""
        return self._base.sys

    def with_model(self, model: Any) -> "BraxPhysics":
        """See `Physics.with_model`."""
        return self._with_env(copied(self._env, lambda base: setattr(base, "sys", model)))

    def with_reward_weights(self, weights: RewardWeights) -> "BraxPhysics":
        """See `Physics.with_reward_weights`."""
        weights = check_weights(type(self._base).__name__, weights, self.reward_weights)
        return self._with_env(with_weights(self._env, weights))

    def _with_env(self, env: Any) -> "BraxPhysics":
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._use(env)
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Without compiled functions, and with Brax's engine by its name: it is a module, which pickles refuse."""
        state = {name: value for name, value in vars(self).items() if name not in ("_base", "_step")}
        named = copied(self._env, lambda base: setattr(base, "_pipeline", base._pipeline.__name__))
        return state | {"_env": named}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        loaded = copied(self._env, lambda base: setattr(base, "_pipeline", importlib.import_module(base._pipeline)))
        self._use(loaded)

    def _use(self, env: Any) -> None:
        self._env: Any = env
        self._base = cast(PipelineEnv, env.unwrapped)
        # Rewriting takes seconds; `jax.jit` caches the result.
        self._step = jax.jit(by_component(env.step)) if self._componentwise else env.step

    @exact
    def reset(self, key: Array) -> PhysicsState:
        """See `Physics.reset`."""
        with patched(self._base):
            return physics_state(self._env.reset(raw_key(key)), self._spec)

    @exact
    def step(self, state: PhysicsState, action: Float[Array, " action_size"]) -> PhysicsState:
        """See `Physics.step`."""
        with patched(self._base):
            return physics_state(self._step(state.engine_state, checked_action(action, self.action_size)), self._spec)

    def coordinates(self, state: PhysicsState) -> Float[Array, " n"]:
        """See `Physics.coordinates`."""
        pipeline = state.engine_state.pipeline_state
        return jnp.concatenate([pipeline.q, pipeline.qd])

    @exact
    def body_pose(self, state: PhysicsState) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]]:
        """See `Physics.body_pose`. Brax's links are MuJoCo's bodies without the world, which is added in front.

        On "mjx" Brax keeps the links' poses of before the last integration: they are computed anew.
        """
        pipeline = state.engine_state.pipeline_state
        if self.backend == "mjx":
            return body_pose(self._base.sys.mj_model, self.model, pipeline)  # `mj_model` may show more bodies
        links = pipeline.x
        pos = jnp.concatenate([jnp.zeros((1, 3)), links.pos])
        mat = jnp.concatenate([jnp.eye(3)[None], jax.vmap(brax_math.quat_to_3x3)(links.rot)])
        return pos, mat
