"""Runs as Python objects: settings, curves, policies and videos of what was trained."""

import contextlib
import html
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError, check_path
from pixelbrax.experiments.environments import check_same_env
from pixelbrax.experiments.finish import record_videos
from pixelbrax.experiments.plotting import plot_run, plot_runs
from pixelbrax.experiments.policies import Policy, policy_of
from pixelbrax.report import data_url
from pixelbrax.training import Progress, RunDir, TrainConfig, TrainingRun, all_checkpoints, amount, runs_in


@dataclass(frozen=True)
class Video:
    """A video file; a notebook shows it inline.

    Attributes:
      path: the file.
    """

    path: Path

    def __fspath__(self) -> str:
        return str(self.path)

    def _repr_html_(self) -> str:
        return f'<video src="{data_url(self.path)}" controls loop muted autoplay width="320"></video>'


class Run:
    """One training run on disk; a notebook shows its curve and its video."""

    def __init__(self, path: str | os.PathLike[str], env: PixelEnv | None = None):
        """Opens a run.

        Args:
          path: its folder.
          env: the run's environment, if it was made in Python; without it, such a run has settings and curves but no
            policy.

        Raises:
          ConfigError: there is no run, or it was trained in another environment.
        """
        run = RunDir.open(check_path("path", path))
        settings = run.load_config()
        if env is not None:
            check_same_env(env, settings.environment, run.path)
        self._set(run.path, settings, env)

    def _set(self, path: Path, settings: TrainConfig, env: PixelEnv | None) -> None:
        self._path = path.absolute()  # whatever becomes the working directory
        self.settings: TrainConfig = settings
        self._env = env
        self._training_run: TrainingRun | None = None

    @classmethod
    def elsewhere(cls, path: Path, settings: TrainConfig, env: PixelEnv | None = None) -> "Run":
        """A run whose folder another machine has: what is read from the folder raises ConfigError.

        Args:
          path: its folder there.
          settings: of the run.
          env: see `Run`.
        """
        run = cls.__new__(cls)
        run._set(path, settings, env)
        return run

    @property
    def path(self) -> Path:
        """The run's folder, as an absolute path."""
        return self._path

    def __fspath__(self) -> str:
        """So that a run may stand wherever the path of one is asked for."""
        return str(self._path)

    @property
    def _dir(self) -> RunDir:
        """The folder's files.

        Raises:
          ConfigError: there is no folder; without files of its own it would look like a run that has just begun.
        """
        if not self.path.is_dir():
            raise ConfigError(f"{self.path} is not here: the run was moved or removed, or another machine has it")
        return RunDir(self.path)

    @property
    def metrics(self) -> dict[str, np.ndarray]:
        """Columns of metrics.csv: (row,) float64 each, NaN where there is no value."""
        rows = self._dir.read_metrics()
        return {name: np.array([row[name] for row in rows]) for name in (rows[0] if rows else ())}

    @property
    def evaluations(self) -> dict[str, dict[str, Any]]:
        """Evaluations by name: "untrained", "trained", "update 1,000", ...; see evaluation.json."""
        return self._dir.read_evaluations()

    @property
    def updates(self) -> int:
        """Updates in metrics.csv so far."""
        rows = self._dir.read_metrics()
        return int(rows[-1]["updates"]) if rows else 0

    @property
    def finished(self) -> bool:
        """Whether training reached its end and the policy was evaluated."""
        return "trained" in self._dir.read_evaluations()

    @property
    def failure(self) -> str:
        """Why training broke down; empty if it did not."""
        return self._dir.failure

    @property
    def env(self) -> PixelEnv:
        """The environment that it was trained in.

        Raises:
          ConfigError: it was made in Python, and was not passed to `Run`.
        """
        return self.training_run.env

    @property
    def training_run(self) -> TrainingRun:
        """Environment, agent and checkpoints; built on first use."""
        if self._training_run is None:
            self._training_run = TrainingRun(self.settings, Progress(quiet=True), env=self._env)
        return self._training_run

    def policy(self, best: bool = False) -> Policy:
        """The trained policy.

        Args:
          best: the one with the best evaluation during training, instead of the last.

        Raises:
          ConfigError: there is no checkpoint, or it is damaged.
        """
        policy = policy_of(self.training_run, self._dir, best)
        return replace(policy, source=str(shown_path(self.path)))

    def curve(self) -> Path:
        """Plots the learning curve from the current metrics; returns the PNG file."""
        plot_run(self._dir)
        return self._dir.curve_file

    def video(self) -> Video:
        """The video of the last checkpoint's policy; recorded if there is none of it.

        Raises:
          ConfigError: there is no checkpoint, or no encoder.
        """
        file, last = self._dir.video_file, max(all_checkpoints(self._dir.checkpoint_dir), default=None)
        if not file.exists() or last not in (None, self._dir.recorded_after(file)):
            record_videos(self.training_run, self._dir, *self.training_run.restore_policy(self._dir))
        if not file.exists():
            raise ConfigError(f"{self.path}: no video could be written (pip install imageio imageio-ffmpeg)")
        return Video(file)

    def __repr__(self) -> str:
        return f"Run({str(shown_path(self.path))!r}: {self._summary()})"

    def _summary(self) -> str:
        config, env = self.settings, self.settings.environment
        facts = [f"{env.task} from {env.view} by {config.algorithm.upper()}, seed {config.seed}"]
        if not self.path.is_dir():
            return f"{facts[0]}, not here"
        try:
            results, updates = self.evaluations, self.updates
        except ConfigError as e:  # told, for what shows a run must not fail
            return f"{facts[0]}, {e}"
        facts.append(f"{updates:,} of {config.num_updates:,} updates")
        if results:
            name, last = max(results.items(), key=lambda item: item[1]["steps"])
            error = f" ± {amount(last['standard_error'])}" if "standard_error" in last else ""
            facts.append(f"{name} return {amount(last['mean_return'])}{error}")
        if self.failure:
            facts.append("broke down")
        return ", ".join(facts)

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html.escape(str(shown_path(self.path)))}</b>: {html.escape(self._summary())}</p>"]
        if not self.path.is_dir():
            return parts[0]
        with contextlib.suppress(ConfigError):  # of a damaged file, which the line above names
            if self._dir.has_returns or self.evaluations:
                parts.append(_shown_curve(self))
            video = self._dir.video_file
            if video.exists() and self._dir.recorded_after(video) in (None, self.updates):
                parts.append(Video(video)._repr_html_())
        return "\n".join(parts)


class RunGroup(Sequence[Run]):
    """Runs that were trained side by side, one for each seed, in the order of their names."""

    def __init__(self, path: str | Path, env: PixelEnv | None = None):
        """Opens the runs in a folder.

        Raises:
          ConfigError: there is none.
        """
        folder = check_path("path", path)
        self._set(folder, [Run(run.path, env) for run in runs_in(folder)])

    def _set(self, path: Path, runs: Sequence[Run]) -> None:
        self.path = path.absolute()
        self._runs = tuple(runs)

    @classmethod
    def elsewhere(cls, path: Path, settings: Mapping[str, TrainConfig], env: PixelEnv | None = None) -> "RunGroup":
        """Runs whose folder another machine has, see `Run.elsewhere`; settings by the runs' names."""
        group = cls.__new__(cls)
        group._set(path, [Run.elsewhere(path / name, config, env) for name, config in settings.items()])
        return group

    def __getitem__(self, index: Any) -> Any:  # a run, or for a slice a tuple of runs
        return self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def curve(self) -> Path:
        """Plots learning curves of the seeds and their center, as `pixelbrax plot` does; returns the PNG file.

        The center is the mean of less than ten seeds and the interquartile mean of more. Of less than five seeds each
        is drawn, and of more the 95 % interval of the center.

        Runs that broke down are left out.

        Raises:
          ConfigError: all runs broke down, no episode of one has ended yet, or two have the same settings and seed.
        """
        file = self.path / "curve.png"
        sound = [RunDir(run.path) for run in self._runs if not run.failure]
        if not sound:
            raise ConfigError(f"all runs in {shown_path(self.path)} broke down: open one alone, as group[0].curve()")
        plot_runs(file, sound)
        return file

    def __repr__(self) -> str:
        return f"RunGroup({str(shown_path(self.path))!r}: {len(self)} runs)"

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{html.escape(repr(run))}</li>" for run in self._runs)
        if not self.path.is_dir():
            return f"<ul>{lines}</ul>"
        curve = ""
        with contextlib.suppress(ConfigError):  # a folder of other runs may have a seed twice, or a damaged file
            if all(not run.failure and RunDir(run.path).has_returns for run in self._runs):
                curve = _shown_curve(self)
        return f"<ul>{lines}</ul>{curve}"


def _shown_curve(runs: Run | RunGroup) -> str:
    """The newest curve for a notebook; where the folder cannot be written, the one that is there."""
    file = runs.path / "curve.png"
    with contextlib.suppress(OSError):
        file = runs.curve()
    return f'<img src="{data_url(file)}" width="560">' if file.exists() else ""


def shown_path(path: Path) -> Path:
    """A path as one writes it: relative if it is below the working directory."""
    with contextlib.suppress(OSError, ValueError):
        return path.relative_to(Path.cwd())
    return path


def open_run(path: str | Path, env: PixelEnv | None = None) -> Run:
    """The run in a folder; `RunGroup(path)` opens several in one folder.

    Args:
      path: the folder.
      env: see `Run`.

    Raises:
      ConfigError: there is none, or it was trained in another environment.
    """
    return Run(path, env)


def load_policy(run: "Run | RunGroup | str | Path", best: bool = False, env: PixelEnv | None = None) -> Policy:
    """The policy of a run: `policy(obs)` gives actions, see `Policy`.

    Args:
      run: a run or its folder.
      best: the policy with the best evaluation during training, instead of the last.
      env: the run's environment, if it was made in Python.

    Raises:
      ConfigError: there is no run or no checkpoint, or the environment is another one.
    """
    if isinstance(run, RunGroup):
        raise ConfigError(f"{run.path} holds {len(run)} runs: name one, such as load_policy(group[0])")
    if isinstance(run, Run) and env is None:
        return run.policy(best)
    return Run(run, env).policy(best)
