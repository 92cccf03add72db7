"""Learning curves of runs."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from pixelbrax.errors import ConfigError
from pixelbrax.report import write_curve, write_curves
from pixelbrax.tasks import get_task, task_names
from pixelbrax.training import CHANGED, RunDir, TrainConfig, runs_below

_DEEPEST = 8  # runs named by a run that another names, and so on: beyond that they are called by their folders
_OTHERS = (("start_from", "start_updates"), ("teacher", "teacher_updates"))  # settings that name another run


def plot_run(run: RunDir) -> None:
    """Plots a run's return against steps, in its folder."""
    config = run.load_config()
    env = config.environment
    title = f"{env.task} from {env.view}, {config.algorithm.upper()}, seed {config.seed}"
    write_curve(run.curve_file, run.read_metrics(), run.read_evaluations(), title)


def sound_runs(
    paths: Sequence[Path], say: Callable[[str], None], *, with_returns: bool = False, finished: bool = False
) -> list[RunDir]:
    """The runs in some folders, each once, without those that broke down or are damaged and are not named themselves.

    Args:
      paths: the folders, as for `runs_below`.
      say: is told which are left out.
      with_returns: leave out likewise those of which no episode has ended yet.
      finished: leave out likewise those that are `incomparable`.

    Raises:
      ConfigError: there are none, or one that is named itself is damaged.
    """
    reads = [RunDir.read_metrics] * with_returns + [RunDir.read_evaluations] * finished
    whys = ["broke down", *["have no return yet"] * with_returns, *["cannot be compared"] * finished]
    runs = []
    for run in readable_runs(paths, say, *reads):
        if is_named(run, paths):
            runs.append(run)
        elif run.failure:
            say(f"{run.path} broke down, and is left out")
        elif with_returns and not run.has_returns:
            say(f"{run.path} has no return yet, and is left out")
        elif finished and "trained" not in run.read_evaluations():
            say(f"{run.path} is not finished, and is left out")
        elif finished and (why := incomparable(run)):
            say(f"{run.path} {why}, and is left out")
        else:
            runs.append(run)
    if not runs:
        raise ConfigError(f"all of these runs {', or '.join(whys)}: there is nothing to show")
    return runs


def incomparable(run: RunDir) -> str:
    """Why the evaluation at a run's end cannot be compared with others; empty if it can.

    Raises:
      ConfigError: evaluation.json is damaged.
    """
    if (trained := run.read_evaluations().get("trained")) is None:
        return "was not evaluated at the end of its training"
    if not {"returns", "lengths"} <= trained.keys():
        return "is from a version that did not keep every episode's return and length"
    return "" if all(map(math.isfinite, trained["returns"])) else "has a return that is not finite"


def readable_runs(
    paths: Sequence[Path], say: Callable[[str], None], *reads: Callable[[RunDir], object]
) -> list[RunDir]:
    """The runs in some folders, each once, without those whose files are damaged and that are not named themselves.

    Args:
      paths: the folders, as for `runs_below`.
      say: is told which are left out, and why.
      reads: of each run, what must be readable besides config.toml.

    Raises:
      ConfigError: no run is left, or one that is named itself is damaged.
    """
    if not paths:
        raise ConfigError("name at least one run")
    runs = []
    for run in runs_below(paths):
        try:
            run.load_config()
            for read in reads:
                read(run)
        except ConfigError as e:
            if is_named(run, paths):
                raise
            say(f"{run.path} is left out: {e}")
        else:
            runs.append(run)
    if not runs:
        raise ConfigError("none of these runs can be read: there is nothing to show")
    return runs


def is_named(run: RunDir, paths: Iterable[Path]) -> bool:
    """Whether a run is one of the folders, and not in one of them."""
    return run.path.resolve() in {path.resolve() for path in paths}


def plot_runs(path: Path, runs: Sequence[RunDir]) -> None:
    """Plots returns of several runs; runs that differ only in their seeds are one curve.

    Raises:
      ConfigError: a run has no return yet, or two have the same settings and seed.
    """
    for run in runs:
        if not run.has_returns:
            raise ConfigError(f"{run.path} has no return yet: none of its episodes has ended")
    groups = grouped(runs)
    for several in groups.values():
        check_seeds(several)
    curves = {name: [run.read_metrics() for run in runs] for name, runs in groups.items()}
    shown = [run.load_config().environment for run in runs]
    tasks = dict.fromkeys(f"{environment.task} from {environment.view}" for environment in shown)
    write_curves(path, curves, ", ".join(tasks))


def check_seeds(runs: Sequence[RunDir]) -> None:
    """Refuses to count a seed twice.

    Args:
      runs: of one setting on one task.

    Raises:
      ConfigError: two have the same seed.
    """
    seeds: dict[int, RunDir] = {}
    for run in runs:
        seed = run.load_config().seed
        if seed in seeds:
            raise ConfigError(f"{run.path} and {seeds[seed].path} have the same settings and seed: leave one out")
        seeds[seed] = run


def grouped(runs: Sequence[RunDir], over_tasks: bool = False) -> dict[str, list[RunDir]]:
    """Runs that differ only in seed and in what does not change what is learned, by what sets them apart from others.

    Runs that they learn or begin from, their teachers and `start_from`, are compared in the same way, so that each seed
    may have its own. Those whose settings were edited on the way are apart from those that had the same throughout.

    Args:
      runs: with their settings.
      over_tasks: runs that differ in their task are together, too, on each task's first engine or all on the same.
    """
    groups: dict[Any, list[RunDir]] = {}
    named: dict[Any, TrainConfig] = {}
    for run in runs:
        config = _settings(run)
        kind = _kind(config, over_tasks), run.read_provenance().get(CHANGED)
        named.setdefault(kind, config)
        groups.setdefault(kind, []).append(run)
    names = _names(list(named.values()), over_tasks)
    numbers = [names[:k].count(name) + 1 for k, name in enumerate(names)]  # of those that nothing tells apart
    told = [f"{name} ({number})" if number > 1 else name for name, number in zip(names, numbers, strict=True)]
    return dict(zip(told, groups.values(), strict=True))


def _without_neutral(config: TrainConfig, over_tasks: bool) -> TrainConfig:
    """The settings that runs of one group have in common."""
    defaults: Any = {field.name: field.default for field in fields(TrainConfig) if field.name in TrainConfig.NEUTRAL}
    config = replace(config, **defaults)
    if not over_tasks:
        return config
    task, backend = config.environment.task, config.environment.resolved().backend
    first = get_task(task).backends[0] if task in task_names() else backend
    backend = "default" if backend == first else backend
    return replace(config, environment=replace(config.environment, task="", backend=backend))


def _kind(config: TrainConfig, over_tasks: bool, seen: frozenset[Path] = frozenset()) -> Any:
    """What runs of one group have in common: their settings, and the kinds of the runs that they name.

    Args:
      config: settings of a run.
      over_tasks: see `grouped`.
      seen: folders of runs that named it, and were perhaps made again since from what it had become.
    """
    config = _without_neutral(config, over_tasks)
    agent: Any = config.agent
    before = _kind_of_run(config.start_from, config.start_updates, over_tasks, seen)
    alone = replace(config, start_from="", start_updates=0)
    if not getattr(agent, "teacher", ""):
        return alone, before
    teacher = _kind_of_run(agent.teacher, agent.teacher_updates, over_tasks, seen)
    return replace(alone, agent=replace(agent, teacher="", teacher_updates=0)), before, teacher


def _kind_of_run(folder: str, updates: int, over_tasks: bool, seen: frozenset[Path]) -> Any:
    """The kind of a run after some updates, which are left out at its end; its folder's name where it is gone."""
    if not folder:
        return None
    place = Path(folder).resolve()
    if place in seen or (known := _opened(folder, updates)) is None:
        return folder, updates
    config, updates = known
    return _kind(config, over_tasks, seen | {place}), updates


def _opened(folder: str, updates: int) -> tuple[TrainConfig, int] | None:
    """A run's settings, and after how many updates it is meant, 0 at its end; None where it is gone."""
    try:
        run = RunDir.open(Path(folder))
        rows = run.read_metrics()
        at_end = not updates or not rows or updates == rows[-1]["updates"]
        return _settings(run), 0 if at_end else updates
    except ConfigError:
        return None


def _settings(run: RunDir) -> TrainConfig:
    """A run's settings. A run that they name and that is gone may be beside it: their folder was moved."""
    config = run.load_config()
    agent: Any = config.agent
    if teacher := getattr(agent, "teacher", ""):
        config = replace(config, agent=replace(agent, teacher=_moved(teacher, agent.teacher_updates, run)))
    return replace(config, start_from=_moved(config.start_from, config.start_updates, run))


def _moved(folder: str, updates: int, run: RunDir) -> str:
    """Where the folder is that a run names by its absolute path, which may have been moved together with the run.

    It is the one at the longest end of that path, below a folder that holds the run, that has come as far.
    """
    if not folder or RunDir(Path(folder)).config_file.is_file():
        return folder
    own, parts = run.path.resolve(), Path(folder).parts
    for k in range(1, len(parts)):
        for above in own.parents:
            place = RunDir(above.joinpath(*parts[k:]))
            if place.path != own and place.config_file.is_file() and _has(place, updates):
                return str(place.path)
    return folder


def _has(run: RunDir, updates: int) -> bool:
    try:
        return any(row["updates"] == updates for row in run.read_metrics())
    except ConfigError:
        return False


def _names(configs: Sequence[TrainConfig], over_tasks: bool, depth: int = 0) -> list[str]:
    """A name for each group: its algorithm, task and distractors, then the settings in which namesakes differ."""
    configs = [_without_neutral(config, over_tasks) for config in configs]
    facts = [(c.algorithm.upper(), c.environment.task, *c.environment.distractors) for c in configs]
    plain = [" ".join(fact for fact in each if fact) for each in facts]
    settings = [_flat(asdict(config)) for config in configs]
    for role, count in _OTHERS:
        folders = [(each.get(role, ""), each.get(count, 0)) for each in settings]
        if any(folder for folder, _ in folders):
            for each, name in zip(settings, _names_of_runs(folders, over_tasks, depth + 1), strict=True):
                each |= {role: name, count: 0} if role in each else {}
    names = []
    for name, mine in zip(plain, settings, strict=True):
        others = [theirs for other, theirs in zip(plain, settings, strict=True) if other == name]
        apart = [f"{key} {value}" for key, value in mine.items() if any(other[key] != value for other in others)]
        names.append(", ".join([name, *apart]))
    return names


def _names_of_runs(folders: Sequence[tuple[str, int]], over_tasks: bool, depth: int) -> list[str]:
    """Names by settings for runs after some updates, which are told except at the end; the folder where it is gone."""
    near = [each for each in folders if each[0] and depth <= _DEEPEST]
    known = {each: found for each in near if (found := _opened(*each)) is not None}
    names = dict(zip(known, _names([config for config, _ in known.values()], over_tasks, depth), strict=True))

    def called(folder: str, updates: int) -> str:
        found = known.get((folder, updates))
        count = found[1] if found else updates
        after = f" after {count:,} updates" if count else ""
        return f"({names[folder, updates]}{after})" if found else folder + after

    return [called(*each) for each in folders]


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of nested tables side by side; names are unique over all tables."""
    flat = {}
    for key, value in settings.items():
        flat |= _flat(value) if isinstance(value, Mapping) else {key: value}
    return flat
