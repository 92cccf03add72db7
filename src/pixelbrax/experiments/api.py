"""`pixelbrax.train`: what the command line does, from Python."""

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from pixelbrax.algorithms import algorithm_names, get_algorithm
from pixelbrax.envs import MakeSettings, PixelEnv, make
from pixelbrax.errors import ConfigError, check_count, check_keywords, check_path, nearest
from pixelbrax.experiments.environments import check_same_env, config_of
from pixelbrax.experiments.launch import Launch, seeds, start
from pixelbrax.experiments.launch import resume as resume_runs
from pixelbrax.experiments.names import check_name, file_name, name_of, settings_file
from pixelbrax.experiments.runs import Run, RunGroup, shown_path
from pixelbrax.learning import CurriculumConfig
from pixelbrax.networks import NetworkConfig
from pixelbrax.signals import last_stop
from pixelbrax.tasks import task_names
from pixelbrax.training import (
    TABLES,
    EnvConfig,
    Hook,
    Processes,
    RunDir,
    TrainConfig,
    check_hook,
    check_types,
    load_config,
    load_preset,
    runs_in,
    words_of,
)
from pixelbrax.xla import in_float32

_PROCESSES = ("coordinator", "num_processes", "process_id", "join_timeout")
_MAKE = ("backend", "camera", "physics", *MakeSettings.__annotations__)
_LAUNCH = ("runs", "quiet", "report", "video", "num_seeds", "config", *_PROCESSES)
# Settings of an environment that `make` knows in another form.
_NOT_OF_MAKE = ("obs", "randomization", "physics_settings", "distractor_strength")
_NESTED = ("environment", "network", "agent", "curriculum")
_WITH_RESUME = ("quiet", "report", "video", *_PROCESSES)


@overload
def train(
    env: Any = ...,
    algorithm: str | None = ...,
    preset: str | None = ...,
    hooks: Sequence[Hook] = ...,
    seed: int | None = ...,
    name: str | None = ...,
    resume: None = ...,
    *,
    num_seeds: int,
    **settings: Any,
) -> RunGroup: ...
@overload
def train(
    env: Any = ...,
    algorithm: str | None = ...,
    preset: str | None = ...,
    hooks: Sequence[Hook] = ...,
    seed: int | None = ...,
    name: str | None = ...,
    resume: str | Path | Run | RunGroup | None = ...,
    **settings: Any,
) -> Run: ...
@in_float32
def train(
    env: Any = None,
    algorithm: str | None = None,
    preset: str | None = None,
    hooks: Sequence[Hook] = (),
    seed: int | None = None,
    name: str | None = None,
    resume: str | Path | Run | RunGroup | None = None,
    **settings: Any,
) -> Any:
    """Trains an agent, as `pixelbrax train` does.

    Ctrl-C stops at the end of a log interval, after a checkpoint, and returns the run.

    Args:
      env: a task's name (`pixelbrax.list_tasks()`), an environment of `pixelbrax.make` or `pixelbrax.wrap`, or an MJCF
        model with its `reward_fn` as `pixelbrax.make` takes them. By default the preset's task.
      algorithm: "ppo", "ppg", "dcpg", "distill", "sac", "apg", "es" or a registered one; by default the preset's, or
        "ppo".
      preset: settings known to work, such as "ppo-cpu"; settings given here override them.
      hooks: objects that are called during training.
      seed: seed of every random number; by default the preset's, or 0.
      name: the run's folder below `runs`; by default the preset's or task's name, numbered if it is taken.
      resume: a run to resume bit-exactly from its last checkpoint with its own settings; of the other arguments only
        `env` (for a run in an environment made in Python), `hooks`, `quiet`, `report`, `video` and those of several
        processes may accompany it.
      **settings: every setting of the command line under its name there (`num_steps`, `num_envs`, `learning_rate`,
        `image_size`, `runs`, `num_seeds`, `video`, ...), and every setting of `pixelbrax.make` (`camera`,
        `randomization_fn`, ...).

    Returns:
      The run; with `num_seeds` above 1 the group of runs.

    Raises:
      ConfigError: a setting is unknown or cannot be used; nothing was compiled yet.
      TrainingError: training broke down: parameters are no longer finite.
    """
    given = {"algorithm": algorithm, "preset": preset, "seed": seed, "name": name}
    given = {key: value for key, value in given.items() if value is not None} | settings
    if resume is not None:
        return _resumed(env, resume, hooks, given)
    if "task" in settings:
        raise ConfigError(f"train has no setting 'task': pass it first, as in train({settings['task']!r:.80}, ...)")
    check_keywords("train", settings, _known())
    config, made = _described(env, given)
    launch = _launch(given, hooks, made, _call(env, given, checked_hooks(hooks)))
    source = settings.get("config")
    label = preset or (name_of(Path(source)) if source is not None else file_name(config.environment.task))
    configs = seeds(config, check_count("num_seeds", given.get("num_seeds", 1)))
    where = check_path("runs", given.get("runs", "runs"))
    path, finished = start(configs, where, label if name is None else check_name(name), launch, numbered=name is None)
    return _ended(path, finished, made, configs if launch.processes.num_processes > 1 else {})


def _resumed(env: Any, run: Any, hooks: Sequence[Hook], given: Mapping[str, Any]) -> Run | RunGroup:
    if other := [name for name in given if name not in _WITH_RESUME]:
        raise ConfigError(f"resume continues with the run's own settings: leave out {other[0]!r}")
    path = shown_path(run.path) if isinstance(run, Run | RunGroup) else check_path("resume", run)
    config = runs_in(path)[0].load_config()
    if env is None and config.environment.facts:
        env = getattr(run, "_env", None)
        if env is None:
            config.environment.build()  # raises, and says what to do
    if isinstance(env, str):
        if env != config.environment.task or config.environment.facts:
            task = config.environment.task
            raise ConfigError(f"{path} was trained in another environment: its task is {task!r}, not {env!r}")
        env = None
    if env is not None:
        check_same_env(env, config.environment, path)
    path, finished = resume_runs(path, _launch(given, hooks, env, ""))
    return _ended(path, finished, env, {})


def _ended(path: Path, finished: bool, env: PixelEnv | None, configs: Mapping[str, TrainConfig]) -> Run | RunGroup:
    """The run, or several; after SIGTERM the process terminates, as requested.

    Of several processes, only the machine of the first may have the folder of new ones, whose settings are `configs`.
    """
    if not finished and last_stop() == signal.SIGTERM:
        signal.raise_signal(signal.SIGTERM)
    if configs and not path.exists():
        elsewhere = RunGroup.elsewhere(path, configs, env)
        return elsewhere if len(configs) > 1 else Run.elsewhere(path, elsewhere[0].settings, env)
    return Run(path, env) if RunDir(path).config_file.is_file() else RunGroup(path, env)


def _launch(given: Mapping[str, Any], hooks: Sequence[Hook], env: PixelEnv | None, command: str) -> Launch:
    """How training is started."""
    quiet = given.get("quiet", False)
    processes = Processes(**{name: given[name] for name in _PROCESSES if name in given}, quiet=quiet)
    first = "" if env is None else "env, "
    remedy = lambda path: f"pixelbrax.train({first}resume={str(path)!r})"  # noqa: E731
    with_teacher = lambda path: f"the same call with teacher={str(path)!r}"  # noqa: E731
    others: dict[str, Any] = {name: given[name] for name in ("report", "video") if name in given}
    others["tuned"] = "preset" in given or "config" in given
    return Launch(command, "train", quiet, checked_hooks(hooks), env, processes, remedy, with_teacher, **others)


def checked_hooks(hooks: Any) -> tuple[Hook, ...]:
    """Hooks as a tuple.

    Raises:
      ConfigError: one is a class, or no hook, or its callbacks take other arguments than they are called with.
    """
    several = tuple(hooks) if isinstance(hooks, list | tuple) else (hooks,)
    for hook in several:
        if isinstance(hook, type):
            raise ConfigError(f"hooks has the class {hook.__name__}: pass an object, {hook.__name__}(...)")
        if not isinstance(hook, Hook):
            raise ConfigError(f"hooks has {hook!r:.80}: it must be a list of pixelbrax.Hook")
        check_hook(hook)
    return several


def _agent_configs() -> list[type]:
    return [get_algorithm(name).config for name in algorithm_names()]


def _known() -> list[str]:
    """Names of all settings."""
    kinds = [EnvConfig, NetworkConfig, CurriculumConfig, TrainConfig, *_agent_configs()]
    names = [field.name for kind in kinds for field in fields(kind)]
    hidden = ("facts", "task", *_NESTED)
    return [name for name in dict.fromkeys([*names, *_MAKE, *_LAUNCH]) if name not in hidden]


def _described(env: Any, given: Mapping[str, Any]) -> tuple[TrainConfig, PixelEnv | None]:
    """All settings, and the environment if it is made here."""
    config = _base(given)
    if (name := given.get("algorithm")) is not None:
        config = config.with_algorithm(name)
    mine = {field.name for field in fields(EnvConfig)} | set(_MAKE)
    seen = {key: value for key, value in given.items() if key in mine}
    made: PixelEnv | None = None
    if isinstance(env, PixelEnv):
        if seen:
            raise ConfigError(f"{next(iter(seen))} is a setting of the environment: pass it to pixelbrax.make")
        made = env
    else:
        config, made = _named(config, env, seen)
    if made is not None:
        config = replace(config, environment=config_of(made))
    for part in ("network", "agent", "curriculum"):
        config = _replaced(config, part, given)
    own = {f.name for f in fields(TrainConfig)} - set(_NESTED)
    config = replace(config, **{key: _plain(TrainConfig, key, value) for key, value in given.items() if key in own})
    check_types(config)
    return config.with_last_of(given), made


def _base(given: Mapping[str, Any]) -> TrainConfig:
    """The settings that the given ones override."""
    preset, file = given.get("preset"), given.get("config")
    if preset is not None and file is not None:
        raise ConfigError("preset and config each give all settings: leave out one of them")
    if preset is not None:
        return load_preset(preset)
    return TrainConfig() if file is None else load_config(settings_file(check_path("config", file)))


def _named(config: TrainConfig, env: Any, seen: Mapping[str, Any]) -> tuple[TrainConfig, PixelEnv | None]:
    """Settings of a task by its name; an environment too if they are not all text and numbers."""
    task = config.environment.task if env is None else env
    plain = {f.name for f in fields(EnvConfig)} - {"task", "facts"}
    simple = {key: _plain(EnvConfig, key, value) for key, value in seen.items()}
    if isinstance(camera := simple.get("camera"), int) and not isinstance(camera, bool):
        simple["camera"] = str(camera)
    if set(seen) <= plain and isinstance(task, str) and task in task_names() and all(map(_is_plain, simple.values())):
        return replace(config, environment=replace(config.environment, task=task, **simple)), None
    ours = {name: simple[name] for name in _NOT_OF_MAKE if name in seen}
    settings = replace(config.environment, facts=(), **ours)
    whole = {**settings.make_settings(), **{name: x for name, x in seen.items() if name not in _NOT_OF_MAKE}}
    whole.pop("task")
    return config, settings.scaled(make(task, **{name: x for name, x in whole.items() if x is not None}))


def _replaced(config: TrainConfig, part: str, given: Mapping[str, Any]) -> TrainConfig:
    """The settings, with the given ones of one table."""
    table = getattr(config, part)
    names = {field.name for field in fields(table)}
    if part == "agent":
        others = {f.name for each in _agent_configs() for f in fields(each)}
        elsewhere = {f.name for kind in (NetworkConfig, EnvConfig, CurriculumConfig, TrainConfig) for f in fields(kind)}
        for key in given:
            if key in others and key not in names and key not in elsewhere:
                raise ConfigError(f"{config.algorithm} has no setting {key!r}: {nearest(key, sorted(names))}")
    values = {key: _plain(type(table), key, value) for key, value in given.items() if key in names}
    return replace(config, **{part: replace(table, **values)})


def _is_plain(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, str | int | float | bool)
        or (isinstance(value, tuple) and all(isinstance(each, str) for each in value))
    )


def _plain(kind: type, name: str, value: Any) -> Any:
    """A setting in the form of a file: Python's numbers, a path as text, and a tuple where one is expected."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, list | tuple):
        return tuple(each.item() if isinstance(each, np.generic) else each for each in value)
    if isinstance(value, Mapping) and name in TABLES:
        return words_of(value)
    default = getattr(kind, name, None)
    return (value,) if isinstance(value, str) and isinstance(default, tuple) else value


def _call(env: Any, given: Mapping[str, Any], hooks: Sequence[Hook]) -> str:
    """The call as text, for config.toml."""
    first = [repr(env)] if isinstance(env, str) else ["env"] if env is not None else []
    named = [f"{key}={value!r:.100}" for key, value in given.items()]
    called = [f"hooks=[{', '.join(f'{type(hook).__name__}(...)' for hook in hooks)}]"] if hooks else []
    return f"pixelbrax.train({', '.join([*first, *named, *called])})"
