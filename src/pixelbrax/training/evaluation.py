"""How good a policy is: whole episodes of fresh environments, acted deterministically."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from pixelbrax.envs import PixelEnv, State
from pixelbrax.networks import ActorCritic, TanhNormal
from pixelbrax.physics import select


@dataclass(frozen=True)
class Evaluation:
    """Returns of whole episodes.

    Attributes:
      returns: (num_episodes,) float32.
      lengths: (num_episodes,) int32, frames.
    """

    returns: np.ndarray
    lengths: np.ndarray

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.returns.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean return; 0 for a single episode."""
        count = len(self.returns)
        return float(self.returns.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0

    def __str__(self) -> str:
        return (
            f"{self.mean:,.0f} ± {self.standard_error:,.0f} (mean return ± standard error, {len(self.returns)} "
            f"episodes of {self.lengths.mean():,.0f} frames on average)"
        )

    def as_dict(self) -> dict[str, float]:
        """For files."""
        return {
            "mean_return": self.mean,
            "standard_error": self.standard_error,
            "episodes": len(self.returns),
            "mean_length": float(self.lengths.mean()),
        }


class Evaluator:
    """Runs one episode in each of `num_episodes` environments side by side."""

    def __init__(self, env: PixelEnv, network: ActorCritic, num_episodes: int, deterministic: bool = True):
        """Evaluates policies of `network` in `env`.

        Args:
          env: one environment; it is batched here.
          network: whose parameters are evaluated.
          num_episodes: episodes, all at once.
          deterministic: take the policy's mode; otherwise sample.
        """
        self._env = env
        self._network = network
        self._num_episodes = num_episodes
        self._deterministic = deterministic

    def run(self, params: PyTree, key: Array) -> tuple[Float[Array, " episode"], Float[Array, " episode"]]:
        """Returns and lengths (frames) of all episodes; pure, to be compiled."""
        reset_key, act_key = jax.random.split(key)

        def step(state: State, key: Array) -> tuple[State, None]:
            policy = self._network.apply(params, state.obs["pixels"]).policy
            raw_action = policy.mode() if self._deterministic else policy.sample(key)
            following = jax.vmap(self._env.step)(state, TanhNormal.action(raw_action))
            return jax.vmap(select)(state.done, state, following), None  # an episode that is over stays as it is

        initial = jax.vmap(self._env.reset)(jax.random.split(reset_key, self._num_episodes))
        num_steps = -(-self._env.episode_length // self._env.action_repeat)
        final, _ = jax.lax.scan(step, initial, jax.random.split(act_key, num_steps))
        return final.metrics["episode_return"], final.metrics["episode_length"].astype(jnp.float32)
