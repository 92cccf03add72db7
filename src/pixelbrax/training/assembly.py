"""Environment, agent and teacher from the settings of a run."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from pixelbrax.algorithms import algorithm_of
from pixelbrax.envs import PixelEnv, check_fits_device, check_networks, without_images
from pixelbrax.errors import ConfigError, check_count, listed, nearest
from pixelbrax.learning import Agent, AgentState, CurriculumAgent, CurriculumConfig, CurriculumEnv, Teacher, check_agent
from pixelbrax.networks import ActionDistribution, Observation
from pixelbrax.training.checkpoint import (
    all_checkpoints,
    last_checkpoint,
    load_checkpoint,
    load_last,
    load_notes,
    load_part,
    save_checkpoint,
)
from pixelbrax.training.config import (
    MOST_COUNTED,
    TrainConfig,
    config_from,
    dump_config,
    load_preset,
    preset_names,
    read_toml,
)
from pixelbrax.training.run_dir import RunDir

_SETTINGS = "settings"  # in the notes of a checkpoint of what is kept of a teacher
_SAME = ("action_repeat", "task", "backend", "physics")  # what a teacher's environment must have in common


def build(config: TrainConfig, env: PixelEnv | None = None) -> tuple[PixelEnv, Agent]:
    """The environment and the agent that learns in it.

    Args:
      config: all settings.
      env: an environment to train in instead of the one that `config.environment` describes.

    Raises:
      ConfigError: a setting cannot be used.
    """
    config.validate()
    env = config.environment.build() if env is None else env
    return env, make_agent(config, env)


def check_memory(config: TrainConfig, agent: Agent, num_agents: int = 1) -> None:
    """Refuses what cannot be trained on these devices.

    Args:
      config: all settings.
      agent: one of the agents.
      num_agents: agents that share the devices.

    Raises:
      ConfigError: it takes more memory than there is, or more samples than can be counted.
    """
    on_device = -(-num_agents // config.num_devices)
    check_networks(on_device, agent.learner_bytes)
    per_env = -(-num_agents * agent.bytes_per_env // config.num_devices)
    check_fits_device(config.agent.num_envs, per_env, beside=on_device * agent.learner_bytes)
    check_count("num_envs x unroll_length", config.agent.steps_per_update, most=MOST_COUNTED)


def make_agent(config: TrainConfig, env: PixelEnv, teacher: Teacher | None = None, **settings: Any) -> Agent:
    """The agent for an environment, in the curriculum that the settings name, if they do.

    Args:
      config: all settings.
      env: one environment.
      teacher: the one that the settings name, if it was loaded already.
      **settings: replace some of the agent's `SWEEPABLE` settings, also by traced values.

    Raises:
      ConfigError: the algorithm or the environment does not suit the settings.
    """
    agent = replace(config.agent, **settings)
    algorithm = algorithm_of(agent)
    teachers = (teacher or RunTeacher(config, env),) if algorithm.has_teacher else ()
    inner = CurriculumEnv(env, config.curriculum) if config.curriculum.is_on else env
    made = algorithm.make(inner, config.network, agent, config.num_updates, *teachers)
    check_agent(made, algorithm.name)
    return CurriculumAgent(made, env, config.curriculum, algorithm.name) if config.curriculum.is_on else made


def resolved(config: TrainConfig) -> TrainConfig:
    """The settings with the backend of the task and other runs' checkpoints filled in: a run's file is complete.

    Raises:
      ConfigError: there is no run where a teacher or a policy to start from should be, or it has no checkpoint.
    """
    config = replace(config, environment=config.environment.resolved())
    if config.start_from:
        path, updates = _checkpoint_of(RunDir.open(Path(config.start_from)), config.start_updates)
        config = replace(config, start_from=path, start_updates=updates)
    agent: Any = config.agent
    if not algorithm_of(agent).has_teacher or not agent.teacher:
        return config
    path, updates = _checkpoint_of(_teachers_run(agent.teacher), agent.teacher_updates)
    return replace(config, agent=replace(agent, teacher=path, teacher_updates=updates))


def _teachers_run(teacher: str) -> RunDir:
    """The teacher's run; what is neither a folder nor a path may be a preset's name, misspelled.

    Raises:
      ConfigError: there is none.
    """
    folder = Path(teacher)
    if len(folder.parts) == 1 and not folder.exists():
        teachers = [name for name in preset_names() if load_preset(name).environment.obs == "state"]
        neither = f"{teacher} is not a run: there is no such folder, nor a preset that can teach"
        raise ConfigError(f"{neither}: {nearest(teacher, teachers)}")
    return RunDir.open(folder)


def _checkpoint_of(run: RunDir, updates: int) -> tuple[str, int]:
    """A run's absolute path and a number of updates, by default of its last checkpoint."""
    check_checkpoint(run, updates)
    return str(run.path.resolve()), updates or load_last(run.checkpoint_dir, lambda updates: updates)


def check_checkpoint(run: RunDir, updates: int) -> None:
    """Refuses a number of updates of which a run has no checkpoint; 0 is any.

    Raises:
      ConfigError: there is none.
    """
    known = all_checkpoints(run.checkpoint_dir)
    if updates and updates not in known:
        there = listed([f"{updates:,}" for updates in sorted(known)]) or "none"
        raise ConfigError(f"{run.path} has no checkpoint of update {updates:,}: there is {there}")


def kept_state(agent: Agent, run: RunDir, updates: int | None = None) -> AgentState:
    """What a run's checkpoint keeps of a state, at that number of updates, by default the last.

    Raises:
      ConfigError: there is none that can be read.
    """
    if updates is None:
        return load_last(run.checkpoint_dir, lambda updates: kept_state(agent, run, updates))
    like = jax.eval_shape(agent.init, jax.random.key(0))
    # The number of updates determines what a checkpoint keeps.
    kept = agent.to_checkpoint(replace(like, num_updates=np.int32(updates)))
    kept = replace(kept, num_updates=like.num_updates)
    # Shapes are found outside: in this context, every constant would take a compiled program of its own.
    with jax.ensure_compile_time_eval():  # where a program is being traced, too
        return load_checkpoint(run.checkpoint_dir, kept, updates)


def kept_part(agent: Agent, run: RunDir, part: Callable[[AgentState], PyTree], updates: int | None = None) -> PyTree:
    """A part of what a run's checkpoint keeps of a state, as NumPy arrays; the run's environments may be others.

    Args:
      agent: one with the run's settings, in any environment that its networks fit.
      run: the run.
      part: gives the part of a state, a pytree of some of its leaves.
      updates: of the checkpoint, by default the last.

    Raises:
      ConfigError: there is no checkpoint that can be read, or it has no such arrays.
    """
    if updates is None:
        return load_last(run.checkpoint_dir, lambda updates: kept_part(agent, run, part, updates))
    return load_part(run.checkpoint_dir, jax.eval_shape(agent.init, jax.random.key(0)), part, updates)


class RunTeacher(Teacher):
    """The policy of a run that was trained with obs=state."""

    def __init__(self, config: TrainConfig, env: PixelEnv):
        """Reads nothing yet.

        Args:
          config: the student's settings, which name the teacher's run.
          env: the student's environment; the teacher acts in it.
        """
        self._config, self._env = config, env
        self._agent: Agent | None = None
        self._variables: PyTree = None
        self._settings = ""  # of its run, as a file's text

    def load(self) -> PyTree:
        """The variables of its policy, as NumPy arrays.

        Raises:
          ConfigError: there is no such run or checkpoint, or the policy cannot act in the student's environment.
        """
        if self._variables is not None:
            return self._variables
        agent: Any = self._config.agent
        config, variables_of = self._source()
        check_teacher(self._config, self._env, config, agent.teacher)
        env = without_images(self._env)
        self._agent = make_agent(replace(config, curriculum=CurriculumConfig()), env)
        self._variables = jax.tree.map(np.asarray, variables_of(self._agent))
        self._settings = dump_config(config, {})
        return self._variables

    def _source(self) -> tuple[TrainConfig, Callable[[Agent], tuple[PyTree, PyTree]]]:
        """The settings of the teacher's run, and what reads the policy's variables for an agent that they describe."""
        agent: Any = self._config.agent
        folder, updates = Path(agent.teacher), agent.teacher_updates
        if agent.teacher in preset_names() and not folder.exists():
            raise ConfigError(f"the teacher {agent.teacher} is a preset: train it, and give its run's folder")
        if _is_kept(folder):
            last = last_checkpoint(folder)
            text = load_notes(folder, last)[_SETTINGS]
            return config_from(read_toml(text, str(folder)), str(folder)), partial(_kept_variables, folder, last)
        run = _teachers_run(agent.teacher)
        check_checkpoint(run, updates)
        return run.load_config(), lambda agent: kept_part(agent, run, lambda state: state.variables, updates or None)

    def keep(self, run: RunDir) -> None:
        """Writes its policy and settings into the student's run, where `with_kept_teacher` finds them.

        Raises:
          ConfigError: see `load`.
          OSError: they cannot be written.
        """
        agent: Any = self._config.agent
        params, statistics = self.load()
        variables = {"params": params, "statistics": statistics}
        save_checkpoint(run.teacher_dir, agent.teacher_updates, variables, {_SETTINGS: self._settings})

    def policy(self, variables: PyTree, observation: Observation) -> ActionDistribution:
        """Distribution of its actions for a batch of observations; call `load` before."""
        assert self._agent is not None, "the teacher was not loaded"
        params, statistics = variables
        return self._agent.policy(params, statistics, observation)


def with_kept_teacher(config: TrainConfig, run: RunDir) -> TrainConfig:
    """A student's settings with what its run keeps of its teacher, whose own run may have gone on, or be gone.

    Args:
      config: the student's settings.
      run: the student's run; an earlier version kept nothing there.
    """
    agent: Any = config.agent
    return replace(config, agent=replace(agent, teacher=str(run.teacher_dir))) if _is_kept(run.teacher_dir) else config


def _is_kept(folder: Path) -> bool:
    """Whether a folder has what a student's run keeps of its teacher, and is no run itself."""
    student = RunDir(folder.parent)
    if folder != student.teacher_dir or not student.config_file.is_file() or RunDir(folder).config_file.exists():
        return False
    return bool(all_checkpoints(folder))


def _kept_variables(folder: Path, updates: int, trained: Agent) -> tuple[PyTree, PyTree]:
    """The variables that `RunTeacher.keep` wrote."""
    fresh = jax.eval_shape(trained.init, jax.random.key(0))
    like = {"params": fresh.params, "statistics": fresh.statistics}
    with jax.ensure_compile_time_eval():
        kept = load_checkpoint(folder, like, updates)
    return kept["params"], kept["statistics"]


def _sizes(env: PixelEnv) -> dict[str, str]:
    """By their names in the facts of an environment that was made in Python."""
    return {"state_size": str(env.observation_spec["state"].shape[0]), "action_size": str(env.action_size)}


def check_teacher(student: TrainConfig, env: PixelEnv, teacher: TrainConfig, which: str) -> None:
    """Refuses a teacher whose policy cannot act in a student's environment.

    Args:
      student: the student's settings.
      env: the student's environment.
      teacher: the teacher's settings.
      which: the teacher's run or preset, for messages.

    Raises:
      ConfigError: it cannot.
    """
    mine, theirs = student.environment, teacher.environment
    if theirs.obs != "state":
        raise ConfigError(f"the teacher {which} observes {theirs.view}: a teacher is trained with obs=state")
    for name in _SAME:
        ours, other = getattr(mine.resolved(), name), getattr(theirs, name)
        if ours != other and (name == "action_repeat" or not (mine.facts or theirs.facts)):
            raise ConfigError(f"the teacher {which} has {name}={other}, and the student {ours}")
    known = dict(fact.split(": ", 1) for fact in theirs.facts)
    if not known and (mine.facts or mine.physics_settings != theirs.physics_settings):  # else they are the same
        known = _sizes(theirs.build())
    for name, size in _sizes(env).items():
        if known.get(name, size) != size:
            raise ConfigError(f"the teacher {which} has {name}={known[name]}, and the student's environment {size}")
    if teacher.network.distribution != student.network.distribution:
        raise ConfigError(
            f"the teacher {which} has distribution={teacher.network.distribution}, and the student "
            f"{student.network.distribution}: they must be the same"
        )
