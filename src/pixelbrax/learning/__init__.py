"""Building blocks of learning algorithms: rollouts, returns, losses, minibatches, and the interface of an agent."""

from pixelbrax.envs import DEVICE_AXIS, each_env
from pixelbrax.learning.acting import EpisodeTotals, Rollout, collect, stagger_clocks
from pixelbrax.learning.agent import Agent, AgentState, Metrics, check_env, learner_bytes, start_envs
from pixelbrax.learning.config import AgentConfig, OnPolicyConfig, PhasicConfig
from pixelbrax.learning.losses import Minibatch, clipped_surrogate, explained_variance, valid_mean, value_error
from pixelbrax.learning.observations import Frames, ObservationStore, observation_bytes
from pixelbrax.learning.optimizer import adapt_learning_rate, make_optimizer
from pixelbrax.learning.passes import descend, learn_from_rollout, run_epochs, shifted
from pixelbrax.learning.phases import AuxiliaryMinibatch, PhaseBuffer, PhasicAgent
from pixelbrax.learning.returns import gae
from pixelbrax.learning.sharding import take_samples

__all__ = [
    "DEVICE_AXIS",
    "Agent",
    "AgentConfig",
    "AgentState",
    "AuxiliaryMinibatch",
    "EpisodeTotals",
    "Frames",
    "Metrics",
    "Minibatch",
    "ObservationStore",
    "OnPolicyConfig",
    "PhaseBuffer",
    "PhasicAgent",
    "PhasicConfig",
    "Rollout",
    "adapt_learning_rate",
    "check_env",
    "clipped_surrogate",
    "collect",
    "descend",
    "each_env",
    "explained_variance",
    "gae",
    "learn_from_rollout",
    "learner_bytes",
    "make_optimizer",
    "observation_bytes",
    "run_epochs",
    "shifted",
    "stagger_clocks",
    "start_envs",
    "take_samples",
    "valid_mean",
    "value_error",
]
