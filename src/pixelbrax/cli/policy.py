"""Policies that the commands act with."""

import jax
from jaxtyping import Array, PyTree

from pixelbrax.envs import PixelEnv, State
from pixelbrax.report.video import Actor
from pixelbrax.training.evaluation import Policy


def policy_actor(policy: Policy, params: PyTree) -> Actor:
    """The mode of a policy of these parameters."""

    def act(state: State, key: Array) -> Array:
        del key
        seen = policy(params, {name: x[None] for name, x in state.obs.items()})
        return seen.action(seen.mode())[0]

    return act


def random_actor(env: PixelEnv) -> Actor:
    """Actions drawn uniformly."""
    return lambda state, key: jax.random.uniform(key, (env.action_size,), minval=-1.0, maxval=1.0)
