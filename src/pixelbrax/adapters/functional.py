"""States as named arrays that travel outside of JAX, and the reverse-mode derivative of a step."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pixelbrax.envs import PixelEnv, State, soft_image

Leaves = dict[str, Array]
"""Arrays of a batch of states by their names, such as "physics.obs"; the environment is their first axis."""


class StateLeaves:
    """Translates batches of states into named arrays and back, without loss.

    Other libraries have no PRNG keys, and little for unsigned integers: both travel as int32 with the same bits.

    Attributes:
      spec: shape and dtype of each array, for a single environment.
      differentiable: names of the arrays through which a step can be differentiated: floats of the physics.
    """

    def __init__(self, env: PixelEnv):
        """Traces a reset of the environment, and compiles nothing."""
        self._env = env
        example = jax.eval_shape(env.reset, jax.random.key(0))
        paths, self._treedef = jax.tree_util.tree_flatten_with_path(example)
        self._kinds = [leaf.dtype for _, leaf in paths]
        self._names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in paths]
        self.spec: dict[str, jax.ShapeDtypeStruct] = jax.eval_shape(self._of, example)
        self.differentiable = tuple(
            name
            for name, kind in zip(self._names, self._kinds, strict=True)
            if name.startswith("physics.") and jnp.issubdtype(kind, jnp.floating)
        )
        self.of = jax.jit(self._of)
        self.states = jax.jit(self.to_states)

    def __deepcopy__(self, memo: Any) -> "StateLeaves":
        return self  # nothing of it changes

    def __reduce__(self) -> Any:
        return StateLeaves, (self._env,)  # no programs: it compiles its own

    def _of(self, states: State) -> Leaves:
        return dict(zip(self._names, map(_plain, jax.tree.leaves(states)), strict=True))

    def to_states(self, leaves: Leaves) -> State:
        """The batch of states that the arrays are of."""
        values = [_original(leaves[name], kind) for name, kind in zip(self._names, self._kinds, strict=True)]
        return jax.tree.unflatten(self._treedef, values)


class Differentiable(NamedTuple):
    """Results of a step that have derivatives; all float32.

    Attributes:
      leaves: of the state, by name (`StateLeaves.differentiable`).
      reward: (env,).
      state: (env, obs_size), the engine's observation vector.
      image: (env, height, width, 3) colors in [0, 1], or with the channels first; None without images.
    """

    leaves: Leaves
    reward: Float[Array, " env"]
    state: Float[Array, "env obs_size"]
    image: Float[Array, "env _ _ _"] | None


class SmoothStep:
    """A step of a batch of environments, and its derivatives with respect to the physics and the actions."""

    def __init__(self, env: PixelEnv, leaves: StateLeaves, soft: float | None):
        """Compiles nothing yet.

        Args:
          env: the environment.
          leaves: of its states.
          soft: width in pixels over which silhouettes fade in the image; None for no image.
        """
        self._env, self._leaves, self._soft = env, leaves, soft
        self.image = jax.jit(self._image)
        self.results = jax.jit(self._results)
        self.pulled_back = jax.jit(self._pulled_back)

    def __deepcopy__(self, memo: Any) -> "SmoothStep":
        return self  # nothing of it changes

    def __reduce__(self) -> Any:
        return SmoothStep, (self._env, self._leaves, self._soft)  # no programs: it compiles its own

    def _image(self, states: State) -> Float[Array, "env _ _ _"] | None:
        softness = self._soft
        return None if softness is None else jax.vmap(lambda state: soft_image(self._env, state, softness))(states)

    def _results(self, states: State) -> Differentiable:
        leaves = self._leaves.of(states)
        chosen = {name: leaves[name] for name in self._leaves.differentiable}
        return Differentiable(chosen, states.reward, states.physics.obs, self._image(states))

    def _pulled_back(self, leaves: Leaves, actions: Array, cotangents: Differentiable) -> tuple[Leaves, Array]:
        """Cotangents of the state before a step and of its actions, from those of its results.

        The step is computed anew, so that nothing but the state before it is kept for each step of a rollout. Where the
        simulation diverged all derivatives are 0: they would be NaN, and so would sums with those of others.
        """

        def results(chosen: Leaves, actions: Array) -> tuple[Differentiable, Array]:
            states = jax.vmap(self._env.step)(self._leaves.to_states(leaves | chosen), actions)
            return self._results(states), states.metrics["diverged"]

        chosen = {name: leaves[name] for name in self._leaves.differentiable}
        _, pull_back, diverged = jax.vjp(results, chosen, actions, has_aux=True)

        def of_others(x: Array) -> Array:
            return jnp.where(diverged.reshape(-1, *[1] * (x.ndim - 1)), 0.0, x)

        return jax.tree.map(of_others, pull_back(cotangents))


def _plain(leaf: Array) -> Array:
    """The same bits, as a dtype that other libraries know."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return jax.lax.bitcast_convert_type(leaf, jnp.int32) if leaf.dtype == jnp.uint32 else leaf


def _original(leaf: Array, kind: Any) -> Array:
    """The inverse of `_plain`, for keys of JAX's default kind."""
    is_key = jnp.issubdtype(kind, jax.dtypes.prng_key)
    if is_key or kind == jnp.uint32:
        leaf = jax.lax.bitcast_convert_type(leaf, jnp.uint32)
    return jax.random.wrap_key_data(leaf) if is_key else leaf
