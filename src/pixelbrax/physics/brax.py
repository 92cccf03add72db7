"""Environments of `brax.envs`, on any of its backends, and anyone's own Brax environments."""

import contextlib
import copy
import inspect
import threading
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any, cast

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.errors import ConfigError, check_keywords
from pixelbrax.physics.base import PhysicsState, checked_action, exact, raw_key
from pixelbrax.physics.componentwise import by_component
from pixelbrax.physics.foreign import observation_vector, refuse_wrappers, state_spec
from pixelbrax.physics.mjx import quiet_mujoco
from pixelbrax.precision import check_float32, in_float32

with warnings.catch_warnings():  # Brax warns about its own upkeep
    warnings.simplefilter("ignore")
    from brax import envs as brax_envs
    from brax import fluid as brax_fluid
    from brax import math as brax_math
    from brax.envs.base import PipelineEnv, Wrapper

BACKENDS = ("spring", "positional", "generalized", "mjx")
_OF_VECTORS = ("spring", "positional")  # compute with vectors and quaternions; the others with larger matrices


@contextlib.contextmanager
def quiet_brax() -> Iterator[None]:
    """Drops what Brax says about its own upkeep when a system is loaded, and MuJoCo's warnings with it."""
    with warnings.catch_warnings(), quiet_mujoco():
        warnings.simplefilter("ignore")
        yield


def make_brax_physics(name: str, backend: str, **kwargs: Any) -> "BraxPhysics":
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
    check_keywords(f"the physics of Brax's {name!r}", kwargs, _settings_of(kind))
    with quiet_brax():
        try:
            return BraxPhysics(kind(backend=backend, **kwargs))
        except TypeError as e:
            if not kwargs:
                raise
            raise ConfigError(f"Brax's {name!r} cannot be made with {kwargs}: {e}") from e


def _settings_of(kind: Any) -> list[str]:
    """Keywords of a Brax environment's constructor, but the backend."""
    parameters = inspect.signature(kind).parameters.values()
    names = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "backend"]
    return names + ["n_frames", "debug"] * (len(names) + 1 < len(parameters))  # passed on to Brax's PipelineEnv


class _NumpyOfOldJax(ModuleType):
    """`jax.numpy` whose `clip` still knows the keywords `a_min` and `a_max`, which JAX 0.10 no longer has."""

    def __getattr__(self, name: str) -> Any:
        return getattr(jnp, name)

    @staticmethod
    def clip(x: Array, *, a_min: Any = None, a_max: Any = None) -> Array:
        return jnp.clip(x, a_min, a_max)


_FLUID_LOCK = threading.RLock()


@contextlib.contextmanager
def _fluids_on_current_jax(env: PipelineEnv) -> Iterator[None]:
    """Lets Brax 0.14.2's forces of fluids (swimmer) be traced on JAX >= 0.10; `brax.fluid` is left as it was."""
    if not env.sys.enable_fluid:
        yield
        return
    with _FLUID_LOCK:
        original, brax_fluid.jp = brax_fluid.jp, _NumpyOfOldJax("jax.numpy")
        try:
            yield
        finally:
            brax_fluid.jp = original


def _with_system(env: Any, sys: Any) -> Any:
    """A copy of an environment, in all its wrappers, with another system."""
    env = copy.copy(env)
    if isinstance(env, Wrapper):
        env.env = _with_system(env.env, sys)
    else:
        env.sys = sys
    return env


_NUMERICS = {
    "constraint_stiffness": 8000,
    "constraint_limit_stiffness": 2500,
    "constraint_vel_damping": 50,
    "constraint_ang_damping": 10,
    "spring_mass_scale": 0.5,
    "spring_inertia_scale": 1,
}
"""Of Brax's `<custom>` numerics those that its "spring" and "positional" engines need most, and values to begin with:
between those of Brax's own models (ant, halfcheetah, humanoid, ...)."""
_DEFAULTS = (2000, 1000, 0, 0, 0, 0)  # what `brax.io.mjcf` takes for those, in this order


def _warn_of_missing_numerics(env: PipelineEnv) -> None:
    if env.backend not in _OF_VECTORS:
        return
    link, sys = env.sys.link, env.sys
    values = [getattr(link if name.startswith("constraint") else sys, name) for name in _NUMERICS]
    if all(np.all(np.asarray(value) == default) for value, default in zip(values, _DEFAULTS, strict=True)):
        numerics = "".join(f'<numeric name="{name}" data="{value}"/>' for name, value in _NUMERICS.items())
        warnings.warn(
            f"{type(env).__name__}'s model has none of the <custom> numerics that Brax's {env.backend!r} engine needs: "
            f"without them its bodies may fly apart. Begin with <custom>{numerics}</custom> in its MJCF and tune them, "
            'or use backend="mjx" or "generalized"',
            stacklevel=5,  # where `wrap` is called
        )


class BraxPhysics:
    """A Brax environment as `Physics`."""

    cheap_reset = True

    @in_float32
    def __init__(self, env: Any, componentwise: bool | None = None):
        """Takes a `brax.envs.Env`, also inside wrappers that do not reset, time or vectorize it.

        On "spring" and "positional" it warns of a system that has none of Brax's own `<custom>` numerics: without them
        joints are loose, and bodies fly apart.

        Args:
          env: the environment.
          componentwise: rewrite its steps for GPUs (`componentwise.py`); by default where there is one, if the engine
            computes with small vectors.

        Raises:
          ConfigError: it is no Brax environment whose bodies have poses; it was made in double precision; it fails;
            or it resets, times or vectorizes itself.
        """
        refuse_wrappers(env)
        base = getattr(env, "unwrapped", env)
        if not isinstance(base, PipelineEnv) or base.sys.mj_model is None:
            raise ConfigError(
                f"{type(base).__name__} cannot be drawn: its physics must be a brax.envs.base.PipelineEnv "
                "whose system was loaded from MJCF"
            )
        check_float32(type(base).__name__, base.sys)
        _warn_of_missing_numerics(base)
        if componentwise is None:
            componentwise = jax.default_backend() == "gpu" and env.unwrapped.backend in _OF_VECTORS
        self._componentwise = componentwise
        self._use(env)
        self.mj_model: mujoco.MjModel = self._base.sys.mj_model
        self.action_size: int = env.action_size
        self.dt = float(self._base.dt)
        # Brax's reset and step states differ in dtypes and shapes in places; everything is cast to the step's.
        with _fluids_on_current_jax(self._base):
            self._spec = state_spec(env, self.action_size)

    @property
    def model(self) -> Any:
        """The Brax system."""
        return self._base.sys

    def with_model(self, model: Any) -> "BraxPhysics":
        """See `Physics.with_model`."""
        other = copy.copy(self)
        other._use(_with_system(self._env, model))
        return other

    def _use(self, env: Any) -> None:
        self._env: Any = env
        self._base = cast(PipelineEnv, env.unwrapped)
        # Rewriting takes seconds: `jax.jit` keeps what comes of it.
        self._step = jax.jit(by_component(env.step)) if self._componentwise else env.step

    @exact
    def reset(self, key: Array) -> PhysicsState:
        """See `Physics.reset`."""
        with _fluids_on_current_jax(self._base):
            return self._wrap(self._env.reset(raw_key(key)))

    @exact
    def step(self, state: PhysicsState, action: Float[Array, " action_size"]) -> PhysicsState:
        """See `Physics.step`."""
        with _fluids_on_current_jax(self._base):
            return self._wrap(self._step(state.data, checked_action(action, self.action_size)))

    def coordinates(self, state: PhysicsState) -> Float[Array, " n"]:
        """See `Physics.coordinates`."""
        pipeline = state.data.pipeline_state
        return jnp.concatenate([pipeline.q, pipeline.qd])

    @exact
    def body_pose(self, state: PhysicsState) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]]:
        """See `Physics.body_pose`. Brax's links are MuJoCo's bodies without the world, which is put back in front."""
        links = state.data.pipeline_state.x
        pos = jnp.concatenate([jnp.zeros((1, 3)), links.pos])
        mat = jnp.concatenate([jnp.eye(3)[None], jax.vmap(brax_math.quat_to_3x3)(links.rot)])
        return pos, mat

    def _wrap(self, state: Any) -> PhysicsState:
        state = jax.tree.map(lambda x, spec: jnp.broadcast_to(x, spec.shape).astype(spec.dtype), state, self._spec)
        return PhysicsState(
            data=state,
            obs=observation_vector(state.obs),
            reward=state.reward.astype(jnp.float32),
            terminated=state.done > 0,
            metrics={name: value.astype(jnp.float32) for name, value in state.metrics.items()},
        )
