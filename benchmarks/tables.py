"""Writes the tables of the README from `benchmarks/results`, or with --check fails if they are out of date.

Usage: python benchmarks/tables.py [--check]
"""

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
README = ROOT / "README.md"


def _table(heading: list[str], rows: list[list[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _source(provenance: dict[str, str], file: str) -> str:
    return (
        f"Measured on {provenance['machine']}, {provenance['device']}, Python {provenance['python']}, "
        f"JAX {provenance['jax']}, commit {provenance['commit'][:9]} (`benchmarks/results/{file}`)."
    )


def _read(file: str) -> dict:
    return json.loads((RESULTS / file).read_text())


def learning() -> str:
    """Returns before and after training."""
    data = _read("cpu-learning.json")
    rows = []
    for row in data["rows"]:
        before, after = (
            f"{row['evaluations'][name]['mean_return']:,.0f} ± {row['evaluations'][name]['standard_error']:,.0f}"
            for name in ("untrained", "trained")
        )
        minutes, seconds = divmod(row["training_seconds"], 60)
        rows.append(
            [row["env"], row["observation"], str(row["seed"]), f"{row['steps']:,}", f"{minutes}:{seconds:02d}"]
            + [before, after]
        )
    heading = ["task", "observation", "seed", "actions", "training, min:s", "untrained", "trained"]
    return _table(heading, rows) + "\n\n" + _source(data["rows"][0]["provenance"], "cpu-learning.json")


def rendering() -> str:
    """Frames a second of the renderer, and steps a second of whole environments."""
    render, environment = _read("cpu-render.json"), _read("cpu-environment.json")
    steps = {row["env"]: row for row in environment["rows"]}

    def cell(env: str, column: str) -> str:
        return f"{steps[env][column]:,}" if env in steps else "not measured"

    rows = [
        [
            row["env"],
            f"{row['frames_per_second']:,}",
            cell(row["env"], "steps_per_second"),
            cell(row["env"], "physics_steps_per_second"),
        ]
        for row in render["rows"]
    ]
    heading = ["task", "rendering alone, frames/s", "environment with pixels, steps/s", "physics alone, steps/s"]
    return _table(heading, rows) + "\n\n" + _source(render["provenance"], "cpu-{render,environment}.json")


def peers() -> str:
    """Other renderers beside ours."""
    data = _read("cpu-peers.json")
    rows = []
    for row in data["rows"]:
        if "reason" in row:
            rows.append([row["env"], row["renderer"], "cannot run", row["reason"]])
        else:
            times = f"{1 / row['times_ours']:,.1f}" if row["renderer"] != "ours" else "1"
            rows.append([row["env"], row["renderer"], f"{row['frames_per_second']:,.0f}", times])
    heading = ["task", "renderer", "frames/s", "ours is so many times as fast"]
    return _table(heading, rows) + "\n\n" + _source(data["provenance"], "cpu-peers.json")


TABLES = {"learning": learning, "rendering": rendering, "peers": peers}


def main() -> int:
    """Rewrites the README between its markers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    text = before = README.read_text()
    for name, table in TABLES.items():
        pattern = re.compile(f"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not pattern.search(text):
            sys.exit(f"README.md has no table {name}")
        text = pattern.sub(lambda match, table=table: f"{match[1]}{table()}\n{match[2]}", text)
    if check:
        if text != before:
            sys.exit("README.md's tables are out of date: run python benchmarks/tables.py")
        return 0
    README.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
