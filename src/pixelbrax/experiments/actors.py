"""Actors for videos: a trained policy, or random actions."""

import jax
from jax.tree_util import Partial
from jaxtyping import Array, PyTree

from pixelbrax.envs import PixelEnv, State
from pixelbrax.report import Actor
from pixelbrax.training import Policy


def policy_actor(policy: Policy, variables: PyTree) -> Actor:
    """Takes the mode of a policy with these parameters and statistics."""

    def act(variables: PyTree, state: State, key: Array) -> Array:
        del key
        distribution = policy(variables, {name: x[None] for name, x in state.obs.items()})
        return distribution.action(distribution.mode())[0]

    return Partial(act, variables)


def random_actor(env: PixelEnv) -> Actor:
    """Samples actions uniformly from [-1, 1]."""
    return lambda state, key: jax.random.uniform(key, (env.action_size,), minval=-1.0, maxval=1.0)
