"""The table and the curve of all stages of a curriculum."""

import csv
import io
import math
from collections.abc import Sequence

from pixelbrax.experiments.stages.folder import CurriculumDir
from pixelbrax.experiments.stages.gate import judged, opened_at
from pixelbrax.experiments.stages.plan import Curriculum
from pixelbrax.report import Segment, write_stages
from pixelbrax.training import replace_text


def write_story(folder: CurriculumDir, curriculum: Curriculum) -> None:
    """Writes metrics.csv and curve.png from the stages' runs, whether they have ended or not."""
    rows: list[dict[str, object]] = []
    segments: list[Segment] = []
    ended = {each.run: each for each in folder.ended()}
    before = 0
    for attempt, run in folder.started(curriculum):
        stage, results = curriculum.stages[attempt.stage], run.read_evaluations()
        own = run.read_metrics()
        for row in own:
            place: dict[str, object] = {"stage": attempt.stage + 1, "name": stage.name, "attempt": attempt.number}
            rows.append(place | {"total_steps": before + int(row["steps"])} | row)
        opened = opened_at(stage.gate, results) if stage.gate else None
        bounds = stage.gate.thresholds if stage.gate else {}
        if entry := ended.get(run.path.name):  # its gate may have been edited since
            opened, bounds = entry.opened_at, bounds if str(stage.gate or "") == entry.gate else {}
        segments.append(
            Segment(stage.name, before, own, judged(results), bounds, None if opened is None else before + opened)
        )
        before += int(own[-1]["steps"]) if own else 0
    replace_text(folder.metrics_file, _table(rows))
    environments = [stage.config.environment for stage in curriculum.stages]
    seen = dict.fromkeys(f"{environment.task} from {environment.view}" for environment in environments)
    write_stages(folder.curve_file, segments, f"{', '.join(seen)}, {len(environments)} stages, seed {curriculum.seed}")


def _table(rows: Sequence[dict[str, object]]) -> str:
    """A table of all columns of any row; what a row lacks, or does not know, is empty."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    if columns:
        table.writerow(columns)
    for row in rows:
        table.writerow([_cell(row.get(name, "")) for name in columns])
    return text.getvalue()


def _cell(value: object) -> object:
    """Whole numbers without a fraction, and nothing for NaN."""
    if isinstance(value, float):
        return "" if math.isnan(value) else int(value) if value.is_integer() and abs(value) < 1e15 else value
    return value
