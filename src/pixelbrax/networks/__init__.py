"""Encoders, heads and action distributions: Flax NNX modules behind plain init and apply functions."""

from pixelbrax.networks.actor_critic import ActorCritic, NetworkConfig, PolicyValue
from pixelbrax.networks.distributions import TanhNormal

__all__ = ["ActorCritic", "NetworkConfig", "PolicyValue", "TanhNormal"]
