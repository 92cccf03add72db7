"""Distillation of a state teacher into a pixel student (DAgger, Ross et al. 2011, arXiv 1011.0686), in one program.

Teacher and student act side by side: the teacher at first in all environments, then in a share of them that falls to
a small one, the student in the others. All observations are kept with what the teacher would have done, so the student
learns to act where it gets to itself; its loss is the divergence KL(teacher, student). The teacher reads the engine's
state, the student what it will have in the end: pixels, under distractors.

A student that has fallen over learns nothing there from a teacher that cannot get up either, and might lie there for
most of its time: an episode that brings much less than the teacher's is lost, and ends.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PyTree
from typing_extensions import override

from pixelbrax.envs import PixelEnv, State
from pixelbrax.errors import ConfigError, check_count
from pixelbrax.learning import (
    RING,
    AgentState,
    DecayState,
    EpisodeTotals,
    Metrics,
    Pace,
    Replay,
    ReplayAgent,
    ReplayConfig,
    Steps,
    Teacher,
    check_env,
    descend,
    each_env,
    episode_totals,
    learning_rates,
    make_optimizer,
    refuse,
    shifted,
    valid_mean,
)
from pixelbrax.networks import ActionDistribution, ActorCritic, NetworkConfig, Observation, TanhNormal


@dataclass(frozen=True)
class DistillConfig(ReplayConfig):
    """Settings of distillation."""

    learning_rate: float = 1e-3
    """Initial learning rate of Adam."""
    final_learning_rate: float = 1e-4
    """Final learning rate of Adam, to which it decays linearly."""
    teacher: str = ""
    """Folder of the run whose policy teaches, trained with obs=state in the same task; or a preset such as
    halfcheetah-state-cpu, by which a teacher is trained first."""
    teacher_updates: int = 0
    """Number of updates of the teacher's checkpoint; 0 is its last one when the run starts."""
    teacher_acts: float = 0.1
    """Share of the run in which the environments in which the teacher acts fall from all to `teacher_share`."""
    teacher_share: float = 0.125
    """Share of the environments in which the teacher acts to the end."""
    acting_std: float = 0.3
    """Spread of the actions of both, in units of the teacher's spread."""
    lost_stds: float = 3.0
    """A student's episode is lost, and ends, if its rewards are so many standard deviations of the teacher's below
    the teacher's mean; 0 lets all episodes go on."""
    lost_steps: int = 25
    """Time constant of the running mean of those rewards, steps."""
    gradient_steps: int = 16
    """Gradient steps in an update."""

    SWEEPABLE: ClassVar[tuple[str, ...]] = (
        *ReplayConfig.SWEEPABLE,
        "teacher_acts",
        "teacher_share",
        "acting_std",
        "lost_stds",
    )

    @override
    def idle(self, network: NetworkConfig) -> dict[str, str]:
        """The time constant of what tells lost episodes where they go on."""
        return {} if self.lost_stds else {"lost_steps": "lost_stds is 0"}

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, there is no teacher, or the buffer does not hold whole rollouts.
        """
        super().validate()
        if not self.teacher:
            raise ConfigError(
                "distill needs a teacher: the folder of a run that was trained with obs=state, or a preset"
            )
        check_count("teacher_updates", self.teacher_updates, least=0)
        self._fraction("teacher_acts", "teacher_share")
        self._positive("acting_std")
        self._not_negative("lost_stds")
        self._at_least_one("gradient_steps", "lost_steps")
        if self.lost_stds and not (self.teacher_acts or self.teacher_share * self.num_envs > 0.5):
            raise ConfigError(
                "lost_stds compares with a teacher that acts: give teacher_acts, or a teacher_share of "
                f"{self.num_envs} environments that is at least one, or lost_stds=0"
            )
        if self.replay_size % self.steps_per_update:
            size = max(self.replay_size // self.steps_per_update, 1) * self.steps_per_update
            raise ConfigError(
                f"replay_size {self.replay_size:,} is no multiple of the {self.steps_per_update:,} steps of an update "
                f"(num_envs x unroll_length): use {size:,}"
            )


class Distill(ReplayAgent):
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
        super().__init__(env, config)
        self._teacher = teacher
        self._optimizer = make_optimizer(config, total_updates * config.gradient_steps)

    @property
    @override
    def teacher(self) -> Teacher:
        """The policy that it learns from."""
        return self._teacher

    def policy(self, params: PyTree, statistics: PyTree, observation: Observation) -> ActionDistribution:
        """Distribution of the student's actions for a batch of observations."""
        return self.network.apply(params, statistics, observation).policy

    def init_learner(self, key: Array) -> tuple[PyTree, PyTree]:
        """A fresh student, and the state of its optimizer."""
        params = self.network.init(key)
        return params, self._optimizer.init(params)

    def init_statistics(self) -> PyTree:
        """Of the student's states, if it reads them."""
        return self.network.init_statistics()

    def update(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals]:
        """Both act for one rollout, of which the buffer remembers the teacher's view; then the student learns."""
        config = self.config
        key, rollout_key, learn_key = jax.random.split(state.key, 3)
        envs, pace, new, episodes, lost = self._collect(state, rollout_key)
        buffer = state.buffer[RING].add(new)
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
        metrics |= {"teacher_share": self._teacher_share(state), "lost": lost.astype(jnp.float32)}
        kept = {RING: buffer, "pace": pace}
        return AgentState(params, statistics, opt_state, envs, key, state.num_updates + 1, kept), metrics, episodes

    def _collect(self, state: AgentState, key: Array) -> tuple[State, Pace, Steps, EpisodeTotals, Int32[Array, ""]]:
        """A rollout, with the teacher in some environments and the student in the others.

        Returns:
          The last states, how well episodes go, the steps to remember, totals of the episodes in which only the student
          acted, and how many were lost.
        """
        config, variables = self.config, self._teacher.load()
        teaches = self._teaches(state, jnp.broadcast_to(state.num_updates, (config.num_envs,)))

        def step(carry: tuple[State, Pace], now: tuple[Int32[Array, ""], Array]) -> tuple[tuple[State, Pace], tuple]:
            (envs, pace), (time, key) = carry, now
            teacher_key, student_key = jax.random.split(key)
            teacher = self._teacher.policy(variables, envs.obs)
            student = self.policy(*state.variables, envs.obs)
            # The student's own spread is what it cannot tell apart: acting with it would lead far from the teacher.
            log_std = teacher.log_std + jnp.log(config.acting_std)
            taught, own = (replace(policy, log_std=log_std) for policy in (teacher, student))
            raw = jnp.where(teaches[:, None], taught.sample(teacher_key), own.sample(student_key))
            following = each_env(self.env.step)(envs, teacher.action(raw))
            pace = pace.add(following.reward, envs.done, teaches, config.lost_steps)
            lost = pace.is_lost(config.lost_stds) & (config.lost_stds > 0) & ~teaches & ~following.done
            following = replace(following, truncated=following.truncated | lost)
            steps = -(-following.metrics["episode_length"] // self.env.action_repeat)
            began = state.num_updates + (time + 1 - steps) // config.unroll_length  # the update of its first action
            alone = ~self._teaches(state, began)
            ended = following.terminated & alone, following.truncated & alone
            students = replace(following, terminated=ended[0], truncated=ended[1])
            return (following, pace), (self._row(envs, teacher), episode_totals(students), lost.sum())

        times = jnp.arange(config.unroll_length), jax.random.split(key, config.unroll_length)
        carry, (rows, totals, lost) = jax.lax.scan(step, (state.envs, state.buffer["pace"]), times)
        episodes = jax.tree.map(lambda x: x.sum(0), totals)
        return *carry, jax.tree.map(lambda x: x[:, 0], rows), episodes, lost.sum()

    def _loss(self, params: PyTree, statistics: PyTree, batch: "_Minibatch") -> tuple[Float[Array, ""], Metrics]:
        """KL(teacher, student); what the student cannot tell apart becomes its spread."""
        student = self.policy(params, statistics, batch.observation)
        teacher = replace(student, mean=batch.mean, log_std=batch.log_std)
        loss = valid_mean(teacher.kl(student), batch.valid)
        distance = jnp.abs(teacher.action(teacher.mode()) - student.action(student.mode())).mean(-1)
        return loss, {"kl": loss, "action_distance": valid_mean(distance, batch.valid)}

    def _teaches(self, state: AgentState, updates: Int32[Array, " env"]) -> Bool[Array, " env"]:
        """Whether the teacher acts in each environment, after so many updates in each."""
        share = jax.vmap(lambda n: self._teacher_share(replace(state, num_updates=n)))(updates)
        return jnp.arange(self.config.num_envs) + 0.5 < share * self.config.num_envs

    def _teacher_share(self, state: AgentState) -> Float[Array, ""]:
        """Share of the environments in which the teacher acts.

        It falls over the updates that were planned at first, as the learning rate does: a run that is prolonged does
        not give environments back.
        """
        config, decay = self.config, learning_rates(state.opt_state)[0]
        assert isinstance(decay, DecayState), "without a target_kl"
        planned = decay.num_steps / config.gradient_steps
        left = jnp.maximum(1.0 - state.num_updates / jnp.maximum(config.teacher_acts * planned, 1.0), 0.0)
        return config.teacher_share + (1.0 - config.teacher_share) * left * (config.teacher_acts > 0)

    def _update_statistics(self, params: PyTree, statistics: PyTree, new: Steps) -> PyTree:
        """Statistics of a student's own states, if it reads them; the parameters do not change."""
        valid = new.kept["valid"]
        seen = {name: x for name, x in new.kept.items() if name == "state"}
        return self.network.update_statistics(params, statistics, seen, jnp.zeros(valid.shape), valid)[1]

    def _row(self, envs: State, teacher: ActionDistribution) -> Steps:
        """What is kept of a step of all environments."""
        kept = {"mean": teacher.mean, "log_std": teacher.log_std, "valid": ~envs.done}
        return Steps.of(self.env, envs, self.network.obs_keys, kept)

    def empty_buffer(self) -> dict[str, Any]:
        """The ring, and how well episodes go."""

        def row(keys: Array) -> Steps:
            envs = jax.vmap(self.env.reset)(keys)
            action = jnp.zeros((self.config.num_envs, self.env.action_size))
            return self._row(envs, TanhNormal(action, action))

        keys = jax.random.split(jax.random.key(0), self.config.num_envs)
        replay = Replay.empty(jax.eval_shape(row, keys), self.config.num_rows)
        return {RING: replay, "pace": Pace.start(self.config.num_envs)}

    def buffer_sharding(self) -> PyTree:
        """Each device has the steps of its own environments."""
        return {RING: Replay.sharding(), "pace": Pace.sharding()}


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
