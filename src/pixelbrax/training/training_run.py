"""One run: environment, agent, checkpoints, evaluations."""

import copy
import functools
from collections.abc import Mapping
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from pixelbrax.envs import PixelEnv, without_images
from pixelbrax.errors import ConfigError
from pixelbrax.learning import AgentState
from pixelbrax.networks import ActionDistribution, Observation
from pixelbrax.physics import model_checksums
from pixelbrax.training.assembly import RunTeacher, build, check_memory, kept_part, kept_state, make_agent
from pixelbrax.training.checkpoint import (
    DamagedCheckpointError,
    all_checkpoints,
    last_checkpoint,
    load_checkpoint,
    load_last,
    load_notes,
    save_checkpoint,
)
from pixelbrax.training.config import TrainConfig
from pixelbrax.training.edited_state import with_edited_params, with_edited_rates
from pixelbrax.training.evaluation import Evaluation, Evaluator
from pixelbrax.training.progress import Progress
from pixelbrax.training.run_dir import BEST, HELD_OUT, TEACHER, RunDir
from pixelbrax.training.same_settings import changed_settings, check_same, noted
from pixelbrax.training.software import other_software, software
from pixelbrax.xla import check_single

# Streams of random numbers of a run, all from its seed.
TRAINING_STREAM, EVALUATION_STREAM, BEST_STREAM = 0, 1, 3  # 2 is that of hooks
_SIDE_BY_SIDE = 32  # minimum batch size of an evaluation with so many episodes
_HOOKS, _STOPPED, _SETTINGS, _MODEL = "hooks", "stopped", "settings", "model"  # in the notes of a checkpoint
_SOFTWARE = "software"  # as well


class TrainingRun:
    """One run: its environment and agent, its checkpoints and evaluations. `Trainer` trains it."""

    def __init__(
        self,
        config: TrainConfig,
        progress: Progress | None = None,
        env: PixelEnv | None = None,
    ):
        """Builds environment, network and algorithm; compiles nothing yet.

        Args:
          config: all settings.
          progress: where to show what is under way.
          env: an environment to train in instead of the one that `config.environment` describes.

        Raises:
          ConfigError: a setting cannot be used, or JAX computes in double precision.
        """
        check_single("training")
        self.config = config
        self.env, self.agent = build(config, env)
        self.progress = progress or Progress()
        self._evaluator = self.evaluator(config.eval_episodes)
        self._held_out: Evaluator | None = None
        self._teacher: tuple[Evaluator, PyTree] | None = None
        self._teachers_results: dict[int, Evaluation] = {}  # by seed

    def prepare(self, num_agents: int = 1, teacher: bool = True) -> None:
        """Prepares what only training needs: memory, evaluation under `eval_distractors`, and the teacher.

        Args:
          num_agents: agents that share the devices' memory.
          teacher: load it; otherwise that is left out.

        Raises:
          ConfigError: there is too little memory, the distractors cannot be used, or the teacher cannot be loaded.
        """
        check_memory(self.config, self.agent, num_agents)
        if self.config.eval_distractors:
            self._held_out = self.evaluator(self.config.eval_episodes, self.config.eval_distractors)
        if teacher and self.agent.teacher is not None:
            env, count = without_images(self.env), self.config.eval_episodes
            evaluator = Evaluator(env, self.agent.teacher.policy, count, True, self.progress, self.side_by_side)
            self._teacher = evaluator, self.agent.teacher.load()

    def keep_teacher(self, run: RunDir) -> None:
        """Writes the teacher's policy, if there is a teacher, into its student's run, which can then do without it.

        Raises:
          OSError: it cannot be written.
        """
        if isinstance(teacher := self.agent.teacher, RunTeacher):
            teacher.keep(run)

    def sibling(self, config: TrainConfig) -> "TrainingRun":
        """Another run of the same environment and architecture, which shares what is compiled."""
        other = copy.copy(self)
        other.config = config
        return other

    def restore(self, run: RunDir, updates: int | None = None) -> AgentState:
        """The state of a run's checkpoint at that number of updates, by default the last.

        Raises:
          ConfigError: there is none that can be read.
        """
        return self.agent.from_checkpoint(kept_state(self.agent, run, updates))

    def restore_policy(self, run: RunDir) -> tuple[tuple[PyTree, PyTree], int]:
        """Parameters and statistics of the last checkpoint's policy, and its number of updates; no buffer is made.

        The environments in which it was trained may have had other states, as those of an older MJX.

        Raises:
          ConfigError: there is none that can be read.
        """
        found = kept_part(self.agent, run, lambda state: (state.variables, state.num_updates))
        variables, updates = jax.tree.map(jnp.asarray, found[0]), int(found[1])
        self._tell_other_model(run, updates)
        return variables, updates

    def save(self, run: RunDir, state: AgentState, hooks: Mapping[str, Any] | None = None, stopped: str = "") -> None:
        """Writes a checkpoint of the state, of the hooks' states by name, and of why a hook has stopped training."""
        notes = {_HOOKS: dict(hooks or {}), _STOPPED: stopped, _SETTINGS: noted(self.config), _MODEL: self._model}
        notes |= {_SOFTWARE: dict(software())}
        save_checkpoint(run.checkpoint_dir, int(state.num_updates), self.agent.to_checkpoint(state), notes)

    def check_settings(self, run: RunDir, updates: int) -> str:
        """Compares settings, model and software with a checkpoint's, if it tells them; what has changed, for people.

        Raises:
          ConfigError: a setting has changed that must not.
        """
        changed = check_same(run, self.config, _note_at(run, updates, _SETTINGS))
        others = (self.other_model(run, updates), changed_software(run, updates))
        return "; ".join(filter(None, [changed, *(f"{run.path} goes on with {other}" for other in others if other)]))

    def other_model(self, run: RunDir, updates: int) -> str:
        """What the model is if it is not that of a checkpoint, whose settings know a task by its name; else empty."""
        if _note_at(run, updates, _MODEL) in ({}, self._model):  # earlier versions do not tell
            return ""
        task = self.config.environment.task
        return f"another model of {task} (its file was edited, or the package that has it is of another version)"

    def _tell_other_model(self, run: RunDir, updates: int) -> None:
        if other := self.other_model(run, updates):
            self.progress.say(f"{run.path} was trained with {other}", always=True)

    @functools.cached_property
    def _model(self) -> str:
        return " ".join(model_checksums(self.env.physics.mj_model))

    def with_edited_settings(self, run: RunDir, state: AgentState) -> AgentState:
        """The state of a run's checkpoint with the settings that it holds as data, where they were edited since."""
        before = load_notes(run.checkpoint_dir, int(state.num_updates)).get(_SETTINGS, {})
        edited = changed_settings(self.config, before, ()).keys()
        if not edited:
            return state
        own = make_agent(self.config, self.env, self.agent.teacher)  # of agents side by side each has its own rates
        return with_edited_params(with_edited_rates(state, own, edited), self.env, edited)

    def hook_states(self, run: RunDir, updates: int) -> dict[str, Any]:
        """The hooks' states in a checkpoint, by name."""
        return load_notes(run.checkpoint_dir, updates).get(_HOOKS, {})

    def reason_stopped(self, run: RunDir, updates: int) -> str:
        """Why a hook had stopped training at a checkpoint; empty if none had."""
        return load_notes(run.checkpoint_dir, updates).get(_STOPPED, "")

    def policy(self, variables: tuple[PyTree, PyTree], observation: Observation) -> ActionDistribution:
        """Distribution of the actions for a batch of observations, given `AgentState.variables`."""
        return self.agent.policy(*variables, observation)

    def evaluator(
        self, num_episodes: int, distractors: tuple[str, ...] | None = None, deterministic: bool = True
    ) -> Evaluator:
        """An evaluator of this run's policies in its environment.

        Args:
          num_episodes: number of episodes; the batch size is that of the run's own evaluations: the same program.
          distractors: replace those of training; None keeps those.
          deterministic: act with the policy's mode; otherwise with samples.
        """
        env, policy, metrics = self.env_under(distractors), self.policy, self.config.eval_metrics
        return Evaluator(env, policy, num_episodes, deterministic, self.progress, self.side_by_side, metrics)

    @property
    def side_by_side(self) -> int:
        """Episodes of an evaluation at once: a batch of `num_envs` fits into memory, however many are requested."""
        return min(self.config.eval_episodes, max(self.config.agent.num_envs, _SIDE_BY_SIDE))

    def env_under(self, distractors: tuple[str, ...] | None) -> PixelEnv:
        """The environment with these distractors instead of its own; None keeps those.

        Raises:
          ConfigError: a name is unknown, or the policy sees no images.
        """
        if distractors is None:
            return self.env
        if distractors and not self.env.images.outputs:
            raise ConfigError("distractors change images, but the policy was trained with obs=state: leave them out")
        return self.env.with_distractors(distractors)

    def compile_ahead(self, variables: tuple[PyTree, PyTree], pool: Executor) -> list[Future[Any]]:
        """Begins to compile what `evaluate` needs for policies with such variables, or of their shapes."""
        own = [(each, variables) for each in (self._evaluator, self._held_out) if each]
        each = [*own, *([self._teacher] if self._teacher else [])]
        return [one for evaluator, its in each for one in evaluator.compile_ahead(its, self._evaluation_key, pool)]

    @property
    def _evaluation_key(self) -> Array:
        return jax.random.fold_in(jax.random.key(self.config.seed), EVALUATION_STREAM)

    def evaluate(self, run: RunDir, name: str, state: AgentState, alone: bool = True) -> Evaluation:
        """Evaluates the deterministic policy, each time in the same episodes, and writes the run's evaluation.json.

        A policy whose mean return is the highest yet is kept as the best. If the settings name `eval_distractors`, the
        same episodes are run under those too. What is said names the run, unless it is trained `alone`.
        """
        whose = _whose(run, alone)
        key = self._evaluation_key
        result = self._evaluator(state.variables, key)
        updates = int(state.num_updates)
        steps = self.config.agent.steps_per_update
        # A resumed run may have lost the policies of evaluations that it keeps.
        kept = {updates * steps for updates in all_checkpoints(run.best_dir)}
        others = (other for known, other in run.read_evaluations().items() if known not in (name, BEST))
        if all(result.mean > other["mean_return"] for other in others if other["steps"] in kept):
            save_checkpoint(run.best_dir, updates, _best_of(state))
        self.progress.say(f"{whose}{name} policy, deterministic: {result}")
        found: dict[str, Any] = {"steps": updates * steps, **result.as_dict()}
        found |= result.per_episode()
        if self._held_out:
            held_out = self._held_out(state.variables, key)
            distractors = " + ".join(self.config.eval_distractors)
            self.progress.say(f"{whose}{name} policy, deterministic, under {distractors}: {held_out}")
            found[HELD_OUT] = {"distractors": distractors, **held_out.as_dict(), **held_out.per_episode()}
            result = replace(result, held_out=held_out)
        if self._teacher:
            teachers = self._evaluate_teacher(key)
            found[TEACHER] = teachers.as_dict() | teachers.per_episode()
        run.write_evaluation(name, found)
        return result

    def evaluate_best(self, run: RunDir, alone: bool = True) -> None:
        """Evaluates the best policy once more, in episodes of its own, and writes the result in evaluation.json.

        The evaluation by which it was chosen is too high on average: the episodes were those that suited it. What is
        said names the run, unless it is trained `alone`.
        """
        variables, updates = self.restore_best(run)
        result = self._evaluator(variables, jax.random.fold_in(jax.random.key(self.config.seed), BEST_STREAM))
        self.progress.say(f"{_whose(run, alone)}best policy, of update {updates:,}, in fresh episodes: {result}")
        steps = updates * self.config.agent.steps_per_update
        run.write_evaluation(BEST, {"steps": steps, **result.as_dict(), **result.per_episode()})

    def _evaluate_teacher(self, key: Array) -> Evaluation:
        """The teacher in the same episodes; evaluated once."""
        assert self._teacher is not None
        evaluator, variables = self._teacher
        if self.config.seed not in self._teachers_results:
            result = self._teachers_results[self.config.seed] = evaluator(variables, key)
            self.progress.say(f"its teacher, deterministic: {result}")
        return self._teachers_results[self.config.seed]

    def restore_best(self, run: RunDir) -> tuple[tuple[PyTree, PyTree], int]:
        """Parameters and statistics of the policy whose evaluation was the best, and its number of updates.

        Raises:
          ConfigError: there is none that can be read.
        """
        if not all_checkpoints(run.best_dir):
            raise ConfigError(f"{run.path} has no best policy yet: none has been evaluated; take the last one")
        like, folder = _best_of(jax.eval_shape(self.agent.init, jax.random.key(0))), run.best_dir
        best, updates = load_last(folder, lambda updates: (load_checkpoint(folder, like, updates), updates))
        for last in sorted(all_checkpoints(run.checkpoint_dir))[-1:]:  # the best has no notes
            self._tell_other_model(run, last)
        return (best["params"], best["statistics"]), updates


def changed_since_trained(run: RunDir, updates: int | None = None) -> str:
    """In what a run's config.toml is not what a checkpoint was trained with, in words; empty if in nothing.

    Args:
      run: whose file may have been edited.
      updates: of the checkpoint, by default the last.

    Raises:
      ConfigError: there is no checkpoint, or config.toml cannot be read.
    """
    updates = last_checkpoint(run.checkpoint_dir) if updates is None else updates
    config, before = run.load_config(), _note_at(run, updates, _SETTINGS)
    others = ("start_from", "start_updates", "teacher", "teacher_updates")  # runs that may have been moved
    free = (*others, *(name for name in TrainConfig.NEUTRAL if name != "seed"))
    changes = list(changed_settings(config, before, free).values())
    if before.get("start_from") and not config.start_from:
        changes.append(f"start_from is left out instead of {before['start_from']!r:.60}")
    return ", ".join(changes)


def changed_software(run: RunDir, updates: int) -> str:
    """What of the software is not as it was when a checkpoint was written, in words; empty if all is."""
    other = other_software(_note_at(run, updates, _SOFTWARE))
    return f"other software: {other}" if other else ""


def _note_at(run: RunDir, updates: int, name: str) -> Any:
    """A note of a checkpoint, {} if it has none; or if it is damaged, which whoever loads it says."""
    try:
        return load_notes(run.checkpoint_dir, updates).get(name, {})
    except DamagedCheckpointError:
        return {}


def _whose(run: RunDir, alone: bool) -> str:
    """The beginning of a line about a run that is trained beside others."""
    return "" if alone else f"{run.path.name}: "


def _best_of(state: AgentState) -> dict[str, PyTree]:
    """The part of a state that is kept for the best policy."""
    return {"params": state.params, "statistics": state.statistics}
