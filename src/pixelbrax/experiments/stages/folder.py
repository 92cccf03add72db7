"""A curriculum's folder: its stages' runs, and the ledger of those that have ended."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pixelbrax.errors import ConfigError
from pixelbrax.experiments.stages.gate import STATISTICS, judged, opened_at
from pixelbrax.experiments.stages.plan import Curriculum, read_curriculum
from pixelbrax.training import (
    CURRICULUM,
    REPORT,
    RunDir,
    as_json,
    make_folder,
    provenance,
    read_toml_file,
    replace_text,
)


@dataclass(frozen=True)
class Ended:
    """A stage's run that has ended: an entry of stages.json.

    Attributes:
      stage: number, from 1.
      name: of the stage.
      attempt: 0, or how often the stage was repeated.
      run: name of the run's folder.
      steps: of the run.
      opened_at: steps of the run at which the gate opened, or None.
      gate: of the stage, as text; empty if there is none.
      values: of what the gate judges, at the last evaluation.
    """

    stage: int
    name: str
    attempt: int
    run: str
    steps: int
    opened_at: int | None
    gate: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class Attempt:
    """A run that is to be trained, or to be resumed.

    Attributes:
      stage: index.
      number: 0, or how often the stage was repeated.
    """

    stage: int
    number: int = 0


@dataclass(frozen=True)
class CurriculumDir:
    """Paths of a curriculum's folder, and what is in them."""

    path: Path

    @property
    def file(self) -> Path:
        """All settings of all stages, with versions and device."""
        return self.path / CURRICULUM

    @property
    def ledger_file(self) -> Path:
        """The stages' runs that have ended, in order."""
        return self.path / "stages.json"

    @property
    def metrics_file(self) -> Path:
        """Rows of all stages' metrics.csv."""
        return self.path / "metrics.csv"

    @property
    def curve_file(self) -> Path:
        """Returns and gates against the steps of all stages."""
        return self.path / "curve.png"

    @property
    def across_file(self) -> Path:
        """Every stage's policy in every stage; the .png beside it is a picture of it."""
        return self.path / "across.json"

    @property
    def report_file(self) -> Path:
        """All stages, for people."""
        return self.path / REPORT

    @classmethod
    def create(cls, path: Path, curriculum: Curriculum, command: str) -> "CurriculumDir":
        """Makes the folder, or takes an empty one.

        Raises:
          ConfigError: it has something in it, or cannot be made.
          OSError: its file cannot be written; the folder is removed again.
        """
        make_folder(path)
        folder = cls(path)
        try:
            replace_text(folder.file, curriculum.dumps(provenance(command)))
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
        return folder

    @classmethod
    def open(cls, path: Path) -> "CurriculumDir":
        """An existing folder.

        Raises:
          ConfigError: there is none.
        """
        folder = cls(path)
        if not folder.file.is_file():
            reason = f"it has no {CURRICULUM}" if path.exists() else "there is no such folder"
            raise ConfigError(f"{path} is not the folder of a curriculum: {reason}")
        return folder

    def curriculum(self) -> Curriculum:
        """The curriculum, as it was when the folder was made, or has been edited since.

        Raises:
          ConfigError: it cannot be read, or a stage that has ended is no longer in its place.
        """
        curriculum = read_curriculum(read_toml_file(self.file), str(self.file))
        names = [stage.name for stage in curriculum.stages]
        for each in self.ended():
            if names[each.stage - 1 : each.stage] != [each.name]:
                raise ConfigError(
                    f"{self.file}: its stage {each.stage}, {each.name}, has ended, and is no longer there: put it "
                    "back, or begin another curriculum. Stages that have not begun may be added and taken out"
                )
        return curriculum

    def run(self, curriculum: Curriculum, attempt: Attempt) -> RunDir:
        """The run of an attempt, which need not exist."""
        again = f"-again-{attempt.number}" if attempt.number else ""
        return RunDir(self.path / f"{attempt.stage + 1}-{curriculum.stages[attempt.stage].name}{again}")

    def run_named(self, name: str) -> RunDir:
        """The run of that name, as in the ledger."""
        return RunDir(self.path / name)

    def ended(self) -> list[Ended]:
        """The runs that have ended, in order.

        Raises:
          ConfigError: the ledger is damaged.
        """
        if not self.ledger_file.exists():
            return []
        try:
            return [Ended(**entry) for entry in json.loads(self.ledger_file.read_text(encoding="utf-8"))]
        except (ValueError, TypeError) as e:
            raise ConfigError(f"{self.ledger_file} is damaged: {e}") from e

    def add(self, curriculum: Curriculum, attempt: Attempt) -> Ended:
        """Writes into the ledger that a run has ended; returns the entry."""
        stage, run = curriculum.stages[attempt.stage], self.run(curriculum, attempt)
        results = run.read_evaluations()
        last = judged(results)[-1]
        names = stage.gate.names if stage.gate else STATISTICS[:1]
        entry = Ended(
            attempt.stage + 1,
            stage.name,
            attempt.number,
            run.path.name,
            int(last["steps"]),
            opened_at(stage.gate, results) if stage.gate else None,
            str(stage.gate or ""),
            {name: last[name] for name in names if name in last},
        )
        replace_text(self.ledger_file, as_json([asdict(each) for each in [*self.ended(), entry]]))
        return entry

    def next(self, curriculum: Curriculum) -> Attempt | None:
        """What is to be trained next; None if the curriculum has ended."""
        if not (ended := self.ended()):
            return Attempt(0)
        last = ended[-1]
        stage, index = curriculum.stages[last.stage - 1], last.stage - 1
        if stage.gate is None or last.opened_at is not None or stage.at_budget == "continue":
            return Attempt(index + 1) if index + 1 < len(curriculum.stages) else None
        if stage.at_budget == "repeat" and last.attempt < stage.repeats:
            return Attempt(index, last.attempt + 1)
        return None

    def passed(self, curriculum: Curriculum) -> bool:
        """Whether all stages were trained and none stopped at a closed gate; one that continues may be closed."""
        ended, last = self.ended(), curriculum.stages[-1]
        return (
            bool(ended)
            and ended[-1].stage == len(curriculum.stages)
            and (last.gate is None or last.at_budget == "continue" or ended[-1].opened_at is not None)
        )

    def ending(self, curriculum: Curriculum) -> tuple[str, str]:
        """What came of a curriculum that has ended, and whether that is "good", "bad", or neither: "wait"."""
        last = self.ended()[-1]
        if not self.passed(curriculum):
            return f"stopped at the gate of {last.name}", "bad"
        if last.gate and last.opened_at is None:
            return f"all stages trained, the gate of {last.name} stayed closed", "wait"
        return "passed", "good"

    def across(self) -> dict[str, Any]:
        """What across.json has; empty if there is none, or none that is whole."""
        try:
            found = json.loads(self.across_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def started(self, curriculum: Curriculum) -> list[tuple[Attempt, RunDir]]:
        """All runs that have been started, in order: those that have ended, and the one that is being trained."""
        attempts = [Attempt(each.stage - 1, each.attempt) for each in self.ended()]
        if (following := self.next(curriculum)) is not None:
            attempts.append(following)
        runs = [(attempt, self.run(curriculum, attempt)) for attempt in attempts]
        return [(attempt, run) for attempt, run in runs if run.config_file.is_file()]
