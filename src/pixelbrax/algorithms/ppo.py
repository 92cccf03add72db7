"""Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347), from pixels, as one compiled update."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int32, PyTree, UInt8

from pixelbrax.algorithms.gae import gae
from pixelbrax.algorithms.rollout import EpisodeTotals, Rollout, collect, stagger_clocks
from pixelbrax.envs import PixelEnv, State, num_bytes
from pixelbrax.errors import ConfigError
from pixelbrax.networks import ActorCritic

Metrics = dict[str, Float[Array, ""]]


@dataclass(frozen=True)
class PPOConfig:
    """Settings of PPO."""

    num_envs: int = 64
    """Environments that act side by side."""
    unroll_length: int = 32
    """Steps of each environment between two updates."""
    num_epochs: int = 4
    """Passes over a rollout."""
    num_minibatches: int = 4
    """Gradient steps a pass; must divide num_envs."""
    learning_rate: float = 7e-4
    """Adam's step size at the beginning."""
    final_learning_rate: float = 3.5e-5
    """Adam's step size at the end; it falls linearly."""
    discount: float = 0.98
    """Discount of future rewards a step (gamma)."""
    gae_lambda: float = 0.95
    """Decay of generalised advantage estimation (lambda)."""
    clip: float = 0.2
    """Largest change of an action's probability ratio that is still rewarded (epsilon)."""
    value_coef: float = 0.5
    """Weight of the value loss."""
    entropy_coef: float = 0.0
    """Weight of the entropy bonus."""
    max_grad_norm: float = 0.5
    """Global norm to which gradients are clipped."""
    reward_scale: float = 0.05
    """Factor on rewards, so that returns are of the order of 1."""

    @property
    def batch_size(self) -> int:
        """Steps in one rollout."""
        return self.num_envs * self.unroll_length

    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, or the minibatches do not divide the environments.
        """
        for name in ("num_envs", "unroll_length", "num_epochs", "num_minibatches"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}: it must be at least 1")
        for name in ("learning_rate", "max_grad_norm", "clip", "reward_scale"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} is {getattr(self, name)}: it must be positive")
        for name in ("discount", "gae_lambda"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} is {getattr(self, name)}: it must lie between 0 and 1")
        if self.final_learning_rate < 0:
            raise ConfigError(f"final_learning_rate is {self.final_learning_rate}: it must not be negative")
        if self.num_envs % self.num_minibatches:
            raise ConfigError(
                f"num_minibatches {self.num_minibatches} does not divide num_envs {self.num_envs}: "
                f"{self.num_envs - self.num_envs % self.num_minibatches or self.num_minibatches} environments would do"
            )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PPOState:
    """Everything that an update reads and writes: what a checkpoint holds.

    Attributes:
      params: of the network.
      optimizer: Adam's moments.
      envs: states of all environments, batched along the first axis.
      key: for actions and minibatches.
      num_updates: () int32, updates done.
    """

    params: PyTree
    optimizer: optax.OptState
    envs: State
    key: Array
    num_updates: Int32[Array, ""]


class _Batch(NamedTuple):
    """Samples of a rollout; the first axis is the sample."""

    pixels: UInt8[Array, "sample height width channels"]
    raw_action: Float[Array, "sample action_size"]
    log_prob: Float[Array, " sample"]
    value: Float[Array, " sample"]
    advantage: Float[Array, " sample"]
    valid: Bool[Array, " sample"]


class PPO:
    """Pure `init(key)` and `update(state)`; compile them."""

    def __init__(self, env: PixelEnv, network: ActorCritic, config: PPOConfig, total_updates: int):
        """An agent for an environment.

        Args:
          env: one environment; it is batched here.
          network: actor and critic for its observations.
          config: settings.
          total_updates: number of updates over which the learning rate falls.
        """
        config.validate()
        self.env = env
        self.network = network
        self.config = config
        self._optimizer = optax.chain(
            optax.clip_by_global_norm(config.max_grad_norm),
            optax.adam(
                optax.linear_schedule(
                    config.learning_rate,
                    config.final_learning_rate,
                    total_updates * config.num_epochs * config.num_minibatches,
                ),
                eps=1e-5,
            ),
        )

    @property
    def bytes_per_env(self) -> int:
        """What an update needs at least of the device's memory for each environment: its states and its rollout."""
        seen = num_bytes(self.env.observation_spec["pixels"])
        return self.env.bytes_per_env + self.config.unroll_length * seen

    def init(self, key: Array) -> PPOState:
        """Fresh parameters and environments, the latter at random times of their first episodes."""
        params_key, reset_key, clock_key, key = jax.random.split(key, 4)
        params = self.network.init(params_key)
        envs = jax.vmap(self.env.reset)(jax.random.split(reset_key, self.config.num_envs))
        envs = stagger_clocks(envs, clock_key, self.env.episode_length)
        return PPOState(params, self._optimizer.init(params), envs, key, jnp.zeros((), jnp.int32))

    def update(self, state: PPOState) -> tuple[PPOState, Metrics, EpisodeTotals]:
        """Acts for one rollout, then learns from it."""
        config = self.config
        key, rollout_key, epochs_key = jax.random.split(state.key, 3)
        envs, rollout, episodes = collect(
            self.env,
            lambda pixels: self.network.apply(state.params, pixels),
            state.envs,
            rollout_key,
            config.unroll_length,
        )
        advantage = gae(
            rollout.reward * config.reward_scale,
            rollout.value,
            rollout.next_value,
            rollout.terminated,
            rollout.truncated,
            config.discount,
            config.gae_lambda,
        )
        batch = _flatten(rollout, advantage)

        def epoch(learner: tuple, epoch_key: Array) -> tuple[tuple, Metrics]:
            shuffle_key, entropy_key = jax.random.split(epoch_key)
            order = jax.random.permutation(shuffle_key, config.batch_size).reshape(config.num_minibatches, -1)
            keys = jax.random.split(entropy_key, config.num_minibatches)
            return jax.lax.scan(lambda carry, x: self._gradient_step(carry, batch, *x), learner, (order, keys))

        learner = (state.params, state.optimizer)
        (params, optimizer), metrics = jax.lax.scan(epoch, learner, jax.random.split(epochs_key, config.num_epochs))
        metrics = {name: value.mean() for name, value in metrics.items()}
        metrics["explained_variance"] = _explained_variance(batch)
        state = replace(
            state, params=params, optimizer=optimizer, envs=envs, key=key, num_updates=state.num_updates + 1
        )
        return state, metrics, episodes

    def _gradient_step(
        self, learner: tuple, batch: _Batch, indices: Int32[Array, " sample"], key: Array
    ) -> tuple[tuple, Metrics]:
        params, optimizer = learner
        minibatch = jax.tree.map(lambda x: x[indices], batch)
        (_, metrics), grads = jax.value_and_grad(self._loss, has_aux=True)(params, minibatch, key)
        metrics["gradient_norm"] = optax.tree.norm(grads)
        updates, optimizer = self._optimizer.update(grads, optimizer, params)
        return (optax.apply_updates(params, updates), optimizer), metrics

    def _loss(self, params: PyTree, batch: _Batch, key: Array) -> tuple[Float[Array, ""], Metrics]:
        """The clipped surrogate (eq. 7), a squared value error, and an entropy bonus (eq. 9)."""
        config = self.config
        seen = self.network.apply(params, batch.pixels)

        def mean(x: Float[Array, " sample"]) -> Float[Array, ""]:
            return jnp.sum(jnp.where(batch.valid, x, 0.0)) / jnp.maximum(jnp.sum(batch.valid.astype(x.dtype)), 1.0)

        center = mean(batch.advantage)
        spread = jnp.sqrt(mean((batch.advantage - center) ** 2))
        advantage = (batch.advantage - center) / (spread + 1e-8)

        log_ratio = seen.policy.log_prob(batch.raw_action) - batch.log_prob
        ratio = jnp.exp(log_ratio)
        clipped = jnp.clip(ratio, 1 - config.clip, 1 + config.clip)
        policy_loss = -mean(jnp.minimum(ratio * advantage, clipped * advantage))
        value_loss = 0.5 * mean((seen.value - (batch.value + batch.advantage)) ** 2)
        entropy = mean(seen.policy.entropy(key))
        loss = policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy
        return loss, {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": mean(ratio - 1 - log_ratio),  # http://joschu.net/blog/kl-approx.html, estimator k3
            "clip_fraction": mean((jnp.abs(ratio - 1) > config.clip).astype(jnp.float32)),
        }


def _flatten(rollout: Rollout, advantage: Float[Array, "time env"]) -> _Batch:
    batch = _Batch(rollout.pixels, rollout.raw_action, rollout.log_prob, rollout.value, advantage, rollout.valid)
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batch)


def _explained_variance(batch: _Batch) -> Float[Array, ""]:
    """1 - Var[return - value] / Var[return] over the valid samples, with returns estimated as value + advantage."""
    target = batch.value + batch.advantage

    def variance(x: Array) -> Array:
        return jnp.var(x, where=batch.valid)

    return 1 - variance(batch.advantage) / jnp.maximum(variance(target), 1e-8)
