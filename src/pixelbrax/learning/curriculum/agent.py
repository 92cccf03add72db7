"""An agent in a curriculum: any algorithm, whose environments' parameters change between its updates."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from typing_extensions import override

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.learning.acting import Advantages, EpisodeTotals
from pixelbrax.learning.agent import Agent, AgentState, Metrics, Teacher
from pixelbrax.learning.curriculum.config import CurriculumConfig
from pixelbrax.learning.curriculum.difficulty import DifficultyGate
from pixelbrax.learning.curriculum.env import TRACK, Track
from pixelbrax.learning.curriculum.levels import LevelScores, Visits
from pixelbrax.networks import ActionDistribution, Observation

_STREAM = 201003934  # folded into an agent's key


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CurriculumState:
    """What a curriculum remembers: `AgentState.curriculum`.

    Attributes:
      key: PRNG key of the levels drawn; never changes, since the number of the update is folded in.
      gate: a `DifficultyGate`, or () where difficulty is not gated.
      levels: `LevelScores`, or () where levels are not replayed.
    """

    key: Array
    gate: Any = ()
    levels: Any = ()


class CurriculumAgent(Agent):
    """Another agent, in a curriculum.

    Between two updates it sets difficulty and level of every environment's next episode in `AgentState.envs`, inside
    the compiled program: they are arguments of it, and nothing is compiled again. A running episode keeps its level;
    of its distractors, limits, speeds, shares and noise follow a new difficulty at once (see `EnvParams`).
    """

    def __init__(self, agent: Agent, env: PixelEnv, config: CurriculumConfig, name: str):
        """Decorates an agent.

        Args:
          agent: made for `CurriculumEnv(env, config)`.
          env: the environment itself.
          config: settings, validated.
          name: the algorithm's, for messages.

        Raises:
          ConfigError: the algorithm does not suit the curriculum.
        """
        if config.replays and not hasattr(agent, "update_with_advantages"):
            raise ConfigError(
                f"num_levels scores levels by advantages, which {name} does not estimate: use ppo, ppg or dcpg, or "
                "difficulty_measure instead"
            )
        if config.difficulty_per_env and agent.compares_envs:
            raise ConfigError(
                f"difficulty_per_env gives each environment its own difficulty, and {name} compares their returns: "
                "leave it out"
            )
        whole = -(-env.episode_length // env.action_repeat)
        if config.gates and agent.compares_envs and agent.config.unroll_length < whole:
            raise ConfigError(
                f"difficulty_measure counts whole episodes, and {name} cuts them after unroll_length "
                f"{agent.config.unroll_length}: use {whole}"
            )
        if agent.teacher is not None:
            raise ConfigError(
                f"difficulty_measure measures the student's episodes, but {name} has its teacher act in some: train "
                "the student without a curriculum"
            )
        self._agent, self._curriculum = agent, config
        self._env: Any = agent.env
        self.env, self.config, self.resumes_exactly = env, agent.config, agent.resumes_exactly
        self.updates_to_refill = agent.updates_to_refill

    @property
    @override
    def teacher(self) -> Teacher | None:
        return self._agent.teacher

    @property
    @override
    def learner_bytes(self) -> int:
        return self._agent.learner_bytes

    @property
    @override
    def bytes_per_env(self) -> int:
        return self._agent.bytes_per_env

    @property
    def outputs(self) -> Callable[..., Any]:
        """The agent's function of policy and value; `AttributeError`, as of the agent itself, if it has none."""
        agent: Any = self._agent
        return agent.outputs

    @override
    def policy(self, params: PyTree, statistics: PyTree, observation: Observation) -> ActionDistribution:
        return self._agent.policy(params, statistics, observation)

    @override
    def buffer_sharding(self) -> PyTree:
        return self._agent.buffer_sharding()

    @override
    def to_checkpoint(self, state: AgentState) -> AgentState:
        return self._agent.to_checkpoint(state)

    @override
    def from_checkpoint(self, state: AgentState) -> AgentState:
        return self._agent.from_checkpoint(state)

    @override
    def init(self, key: Array) -> AgentState:
        """Fresh parameters and environments at the initial difficulty, each in a random level."""
        state, config = self._agent.init(key), self._curriculum
        gate = DifficultyGate.start(config, self.config.num_envs) if config.gates else ()
        levels = LevelScores.start(config.num_levels) if config.replays else ()
        curriculum = CurriculumState(jax.random.fold_in(key, _STREAM), gate, levels)
        # Parameters that each environment has of its own from now on.
        track: Track = state.envs.info[TRACK]
        envs = self._env.with_targets(state.envs, track.difficulty, track.level)
        return replace(state, envs=envs, curriculum=curriculum)

    @override
    def update(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals]:
        """The agent's update; then the next episodes' difficulty and levels."""
        agent: Any = self._agent
        config, before, old = self._curriculum, state.envs.info[TRACK], state.curriculum
        if config.replays:
            after, metrics, episodes, advantages = agent.update_with_advantages(state)
        else:
            (after, metrics, episodes), advantages = agent.update(state), None
        track: Track = after.envs.info[TRACK]
        new, found, scores = old, {}, {}
        difficulty, level = track.difficulty, track.next_level
        if config.gates:
            gate = old.gate.add(track.count, track.total, config)
            new, difficulty = replace(new, gate=gate), gate.of_each(self.config.num_envs)
            found |= _gate_metrics(gate, track)
        if advantages is not None:
            visits, scores = _visits(before, advantages, config)
            levels = old.levels.add(visits)
            level = levels.draw(jax.random.fold_in(old.key, state.num_updates), self.config.num_envs, config)
            new = replace(new, levels=levels)
            found |= {"levels_seen": jnp.sum(levels.seen.astype(jnp.float32)), "level_score": levels.mean_score}
            found["replay_probability"] = levels.replay_probability(config)
        envs = self._env.with_targets(after.envs, difficulty, level, **scores)
        metrics = metrics | {f"curriculum/{name}": value for name, value in found.items()}
        return replace(after, envs=envs, curriculum=new), metrics, episodes


def _gate_metrics(gate: DifficultyGate, track: Track) -> Metrics:
    """The difficulty of the next episodes, and the measure of those that counted; NaN where none did."""
    count = jnp.sum(track.count).astype(jnp.float32)
    return {"difficulty": jnp.mean(gate.difficulty), "measure": jnp.sum(track.total) / count}


def _visits(
    before: Track, advantages: Advantages, config: CurriculumConfig
) -> tuple[Visits, dict[str, Float[Array, " env"]]]:
    """What environments did in an update's rollout, and what their tracks keep of the episodes that go on."""
    value = advantages.value
    size = jnp.abs(value) if config.level_score == "value_l1" else jnp.maximum(value, 0.0)
    began = jnp.cumsum((~advantages.valid).astype(jnp.int32), axis=0)  # a step that is not valid is a reset

    def over(chosen: Array) -> tuple[Array, Array]:
        chosen = chosen & advantages.valid
        return jnp.sum(jnp.where(chosen, size, 0.0), axis=0), jnp.sum(chosen.astype(jnp.float32), axis=0)

    (first_sum, first_steps), (new_sum, new_steps) = over(began == 0), over(began > 0)
    last_sum, last_steps = over(began == began[-1])
    first_sum, first_steps = before.score_sum + first_sum, before.score_steps + first_steps
    ongoing = began[-1] == 0
    kept = {
        "score_sum": jnp.where(ongoing, first_sum, last_sum),
        "score_steps": jnp.where(ongoing, first_steps, last_steps),
    }
    # An episode that ended with the last update's last step was scored then; its level may have a newer score.
    first_steps = jnp.where(began[0] == 0, first_steps, 0.0)
    sums, steps = jnp.stack([first_sum, new_sum]), jnp.stack([first_steps, new_steps])
    return Visits(before.level, before.next_level, began[-1], sums, steps), kept
