"""Distillation of a state teacher into a pixel student (DAgger, Ross et al. 2011, arXiv 1011.0686), in one program.

Teacher and student act together: each action is the teacher's with a probability that falls to 0, else the student's
with the teacher's spread. All observations are kept with what the teacher would have done, so the student learns to act
where it gets to itself; its loss is the divergence KL(teacher, student). The teacher reads the engine's state, the
student what it will have in the end: pixels, under distractors.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PyTree
from typing_extensions import override

from pixelbrax.envs import PixelEnv, State, num_bytes
from pixelbrax.errors import ConfigError, check_count
from pixelbrax.learning import (
    Agent,
    AgentState,
    EpisodeTotals,
    GradientConfig,
    Metrics,
    Replay,
    Steps,
    Teacher,
    check_env,
    descend,
    each_env,
    episode_totals,
    learner_bytes,
    make_optimizer,
    refuse,
    shifted,
    start_envs,
    valid_mean,
)
from pixelbrax.networks import ActionDistribution, ActorCritic, NetworkConfig, Observation, TanhNormal


@dataclass(frozen=True)
class DistillConfig(GradientConfig):
    """Settings of distillation."""

    learning_rate: float = 1e-3
    """Initial learning rate of Adam."""
    final_learning_rate: float = 1e-4
    """Final learning rate of Adam, to which it decays linearly."""
    teacher: str = ""
    """Folder of the run whose policy teaches, trained with obs=state in the same task."""
    teacher_updates: int = 0
    """Number of updates of the teacher's checkpoint; 0 is its last one when the run starts."""
    teacher_acts: float = 0.1
    """Share of the run in which the teacher's share of the actions falls from 1 to 0."""
    replay_size: int = 65_536
    """Steps of all environments that the student learns from: the latest ones."""
    gradient_steps: int = 16
    """Gradient steps in an update."""
    minibatch_size: int = 512
    """Samples of a gradient step."""
    keep_buffer: bool = False
    """Keep the replay buffer in checkpoints, so that a resumed run goes on to the bit."""

    SWEEPABLE: ClassVar[tuple[str, ...]] = (*GradientConfig.SWEEPABLE, "teacher_acts")

    @property
    def num_rows(self) -> int:
        """Steps of each environment in the replay buffer."""
        return self.replay_size // self.num_envs

    @override
    def must_divide(self) -> dict[str, int]:
        """Environments, and the samples of a minibatch."""
        return super().must_divide() | {"the minibatch size": self.minibatch_size}

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, there is no teacher, or the buffer does not hold whole rollouts.
        """
        super().validate()
        if not self.teacher:
            raise ConfigError("distill needs a teacher: the folder of a run that was trained with obs=state")
        check_count("teacher_updates", self.teacher_updates, least=0)
        self._fraction("teacher_acts")
        self._at_least_one("replay_size", "gradient_steps", "minibatch_size")
        if self.replay_size % self.steps_per_update:
            size = max(self.replay_size // self.steps_per_update, 1) * self.steps_per_update
            raise ConfigError(
                f"replay_size {self.replay_size:,} is no multiple of the {self.steps_per_update:,} steps of an update "
                f"(num_envs x unroll_length): use {size:,}"
            )


class Distill(Agent):
    """Pure `init(key)` and `update(state)`; compile them."""

    def __init__(
        self, env: PixelEnv, network: NetworkConfig, config: DistillConfig, total_updates: int, teacher: Teacher
    ):
        """An agent for an environment.

        Args:
          env: one environment; it is batched here.
          network: architecture of the student; of it the actor learns.
          config: settings, validated.
          total_updates: number of updates over which the learning rate decays.
          teacher: the policy that it learns from.

        Raises:
          ConfigError: the agent would misread the environment.
        """
        refuse(network, "distill", critic="it has no critic", normalize_value="it has no critic")
        self.network = ActorCritic.for_env(env, network)
        check_env(env, self.network.obs_keys, config.random_shift)
        if config.num_rows < config.unroll_length + env.images.frame_stack:
            updates = 1 - (-env.images.frame_stack // config.unroll_length)
            raise ConfigError(
                f"replay_size {config.replay_size:,} is too small for frame_stack {env.images.frame_stack}: use "
                f"{updates * config.steps_per_update:,}"
            )
        self.env, self.config, self.teacher, self._teacher = env, config, teacher, teacher
        self.resumes_exactly = config.keep_buffer
        self._total_updates = total_updates
        self._optimizer = make_optimizer(config, total_updates * config.gradient_steps)

    @property
    def learner_bytes(self) -> int:
        """Lower bound of the device memory that parameters, gradients and the optimizer take in an update."""
        return learner_bytes(self._init_learner, 1)

    @property
    def bytes_per_env(self) -> int:
        """Lower bound of the device memory that each environment takes: its states and its share of the buffer."""
        return self.env.bytes_per_env + num_bytes(jax.eval_shape(self._empty)) // self.config.num_envs

    def policy(self, params: PyTree, statistics: PyTree, observation: Observation) -> ActionDistribution:
        """Distribution of the student's actions for a batch of observations."""
        return self.network.apply(params, statistics, observation).policy

    def init(self, key: Array) -> AgentState:
        """Fresh parameters and environments, the latter at random times of their first episodes; an empty buffer."""
        params_key, reset_key, clock_key, key = jax.random.split(key, 4)
        params, opt_state = self._init_learner(params_key)
        envs = start_envs(self.env, self.config.num_envs, reset_key, clock_key)
        statistics, updates = self.network.init_statistics(), jnp.zeros((), jnp.int32)
        return AgentState(params, statistics, opt_state, envs, key, updates, self._empty())

    def _init_learner(self, key: Array) -> tuple[PyTree, PyTree]:
        params = self.network.init(key)
        return params, self._optimizer.init(params)

    def update(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals]:
        """Both act for one rollout, of which the buffer remembers the teacher's view; then the student learns."""
        config = self.config
        key, rollout_key, learn_key = jax.random.split(state.key, 3)
        envs, new, episodes = self._collect(state, rollout_key)
        buffer = state.buffer.add(new)
        statistics = self._update_statistics(state.params, state.statistics, new)

        def step(trained: tuple[PyTree, PyTree], key: Array) -> tuple[tuple[PyTree, PyTree], Metrics]:
            draw_key, shift_key = jax.random.split(key)
            batch = buffer.take(_Minibatch.of, *buffer.draw(draw_key, (config.minibatch_size,)))
            batch = batch._replace(
                observation=shifted(batch.observation, shift_key, config.random_shift),
                valid=batch.valid & (buffer.usable() > 0),
            )
            return descend(self._optimizer, lambda params: self._loss(params, statistics, batch), trained)

        keys = jax.random.split(learn_key, config.gradient_steps)
        (params, opt_state), metrics = jax.lax.scan(step, (state.params, state.opt_state), keys)
        metrics = {name: value.mean() for name, value in metrics.items()}
        metrics["teacher_share"] = self._teacher_share(state.num_updates)
        return AgentState(params, statistics, opt_state, envs, key, state.num_updates + 1, buffer), metrics, episodes

    def _collect(self, state: AgentState, key: Array) -> tuple[State, Steps, EpisodeTotals]:
        """A rollout of the mixture of both: the last states, the steps to remember, and totals of episodes."""
        variables, share = self._teacher.load(), self._teacher_share(state.num_updates)

        def step(envs: State, key: Array) -> tuple[State, tuple[Steps, EpisodeTotals]]:
            teacher_key, student_key, choice_key = jax.random.split(key, 3)
            teacher = self._teacher.policy(variables, envs.obs)
            student = self.policy(*state.variables, envs.obs)
            teaches = jax.random.bernoulli(choice_key, share, envs.done.shape)[:, None]
            # The student's own spread is what it cannot tell apart: acting with it would lead far from the teacher.
            student = replace(student, log_std=teacher.log_std)
            raw = jnp.where(teaches, teacher.sample(teacher_key), student.sample(student_key))
            following = each_env(self.env.step)(envs, teacher.action(raw))
            return following, (self._row(envs, teacher), episode_totals(following))

        keys = jax.random.split(key, self.config.unroll_length)
        envs, (rows, totals) = jax.lax.scan(step, state.envs, keys)
        return envs, jax.tree.map(lambda x: x[:, 0], rows), jax.tree.map(lambda x: x.sum(0), totals)

    def _loss(self, params: PyTree, statistics: PyTree, batch: "_Minibatch") -> tuple[Float[Array, ""], Metrics]:
        """KL(teacher, student); what the student cannot tell apart becomes its spread."""
        student = self.policy(params, statistics, batch.observation)
        teacher = replace(student, mean=batch.mean, log_std=batch.log_std)
        loss = valid_mean(teacher.kl(student), batch.valid)
        distance = jnp.abs(teacher.action(teacher.mode()) - student.action(student.mode())).mean(-1)
        return loss, {"kl": loss, "action_distance": valid_mean(distance, batch.valid)}

    def _teacher_share(self, num_updates: Int32[Array, ""]) -> Float[Array, ""]:
        """Probability that an action is the teacher's."""
        updates = jnp.maximum(self.config.teacher_acts * self._total_updates, 1.0)
        return jnp.maximum(1.0 - num_updates / updates, 0.0) * (self.config.teacher_acts > 0)

    def _update_statistics(self, params: PyTree, statistics: PyTree, new: Steps) -> PyTree:
        """Statistics of a student's own states, if it reads them; the parameters do not change."""
        valid = new.kept["valid"]
        seen = {name: x for name, x in new.kept.items() if name == "state"}
        return self.network.update_statistics(params, statistics, seen, jnp.zeros(valid.shape), valid)[1]

    def _row(self, envs: State, teacher: ActionDistribution) -> Steps:
        """What is kept of a step of all environments."""
        kept = {"mean": teacher.mean, "log_std": teacher.log_std, "valid": ~envs.done}
        return Steps.of(self.env, envs, self.network.obs_keys, kept)

    def _empty(self) -> Replay:
        def row(keys: Array) -> Steps:
            envs = jax.vmap(self.env.reset)(keys)
            action = jnp.zeros((self.config.num_envs, self.env.action_size))
            return self._row(envs, TanhNormal(action, action))

        keys = jax.random.split(jax.random.key(0), self.config.num_envs)
        return Replay.empty(jax.eval_shape(row, keys), self.config.num_rows)

    def buffer_sharding(self) -> PyTree:
        """Each device has the steps of its own environments."""
        return Replay.sharding()

    def to_checkpoint(self, state: AgentState) -> AgentState:
        """The state; without its buffer unless that is to be kept."""
        return state if self.config.keep_buffer else replace(state, buffer=())

    def from_checkpoint(self, state: AgentState) -> AgentState:
        """The state, with an empty buffer where none was kept."""
        return state if self.config.keep_buffer else replace(state, buffer=self._empty())


class _Minibatch(NamedTuple):
    """Samples of the buffer; the first axis is the sample.

    Attributes:
      observation: what the student sees.
      mean, log_std: of the teacher's policy there.
      valid: False where the step was an environment's reset.
    """

    observation: Observation
    mean: Float[Array, "sample action_size"]
    log_std: Float[Array, "sample action_size"]
    valid: Bool[Array, " sample"]

    @classmethod
    def of(cls, steps: Steps, row: Int32[Array, " sample"], env: Int32[Array, " sample"]) -> "_Minibatch":
        kept = (steps.kept[name][row, env] for name in ("mean", "log_std", "valid"))
        return cls(steps.observation(row, env), *kept)
