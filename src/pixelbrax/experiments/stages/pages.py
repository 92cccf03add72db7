"""The report of a curriculum."""

from dataclasses import asdict
from pathlib import Path

from pixelbrax.experiments.stages.folder import CurriculumDir
from pixelbrax.experiments.stages.plan import Curriculum
from pixelbrax.report import RunFacts, page_of_curriculum
from pixelbrax.training import replace_text


def is_curriculum(path: Path) -> bool:
    """Whether a folder is that of a curriculum."""
    return CurriculumDir(path).file.is_file()


def write_curriculum_report(path: Path, out: Path | None = None) -> Path:
    """Writes the report of a curriculum, whether it has ended or not.

    Args:
      path: its folder.
      out: the HTML file; by default report.html in the folder.

    Raises:
      ConfigError: it is none of a curriculum, or a file in it is damaged.
      OSError: the file cannot be written.
    """
    folder = CurriculumDir.open(path)
    curriculum = folder.curriculum()
    ended = {each.run: asdict(each) for each in folder.ended()}
    stages = []
    for attempt, run in folder.started(curriculum):
        stage = curriculum.stages[attempt.stage]
        stages.append((stage.name, RunFacts.of(run), ended.get(run.path.name, {"gate": str(stage.gate or "")})))
    file = folder.report_file if out is None else out
    replace_text(file, page_of_curriculum(path.resolve().name, _state(folder, curriculum), stages, path, file))
    return file


def _state(folder: CurriculumDir, curriculum: Curriculum) -> tuple[str, str]:
    """How far it came, and what that is for the report."""
    if folder.next(curriculum) is None:
        return folder.ending(curriculum)
    return f"{len({each.stage for each in folder.ended()})} of {len(curriculum.stages)} stages", "wait"
