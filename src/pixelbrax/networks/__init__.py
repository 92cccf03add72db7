"""Encoders, heads and action distributions: Flax NNX modules behind plain init and apply functions."""

from pixelbrax.networks.actor_critic import ActorCritic, Observation, PolicyValue, actor_params
from pixelbrax.networks.augmentation import random_shift
from pixelbrax.networks.config import NetworkConfig
from pixelbrax.networks.distributions import ActionDistribution, ClippedNormal, TanhNormal
from pixelbrax.networks.dynamics import Dynamics
from pixelbrax.networks.functional import Functional, Params
from pixelbrax.networks.normalization import ROUNDING, add_values, as_counted, empty_statistics, return_std, std
from pixelbrax.networks.soft_actor_critic import SoftActorCritic

__all__ = [
    "ROUNDING",
    "ActionDistribution",
    "ActorCritic",
    "ClippedNormal",
    "Dynamics",
    "Functional",
    "NetworkConfig",
    "Observation",
    "Params",
    "PolicyValue",
    "SoftActorCritic",
    "TanhNormal",
    "actor_params",
    "add_values",
    "as_counted",
    "empty_statistics",
    "random_shift",
    "return_std",
    "std",
]
