"""Proximal policy optimization (Schulman et al. 2017, arXiv 1707.06347), from pixels, as one compiled update."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from typing_extensions import override

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError, check_count
from pixelbrax.learning import (
    Advantages,
    Agent,
    AgentState,
    EpisodeTotals,
    Metrics,
    Minibatch,
    OnPolicyConfig,
    check_env,
    clipped_surrogate,
    collect,
    delayed,
    explained_variance,
    learn_from_rollout,
    learner_bytes,
    make_optimizer,
    observation_bytes,
    reward_statistics,
    scaled_rewards,
    shift_error,
    start_envs,
    state_error,
    valid_mean,
    value_error,
)
from pixelbrax.networks import ActionDistribution, ActorCritic, NetworkConfig, Observation, PolicyValue, actor_params


@dataclass(frozen=True)
class PPOConfig(OnPolicyConfig):
    """Settings of PPO."""

    num_epochs: int = 4
    """Passes over a rollout."""
    value_coef: float = 0.5
    """Weight of the value loss, half a mean squared error."""
    critic_updates: int = 0
    """First updates in which only the critic learns: for a policy that `start_from` carries over."""

    @override
    def idle(self, network: NetworkConfig) -> dict[str, str]:
        """With `target_kl` also the decay of the learning rate: there is no other optimizer."""
        decay = {"final_learning_rate": "target_kl sets the learning rate"} if self.target_kl else {}
        return super().idle(network) | decay

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, or minibatches do not divide.
        """
        super().validate()
        self._at_least_one("num_epochs")
        self._check_kl("num_epochs")
        if check_count("critic_updates", self.critic_updates, least=0) and self.target_kl:
            raise ConfigError(
                "critic_updates does not go with target_kl: while the policy stands still, its learning rate would rise"
            )
        self._not_negative("value_coef")


class PPO(Agent):
    """Pure `init(key)` and `update(state)`; compile them."""

    def __init__(self, env: PixelEnv, network: NetworkConfig, config: PPOConfig, total_updates: int):
        """An agent for an environment.

        Args:
          env: one environment; it is batched here.
          network: architecture of actor and critic.
          config: settings, validated.
          total_updates: number of updates over which the learning rate decays.

        Raises:
          ConfigError: the agent would misread the environment.
        """
        if config.critic_updates and config.critic_updates >= total_updates:
            raise ConfigError(
                f"critic_updates is {config.critic_updates:,}, and there are {total_updates:,} updates: the policy "
                "would never learn"
            )
        self.network = ActorCritic.for_env(env, network, predicts_state=config.state_coef > 0)
        check_env(env, self.network.obs_keys, config.random_shift)
        self.env = env
        self.config = config
        steps = config.num_epochs * config.num_minibatches
        self._optimizer = make_optimizer(config, total_updates * steps, config.target_kl)
        if config.critic_updates:
            actor = actor_params(jax.eval_shape(self.network.init, jax.random.key(0)))
            self._optimizer = delayed(self._optimizer, actor, config.critic_updates * steps)

    @property
    def learner_bytes(self) -> int:
        """Lower bound of the device memory that parameters, gradients and the optimizer take in an update."""
        return learner_bytes(self._init_learner, 1)

    @property
    def bytes_per_env(self) -> int:
        """Lower bound of the device memory that each environment takes in an update: its states and its rollout."""
        return self.env.bytes_per_env + observation_bytes(self.env, self.network.obs_keys, self.config.unroll_length)

    def policy(self, params: PyTree, statistics: PyTree, observation: Observation) -> ActionDistribution:
        """Distribution of the actions for a batch of observations."""
        return self.outputs(params, statistics, observation).policy

    def outputs(self, params: PyTree, statistics: PyTree, observation: Observation) -> PolicyValue:
        """The policy, and the value that advantages are computed with."""
        return self.network.apply(params, statistics, observation)

    def init(self, key: Array) -> AgentState:
        """Fresh parameters and environments, the latter at random times of their first episodes."""
        params_key, reset_key, clock_key, key = jax.random.split(key, 4)
        params, opt_state = self._init_learner(params_key)
        envs = start_envs(self.env, self.config.num_envs, reset_key, clock_key)
        statistics = self.network.init_statistics() | reward_statistics(self.config)
        return AgentState(params, statistics, opt_state, envs, key, jnp.zeros((), jnp.int32))

    def _init_learner(self, key: Array) -> tuple[PyTree, PyTree]:
        """Parameters and the state of their optimizer."""
        params = self.network.init(key)
        return params, self._optimizer.init(params)

    def update(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals]:
        """Acts for one rollout, then learns from it."""
        return self.update_with_advantages(state)[:3]

    def update_with_advantages(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals, Advantages]:
        """The same, with the rollout's advantages besides."""
        config, network = self.config, self.network
        key, rollout_key, epochs_key = jax.random.split(state.key, 3)
        act = partial(self.outputs, *state.variables)
        envs, rollout, episodes = collect(
            self.env, act, network.obs_keys, state.envs, rollout_key, config.unroll_length
        )
        reward, rewards = scaled_rewards(config, state.statistics, rollout)
        advantage = rollout.advantage(config, reward)
        target = rollout.value + advantage
        (params, opt_state), metrics = learn_from_rollout(
            lambda params, batch, key: self._loss(self._taught(params, state), state.statistics, batch, key),
            self._optimizer,
            (state.params, state.opt_state),
            rollout,
            advantage,
            epochs_key,
            config,
            config.num_epochs,
        )
        metrics["explained_variance"] = explained_variance(rollout.value, target, rollout.valid)
        params, statistics = network.update_statistics(
            params, state.statistics, rollout.state_observation, target, rollout.valid
        )
        statistics = statistics | rewards
        after = AgentState(params, statistics, opt_state, envs, key, state.num_updates + 1)
        return after, metrics, episodes, Advantages(advantage, rollout.valid)

    def _taught(self, params: PyTree, state: AgentState) -> PyTree:
        """The parameters, of which the actor's have no gradient while only the critic learns."""
        if not self.config.critic_updates:
            return params
        alone = state.num_updates < self.config.critic_updates

        def held(x: Array) -> Array:
            return jnp.where(alone, jax.lax.stop_gradient(x), x)

        return params | jax.tree.map(held, actor_params(params))

    def _loss(
        self, params: PyTree, statistics: PyTree, batch: Minibatch, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """The clipped surrogate (eq. 7), a squared value error, an entropy bonus (eq. 9), DrAC's term, the state's."""
        config, (entropy_key, shift_key) = self.config, jax.random.split(key)
        outputs = partial(self.outputs, params, statistics)
        output = outputs(batch.observation)
        policy_loss, metrics = clipped_surrogate(output.policy, batch, config.clip)
        value_loss = value_error(output, batch.target, batch.valid)
        entropy = valid_mean(output.policy.entropy(entropy_key), batch.valid)
        shift_loss, moved = shift_error(outputs, output, batch.observation, batch.valid, shift_key, config)
        loss = policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy + shift_loss
        metrics |= {"value_loss": value_loss, "entropy": entropy} | moved
        error = partial(self.network.state_error, params, statistics)
        state_loss, predicted = state_error(error, output, batch.observation, batch.valid, config)
        return loss + state_loss, metrics | predicted
