"""How good a policy is: whole episodes of fresh environments, acted deterministically."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from pixelbrax.envs import PixelEnv, State
from pixelbrax.networks import ActionDistribution, Observation
from pixelbrax.physics import select
from pixelbrax.training.progress import Progress
from pixelbrax.training.statistics import interval, iqm

Policy = Callable[[PyTree, Observation], ActionDistribution]


@dataclass(frozen=True)
class Evaluation:
    """Returns of whole episodes.

    Attributes:
      returns: (num_episodes,) float32.
      lengths: (num_episodes,) int32, frames.
      held_out: of the same policy and episodes under looks held out, if there are any.
    """

    returns: np.ndarray
    lengths: np.ndarray
    held_out: "Evaluation | None" = None

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.returns.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean return; 0 for a single episode."""
        count = len(self.returns)
        return float(self.returns.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0

    @property
    def iqm(self) -> float:
        """Interquartile mean of the returns."""
        return float(iqm(self.returns))

    def __str__(self) -> str:
        low, high = interval(self.returns)
        return (
            f"{self.mean:,.0f} ± {self.standard_error:,.0f} (mean return ± standard error, {len(self.returns)} "
            f"episodes of {self.lengths.mean():,.0f} frames on average; interquartile mean {self.iqm:,.0f}, "
            f"95 % interval {low:,.0f} to {high:,.0f})"
        )

    def as_dict(self) -> dict[str, float]:
        """For files."""
        low, high = interval(self.returns)
        return {
            "mean_return": self.mean,
            "standard_error": self.standard_error,
            "iqm": self.iqm,
            "iqm_low": low,
            "iqm_high": high,
            "episodes": len(self.returns),
            "mean_length": float(self.lengths.mean()),
        }


class Evaluator:
    """Runs one episode in each of `num_episodes` environments side by side; compiled when first called."""

    def __init__(
        self,
        env: PixelEnv,
        policy: Policy,
        num_episodes: int,
        deterministic: bool = True,
        progress: Progress | None = None,
    ):
        """Evaluates a policy in `env`, for any parameters.

        Args:
          env: one environment; it is batched here.
          policy: maps parameters and a batch of observations to distributions of actions.
          num_episodes: episodes, all at once.
          deterministic: take the policy's mode; otherwise sample.
          progress: shows that it is compiling.
        """
        self._env = env
        self._policy = policy
        self._num_episodes = num_episodes
        self._deterministic = deterministic
        self._progress = progress or Progress()
        self._compiled = None

    def __call__(self, params: PyTree, key: Array) -> Evaluation:
        """The episodes that follow from `key`."""
        if self._compiled is None:
            with self._progress.busy("compiling the evaluation"):
                self._compiled = jax.jit(self._run).lower(params, key).compile()
        returns, lengths = self._compiled(params, key)
        return Evaluation(np.asarray(returns), np.asarray(lengths))

    def _run(self, params: PyTree, key: Array) -> tuple[Float[Array, " episode"], Float[Array, " episode"]]:
        """Returns and lengths (frames) of all episodes."""
        reset_key, act_key = jax.random.split(key)

        def step(state: State, key: Array) -> tuple[State, None]:
            policy = self._policy(params, state.obs)
            raw_action = policy.mode() if self._deterministic else policy.sample(key)
            following = jax.vmap(self._env.step)(state, policy.action(raw_action))
            return jax.vmap(select)(state.done, state, following), None  # an episode that is over stays as it is

        initial = jax.vmap(self._env.reset)(jax.random.split(reset_key, self._num_episodes))
        num_steps = -(-self._env.episode_length // self._env.action_repeat)
        final, _ = jax.lax.scan(step, initial, jax.random.split(act_key, num_steps))
        return final.metrics["episode_return"], final.metrics["episode_length"].astype(jnp.float32)
