"""Flax NNX modules as pure functions of a dict of parameters."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import jax
from flax import nnx
from jaxtyping import Array

Params = dict[str, Any]
Module = TypeVar("Module", bound=nnx.Module)


class Functional(Generic[Module]):
    """A module split into its parameters, a dict of arrays, and everything else, which is static."""

    def __init__(self, build: Callable[[nnx.Rngs], Module]):
        """Takes a function that builds the module from PRNG streams; it makes no parameters yet."""
        self._build = build
        self._graph = nnx.graphdef(nnx.eval_shape(lambda: build(nnx.Rngs(0))))

    def init(self, key: Array) -> Params:
        """Freshly sampled parameters."""
        return nnx.to_pure_dict(nnx.state(self._build(nnx.Rngs(key)), nnx.Param))

    def module(self, params: Params) -> Module:
        """The module with these parameters, to be called."""
        return nnx.merge(self._graph, params)


def cast(params: Params, dtype: Any) -> Params:
    """The same parameters in another dtype."""
    return jax.tree.map(lambda x: x.astype(dtype), params)
