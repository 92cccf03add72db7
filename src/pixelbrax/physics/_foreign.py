"""Environments of Brax and MuJoCo Playground: checks, and their states as `PhysicsState`."""

import copy
import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pixelbrax.errors import ConfigError
from pixelbrax.physics._functions import called
from pixelbrax.physics.base import PhysicsState, check_default_prng

_DOES = {
    "AutoResetWrapper": "resets itself",
    "BraxAutoResetWrapper": "resets itself",
    "EpisodeWrapper": "ends by time",
    "EvalWrapper": "counts episodes",
    "VmapWrapper": "is vectorized",
    "DomainRandomizationVmapWrapper": "is vectorized",
    "BraxDomainRandomizationVmapWrapper": "is vectorized",
}
"""Wrappers of Brax (`brax.envs.wrappers.training`) and Playground (`wrapper`) that do the work of `PixelEnv`."""
_SCALARS = ("reward", "done")
SETTING = "setting "  # before its name among the facts of a `Physics`
_LIBRARIES = ("brax", "mujoco_playground")
_TRACES = {"truncation": "ends by time", "first_pipeline_state": "resets itself", "first_obs": "resets itself"}
"""Entries that such wrappers, and users' copies of them, leave in a state's `info`."""


def refuse_wrappers(env: Any) -> None:
    """Rejects environments with a wrapper, at any depth, that resets, times or vectorizes them.

    A time limit would appear as termination, and an episode's last image would be the first of the next.

    Raises:
      ConfigError: there is such a wrapper; the message says how to wrap the inner environment.
    """
    chain = list(_chain(env))
    for layer in chain:
        for kind in type(layer).__mro__:
            if kind.__module__.split(".")[0] in _LIBRARIES and kind.__name__ in _DOES:
                raise ConfigError(_refusal(f"{_name(layer, kind)} {_DOES[kind.__name__]}", chain))


def made_from(kind: type, /, *args: Any, **settings: Any) -> Hashable:
    """What tells environments of one class, arguments and settings from others; None if one of them is not hashable."""
    functions = kind.reset, kind.step  # which a notebook may replace  # pyright: ignore[reportAttributeAccessIssue]
    named = [part for name in sorted(settings) for part in (name, settings[name])]
    key = (kind, functions, *((type(value), value) for value in (*args, *named)))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def settings_of(env: Any, apart: Iterable[str]) -> dict[str, str]:
    """The numbers that an environment and its wrappers keep as attributes, as their constructors' settings; for people.

    Args:
      env: the environment.
      apart: names of those that are told elsewhere.
    """
    found: dict[str, Any] = {}
    for layer in reversed(list(_chain(env))):
        attributes = getattr(layer, "__dict__", {})
        found |= {name.lstrip("_"): value for name, value in attributes.items() if _are_numbers(value)}
    return {f"{SETTING}{name}": str(found[name]) for name in sorted(found.keys() - set(apart))}


def _are_numbers(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, tuple) and all(map(_are_numbers, value)))


def state_spec(env: Any, action_size: int) -> Any:
    """Shapes and dtypes of an environment's states after a step.

    Args:
      env: has `reset(key)` and `step(state, action)`; they are traced, not run.
      action_size: length of an action.

    Raises:
      ConfigError: `reset` or `step` fails, their states differ in structure, or the environment resets, times or
        vectorizes itself; or JAX's default PRNG is another than the engines know.
    """
    check_default_prng()
    name, chain = type(env).__name__, list(_chain(env))
    key = jax.ShapeDtypeStruct((2,), jnp.uint32)
    first = called(f"{name}.reset(key) -> state", env.reset, key)
    for field in _SCALARS:
        if not hasattr(first, field):
            raise ConfigError(f"{name}.reset returns a {type(first).__name__}: it must return a state with {field!r}")
        if (shape := jnp.shape(getattr(first, field))) != ():
            raise ConfigError(_refusal(f"{name} is vectorized: its {field!r} has shape {shape}", chain))
    if traces := [_TRACES[key] for key in first.info if key in _TRACES]:
        raise ConfigError(_refusal(f"{name} {traces[0]}", chain))
    _check_parts(name, first)
    action = jax.ShapeDtypeStruct((action_size,), jnp.float32)
    spec = called(f"{name}.step(state, action) -> state", env.step, first, action)
    _check_structure(name, first, spec)
    for field in _SCALARS:
        leaf = getattr(spec, field)
        if leaf.shape != () or jnp.issubdtype(leaf.dtype, jnp.complexfloating):
            raise ConfigError(
                f"{name}.step returns a {field!r} of {leaf.dtype} and shape {leaf.shape}: it must be one real number, "
                "of shape ()"
            )
    return spec


def physics_state(state: Any, spec: Any) -> PhysicsState:
    """A state of Brax or Playground as `PhysicsState`.

    Args:
      state: after a reset or a step.
      spec: shapes and dtypes after a step, to which the state is cast; after a reset some differ.
    """
    state = jax.tree.map(lambda x, spec: jnp.broadcast_to(x, spec.shape).astype(spec.dtype), state, spec)
    return PhysicsState(
        engine_state=state,
        obs=observation_vector(state.obs),
        reward=state.reward.astype(jnp.float32),
        terminated=state.done > 0,
        metrics={name: value.astype(jnp.float32) for name, value in state.metrics.items()},
    )


def observation_vector(obs: Any) -> Float[Array, " obs_size"]:
    """An observation as one vector; of a dict, its entry "state", or else all entries in sorted order."""
    if isinstance(obs, Mapping):
        obs = obs["state"] if "state" in obs else jnp.concatenate([jnp.ravel(obs[key]) for key in sorted(obs)])
    return (obs if obs.ndim == 1 else jnp.ravel(obs)).astype(jnp.float32)


def copied(env: Any, change: Callable[[Any], None]) -> Any:
    """A copy of an environment and of all its wrappers, with `change` applied to the copy of the innermost.

    Methods that an environment keeps among its attributes, as Playground's Cartpole its reward, become the copy's.
    """
    result = copy.copy(env)
    for name, value in vars(env).items():
        if isinstance(value, types.MethodType) and value.__self__ is env:
            setattr(result, name, types.MethodType(value.__func__, result))
    if env.unwrapped is env:
        change(result)
    else:
        result.env = copied(env.env, change)
    return result


def _chain(env: Any) -> Iterator[Any]:
    """An environment, the one it wraps, and so on inward."""
    seen: list[Any] = []
    while env is not None and not any(env is layer for layer in seen):
        seen.append(env)
        yield env
        env = getattr(env, "__dict__", {}).get("env")


def _name(layer: Any, kind: type) -> str:
    own = type(layer).__name__
    return own if type(layer) is kind else f"{own} (a {kind.__name__})"


def _refusal(what: str, chain: list[Any]) -> str:
    """The error message, with the wrappers' settings as keywords of `pixelbrax.wrap`."""
    settings = ""
    for layer in chain:
        own = getattr(layer, "__dict__", {})
        for name in ("episode_length", "action_repeat"):
            if isinstance(own.get(name), int) and f"{name}=" not in settings:
                settings += f", {name}={own[name]}"
        if "DomainRandomization" in type(layer).__name__:
            settings += ", randomization_fn=..."
    plain = type(chain[-1]).__name__
    inside = f"pixelbrax.wrap(env.unwrapped{settings})" if len(chain) > 1 else "one that does not"
    made = f"; `brax.envs.get_environment` makes a plain {plain}" if _is_brax(chain[-1]) else ""
    return f"{what}; pixelbrax.wrap takes care of that: wrap the plain environment, {inside}{made}"


def _is_brax(env: Any) -> bool:
    return type(env).__module__.startswith("brax.envs.")


def _check_parts(name: str, state: Any) -> None:
    """Refuses an observation that is no vector and no dict of vectors, and metrics that are no dict of numbers."""
    obs, metrics = state.obs, state.metrics
    entries = obs if isinstance(obs, Mapping) else {"state": obs}
    parts = [entries["state"]] if "state" in entries else list(entries.values())
    if not parts or not all(isinstance(part, jax.ShapeDtypeStruct) for part in parts):
        raise ConfigError(
            f"{name}'s obs is {_described(obs)}: it must be an array, or a dict of arrays, of which one may be 'state'"
        )
    if not isinstance(metrics, Mapping) or not all(isinstance(x, jax.ShapeDtypeStruct) for x in metrics.values()):
        raise ConfigError(f"{name}'s metrics are {_described(metrics)}: they must be a dict of arrays, {{}} for none")


def _described(part: Any) -> str:
    """The kind of a part of a state; of a dict also the kinds of its entries."""
    if isinstance(part, Mapping):
        return f"a dict of {', '.join(f'{key}: {type(x).__name__}' for key, x in part.items()) or 'nothing'}"
    return "None" if part is None else f"a {type(part).__name__}"


def _check_structure(name: str, first: Any, spec: Any) -> None:
    if jax.tree.structure(first) == jax.tree.structure(spec):
        for (path, a), b in zip(jax.tree_util.tree_leaves_with_path(first), jax.tree.leaves(spec), strict=True):
            if a.shape not in (b.shape, ()):
                leaf = jax.tree_util.keystr(path, simple=True, separator=".")
                raise ConfigError(f"{name}'s {leaf!r} has shape {a.shape} after reset, and {b.shape} after step")
        return
    given, later = (
        {
            jax.tree_util.keystr(path, simple=True, separator=".")
            for path, _ in jax.tree_util.tree_leaves_with_path(tree)
        }
        for tree in (first, spec)
    )
    alone = [f"{leaf} only after reset" for leaf in sorted(given - later)]
    alone += [f"{leaf} only after step" for leaf in sorted(later - given)]
    raise ConfigError(f"{name}'s states differ in structure after reset and step: {', '.join(alone[:4]) or 'in types'}")
