"""Building blocks of learning algorithms: rollouts, returns, losses, minibatches, and the interface of an agent."""

from pixelbrax.envs import DEVICE_AXIS, each_env
from pixelbrax.learning.acting import Advantages, EpisodeTotals, Rollout, collect, episode_totals, stagger_clocks
from pixelbrax.learning.agent import (
    Agent,
    AgentState,
    Metrics,
    Teacher,
    check_agent,
    check_env,
    learner_bytes,
    refuse,
    start_envs,
)
from pixelbrax.learning.categorical import atoms, project
from pixelbrax.learning.config import AgentConfig, GradientConfig, OnPolicyConfig, PhasicConfig, RewardConfig
from pixelbrax.learning.curriculum import CurriculumAgent, CurriculumConfig, CurriculumEnv
from pixelbrax.learning.isolation import isolated
from pixelbrax.learning.losses import (
    Minibatch,
    clipped_surrogate,
    explained_variance,
    shift_error,
    shifted,
    state_error,
    valid_mean,
    value_error,
)
from pixelbrax.learning.noise import PinkNoise
from pixelbrax.learning.observations import Frames, ObservationStore, observation_bytes
from pixelbrax.learning.off_policy import RING, ReplayAgent, ReplayConfig
from pixelbrax.learning.optimizer import (
    DecayState,
    adapt_learning_rate,
    delayed,
    learning_rates,
    make_optimizer,
    scale_by_decaying_rate,
    with_first_learning_rate,
    with_learning_rates,
)
from pixelbrax.learning.pace import Pace
from pixelbrax.learning.pairs import PairedAgent
from pixelbrax.learning.passes import descend, learn_from_rollout, means, run_epochs
from pixelbrax.learning.phases import AuxiliaryMinibatch, PhaseBuffer, PhasicAgent
from pixelbrax.learning.replay import Following, Replay, Steps, n_step
from pixelbrax.learning.returns import gae
from pixelbrax.learning.reward_units import (
    add_returns,
    empty_returns,
    reward_statistics,
    reward_unit,
    scaled_rewards,
    without_open_episodes,
)
from pixelbrax.learning.sharding import take_samples
from pixelbrax.learning.soft_frames import SoftFrames

__all__ = [
    "DEVICE_AXIS",
    "RING",
    "Advantages",
    "Agent",
    "AgentConfig",
    "AgentState",
    "AuxiliaryMinibatch",
    "CurriculumAgent",
    "CurriculumConfig",
    "CurriculumEnv",
    "DecayState",
    "EpisodeTotals",
    "Following",
    "Frames",
    "GradientConfig",
    "Metrics",
    "Minibatch",
    "ObservationStore",
    "OnPolicyConfig",
    "Pace",
    "PairedAgent",
    "PhaseBuffer",
    "PhasicAgent",
    "PhasicConfig",
    "PinkNoise",
    "Replay",
    "ReplayAgent",
    "ReplayConfig",
    "RewardConfig",
    "Rollout",
    "SoftFrames",
    "Steps",
    "Teacher",
    "adapt_learning_rate",
    "add_returns",
    "atoms",
    "check_agent",
    "check_env",
    "clipped_surrogate",
    "collect",
    "delayed",
    "descend",
    "each_env",
    "empty_returns",
    "episode_totals",
    "explained_variance",
    "gae",
    "isolated",
    "learn_from_rollout",
    "learner_bytes",
    "learning_rates",
    "make_optimizer",
    "means",
    "n_step",
    "observation_bytes",
    "project",
    "refuse",
    "reward_statistics",
    "reward_unit",
    "run_epochs",
    "scale_by_decaying_rate",
    "scaled_rewards",
    "shift_error",
    "shifted",
    "stagger_clocks",
    "start_envs",
    "state_error",
    "take_samples",
    "valid_mean",
    "value_error",
    "with_first_learning_rate",
    "with_learning_rates",
    "without_open_episodes",
]
