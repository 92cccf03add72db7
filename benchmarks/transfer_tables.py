"""The tables of what carries over: encoders to other tasks, policies to looks that they did not train under."""

from typing import Any

import numpy as np
from learning_tables import by_setting
from markdown_tables import read, source, table

from pixelbrax.training import over_runs

_TASKS = ("walker2d", "ant")
# Names of the runs, in the order of the rows, and what their encoders are.
_ENCODERS = {
    "scratch": "learned here",
    "random-frozen": "random, frozen",
    "plain-frozen": "HalfCheetah's, frozen",
    "video-frozen": "HalfCheetah's under videos, frozen",
    "plain-tuned": "HalfCheetah's, learns on",
    "video-tuned": "HalfCheetah's under videos, learns on",
}


def transfer() -> str:
    """Students of other tasks under videos, by where their encoder comes from."""
    data = read("cpu-transfer.json")["rows"]
    rows = []
    for task in _TASKS:
        for name, encoder in _ENCODERS.items():
            prefix = f"{task}-{name}-s"
            by_seed = {
                row["run"].removeprefix(prefix): row["evaluations"] for row in data if row["run"].startswith(prefix)
            }
            if not by_seed:
                continue
            runs = list(by_seed.values())
            stages = [stage for stage in runs[0] if stage not in ("untrained", "best")]
            cells = [_interval([run[stage]["mean_return"] for run in runs]) for stage in stages]
            cells += [_interval([run["trained"]["held_out"]["mean_return"] for run in runs])]
            taught = np.mean([run["trained"]["teacher"]["mean_return"] for run in runs])
            share = np.mean([run["trained"]["mean_return"] for run in runs]) / taught
            here = {
                row["run"].rpartition("-s")[2]: row["evaluations"] for row in data if f"{task}-scratch-s" in row["run"]
            }
            ahead = [_return(run) - _return(here[seed]) for seed, run in by_seed.items() if seed in here]
            more = "-" if name == "scratch" else _interval(ahead)
            rows.append([task, encoder, f"{len(runs)}", *cells, more, f"{share:.0%}"])
    first = next(row for row in data if row["run"].startswith("walker2d-scratch"))["evaluations"]
    steps = [f"after {result['steps']:,}" for name, result in first.items() if name not in ("untrained", "best")]
    heading = ["task", "encoder", "seeds", *steps, "in the end, under held-out videos"]
    heading += ["more than from scratch, seed by seed", "of the teacher's"]
    first, *further = (row["provenance"] for row in data)
    return table(heading, rows) + "\n\n" + source(first, "cpu-transfer.json", *further)


def _return(evaluations: dict[str, Any]) -> float:
    return evaluations["trained"]["mean_return"]


def gaps() -> str:
    """Returns under the videos of training and under held-out ones, in the same episodes."""
    data = read("cpu-learning.json")["rows"]
    data = [row for row in data if "held_out" in row["evaluations"].get("trained", {})]
    rows = []
    for key, runs in by_setting(data):
        trained = [run["evaluations"]["trained"] for run in runs]
        pairs = [(np.array(x["returns"]), np.array(x["held_out"]["returns"])) for x in trained]
        inside, outside = (_interval([pair[side].mean() for pair in pairs]) for side in (0, 1))
        apart = [a - b for a, b in pairs]
        each = ", ".join(f"{x.mean():,.0f} ± {x.std(ddof=1) / len(x) ** 0.5:,.0f}" for x in apart)
        together = _interval([x.mean() for x in apart])
        rows.append([key[0], key[1], f"{len(runs)}", inside, outside, each, together])
    heading = ["algorithm", "task", "seeds", "training videos", "held-out videos", "gap, seed by seed"]
    first, *further = (row["provenance"] for row in data)
    lines = table([*heading, "mean gap (95 % over seeds)"], rows)
    return lines + "\n\n" + source(first, "cpu-learning.json", *further)


def _interval(values: list[float]) -> str:
    """The mean over seeds with its interval."""
    center = over_runs(np.array(values))
    spread = f" ({center.low:,.0f} to {center.high:,.0f})" if len(values) > 1 else ""
    return f"{center.value:,.0f}{spread}"


TABLES = {"transfer": transfer, "gaps": gaps}
