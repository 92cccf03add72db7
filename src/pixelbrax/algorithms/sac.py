"""Soft actor-critic (Haarnoja et al. 2018, arXiv 1812.05905) from pixels, as one compiled update.

As in DrQ-v2 (Yarats et al. 2021, arXiv 2107.09645): the critic alone teaches the encoder, images are shifted at random,
apart for an observation and the next, and targets are sums over n steps. As in later work for many environments: the
critics give distributions over returns in units of their spread (C51), and their layers are normalized, so that little
depends on a task's rewards; the actor learns more slowly than the critics.

An update is `unroll_length` steps of all environments with `gradient_steps` after each. The replay buffer stays on the
device and keeps each frame once.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Float, Int32, PyTree
from typing_extensions import override

from pixelbrax.envs import DEVICE_AXIS, PixelEnv, State
from pixelbrax.errors import ConfigError, check_count
from pixelbrax.learning import (
    RING,
    AgentState,
    EpisodeTotals,
    Metrics,
    PinkNoise,
    Replay,
    ReplayAgent,
    ReplayConfig,
    RewardConfig,
    Steps,
    add_returns,
    atoms,
    check_env,
    descend,
    each_env,
    empty_returns,
    episode_totals,
    make_optimizer,
    n_step,
    project,
    refuse,
    reward_unit,
    shifted,
    valid_mean,
)
from pixelbrax.networks import ActionDistribution, NetworkConfig, Observation, SoftActorCritic

_NOISE = "noise"  # its key in the buffer
_LOG_SQRT_2PI_E = 1.4189385332046727  # entropy of a standard normal
_UNIFORM_STD = 2 * math.exp(-_LOG_SQRT_2PI_E)  # a normal with it has the entropy of uniform actions, the most there is
_METRICS = ("critic_loss", "value", "gradient_norm", "actor_loss", "entropy", "temperature")


@dataclass(frozen=True)
class SACConfig(ReplayConfig, RewardConfig):
    """Settings of SAC."""

    unroll_length: int = 16
    """Steps per environment in an update; its gradient steps are spread over them."""
    learning_rate: float = 3e-4
    """Initial learning rate of Adam."""
    final_learning_rate: float = 3e-4
    """Final learning rate of Adam, to which it decays linearly."""
    max_grad_norm: float = 10.0
    """Global norm to which gradients are clipped."""
    discount: float = 0.99
    """Discount of future rewards per step (gamma)."""
    reward_scale: float = 1.0
    """Factor on rewards; with `normalize_reward` it does not matter."""
    normalize_reward: bool = True
    """Rewards in units in which discounted returns have at most spread 1 and size `value_bound`."""
    replay_size: int = 262_144
    random_steps: int = 4_096
    """Steps of all environments with uniformly random actions, before learning starts."""
    pink_noise: bool = False
    """Actions of training vary slowly as well as quickly, by noise of power 1/f (Eberhard et al. 2023), the random ones
    too; else each is sampled by itself. It finds what takes several actions in a row."""
    gradient_steps: int = 16
    """Gradient steps of the critics after each step of all environments."""
    minibatch_size: int = 256
    policy_delay: int = 2
    """Gradient steps of the critics for each of the actor and of the temperature."""
    n_step: int = 3
    """Steps of rewards in a target (n)."""
    tau: float = 0.01
    """Step of the target critics towards the critics."""
    hidden_layers: tuple[int, ...] = (256, 256)
    """Hidden layers of actor and critics."""
    layer_norm: bool = True
    """Normalize those layers."""
    num_atoms: int = 101
    """Values over which a critic's distribution of returns extends (C51); 1 is a plain critic with squared errors."""
    value_bound: float = 5.0
    """The largest of those values; the least is its negative."""
    initial_temperature: float = 0.01
    """Weight of the entropy at first (alpha), in units of the critics' values; it is learned."""
    target_std: float = 0.15
    """The temperature is learned so that the policy's entropy is that of normal actions with this spread; that of
    uniform actions is 0.484."""

    SWEEPABLE: ClassVar[tuple[str, ...]] = (*RewardConfig.SWEEPABLE, "tau", "initial_temperature", "target_std")

    @override
    def idle(self, network: NetworkConfig) -> dict[str, str]:
        """A reward's scale where rewards are normalized; else, of a plain critic, the bound of values."""
        if self.normalize_reward:
            return {"reward_scale": "normalize_reward chooses the unit of rewards"}
        return {"value_bound": "num_atoms is 1, and rewards are not normalized"} if self.num_atoms == 1 else {}

    @property
    def random_rows(self) -> int:
        """Steps of each environment before learning starts."""
        return -(-self.random_steps // self.num_envs)

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, or the buffer is full before learning starts.
        """
        super().validate()
        self._at_least_one("gradient_steps", "policy_delay", "n_step", "num_atoms")
        self._positive("value_bound", "initial_temperature", "target_std")
        if self.target_std >= _UNIFORM_STD:
            raise ConfigError(
                f"target_std is {self.target_std:g}: it must be below {_UNIFORM_STD:.3f}, which has the entropy of "
                "uniform actions, the most there is; else the temperature grows for ever"
            )
        self._fraction("tau")
        check_count("random_steps", self.random_steps, least=0)
        for size in self.hidden_layers:
            check_count("hidden_layers", size)
        if self.num_atoms == 2:
            raise ConfigError("num_atoms is 2: it must be 1, a plain critic, or at least 3")
        if self.gradient_steps % self.policy_delay:
            raise ConfigError(f"policy_delay {self.policy_delay} does not divide gradient_steps {self.gradient_steps}")
        if self.replay_size % self.num_envs or self.num_rows <= self.random_rows + self.n_step:
            least = (self.random_rows + self.n_step + 1) * self.num_envs
            raise ConfigError(
                f"replay_size {self.replay_size:,} must be a multiple of num_envs {self.num_envs} and hold more than "
                f"random_steps and n_step: at least {least:,}"
            )


class SAC(ReplayAgent):
    """Pure `init(key)` and `update(state)`; compile them."""

    def __init__(self, env: PixelEnv, network: NetworkConfig, config: SACConfig, total_updates: int):
        """An agent for an environment.

        Args:
          env: one environment; it is batched here.
          network: architecture of the encoder, and what the critics read.
          config: settings, validated.
          total_updates: number of updates over which learning rates decay.

        Raises:
          ConfigError: the agent would misread the environment, or the run ends before learning starts.
        """
        reasons = {
            "distribution": "its actions are tanh-normal",
            "normalize_value": "it has normalize_reward",
            "initial_std": "its spread depends on the observation",
            "state_layers": "it has hidden_layers",
            "policy_layers": "it has hidden_layers",
        }
        refuse(network, "sac", **reasons)
        if network.critic == "separate":
            raise ConfigError("sac has no critic=separate: its critics teach the encoder, which the actor only reads")
        self.network = SoftActorCritic(env, network, config.hidden_layers, config.layer_norm, config.num_atoms)
        check_env(env, self.network.obs_keys, config.random_shift)
        self._first_rows = max(config.random_rows, env.images.frame_stack + config.n_step)  # before learning starts
        if config.num_rows < self._first_rows:
            raise ConfigError(
                f"replay_size {config.replay_size:,} is too small: use {2 * self._first_rows * config.num_envs:,}"
            )
        super().__init__(env, config)
        rows = total_updates * config.unroll_length - self._first_rows + 1  # those that learn
        if rows < 1:
            raise ConfigError(
                f"learning starts after {self._first_rows * config.num_envs:,} steps (random_steps, or frame_stack + "
                f"n_step of each environment), but the run has only {total_updates * config.steps_per_update:,}: sac "
                "would never learn; use more num_steps, or fewer random_steps"
            )
        steps = rows * config.gradient_steps
        counts = {"critic": steps, "actor": steps // config.policy_delay, "temperature": steps // config.policy_delay}
        self._optimizers = {name: make_optimizer(config, count) for name, count in counts.items()}

    def policy(self, params: PyTree, statistics: PyTree, observation: Observation) -> ActionDistribution:
        """Distribution of the actions for a batch of observations."""
        inputs = self.network.inputs(params["network"], statistics["inputs"], observation)
        return self.network.policy(params["network"], inputs)

    def init_learner(self, key: Array) -> tuple[PyTree, PyTree]:
        """Fresh networks with the target critics and the temperature, and the states of their optimizers."""
        network = self.network.init(key)
        temperature = jnp.log(jnp.asarray(self.config.initial_temperature, jnp.float32))
        params = {"network": network, "target": network["critics"], "log_temperature": temperature}
        parts = {name: self._part(network, name) for name in self.network.parts} | {"temperature": temperature}
        return params, {name: self._optimizers[name].init(part) for name, part in parts.items()}

    def init_statistics(self) -> PyTree:
        """Of the states that networks read, and of returns."""
        return {"inputs": self.network.init_statistics(), "returns": empty_returns()}

    def _part(self, network: PyTree, name: str) -> PyTree:
        """The parameters that a loss teaches."""
        return {key: network[key] for key in self.network.parts[name]}

    def update(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals]:
        """Acts and learns in turns."""
        config = self.config
        key, steps_key = jax.random.split(state.key)

        def step(carry: tuple, inputs: tuple[Array, Array]) -> tuple[tuple, tuple]:
            envs, statistics, buffer, learner = carry
            number, key = inputs
            act_key, learn_key = jax.random.split(key)
            action, noise = self._act(learner[0], statistics, envs, buffer, act_key, number)
            following = each_env(self.env.step)(envs, action)
            replay = buffer[RING].add(self._row(envs, following, action))
            # A return goes on over a truncation, as its bootstrapped value does.
            before = jnp.where(envs.terminated, 0.0, buffer["returns"])
            returns = jnp.where(envs.done, before, config.discount * before + following.reward)
            statistics = self._add(statistics, envs, returns)
            learner, metrics = self._learn(learner, statistics, replay, learn_key)
            buffer = noise | {RING: replay, "returns": returns}
            return (following, statistics, buffer, learner), (metrics, episode_totals(following))

        numbers = state.num_updates * config.unroll_length + jnp.arange(config.unroll_length)
        start = (state.envs, state.statistics, state.buffer, (state.params, state.opt_state))
        keys = jax.random.split(steps_key, config.unroll_length)
        (envs, statistics, buffer, (params, opt_state)), (metrics, totals) = jax.lax.scan(step, start, (numbers, keys))
        after = AgentState(params, statistics, opt_state, envs, key, state.num_updates + 1, buffer)
        known = {name: jnp.mean(x) for name, x in metrics.items()}  # NaN until learning has started
        return after, known, jax.tree.map(lambda x: x.sum(0), totals)

    def _act(
        self, params: PyTree, statistics: PyTree, envs: State, buffer: dict[str, Any], key: Array, number: Array
    ) -> tuple[Float[Array, "env action_size"], dict[str, Any]]:
        """The actions of a step of this number, and what the buffer keeps of their noise."""
        policy_key, random_key = jax.random.split(key)
        policy = self.policy(params, statistics, envs.obs)
        if self.config.pink_noise:
            noise = buffer[_NOISE].following(policy_key)
            raw = policy.mean + jnp.exp(policy.log_std) * noise.value
            uniform = 2 * jax.scipy.stats.norm.cdf(noise.value) - 1
            kept = {_NOISE: noise}
        else:
            raw, kept = policy.sample(policy_key), {}
            uniform = jax.random.uniform(random_key, raw.shape, minval=-1.0)
        return jnp.where(number < self.config.random_rows, uniform, policy.action(raw)), kept

    def _add(self, statistics: PyTree, envs: State, returns: Float[Array, " env"]) -> PyTree:
        """Statistics with the states before a step, and the returns after it."""
        inputs = self.network.add_inputs(statistics["inputs"], envs.obs, ~envs.done)
        return {"inputs": inputs, "returns": add_returns(statistics["returns"], returns, ~envs.done)}

    def _learn(
        self, learner: tuple[PyTree, PyTree], statistics: PyTree, replay: Replay, key: Array
    ) -> tuple[tuple[PyTree, PyTree], Metrics]:
        """`gradient_steps` steps, or none before there is enough to learn from.

        The steps read the buffer in a loop and in no branch, which would copy it.
        """
        config = self.config
        rounds = config.gradient_steps // config.policy_delay
        unit = self._unit(statistics)

        def once(round: Array, carry: tuple) -> tuple:
            learner, sums = carry
            critic_keys = jax.random.split(jax.random.fold_in(key, round), config.policy_delay + 1)
            for number in range(config.policy_delay):
                learner, found, batch = self._critic_step(learner, statistics, replay, unit, critic_keys[number])
            learner, more = self._actor_step(learner, statistics, batch, critic_keys[-1])
            return learner, jax.tree.map(jnp.add, sums, found | more)

        none = dict.fromkeys(_METRICS, jnp.zeros(()))
        enough = replay.filled >= self._first_rows
        learner, sums = jax.lax.fori_loop(0, jnp.where(enough, rounds, 0), once, (learner, none))
        metrics = {name: jnp.where(enough, x / rounds, jnp.nan) for name, x in sums.items()}
        return learner, metrics | {"reward_unit": unit}

    def _unit(self, statistics: PyTree) -> Float[Array, ""]:
        """The unit of rewards and values."""
        given = 1.0 / self.config.reward_scale
        if not self.config.normalize_reward:
            return jnp.asarray(given, jnp.float32)
        return reward_unit(statistics["returns"], self.config.value_bound)

    def _critic_step(
        self, learner: tuple[PyTree, PyTree], statistics: PyTree, replay: Replay, unit: Array, key: Array
    ) -> tuple[tuple[PyTree, PyTree], Metrics, "_Minibatch"]:
        """One gradient step of the critics and what they read; the target follows. Also returns the samples."""
        config, (params, opt_state) = self.config, learner
        draw_key, here_key, next_key, action_key = jax.random.split(key, 4)

        def read(steps: Steps, row: Array, env: Array) -> _Minibatch:
            return _Minibatch.of(steps, row, env, config.n_step, config.discount)

        batch = replay.take(read, *replay.draw(draw_key, (config.minibatch_size,), config.n_step))
        batch = batch._replace(
            observation=shifted(batch.observation, here_key, config.random_shift),
            next_observation=shifted(batch.next_observation, next_key, config.random_shift),
            reward=batch.reward / unit,
        )
        target = jax.lax.stop_gradient(self._target(params, statistics, batch, action_key))

        def loss(part: PyTree) -> tuple[Float[Array, ""], Metrics]:
            network: Any = params["network"] | part
            inputs = self.network.inputs(network, statistics["inputs"], batch.observation)
            outputs = self.network.critics(network, inputs, batch.action)
            if config.num_atoms == 1:
                errors = 0.5 * (outputs - target[None])[..., 0] ** 2
            else:
                errors = -jnp.sum(target[None] * jax.nn.log_softmax(outputs), axis=-1)
            value = valid_mean(self._expected(outputs).mean(0), batch.valid)
            critic_loss = valid_mean(errors.sum(0), batch.valid)
            return critic_loss, {"critic_loss": critic_loss, "value": value}

        trained = self._part(params["network"], "critic"), opt_state["critic"]
        (part, critic_state), metrics = descend(self._optimizers["critic"], loss, trained)
        network: Any = params["network"] | part
        target_params = optax.incremental_update(network["critics"], params["target"], config.tau)
        params = params | {"network": network, "target": target_params}
        return (params, opt_state | {"critic": critic_state}), metrics, batch

    def _target(
        self, params: PyTree, statistics: PyTree, batch: "_Minibatch", key: Array
    ) -> Float[Array, "sample atom"]:
        """What the critics should say: soft returns by the target critic that expects less."""
        config, network = self.config, params["network"]
        inputs = self.network.inputs(network, statistics["inputs"], batch.next_observation)
        policy = self.network.policy(network, inputs)
        raw = policy.sample(key)
        bonus = -jnp.exp(params["log_temperature"]) * policy.log_prob(raw)
        outputs = self.network.critics(network | {"critics": params["target"]}, inputs, policy.action(raw))
        less = jnp.argmin(self._expected(outputs), axis=0)
        outputs = jnp.take_along_axis(outputs, less[None, :, None], axis=0)[0]
        if config.num_atoms == 1:
            return (batch.reward + batch.bootstrap * (outputs[:, 0] + bonus))[:, None]
        values = atoms(config.num_atoms, config.value_bound)[None] + bonus[:, None]
        values = batch.reward[:, None] + batch.bootstrap[:, None] * values
        return project(jax.nn.softmax(outputs), values, config.value_bound)

    def _actor_step(
        self, learner: tuple[PyTree, PyTree], statistics: PyTree, batch: "_Minibatch", key: Array
    ) -> tuple[tuple[PyTree, PyTree], Metrics]:
        """One gradient step of the actor, and of the temperature towards the target entropy."""
        params, opt_state = learner
        temperature = jnp.exp(params["log_temperature"])

        def loss(part: PyTree) -> tuple[Float[Array, ""], Metrics]:
            network: Any = params["network"] | part
            inputs = self.network.inputs(network, statistics["inputs"], batch.observation)
            policy = self.network.policy(network, inputs)
            raw = policy.sample(key)
            log_prob = policy.log_prob(raw)
            value = self._expected(self.network.critics(network, inputs, policy.action(raw))).min(0)
            actor_loss = valid_mean(temperature * log_prob - value, batch.valid)
            return actor_loss, {"actor_loss": actor_loss, "entropy": -valid_mean(log_prob, batch.valid)}

        trained = self._part(params["network"], "actor"), opt_state["actor"]
        (part, actor_state), metrics = descend(self._optimizers["actor"], loss, trained)
        surplus = metrics["entropy"] - self.env.action_size * (_LOG_SQRT_2PI_E + jnp.log(self.config.target_std))

        def temperature_loss(log_temperature: Array) -> tuple[Float[Array, ""], Metrics]:
            return log_temperature * jax.lax.stop_gradient(surplus), {}  # its gradient does not depend on alpha's size

        trained = params["log_temperature"], opt_state["temperature"]
        (log_temperature, temperature_state), _ = descend(self._optimizers["temperature"], temperature_loss, trained)
        params = params | {"network": params["network"] | part, "log_temperature": log_temperature}
        opt_state = opt_state | {"actor": actor_state, "temperature": temperature_state}
        found = {name: metrics[name] for name in ("actor_loss", "entropy")}
        return (params, opt_state), found | {"temperature": temperature}

    def _expected(self, outputs: Float[Array, "critic sample atom"]) -> Float[Array, "critic sample"]:
        """Expected returns by the critics' outputs."""
        if self.config.num_atoms == 1:
            return outputs[..., 0]
        return jax.nn.softmax(outputs) @ atoms(self.config.num_atoms, self.config.value_bound)

    def _row(self, envs: State, following: State, action: Float[Array, "env action_size"]) -> Steps:
        """What is kept of a step of all environments."""
        kept = {
            "action": action,
            "reward": following.reward,
            "terminated": following.terminated,
            "truncated": following.truncated,
            "valid": ~envs.done,
        }
        return Steps.of(self.env, envs, self.network.obs_keys, kept)

    def empty_buffer(self) -> dict[str, Any]:
        """The ring, each environment's discounted return so far, and pink noise."""

        def row(keys: Array) -> Steps:
            envs = jax.vmap(self.env.reset)(keys)
            return self._row(envs, envs, jnp.zeros((self.config.num_envs, self.env.action_size)))

        keys = jax.random.split(jax.random.key(0), self.config.num_envs)
        replay = Replay.empty(jax.eval_shape(row, keys), self.config.num_rows)
        noise = {_NOISE: PinkNoise.empty(self.config.num_envs, self.env.action_size)} if self.config.pink_noise else {}
        return noise | {RING: replay, "returns": jnp.zeros(self.config.num_envs)}

    def buffer_sharding(self) -> PyTree:
        """Each device has the steps of its own environments."""
        noise = {_NOISE: PinkNoise.sharding()} if self.config.pink_noise else {}
        return noise | {RING: Replay.sharding(), "returns": PartitionSpec(DEVICE_AXIS)}


class _Minibatch(NamedTuple):
    """Samples of the buffer; the first axis is the sample.

    Attributes:
      observation: before the action.
      action: the action taken, within -1..1.
      reward: discounted sum of the next n rewards.
      bootstrap: factor of the value of the next observation.
      next_observation: after n steps, or the episode's last.
      valid: False where the step was an environment's reset.
    """

    observation: Observation
    action: Float[Array, "sample action_size"]
    reward: Float[Array, " sample"]
    bootstrap: Float[Array, " sample"]
    next_observation: Observation
    valid: Bool[Array, " sample"]

    @classmethod
    def of(
        cls, steps: Steps, row: Int32[Array, " sample"], env: Int32[Array, " sample"], length: int, discount: Any
    ) -> "_Minibatch":
        after = n_step(steps, row, env, length, discount)
        return cls(
            steps.observation(row, env),
            steps.kept["action"][row, env],
            after.reward,
            after.bootstrap,
            steps.observation(after.row, env),
            steps.kept["valid"][row, env],
        )
