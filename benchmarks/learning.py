"""Collects runs into one JSON file: their settings, training times and returns.

Usage: python benchmarks/learning.py RUN [RUN ...] --json FILE [--add]

With --add the file's rows are kept, except those of runs with the same name.
"""

import argparse
import json
import math
import tomllib
from pathlib import Path

from pixelbrax.training import RunDir
from pixelbrax.training.config import PROVENANCE
from pixelbrax.training.files import as_json


def summarize(run: RunDir) -> dict:
    """One run's settings, times and returns."""
    config, metrics = run.load_config(), run.read_metrics()
    environment, last = config.environment, metrics[-1]
    sampled = [row["return"] for row in metrics if math.isfinite(row.get("return", math.nan))]
    return {
        "run": run.path.name,
        "algorithm": config.algorithm,
        "env": environment.task,
        "backend": environment.backend,
        "render_gradient": getattr(config.agent, "render_gradient", None),
        "observation": "black images" if config.network.blind else environment.view,
        "distractors": list(environment.distractors),
        "seed": config.seed,
        "steps": int(last["steps"]),
        "frames": int(last["frames"]),
        "training_seconds": round(last["seconds"]),
        "wall_seconds": round(last["wall_seconds"]),
        "evaluations": run.read_evaluations(),
        "sampled_return": sampled[-1] if sampled else None,  # of the last episodes of training
        "provenance": tomllib.loads(run.config_file.read_text())[PROVENANCE],
    }


def main() -> None:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--add", action="store_true")
    args = parser.parse_args()
    runs = [RunDir.open(path) for path in args.runs]
    rows = [summarize(run) for run in runs if run.read_metrics()]
    if args.add:
        names = {row["run"] for row in rows}
        rows = [row for row in json.loads(args.json.read_text())["rows"] if row["run"] not in names] + rows
    args.json.write_text(as_json({"rows": rows}))


if __name__ == "__main__":
    main()
