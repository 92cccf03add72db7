"""Policies that the commands act with."""

import jax
from jaxtyping import Array, PyTree

from pixelbrax.envs import PixelEnv, State
from pixelbrax.networks import ActorCritic, TanhNormal
from pixelbrax.report.video import Actor


def network_actor(network: ActorCritic, params: PyTree) -> Actor:
    """The network's deterministic policy."""

    def act(state: State, key: Array) -> Array:
        del key
        return TanhNormal.action(network.apply(params, state.obs["pixels"][None]).policy.mode())[0]

    return act


def random_actor(env: PixelEnv) -> Actor:
    """Actions drawn uniformly."""
    return lambda state, key: jax.random.uniform(key, (env.action_size,), minval=-1.0, maxval=1.0)
