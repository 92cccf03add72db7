"""Settings that all algorithms share."""

from dataclasses import dataclass

from typing_extensions import override

from pixelbrax.errors import ConfigError, check_count, check_number

_MOST = 2**31 - 1  # compiled programs count with int32


@dataclass(frozen=True)
class OnPolicyConfig:
    """Settings of every algorithm that learns from its own latest rollouts."""

    num_envs: int = 64
    """Environments that act side by side."""
    unroll_length: int = 32
    """Steps of each environment between two updates."""
    num_minibatches: int = 4
    """Gradient steps a pass over a rollout; must divide num_envs."""
    learning_rate: float = 7e-4
    """Adam's step size at the beginning."""
    final_learning_rate: float = 3.5e-5
    """Adam's step size at the end; it falls linearly."""
    target_kl: float = 0.0
    """Mean divergence of the policy over the gradient steps of an update that its step size is to follow instead (0.01,
    say), within 1e-5 and 1e-2; 0 is off."""
    discount: float = 0.98
    """Discount of future rewards a step (gamma)."""
    gae_lambda: float = 0.95
    """Decay of generalised advantage estimation (lambda)."""
    clip: float = 0.2
    """Largest change of an action's probability ratio that is still rewarded (epsilon)."""
    entropy_coef: float = 0.0
    """Weight of the entropy bonus."""
    max_grad_norm: float = 0.5
    """Global norm to which gradients are clipped."""
    reward_scale: float = 0.05
    """Factor on rewards, so that returns are of the order of 1."""
    shift: int = 0
    """Pixels by which images are moved at random, at most, when they are learnt from (DrQ: 4)."""

    @property
    def batch_size(self) -> int:
        """Steps in one rollout."""
        return self.num_envs * self.unroll_length

    @property
    def minibatch_sizes(self) -> list[int]:
        """Samples of a gradient step, of each kind of step."""
        return [self.batch_size // self.num_minibatches]

    def needs_memory(self, num_updates: int) -> bool:
        """Whether the next update reads what earlier ones left in `AgentState.memory`."""
        del num_updates
        return False

    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, or the minibatches do not divide the environments.
        """
        self._at_least_one("num_envs", "unroll_length", "num_minibatches")
        check_count("shift", self.shift, least=0, most=_MOST)
        for name in ("learning_rate", "max_grad_norm", "clip", "reward_scale"):
            check_number(name, getattr(self, name), above=0)
        for name in ("discount", "gae_lambda"):
            check_number(name, getattr(self, name), least=0, most=1)
        self._not_negative("final_learning_rate", "target_kl", "entropy_coef")
        if self.num_envs % self.num_minibatches:
            raise ConfigError(
                f"num_minibatches {self.num_minibatches} does not divide num_envs {self.num_envs}: "
                f"{self.num_envs - self.num_envs % self.num_minibatches or self.num_minibatches} environments would do"
            )

    def _at_least_one(self, *names: str) -> None:
        for name in names:
            check_count(name, getattr(self, name), most=_MOST)

    def _not_negative(self, *names: str) -> None:
        for name in names:
            check_number(name, getattr(self, name), least=0)


@dataclass(frozen=True)
class PhasicConfig(OnPolicyConfig):
    """Settings of the algorithms that learn in turns of a policy phase and an auxiliary phase."""

    policy_iterations: int = 32
    """Rollouts in a policy phase (N_pi)."""
    policy_epochs: int = 1
    """Passes over each rollout in the policy phase (E_pi)."""
    auxiliary_epochs: int = 6
    """Passes over all rollouts of the phase in the auxiliary phase (E_aux)."""
    auxiliary_minibatches: int = 64
    """Gradient steps a pass of the auxiliary phase; must divide the phase's steps."""
    clone_coef: float = 1.0
    """Weight of the divergence from the policy before the auxiliary phase (beta_clone)."""

    @property
    def phase_size(self) -> int:
        """Steps in the rollouts of a policy phase."""
        return self.policy_iterations * self.batch_size

    def auxiliary_steps(self, num_updates: int) -> int:
        """Gradient steps of the auxiliary phases in so many updates; those of one phase at least."""
        return max(num_updates // self.policy_iterations, 1) * self.auxiliary_epochs * self.auxiliary_minibatches

    @property
    @override
    def minibatch_sizes(self) -> list[int]:
        """Samples of a gradient step, of each kind of step."""
        return [*super().minibatch_sizes, self.phase_size // self.auxiliary_minibatches]

    @override
    def needs_memory(self, num_updates: int) -> bool:
        """Whether the next update goes on with a policy phase, whose rollouts are remembered."""
        return num_updates % self.policy_iterations != 0

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, or minibatches do not divide.
        """
        super().validate()
        self._at_least_one("policy_iterations", "policy_epochs", "auxiliary_epochs", "auxiliary_minibatches")
        self._not_negative("clone_coef")
        steps = check_count("policy_iterations x num_envs x unroll_length", self.phase_size, most=_MOST)
        if steps % self.auxiliary_minibatches:
            raise ConfigError(
                f"auxiliary_minibatches {self.auxiliary_minibatches} does not divide the {steps:,} steps of a phase "
                f"(policy_iterations x num_envs x unroll_length)"
            )
