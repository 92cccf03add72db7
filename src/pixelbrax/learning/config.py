"""Settings of agents: those that every algorithm has, and those of the on-policy ones."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from typing_extensions import override

from pixelbrax.errors import ConfigError, check_count, check_number
from pixelbrax.networks import NetworkConfig

_MOST = 2**31 - 1  # compiled programs count with int32
ADAPTED_RATES = (1e-5, 1e-2)
"""Least and greatest learning rate to which `target_kl` leads."""


@dataclass(frozen=True)
class AgentConfig:
    """Settings of every algorithm."""

    num_envs: int = 64
    """Number of parallel environments."""
    unroll_length: int = 32
    """Steps per environment between two updates."""
    learning_rate: float = 7e-4
    """Initial learning rate of Adam."""
    final_learning_rate: float = 3.5e-5
    """Final learning rate of Adam, to which it decays linearly."""

    SWEEPABLE: ClassVar[tuple[str, ...]] = ("learning_rate", "final_learning_rate")
    """Numeric settings in which agents that train side by side may differ: arguments of the compiled program."""
    READS_STATES: ClassVar[bool] = False
    """Whether a network of its own reads states, whatever the policy observes and the critic's setting says."""

    @property
    def steps_per_update(self) -> int:
        """Steps of all environments together between two updates."""
        return self.num_envs * self.unroll_length

    def idle(self, network: NetworkConfig) -> dict[str, str]:
        """Settings that change nothing beside the others, and why: they are not swept, nor typed.

        Args:
          network: the others', beside the algorithm's own.
        """
        return {}

    def must_divide(self) -> dict[str, int]:
        """Counts that the number of devices must divide when one agent trains on several, by name for messages."""
        return {"num_envs": self.num_envs}

    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range.
        """
        self._at_least_one("num_envs", "unroll_length")
        self._positive("learning_rate")
        self._not_negative("final_learning_rate")

    def _at_least_one(self, *names: str) -> None:
        for name in names:
            check_count(name, getattr(self, name), most=_MOST)

    def _positive(self, *names: str) -> None:
        for name in names:
            check_number(name, getattr(self, name), above=0)

    def _fraction(self, *names: str) -> None:
        for name in names:
            check_number(name, getattr(self, name), least=0, most=1)

    def _not_negative(self, *names: str) -> None:
        for name in names:
            check_number(name, getattr(self, name), least=0)


@dataclass(frozen=True)
class GradientConfig(AgentConfig):
    """Settings of the algorithms that descend gradients of minibatches."""

    max_grad_norm: float = 0.5
    """Global norm to which gradients are clipped."""
    adam_epsilon: float = 1e-5
    """Epsilon of Adam, in units of the gradient."""
    random_shift: int = 0
    """Random-shift augmentation of training images: the largest shift, pixels (DrQ: 4); 0 is off."""

    SWEEPABLE: ClassVar[tuple[str, ...]] = (*AgentConfig.SWEEPABLE, "max_grad_norm")

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range.
        """
        super().validate()
        check_count("random_shift", self.random_shift, least=0, most=_MOST)
        self._positive("max_grad_norm", "adam_epsilon")


@dataclass(frozen=True)
class RewardConfig(GradientConfig):
    """Settings of those that learn from rewards to come."""

    discount: float = 0.98
    """Discount of future rewards per step (gamma)."""
    reward_scale: float = 0.05
    """Factor on rewards; choose it so that returns are of the order of 1."""

    SWEEPABLE: ClassVar[tuple[str, ...]] = (*GradientConfig.SWEEPABLE, "discount", "reward_scale")

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range.
        """
        super().validate()
        self._positive("reward_scale")
        self._fraction("discount")


@dataclass(frozen=True)
class OnPolicyConfig(RewardConfig):
    """Settings of the algorithms that learn from their own latest rollouts."""

    num_minibatches: int = 4
    """Minibatches in a pass over a rollout; must divide num_envs."""
    target_kl: float = 0.0
    """Target of an update's mean KL in its last pass. If > 0, the policy's learning rate adapts to it within
    [1e-5, 1e-2] instead of decaying linearly; e.g. 0.01."""
    max_kl: float = 0.0
    """If > 0, an update of the policy ends at the first minibatch whose KL divergence from the policy that acted is
    greater, a guard against the rare update that undoes a policy; e.g. 5 times the usual KL. Stable-Baselines3 calls
    two thirds of it target_kl."""
    gae_lambda: float = 0.95
    """Decay of generalized advantage estimation (lambda)."""
    clip: float = 0.2
    """Clipping range of the probability ratio (epsilon)."""
    entropy_coef: float = 0.0
    """Weight of the entropy bonus."""
    normalize_advantage: Literal["minibatch", "rollout"] = "minibatch"
    """Advantages have mean 0 and spread 1 over each minibatch, or over the whole rollout."""
    normalize_reward: bool = False
    """Rewards in units of the running spread of discounted returns, clipped to 10; reward_scale does not matter."""
    shift_coef: float = 0.1
    """With random_shift, weight of the change of policy and value under shifted images (DrAC, Raileanu et al. 2020)."""
    state_coef: float = 0.0
    """Weight of an auxiliary loss, 0 is off: the mean squared error with which a linear layer on the policy's features
    predicts the engine's state, each entry in units of its variance. The policy sees images; only learning needs states
    (privileged)."""

    SWEEPABLE: ClassVar[tuple[str, ...]] = (*RewardConfig.SWEEPABLE, "gae_lambda", "clip", "entropy_coef", "shift_coef")

    @override
    def idle(self, network: NetworkConfig) -> dict[str, str]:
        """Without its own unit a reward's scale, and without shifts their weight."""
        rewards = {"reward_scale": "normalize_reward chooses the unit of rewards"} if self.normalize_reward else {}
        return super().idle(network) | rewards | ({} if self.random_shift else {"shift_coef": "random_shift is 0"})

    @override
    def must_divide(self) -> dict[str, int]:
        """Environments, and the samples of a minibatch."""
        return super().must_divide() | {"the minibatch size": self.steps_per_update // self.num_minibatches}

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, or the minibatches do not divide the environments.
        """
        super().validate()
        self._at_least_one("num_minibatches")
        self._positive("clip")
        self._fraction("gae_lambda")
        self._not_negative("target_kl", "max_kl", "entropy_coef", "shift_coef", "state_coef")
        if self.num_envs % self.num_minibatches:
            raise ConfigError(
                f"num_minibatches {self.num_minibatches} does not divide num_envs {self.num_envs}: "
                f"use {self.num_envs - self.num_envs % self.num_minibatches or self.num_minibatches} environments"
            )
        over = self.normalize_advantage
        if self.steps_per_update == (self.num_minibatches if over == "minibatch" else 1):
            raise ConfigError(
                f"a {over} is one sample, whose advantage is 0 with normalize_advantage={over}: the policy would learn "
                "nothing; use a larger unroll_length"
            )

    def _check_kl(self, epochs: str) -> None:
        """Refuses a target or a limit for a KL divergence that is 0: it is measured before each gradient step.

        Raises:
          ConfigError: there is one gradient step in an update, where `epochs` names the setting that counts passes;
            the learning rate begins outside the range in which it adapts; or there are both a target and a limit.
        """
        if self.target_kl and self.max_kl:
            raise ConfigError(
                "max_kl does not go with target_kl: the learning rate would adapt to updates that were cut short; set "
                "one of them to 0"
            )
        if self.target_kl:
            check_number("learning_rate with target_kl", self.learning_rate, *ADAPTED_RATES)
        name = "target_kl" if self.target_kl else "max_kl"
        if getattr(self, name) and getattr(self, epochs) * self.num_minibatches == 1:
            raise ConfigError(
                f"{name} needs more than one gradient step in an update: before the first the KL divergence is 0; "
                f"raise {epochs} or num_minibatches"
            )


@dataclass(frozen=True)
class PhasicConfig(OnPolicyConfig):
    """Settings of the algorithms that alternate between a policy phase and an auxiliary phase."""

    normalize_advantage: Literal["minibatch", "rollout"] = "rollout"
    """Advantages have mean 0 and spread 1 over each minibatch, or over the whole rollout (as in both papers' code)."""
    policy_iterations: int = 32
    """Rollouts in a policy phase (N_pi)."""
    policy_epochs: int = 1
    """Passes over each rollout in the policy phase (E_pi)."""
    auxiliary_rollouts: int = 0
    """How many of a phase's rollouts, the last ones, are kept for the auxiliary phase; 0 keeps all."""
    auxiliary_epochs: int = 6
    """Passes over the rollouts that a phase keeps, in its auxiliary phase (E_aux)."""
    auxiliary_minibatches: int = 64
    """Minibatches in a pass of the auxiliary phase; must divide the steps that are kept."""
    clone_coef: float = 1.0
    """Weight of the KL divergence from the policy before the auxiliary phase (beta_clone)."""

    @property
    def phase_size(self) -> int:
        """Steps in the rollouts of a policy phase."""
        return self.policy_iterations * self.steps_per_update

    @property
    def kept_rollouts(self) -> int:
        """Rollouts of a phase that its auxiliary phase passes over."""
        return self.auxiliary_rollouts or self.policy_iterations

    @property
    def auxiliary_size(self) -> int:
        """Steps that an auxiliary phase passes over."""
        return self.kept_rollouts * self.steps_per_update

    def auxiliary_steps(self, num_updates: int) -> int:
        """Gradient steps of the auxiliary phases in a number of updates; at least those of one phase."""
        return max(num_updates // self.policy_iterations, 1) * self.auxiliary_epochs * self.auxiliary_minibatches

    @override
    def must_divide(self) -> dict[str, int]:
        """Environments, and the samples of minibatches of both phases."""
        samples = self.auxiliary_size // self.auxiliary_minibatches
        return super().must_divide() | {"the auxiliary minibatch size": samples}

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, or minibatches do not divide.
        """
        super().validate()
        self._at_least_one("policy_iterations", "policy_epochs", "auxiliary_epochs", "auxiliary_minibatches")
        self._check_kl("policy_epochs")
        self._not_negative("clone_coef")
        check_count("policy_iterations x num_envs x unroll_length", self.phase_size, most=_MOST)
        check_count("auxiliary_rollouts", self.auxiliary_rollouts, least=0, most=self.policy_iterations)
        if self.auxiliary_size % self.auxiliary_minibatches:
            kept = "auxiliary_rollouts" if self.auxiliary_rollouts else "policy_iterations"
            raise ConfigError(
                f"auxiliary_minibatches {self.auxiliary_minibatches} does not divide the {self.auxiliary_size:,} steps "
                f"of a phase ({kept} x num_envs x unroll_length)"
            )
