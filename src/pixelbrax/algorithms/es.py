"""Evolution strategies (Salimans et al. 2017, arXiv 1703.03864): search in parameter space, without gradients.

Each member of a population is the policy with noise on its parameters; the policy moves towards the noise of those
whose episodes returned more. Members come in pairs of opposite noise that begin in the same state, and only their
ranks count.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PyTree
from typing_extensions import override

from pixelbrax.envs import PixelEnv, State, num_bytes
from pixelbrax.errors import ConfigError
from pixelbrax.learning import (
    Agent,
    AgentConfig,
    AgentState,
    EpisodeTotals,
    Metrics,
    check_env,
    each_env,
    episode_totals,
    learner_bytes,
    refuse,
    scale_by_decaying_rate,
    start_envs,
)
from pixelbrax.networks import ActionDistribution, ActorCritic, NetworkConfig, Observation

_LOG_STD = -4.0  # only the mode is searched for
_PERTURBED = ("encoder", "policy_layers", "policy")  # the parameters of the deterministic policy, as far as it has them


@dataclass(frozen=True)
class ESConfig(AgentConfig):
    """Settings of evolution strategies."""

    num_envs: int = 128
    """Number of parallel environments: the members of the population, an even number."""
    unroll_length: int = 1000
    """Steps of each member's episode that count; its fitness is their sum of rewards, up to the episode's end."""
    learning_rate: float = 1e-2
    """Initial learning rate of Adam."""
    final_learning_rate: float = 1e-2
    """Final learning rate of Adam, to which it decays linearly."""
    perturbation_std: float = 0.05
    """Standard deviation of the noise on each parameter (sigma)."""
    weight_decay: float = 0.0
    """Multiple of the parameters that is taken from the gradient, which is that of the authors' code: weights are
    fitnesses' centered ranks over the size of the population (0.005 there)."""

    SWEEPABLE: ClassVar[tuple[str, ...]] = (*AgentConfig.SWEEPABLE, "perturbation_std", "weight_decay")

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, or the population is odd.
        """
        super().validate()
        self._positive("perturbation_std")
        self._not_negative("weight_decay")
        if self.num_envs % 2:
            raise ConfigError(f"num_envs is {self.num_envs}: es needs pairs of members, an even number")


class ES(Agent):
    """Pure `init(key)` and `update(state)`; compile them. An update is one generation."""

    compares_envs = True

    def __init__(self, env: PixelEnv, network: NetworkConfig, config: ESConfig, total_updates: int):
        """An agent for an environment.

        Args:
          env: one environment; it is batched here.
          network: architecture; the critic is not used.
          config: settings, validated.
          total_updates: number of updates over which the learning rate decays.

        Raises:
          ConfigError: the agent would misread the environment.
        """
        reasons = {name: "it has no critic" for name in ("critic", "normalize_value")}
        reasons["freeze_encoder"] = "the whole policy is searched"
        refuse(network, "es", **reasons, initial_std="only the policy's mode is searched")
        self.network = ActorCritic.for_env(env, network)
        check_env(env, self.network.obs_keys, random_shift=0)
        most = -(-env.episode_length // env.action_repeat)
        if config.unroll_length > most:
            raise ConfigError(
                f"unroll_length is {config.unroll_length}, but an episode has only {most} steps: use {most}"
            )
        self.env, self.config = env, config
        rate = scale_by_decaying_rate(config.learning_rate, config.final_learning_rate, total_updates)
        # The original's gradient is not divided by sigma; ours is, and so must be what is added to it.
        decay = optax.add_decayed_weights(config.weight_decay / config.perturbation_std)
        self._optimizer = optax.chain(decay, optax.scale_by_adam(), rate)

    @property
    def learner_bytes(self) -> int:
        """Lower bound of the device memory that parameters, gradients and the optimizer take in an update."""
        return learner_bytes(self._init_learner, 1)

    @property
    def bytes_per_env(self) -> int:
        """Lower bound of the device memory that each member takes: its environment and its parameters."""
        return self.env.bytes_per_env + num_bytes(jax.eval_shape(self._init_learner, jax.random.key(0))[0])

    def policy(self, params: PyTree, statistics: PyTree, observation: Observation) -> ActionDistribution:
        """Distribution of the actions for a batch of observations: its mode, with next to no spread."""
        policy = self.network.apply(params, statistics, observation).policy
        return replace(policy, log_std=jnp.full_like(policy.log_std, _LOG_STD))

    def init(self, key: Array) -> AgentState:
        """Fresh parameters and environments."""
        params_key, reset_key, clock_key, key = jax.random.split(key, 4)
        params, opt_state = self._init_learner(params_key)
        envs = start_envs(self.env, self.config.num_envs, reset_key, clock_key)
        return AgentState(params, self.network.init_statistics(), opt_state, envs, key, jnp.zeros((), jnp.int32))

    def _init_learner(self, key: Array) -> tuple[PyTree, PyTree]:
        params = self.network.init(key)
        return params, self._optimizer.init(_perturbed(params))

    def update(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals]:
        """One generation: every member acts for an episode, and the policy moves towards the best."""
        count, std = self.config.num_envs, self.config.perturbation_std
        key, noise_key, reset_key = jax.random.split(state.key, 3)
        pair, sign = jnp.divmod(jnp.arange(count), 2)
        each_key = jax.vmap(jax.random.fold_in, (None, 0))
        policy = _perturbed(state.params)
        shapes = jax.eval_shape(lambda: policy)
        noise = each_env(lambda key, sign: _noise(shapes, key, 1.0 - 2.0 * sign))(each_key(noise_key, pair), sign)
        members = jax.tree.map(lambda x, e: x[None] + std * e, policy, noise)

        envs, fitness, seen, episodes = self._evaluate(state, members, each_key(reset_key, pair))
        weight = _centered_ranks(fitness) / (count * std)
        ascent = jax.tree.map(lambda e: jnp.tensordot(weight, e, axes=1), noise)
        updates, opt_state = self._optimizer.update(jax.tree.map(jnp.negative, ascent), state.opt_state, policy)
        params = state.params | optax.apply_updates(policy, updates)  # pyright: ignore[reportOperatorIssue]
        observation, counts = seen
        params, statistics = self.network.update_statistics(
            params, state.statistics, observation, jnp.zeros(counts.shape), counts
        )
        metrics = {
            "fitness": fitness.mean(),
            "fitness_best": fitness.max(),
            "fitness_spread": fitness.std(),
            "gradient_norm": optax.tree.norm(ascent),
        }
        return AgentState(params, statistics, opt_state, envs, key, state.num_updates + 1), metrics, episodes

    def _evaluate(
        self, state: AgentState, members: PyTree, keys: Array
    ) -> tuple[State, Float[Array, " env"], tuple[Observation, Bool[Array, "time env"]], EpisodeTotals]:
        """One episode of each member: last states, sums of rewards, states seen and which of them count, and totals."""
        count = self.config.num_envs
        # The statistics are the same for all, and not perturbed.
        statistics = jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), state.statistics)
        others = {name: x for name, x in state.params.items() if name not in _PERTURBED}
        others = jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), others)

        def act(params: PyTree, statistics: PyTree, observation: Observation) -> Array:
            policy = self.policy(params, statistics, {name: x[None] for name, x in observation.items()})
            return policy.action(policy.mode())[0]

        def step(carry: tuple[State, Array, Array], _: None) -> tuple[tuple[State, Array, Array], tuple]:
            envs, alive, fitness = carry
            observation = {name: envs.obs[name] for name in self.network.obs_keys}
            following = each_env(self.env.step)(envs, each_env(act)(members | others, statistics, observation))
            fitness = fitness + jnp.where(alive, following.reward, 0.0)
            seen = {"state": observation["state"]} if "state" in observation else {}
            return (following, alive & ~following.done, fitness), (seen, alive, episode_totals(following))

        initial = each_env(self.env.reset)(keys, state.envs.params)
        start = (initial, jnp.ones(count, bool), jnp.zeros(count))
        (envs, _, fitness), (seen, alive, totals) = jax.lax.scan(step, start, None, length=self.config.unroll_length)
        return envs, fitness, (seen, alive), jax.tree.map(lambda x: x.sum(0), totals)


def _perturbed(params: PyTree) -> PyTree:
    return {name: params[name] for name in _PERTURBED if name in params}


def _noise(shapes: PyTree, key: Array, sign: Array) -> PyTree:
    """Standard normal noise of these shapes, times a sign."""
    leaves, tree = jax.tree.flatten(shapes)
    keys = jax.random.split(key, len(leaves))
    noise = [sign * jax.random.normal(key, x.shape) for key, x in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(tree, noise)


def _centered_ranks(fitness: Float[Array, " member"]) -> Float[Array, " member"]:
    """Ranks from -0.5 (least) to 0.5; equal values share theirs, so that a population that ties goes nowhere."""
    worse = jnp.sum(fitness[None] < fitness[:, None], axis=1)
    not_better = jnp.sum(fitness[None] <= fitness[:, None], axis=1)
    rank = (worse + not_better - 1) / 2
    return rank / (fitness.shape[0] - 1) - 0.5
