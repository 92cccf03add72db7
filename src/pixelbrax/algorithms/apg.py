"""Analytic policy gradients: short-horizon actor-critic (SHAC, Xu et al. 2022, arXiv 2204.07137).

The actor follows the derivative of its return through the physics over a short horizon, whose end a critic of states
values. From pixels the picture is a constant: the gradient flows through the physics and past the renderer (D.Va, You
et al. 2025, arXiv 2505.10646), which there trained faster than a gradient through the picture; that one is to be had as
well, with soft silhouettes.

Contacts decide whether these gradients are of use.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PyTree
from typing_extensions import override

from pixelbrax.envs import PixelEnv, State, check_reversible
from pixelbrax.errors import ConfigError
from pixelbrax.learning import (
    Agent,
    AgentState,
    EpisodeTotals,
    Metrics,
    RewardConfig,
    SoftFrames,
    check_env,
    descend,
    each_env,
    episode_totals,
    explained_variance,
    gae,
    isolated,
    learner_bytes,
    make_optimizer,
    means,
    refuse,
    run_epochs,
    shifted,
    start_envs,
    take_samples,
    valid_mean,
)
from pixelbrax.networks import ActionDistribution, ActorCritic, NetworkConfig, Observation, actor_params

_BETAS = (0.7, 0.95)  # of Adam, as in both papers' code


@dataclass(frozen=True)
class APGConfig(RewardConfig):
    """Settings of analytic policy gradients."""

    unroll_length: int = 32
    """Steps per environment between two updates: the horizon that gradients flow through."""
    learning_rate: float = 2e-3
    """Initial learning rate of the actor's Adam."""
    critic_learning_rate: float = 2e-3
    """Initial learning rate of the critic's Adam."""
    final_learning_rate: float = 1e-5
    """Final learning rate of both, to which they decay linearly."""
    max_grad_norm: float = 1.0
    """Global norm to which gradients are clipped."""
    discount: float = 0.99
    """Discount of future rewards per step (gamma)."""
    td_lambda: float = 0.95
    """Decay of the returns over several steps that the critic learns (TD(lambda))."""
    critic_epochs: int = 16
    """Passes of the critic over a rollout."""
    critic_minibatches: int = 4
    """Minibatches in a pass; must divide num_envs."""
    tau: float = 0.8
    """Step of the target critic towards the critic, once per update."""
    entropy_coef: float = 0.0
    """Weight of the entropy bonus."""
    render_gradient: Literal["none", "pixels"] = "none"
    """Derivative of images: none takes them for constants; pixels goes through the renderer, with soft silhouettes."""
    softness: float = 1.5
    """With render_gradient=pixels, the width over which silhouettes fade in the derivative, pixels."""

    SWEEPABLE: ClassVar[tuple[str, ...]] = (
        *RewardConfig.SWEEPABLE,
        "critic_learning_rate",
        "td_lambda",
        "tau",
        "entropy_coef",
    )
    READS_STATES: ClassVar[bool] = True

    @override
    def idle(self, network: NetworkConfig) -> dict[str, str]:
        """The width of silhouettes where no gradient flows through images."""
        return {} if self.render_gradient == "pixels" else {"softness": "render_gradient is none"}

    @override
    def must_divide(self) -> dict[str, int]:
        """Environments, and the samples of a minibatch."""
        return super().must_divide() | {"the minibatch size": self.steps_per_update // self.critic_minibatches}

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, or minibatches do not divide.
        """
        super().validate()
        self._positive("critic_learning_rate")
        self._fraction("td_lambda", "tau")
        self._at_least_one("critic_epochs", "critic_minibatches")
        self._not_negative("entropy_coef")
        self._positive("softness")
        if self.num_envs % self.critic_minibatches:
            least = self.num_envs - self.num_envs % self.critic_minibatches or self.critic_minibatches
            raise ConfigError(
                f"critic_minibatches {self.critic_minibatches} does not divide num_envs {self.num_envs}: use {least} "
                "environments"
            )


class APG(Agent):
    """Pure `init(key)` and `update(state)`; compile them."""

    def __init__(self, env: PixelEnv, network: NetworkConfig, config: APGConfig, total_updates: int):
        """An agent for an environment.

        Args:
          env: one environment with a derivative in reverse mode; it is batched here.
          network: architecture; the critic reads the engine's state.
          config: settings, validated.
          total_updates: number of updates over which learning rates decay.

        Raises:
          ConfigError: it has no such setting, would misread the environment, or has an engine without a derivative in
            reverse mode.
        """
        refuse(network, "apg", normalize_value="it has reward_scale")
        if network.critic == "separate":
            raise ConfigError("apg has no critic=separate: its critic reads the engine's state, as critic=state says")
        self.network = ActorCritic.for_env(env, replace(network, critic="state"))
        check_env(env, self.network.obs_keys, config.random_shift)
        check_reversible(env)
        pixels = "pixels" in self.network.obs_keys
        if config.render_gradient == "pixels" and (network.blind or not pixels):
            which = "with black images (blind)" if network.blind else "without images"
            raise ConfigError(f"render_gradient=pixels has no effect {which}: take none")
        self._soft_frames = SoftFrames(env, config.softness) if config.render_gradient == "pixels" else None
        self.env, self.config = env, config
        critics = replace(config, learning_rate=config.critic_learning_rate)
        passes = total_updates * config.critic_epochs * config.critic_minibatches
        self._optimizers = {
            "actor": make_optimizer(config, total_updates, betas=_BETAS),
            "critic": make_optimizer(critics, passes, betas=_BETAS),
        }

    @property
    def learner_bytes(self) -> int:
        """Lower bound of the device memory that parameters, gradients and the optimizers take in an update."""
        return learner_bytes(self._init_learner, 1)

    @property
    def bytes_per_env(self) -> int:
        """Lower bound of the device memory that each environment takes: its states at all times of the horizon."""
        images = self._soft_frames.bytes_per_env if self._soft_frames else 0
        return (1 + self.config.unroll_length) * (self.env.bytes_per_env // 2 + images)

    def policy(self, params: PyTree, statistics: PyTree, observation: Observation) -> ActionDistribution:
        """Distribution of the actions for a batch of observations."""
        return self.network.apply(params["network"], statistics, observation).policy

    def init(self, key: Array) -> AgentState:
        """Fresh parameters and environments, the latter at random times of their first episodes."""
        params_key, reset_key, clock_key, key = jax.random.split(key, 4)
        params, opt_state = self._init_learner(params_key)
        envs = start_envs(self.env, self.config.num_envs, reset_key, clock_key)
        return AgentState(params, self.network.init_statistics(), opt_state, envs, key, jnp.zeros((), jnp.int32))

    def _init_learner(self, key: Array) -> tuple[PyTree, PyTree]:
        network = self.network.init(key)
        params = {"network": network, "target": _critic_params(network)}
        parts = {"actor": actor_params(network), "critic": _critic_params(network)}
        return params, {name: self._optimizers[name].init(part) for name, part in parts.items()}

    def update(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals]:
        """One horizon: a gradient step of the actor, then passes of the critic over what was seen."""
        config = self.config
        key, unroll_key, critic_key = jax.random.split(state.key, 3)

        def loss(part: PyTree) -> tuple[Float[Array, ""], tuple[Float[Array, ""], _Seen]]:
            objective, entropy, seen = self._unroll(state, part, unroll_key)
            return -objective - config.entropy_coef * entropy, (entropy, seen)

        network = state.params["network"]
        part = actor_params(network)
        (actor_loss, (entropy, seen)), grads = jax.value_and_grad(loss, has_aux=True)(part)
        updates, actor_state = self._optimizers["actor"].update(grads, state.opt_state["actor"], part)
        network = network | optax.apply_updates(part, updates)  # pyright: ignore[reportOperatorIssue]
        metrics = {"actor_loss": actor_loss, "entropy": entropy, "gradient_norm": optax.tree.norm(grads)}

        target = self._targets(state, seen)
        metrics["explained_variance"] = explained_variance(target.value, target.wanted, seen.valid)
        (part, critic_state), found = self._learn_values(state, seen, target.wanted, critic_key)
        follow = optax.incremental_update(part, state.params["target"], config.tau)
        network = network | part
        statistics = self.network.update_statistics(
            network, state.statistics, {"state": seen.state}, target.wanted, seen.valid
        )[1]
        opt_state = {"actor": actor_state, "critic": critic_state}
        params = {"network": network, "target": follow}
        after = AgentState(params, statistics, opt_state, seen.envs, key, state.num_updates + 1)
        return after, metrics | found, seen.episodes

    def _step_alone(self, envs: State, action: Float[Array, " action_size"]) -> State:
        """A step of one environment, whose gradients stay with it."""
        physics, state, action = isolated((envs.physics, envs.obs["state"], action))
        return self.env.step(replace(envs, physics=physics, obs=envs.obs | {"state": state}), action)

    def _unroll(
        self, state: AgentState, part: PyTree, key: Array
    ) -> tuple[Float[Array, ""], Float[Array, ""], "_Seen"]:
        """The mean return of a horizon, a function of the actor's parameters; the policy's entropy; what was seen.

        The return of an environment is the discounted sum of its rewards up to the end of its episode or of the
        horizon, there with the target critic's value unless it terminated; a new episode counts from its beginning.
        """
        config, statistics = self.config, state.statistics
        network = state.params["network"]
        params = state.params | {"network": network | part}
        step_env = jax.checkpoint(self._step_alone, prevent_cse=False)
        act = jax.checkpoint(lambda observation: self.policy(params, statistics, observation), prevent_cse=False)

        soft = self._soft_frames

        def step(carry: tuple, keys: Array) -> tuple[tuple, tuple]:
            envs, factor, total, frames = carry
            observation = envs.obs if soft is None else soft.observed(envs, frames)
            policy = act(shifted(observation, keys[2], config.random_shift))
            raw = policy.sample(keys[0])
            entropy = valid_mean(policy.entropy(keys[1]), ~envs.done)
            following = each_env(step_env)(envs, policy.action(raw))
            total = total + factor * config.reward_scale * following.reward
            # The step after an end is the reset: no time passes for the new episode.
            factor = jnp.where(envs.done, 1.0, factor * config.discount)
            value = self._value(state, state.params["target"], following.obs["state"])
            total = total + jnp.where(following.truncated, factor * value, 0.0)
            kept = {
                "state": envs.obs["state"],
                "reward": following.reward,
                "terminated": following.terminated,
                "truncated": following.truncated,
                "valid": ~envs.done,
            }
            frames = () if soft is None else soft.add(frames, envs, following)
            return (following, factor, total, frames), (kept, entropy, episode_totals(following))

        envs = jax.lax.stop_gradient(state.envs)
        frames = () if soft is None else soft.begin(envs)
        start = (envs, jnp.ones(config.num_envs), jnp.zeros(config.num_envs), frames)
        keys = jax.random.split(key, (config.unroll_length, 3))
        (envs, factor, total, _), (kept, entropy, totals) = jax.lax.scan(step, start, keys)
        last = self._value(state, state.params["target"], envs.obs["state"])
        total = total + jnp.where(envs.done, 0.0, factor * last)
        episodes = jax.tree.map(lambda x: x.sum(0), totals)
        seen = jax.lax.stop_gradient(_Seen(**kept, envs=envs, episodes=episodes))
        return total.mean() / config.unroll_length, entropy.mean(), seen

    def _value(self, state: AgentState, part: PyTree, seen: Float[Array, "*batch size"]) -> Float[Array, "*batch"]:
        """Values of states that were seen, by the parameters of a critic."""
        flat = seen.reshape(-1, seen.shape[-1])
        params: Any = state.params["network"] | part
        return self.network.state_value(params, state.statistics, flat).reshape(seen.shape[:-1])

    def _targets(self, state: AgentState, seen: "_Seen") -> "_Targets":
        """Returns over several steps, TD(lambda), with the target critic's values."""
        config, part = self.config, state.params["target"]
        value = self._value(state, part, seen.state)
        last = self._value(state, part, seen.envs.obs["state"])
        following = jnp.concatenate([value[1:], last[None]])
        rewards = seen.reward * config.reward_scale
        advantage = gae(rewards, value, following, seen.terminated, seen.truncated, config.discount, config.td_lambda)
        return _Targets(value, value + advantage)

    def _learn_values(
        self, state: AgentState, seen: "_Seen", wanted: Float[Array, "time env"], key: Array
    ) -> tuple[tuple[PyTree, PyTree], Metrics]:
        """Passes over a horizon, towards the wanted values."""
        config = self.config

        def step(trained: tuple[PyTree, PyTree], indices: Array, key: Array) -> tuple[tuple[PyTree, PyTree], Metrics]:
            del key
            time, env = jnp.divmod(indices, config.num_envs)
            states, targets, valid = take_samples(_samples, (seen.state, wanted, seen.valid), time, env)

            def loss(part: PyTree) -> tuple[Float[Array, ""], Metrics]:
                errors = (self._value(state, part, states) - targets) ** 2
                value_loss = 0.5 * valid_mean(errors, valid)
                return value_loss, {"value_loss": value_loss}

            trained, found = descend(self._optimizers["critic"], loss, trained)
            return trained, {"value_loss": found["value_loss"]}

        trained = _critic_params(state.params["network"]), state.opt_state["critic"]
        passes, minibatches = config.critic_epochs, config.critic_minibatches
        trained, metrics = run_epochs(step, trained, key, passes, minibatches, config.steps_per_update)
        return trained, means(metrics)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Seen:
    """What a horizon showed, without gradients: state, reward, ends and validity are (time, env, ...)."""

    state: Float[Array, "time env size"]
    reward: Float[Array, "time env"]
    terminated: Bool[Array, "time env"]
    truncated: Bool[Array, "time env"]
    valid: Bool[Array, "time env"]
    envs: State
    episodes: EpisodeTotals


class _Targets(NamedTuple):
    """The target critic's values, and what the critic is to say instead."""

    value: Float[Array, "time env"]
    wanted: Float[Array, "time env"]


def _critic_params(params: PyTree) -> PyTree:
    return {name: params[name] for name in ("critic", "value")}


def _samples(kept: tuple[Array, ...], time: Array, env: Array) -> tuple[Array, ...]:
    return tuple(x[time, env] for x in kept)
