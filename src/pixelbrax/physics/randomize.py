"""Domain randomization: model parameters sampled per episode, by functions in the form of Brax and Playground."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from pixelbrax.errors import ConfigError, warn_caller
from pixelbrax.physics._functions import called
from pixelbrax.physics._unread import unread_by
from pixelbrax.physics.base import Physics, raw_key
from pixelbrax.physics.scales import RandomFactors

RandomizationFn = Callable[[Any, Array], tuple[Any, Any]]
"""(model, (n, 2) uint32 keys) -> model, in_axes. The result is a model of n environments: a leaf has a leading axis
of n where `in_axes`, a tree like the model or a prefix of one, has 0; it is shared where that has None."""

_FORM = "randomization_fn(model, keys) -> model, in_axes"


class Randomizer:
    """Samples the parameters of an engine's model that a randomization function changes, and applies them."""

    def __init__(self, physics: Physics, function: RandomizationFn | None):
        """Traces the function to see which parameters it changes; without a function there are none.

        Warns of parameters that the engine does not read.

        Raises:
          ConfigError: the function returns something other than a model and its axes, or changes nothing.
        """
        self._physics = physics
        self._function = function
        if function is None:
            return
        model = physics.model
        if isinstance(function, RandomFactors):
            self._function = function.for_engine(getattr(physics, "backend", ""), model)
        # A task's own colors are only in the MuJoCo model; the function starts from the colors that are rendered.
        if getattr(model, "geom_rgba", None) is not None:
            model = model.replace(geom_rgba=jnp.asarray(physics.mj_model.geom_rgba[: len(model.geom_rgba)]))
        self._model = model
        paths, self._structure = jax.tree_util.tree_flatten_with_path(model)
        self._leaves = [leaf for _, leaf in paths]
        names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in paths]
        self._changed = {names[i]: (i, axis) for i, axis in enumerate(self._axes(names)) if axis is not None}
        if not self._changed:
            raise ConfigError("randomization_fn changes nothing: its in_axes must have 0 for each leaf that it samples")
        if (engine := getattr(physics, "backend", "")) and not isinstance(function, RandomFactors):
            for line in unread_by(engine, self._changed):
                warn_caller(f"randomization_fn {line}")
        sampled = jax.eval_shape(self.sample, jax.random.key(0))
        for name, (i, _) in self._changed.items():
            if sampled[name].shape != jnp.shape(self._leaves[i]):
                raise ConfigError(
                    f"randomization_fn samples {name!r} of shape {sampled[name].shape} for an environment: "
                    f"the model's has {jnp.shape(self._leaves[i])}"
                )

    @property
    def active(self) -> bool:
        """Whether there is a function."""
        return self._function is not None

    def sample(self, key: Array) -> dict[str, Array]:
        """One environment's parameters, by their names in the model ("geom_friction", "link.inertia.mass", ...)."""
        if self._function is None:
            return {}
        model, _ = self._function(self._model, raw_key(key)[None])
        leaves = jax.tree.leaves(model)
        return {name: jnp.take(leaves[i], 0, axis=axis) for name, (i, axis) in self._changed.items()}

    @property
    def names(self) -> list[str]:
        """Names of the sampled parameters."""
        return [] if self._function is None else list(self._changed)

    @property
    def scalable(self) -> list[str]:
        """Names of the sampled parameters whose range `scaled` changes: all that are not integers."""
        if self._function is None:
            return []
        return [name for name, (i, _) in self._changed.items() if jnp.issubdtype(self._leaves[i].dtype, jnp.floating)]

    def scaled(self, sampled: dict[str, Array], ranges: Mapping[str, Array | float]) -> dict[str, Array]:
        """The sampled parameters, with their distances from the model's own values scaled.

        Args:
          sampled: as `sample` gives them.
          ranges: () factor of each, by name: 0 gives the model's own value, 1 exactly the sample.
        """
        result = dict(sampled)
        for name, factor in ranges.items():
            own, sample = self._leaves[self._changed[name][0]], sampled[name]
            as_sampled = (factor == 1) | (sample == own)  # what has no limit is infinite: its difference is NaN
            result[name] = jnp.where(as_sampled, sample, own + factor * (sample - own)).astype(sample.dtype)
        return result

    def rendered(self, params: dict[str, Array]) -> dict[str, Array]:
        """The sampled parameters as images show them.

        A task's rendered model may deliberately differ from the simulated one: its target is a larger disc, or weighs
        nothing. Rows that differ stay as they are rendered.
        """
        result = dict(params)
        for name, sample in params.items():
            own, shown = self._leaves[self._changed[name][0]], getattr(self._physics.mj_model, name, None)
            if not isinstance(shown, np.ndarray):
                continue
            shown = shown[: len(own)]  # bodies that are only rendered are the last
            if shown.size != np.size(own):
                continue
            shown = shown.reshape(np.shape(own))
            differs = ~np.isclose(np.asarray(own), shown, rtol=1e-5, atol=1e-7)
            rows = differs.any(axis=tuple(range(1, differs.ndim)), keepdims=True)
            if rows.any():
                result[name] = jnp.where(rows, jnp.asarray(shown, sample.dtype), sample)
        return result

    def apply(self, params: dict[str, Array]) -> Physics:
        """The engine with these parameters in its model."""
        if not params:
            return self._physics
        leaves = list(self._leaves)
        for name, (i, _) in self._changed.items():
            leaves[i] = params[name]
        return self._physics.with_model(jax.tree.unflatten(self._structure, leaves))

    def _axes(self, names: list[str]) -> list[int | None]:
        """The batch axis of each leaf of the model."""
        returned = []

        @functools.wraps(self._function)  # pyright: ignore[reportArgumentType]
        def trace(model: Any, keys: Array) -> Any:
            result = self._function(model, keys)  # pyright: ignore[reportOptionalCall]
            if not isinstance(result, tuple) or len(result) != 2:
                raise ConfigError(f"randomization_fn returns a {type(result).__name__}: it must return model, in_axes")
            leaves = jax.tree.leaves(result[0])
            _check_static(result[0], leaves)
            # What NumPy computed is not traced. With another structure they do not correspond, which is refused below.
            changed = [_is_other(leaf, own) for leaf, own in zip(leaves, self._leaves, strict=False)]
            returned.append((result[1], changed))
            return result[0]

        model = called(_FORM, trace, self._model, jax.ShapeDtypeStruct((1, 2), jnp.uint32))
        in_axes, differ = returned[0]
        if jax.tree.structure(model) != self._structure:
            raise ConfigError("randomization_fn returns a model whose structure differs from the one it is given")
        try:
            shared = -1
            axes = jax.tree.map(
                lambda axis, part: jax.tree.map(lambda _: shared if axis is None else axis, part),
                in_axes,
                model,
                is_leaf=lambda x: x is None,
            )
        except ValueError as e:
            raise ConfigError(
                f"randomization_fn returns in_axes that do not fit the model: {str(e).partition(chr(10))[0]}"
            ) from e
        axes = [None if axis == shared else axis for axis in jax.tree.leaves(axes)]
        for name, axis, leaf, own, changed in zip(
            names, axes, jax.tree.leaves(model), self._leaves, differ, strict=True
        ):
            _check_axis(name, axis, leaf.shape, jnp.shape(own), changed)
        return axes


def _check_static(model: Any, leaves: list[Any]) -> None:
    """Refuses samples of what JAX takes for a part of the model's structure: an error of MJX's names nothing."""
    for name in (field.name for field in fields(model)) if is_dataclass(model) else ():
        value = getattr(model, name)
        if isinstance(value, jax.core.Tracer) and not any(value is leaf for leaf in leaves):
            raise ConfigError(
                f"randomization_fn samples {name!r}, which is static in the engine's model: environments cannot differ "
                "in it"
            )


def _is_other(leaf: Any, own: Any) -> bool:
    """Whether a function computed a leaf, or put another in its place, instead of leaving the model's own."""
    return isinstance(leaf, jax.core.Tracer) or (leaf is not own and not np.array_equal(leaf, own, equal_nan=True))


def _check_axis(name: str, axis: Any, shape: tuple[int, ...], own: tuple[int, ...], changed: bool) -> None:
    """Checks that a leaf's batch axis is where `in_axes` says.

    Args:
      name: of the leaf.
      axis: its entry in `in_axes`.
      shape: of the leaf returned for one key.
      own: shape of the model's leaf.
      changed: whether the function computed it.
    """
    if axis is None:
        if changed or shape != own:
            raise ConfigError(f"randomization_fn changes {name!r}, for which its in_axes has None: it must have 0")
    elif isinstance(axis, bool) or not isinstance(axis, int):
        raise ConfigError(f"randomization_fn's in_axes has {axis!r} for {name!r}: it must have 0 or None")
    elif not -len(shape) <= axis < len(shape) or shape[axis] != 1:
        raise ConfigError(
            f"randomization_fn returns {name!r} of shape {shape} for one key: its in_axes has {axis}, so there must "
            "be an axis of one environment for each key"
        )
