"""Reward weights of environments from other libraries: where to find them, and copies with other weights.

An environment may have `reward_weights`, a dict of numbers that its `step` reads. Otherwise two conventions are known:
Brax's, attributes such as `_ctrl_cost_weight` and `_healthy_reward` (keywords of its constructors, except the
underscore), and MuJoCo Playground's, `reward_config.scales` in the configuration.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.errors import ConfigError, check_number, warn_caller
from pixelbrax.physics._foreign import copied, state_spec
from pixelbrax.physics.base import check_default_prng

RewardWeights = Mapping[str, float | Float[Array, ""]]

_ENDINGS = ("_weight", "_reward")
_TRACED: dict[Hashable, tuple[dict[str, float], Any]] = {}
# Brax 0.14.2's ant takes a contact cost weight but has no contact costs. Remove when it has them.
_NEVER_READ = {("brax.envs.ant", "_contact_cost_weight")}


def reward_weights_of(env: Any) -> dict[str, float]:
    """The weights of an environment's reward, by name; empty if none are known.

    Raises:
      ConfigError: its `reward_weights` has something else than a number under a name.
    """
    base = env.unwrapped
    if isinstance(own := getattr(base, "reward_weights", None), Mapping):
        return {name: _own_weight(type(base).__name__, name, value) for name, value in own.items()}
    if (scales := _scales(base)) is not None:
        return {name: float(value) for name, value in scales.items() if _is_number(value)}
    module = type(base).__module__
    return {
        name[1:]: float(value)
        for name, value in vars(base).items()
        if name.startswith("_") and name.endswith(_ENDINGS) and _is_number(value) and (module, name) not in _NEVER_READ
    }


def _own_weight(environment: str, name: Any, value: Any) -> float:
    which = f"{environment}.reward_weights[{name!r}]"
    if not isinstance(name, str):
        raise ConfigError(f"{which}: the name of a reward weight must be a string")
    if isinstance(value, jax.Array | np.ndarray) and value.ndim == 0:
        value = value.item()
    return check_number(which, value)


def weights_and_spec(env: Any, action_size: int, made: Hashable = None) -> tuple[dict[str, float], Any]:
    """The weights that can be data, and `state_spec`. Warns of those that cannot, because Python must know them.

    Args:
      env: the environment.
      action_size: length of an action.
      made: see `_foreign.made_from`; environments that are made alike are traced once, which takes up to two seconds.

    Raises:
      ConfigError: see `state_spec`.
    """
    if made is None:
        return _weights_and_spec(env, action_size)
    check_default_prng()
    if made not in _TRACED:
        _TRACED[made] = _weights_and_spec(env, action_size)
    weights, spec = _TRACED[made]
    return dict(weights), spec


def _weights_and_spec(env: Any, action_size: int) -> tuple[dict[str, float], Any]:
    weights = reward_weights_of(env)
    if not weights:
        return weights, state_spec(env, action_size)
    try:
        return weights, _weighted_spec(env, action_size, weights)
    except ConfigError:
        spec = state_spec(env, action_size)  # raises if the weights are not the reason

    def traces(name: str) -> bool:
        try:
            _weighted_spec(env, action_size, (name,))
        except ConfigError:
            return False
        return True

    fixed = [name for name in weights if not traces(name)] or list(weights)
    warn_caller(
        f"{type(env.unwrapped).__name__} needs the value of {', '.join(fixed)} while JAX traces it, as an `if` does: "
        "it stays as it is, and is no reward weight that can change. With jnp.where it can"
    )
    return {name: value for name, value in weights.items() if name not in fixed}, spec


def _weighted_spec(env: Any, action_size: int, names: Iterable[str]) -> Any:
    """`state_spec` with traced weights."""
    found = []

    def trace(weights: dict[str, Array]) -> None:
        found.append(state_spec(with_weights(env, weights), action_size))

    jax.eval_shape(trace, {name: jax.ShapeDtypeStruct((), jnp.float32) for name in names})
    return found[0]


def with_weights(env: Any, weights: RewardWeights) -> Any:
    """A copy of an environment and its wrappers with these reward weights; the others stay."""

    def change(base: Any) -> None:
        if isinstance(own := getattr(base, "reward_weights", None), Mapping):
            base.reward_weights = {**own, **weights}
        elif _scales(base) is not None:
            config = base._config.copy_and_resolve_references()
            with config.unlocked(), config.ignore_type():  # a traced weight is not a float
                config.reward_config.scales.update(weights)
            base._config = config
        else:
            for name, value in weights.items():
                setattr(base, f"_{name}", value)

    return copied(env, change)


def check_weights(what: str, weights: Mapping[str, Any], known: Mapping[str, float]) -> dict[str, Any]:
    """The weights as a dict.

    Args:
      what: name of the environment or function with that reward, for messages.
      weights: numbers, or () arrays, which may be traced.
      known: all weights of that reward.

    Raises:
      ConfigError: a name is unknown, or a weight is not a single number.
    """
    if not known and weights:
        raise ConfigError(f"{what} has no reward weights: leave out {next(iter(weights))!r}")
    for name, value in weights.items():
        if name not in known:
            raise ConfigError(f"{what} has no reward weight {name!r}: it has {', '.join(known)}")
        if (shape := jnp.shape(value)) != ():
            raise ConfigError(f"the reward weight {name!r} has shape {shape}: it must be a single number, of shape ()")
    return dict(weights)


def _scales(base: Any) -> Any:
    """Playground's weights, a part of its configuration, or None."""
    reward = getattr(getattr(base, "_config", None), "reward_config", None)
    return getattr(reward, "scales", None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
