"""Settings of an environment that are data: changing them does not recompile anything."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from pixelbrax.distractors import Composed
from pixelbrax.errors import ConfigError, check_keywords, check_number

MAX_EPISODE_LENGTH = 2**30  # frames; the clock is an int32


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EnvParams:
    """Settings of one environment that a compiled program takes as arguments.

    `PixelEnv.default_params` has all of them, with the values that the environment was made with. Whatever is None or
    missing in a dictionary has its default.

    Attributes:
      episode_length: () int32, frames after which an episode is truncated, 1 to 2**30. Takes effect at once: an episode
        that is already that long ends with the next step.
      reward_weights: () float32 each, weights of the task's reward, by name. Take effect at once.
      randomization: () float32 each, at least 0, the range of each model parameter that `randomization_fn` samples, by
        its name in the model: 0 keeps the model's own value, 1 is the function's range, linear in between and
        beyond. Takes effect from the next episode on. Integer parameters are never scaled.
      distractors: a tuple of the parameters of each distractor, in order (see `Distractor.params`). Those of a preset
        are {"first", "count", "members"}: the first of its levels and how many there are, () int32, and a tuple of
        the settings of its members, by name. What is sampled at an episode's first observation (levels, clips, colors)
        follows them from the next episode on; limits, speeds, shares and noise at once.
    """

    episode_length: Any = None
    reward_weights: Any = None
    randomization: Any = None
    distractors: PyTree = None


class ParamsOf:
    """An environment's parameters: their defaults and allowed values."""

    def __init__(
        self, episode_length: int, reward_weights: Mapping[str, float], randomized: list[str], distractors: Composed
    ):
        """Takes the values that the environment was made with.

        Args:
          episode_length: frames.
          reward_weights: of the task, by name.
          randomized: names of the model parameters whose range can be changed.
          distractors: prepared.
        """
        self._distractors = distractors
        self.default = EnvParams(
            episode_length=np.asarray(episode_length, np.int32),
            reward_weights={name: np.asarray(weight, np.float32) for name, weight in reward_weights.items()},
            randomization={name: np.ones((), np.float32) for name in randomized},
            distractors=distractors.params,
        )
        self._structure = jax.tree.structure(self.default)

    def completed(self, params: EnvParams | None, batch: tuple[int, ...] = ()) -> EnvParams:
        """All parameters, with defaults for what is left out.

        Args:
          params: given.
          batch: shape of the batch of environments; each array has it as leading axes, or is the same for all of them.

        Raises:
          ConfigError: a parameter is unknown, or has a wrong shape or a value that is not allowed.
        """
        if params is None:
            params = self.default
        if not isinstance(params, EnvParams):
            remedy = "; give the visual key as visual_key=..." if _is_key(params) else ""
            raise ConfigError(f"params is {params!r:.80}: it must be an EnvParams, such as env.default_params{remedy}")
        result = _filled("params", params, self.default, batch)
        self._check(result)
        return (
            jax.tree.map(lambda x, y: jnp.broadcast_to(x, (*batch, *y.shape)), result, self.default)
            if batch
            else result
        )

    def with_default(self, params: EnvParams) -> "ParamsOf":
        """The same with other defaults, concrete arrays; what `params` leaves out keeps its default.

        Raises:
          ConfigError: see `completed`.
        """
        other = copy.copy(self)
        other.default = jax.tree.map(np.asarray, self.completed(params))
        return other

    def scaled(self, params: EnvParams, strength: Any) -> EnvParams:
        """The parameters with the strengths of all distractors multiplied.

        Raises:
          ConfigError: the strength is no number, not finite or negative.
        """
        if isinstance(strength, np.ndarray | jax.Array):
            _check_values("strength", strength, 0)
        else:
            check_number("strength", strength, 0)
        return replace(params, distractors=self._distractors.scaled(params.distractors, strength))

    def check_structure(self, params: Any) -> None:
        """Refuses parameters that are incomplete or belong to another environment's state.

        Raises:
          ConfigError: they have other names or shapes.
        """
        if jax.tree.structure(params) != self._structure or any(
            jnp.shape(x) != y.shape for x, y in zip(jax.tree.leaves(params), jax.tree.leaves(self.default), strict=True)
        ):
            raise ConfigError(
                "the state's params are incomplete, or from another environment: set them by "
                "env.with_params(state, params)"
            )

    def _check(self, params: EnvParams) -> None:
        _check_values("params.episode_length", params.episode_length, 1, MAX_EPISODE_LENGTH)
        for name, weight in params.reward_weights.items():
            _check_values(f"params.reward_weights[{name!r}]", weight)
        for name, share in params.randomization.items():
            _check_values(f"params.randomization[{name!r}]", share, 0)
        try:
            self._distractors.check_params(params.distractors)
        except ConfigError as e:
            raise ConfigError(f"params.distractors: {e}") from None


def _filled(name: str, given: Any, default: Any, batch: tuple[int, ...]) -> Any:
    """`given` as arrays of the dtypes of `default`, which fills in what is missing."""
    if given is None:
        return default
    if isinstance(default, EnvParams):
        fields = {key: _filled(f"{name}.{key}", getattr(given, key), x, batch) for key, x in vars(default).items()}
        return EnvParams(**fields)
    if isinstance(default, Mapping):
        if not isinstance(given, Mapping):
            raise ConfigError(
                f"{name} is {given!r:.80}: it must be a dict with some of {', '.join(default) or 'nothing'}"
            )
        check_keywords(name, given, list(default))
        return {key: _filled(f"{name}[{key!r}]", given.get(key), x, batch) for key, x in default.items()}
    if isinstance(default, tuple):
        if not isinstance(given, tuple | list) or len(given) != len(default):
            raise ConfigError(
                f"{name} is {given!r:.80}: it must be a tuple of {len(default)}, as in env.default_params"
            )
        return tuple(_filled(f"{name}[{i}]", x, y, batch) for i, (x, y) in enumerate(zip(given, default, strict=True)))
    return _leaf(name, given, default, batch)


def _leaf(name: str, given: Any, default: np.ndarray, batch: tuple[int, ...]) -> Any:
    array = given if isinstance(given, jax.Array) else np.asarray(given)
    is_whole = jnp.issubdtype(array.dtype, jnp.integer)
    if not is_whole and (default.dtype == np.int32 or not jnp.issubdtype(array.dtype, jnp.floating)):
        rule = "a whole number" if default.dtype == np.int32 else "a number"
        raise ConfigError(f"{name} is {given!r:.80}: it must be {rule}")
    if array.shape not in {default.shape, (*batch, *default.shape)}:
        rule = f"{default.shape}" + (f", or {(*batch, *default.shape)}" if batch else "")
        remedy = "" if batch else "; for a batch of environments use jax.vmap(env.reset)"
        raise ConfigError(f"{name} has shape {array.shape}: it must have shape {rule}{remedy}")
    if default.dtype == np.int32:
        _check_values(name, array, np.iinfo(np.int32).min, np.iinfo(np.int32).max)  # a cast would wrap it around
    if isinstance(array, jax.Array):
        return jax.lax.convert_element_type(array, default.dtype)
    return array.astype(default.dtype)


def _check_values(name: str, value: Any, least: float | None = None, most: float | None = None) -> None:
    """Refuses numbers out of range; traced arrays pass."""
    if isinstance(value, jax.core.Tracer):
        return
    values = np.asarray(value, np.float64)
    wrong = ~np.isfinite(values)
    if least is not None:
        wrong |= values < least
    if most is not None:
        wrong |= values > most
    if wrong.any():
        bounds = {key: x for key, x in (("least", least), ("most", most)) if x is not None}
        check_number(name, values[wrong].flat[0], **bounds)


def _is_key(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is not None and (dtype == np.uint32 or jnp.issubdtype(dtype, jax.dtypes.prng_key))
