"""A minimal off-policy agent, to prove that the contract of an agent has room for one; it is no good learner.

A deterministic actor and a critic with a target, both linear in the engine's state, learn from a ring of recent steps.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax
from jax.sharding import PartitionSpec

from pixelbrax.algorithms import Algorithm, register
from pixelbrax.envs import num_bytes
from pixelbrax.learning import (
    DEVICE_AXIS,
    Agent,
    AgentState,
    RewardConfig,
    collect,
    learner_bytes,
    make_optimizer,
    start_envs,
    take_samples,
)
from pixelbrax.networks import PolicyValue, TanhNormal


@dataclass(frozen=True)
class TinyConfig(RewardConfig):
    """Settings of the agent."""

    capacity: int = 16
    """Steps of each environment that the replay buffer holds; a multiple of unroll_length."""
    minibatch_size: int = 8
    """Samples of a gradient step."""
    tau: float = 0.1
    """Step of the target critic towards the critic."""
    warmup: int = 2
    """Updates before learning starts."""
    keep_buffer: bool = True
    """Keep the replay buffer in checkpoints."""

    SWEEPABLE: ClassVar[tuple[str, ...]] = (*RewardConfig.SWEEPABLE, "tau")

    def must_divide(self):
        return super().must_divide() | {"the minibatch size": self.minibatch_size}


class Tiny(Agent):
    def __init__(self, env, network, config, num_updates):
        del network
        self.env, self.config = env, config
        self._size = env.observation_spec["state"].shape[0]
        self._optimizer = make_optimizer(config, num_updates)

    @property
    def learner_bytes(self):
        return learner_bytes(self._init_learner, 1)

    @property
    def bytes_per_env(self):
        return self.env.bytes_per_env + num_bytes(jax.eval_shape(self._empty)) // self.config.num_envs

    def policy(self, params, statistics, observation):
        del statistics
        mean = observation["state"] @ params["actor"]
        return TanhNormal(mean, jnp.full_like(mean, -1.0))

    def init(self, key):
        params_key, reset_key, clock_key, key = jax.random.split(key, 4)
        params, opt_state = self._init_learner(params_key)
        envs = start_envs(self.env, self.config.num_envs, reset_key, clock_key)
        return AgentState(params, (), opt_state, envs, key, jnp.zeros((), jnp.int32), self._empty())

    def _init_learner(self, key):
        actor_key, critic_key = jax.random.split(key)
        actor = 0.1 * jax.random.normal(actor_key, (self._size, self.env.action_size))
        critic = 0.1 * jax.random.normal(critic_key, (self._size + self.env.action_size,))
        learned = {"actor": actor, "critic": critic}
        return learned | {"target": critic}, self._optimizer.init(learned)

    def _empty(self):
        shape = (self.config.capacity, self.config.num_envs)
        state = jnp.zeros((*shape, self._size))
        flags = jnp.zeros(shape, bool)
        rows = (state, jnp.zeros((*shape, self.env.action_size)), jnp.zeros(shape), state, flags, flags)
        return {"rows": rows, "cursor": jnp.zeros((), jnp.int32)}

    def buffer_sharding(self):
        return {"rows": PartitionSpec(None, DEVICE_AXIS), "cursor": PartitionSpec()}

    def to_checkpoint(self, state):
        return state if self.config.keep_buffer else replace(state, buffer=())

    def from_checkpoint(self, state):
        return state if self.config.keep_buffer else replace(state, buffer=self._empty())

    def update(self, state):
        config = self.config
        key, rollout_key, sample_key = jax.random.split(state.key, 3)

        def act(observation):
            nothing = jnp.zeros(observation["state"].shape[0])
            return PolicyValue(self.policy(state.params, (), observation), nothing, nothing[:, None])

        envs, rollout, episodes = collect(self.env, act, ("state",), state.envs, rollout_key, config.unroll_length)
        seen = rollout.observations.state
        assert seen is not None
        new = (seen[:-1], rollout.action, rollout.reward * config.reward_scale, seen[1:], rollout.terminated)
        cursor = state.buffer["cursor"]
        rows = jax.tree.map(
            lambda old, x: jax.lax.dynamic_update_slice_in_dim(old, x, cursor, axis=0),
            state.buffer["rows"],
            (*new, rollout.valid),
        )
        buffer = {"rows": rows, "cursor": (cursor + config.unroll_length) % config.capacity}

        def learn(learner: Any) -> Any:
            samples = jax.random.randint(sample_key, (2, config.minibatch_size), 0, 2**30)
            time, env = samples[0] % config.capacity, samples[1] % config.num_envs
            batch = take_samples(lambda rows, *at: jax.tree.map(lambda x: x[at], rows), rows, time, env)
            params, opt_state = learner
            target = params["target"]
            learned = {name: params[name] for name in ("actor", "critic")}
            grads, losses = jax.grad(lambda learned: self._loss(learned, target, batch), has_aux=True)(learned)
            updates, opt_state = self._optimizer.update(grads, opt_state, learned)
            learned: Any = optax.apply_updates(learned, updates)
            target = (1 - config.tau) * target + config.tau * learned["critic"]
            return (learned | {"target": target}, opt_state), losses

        nothing = {"critic_loss": jnp.float32(jnp.nan), "actor_loss": jnp.float32(jnp.nan)}
        ready = state.num_updates >= config.warmup
        learner = (state.params, state.opt_state)
        (params, opt_state), metrics = jax.lax.cond(ready, learn, lambda learner: (learner, nothing), learner)
        return AgentState(params, (), opt_state, envs, key, state.num_updates + 1, buffer), metrics, episodes

    def _loss(self, learned, target, batch):
        state, action, reward, following, terminated, valid = batch

        def value(critic, state, action):
            return jnp.concatenate([state, action], axis=-1) @ critic

        following_value = value(target, following, jnp.tanh(following @ learned["actor"]))
        wanted = reward + self.config.discount * jnp.where(terminated, 0.0, following_value)
        error = value(learned["critic"], state, action) - jax.lax.stop_gradient(wanted)
        critic_loss = jnp.mean(jnp.where(valid, error**2, 0.0))
        actions = jnp.tanh(state @ learned["actor"])
        actor_loss = -jnp.mean(value(jax.lax.stop_gradient(learned["critic"]), state, actions))
        return critic_loss + actor_loss, {"critic_loss": critic_loss, "actor_loss": actor_loss}


register(Algorithm("tiny-off-policy", TinyConfig, Tiny))
