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


def _source(provenance: dict[str, str], file: str, *further: dict[str, str]) -> str:
    """Where a table's numbers are from; `further` runs on the same machine may be of other commits."""
    commits = dict.fromkeys(facts["commit"][:9] for facts in (provenance, *further))
    return (
        f"Measured on {provenance['machine']}, {provenance['device']}, Python {provenance['python']}, "
        f"JAX {provenance['jax']}, commit {', '.join(commits)} (`benchmarks/results/{file}`)."
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
            [
                row["algorithm"].upper(),
                row["env"],
                row["observation"],
                str(row["seed"]),
                f"{row['steps']:,}",
                f"{minutes}:{seconds:02d}",
            ]
            + [before, after]
        )
    heading = ["algorithm", "task", "observation", "seed", "actions", "training, min:s", "untrained", "trained"]
    first, *further = (row["provenance"] for row in data["rows"])
    return _table(heading, rows) + "\n\n" + _source(first, "cpu-learning.json", *further)


def rendering() -> str:
    """Frames a second of the renderer."""
    data = _read("cpu-render.json")
    rows = [[row["env"], f"{row['frames_per_second']:,}", f"{row['share_of_peak']:.0%}"] for row in data["rows"]]
    heading = ["task", "frames/s", "share of the machine's peak"]
    return _table(heading, rows) + "\n\n" + _source(data["provenance"], "cpu-render.json")


def environment() -> str:
    """Steps a second of whole environments, and of what a step is made."""
    data = _read("cpu-environment.json")
    rows = []
    for row in data["rows"]:
        shares = [
            f"{row[part] / row['seconds_per_step']:.0%}"
            for part in ("physics_seconds", "render_seconds", "rest_seconds")
        ]
        rows.append([row["env"], f"{row['steps_per_second']:,}", *shares, f"{row['bytes_per_env'] / 1000:,.0f}"])
    heading = ["task", "steps/s", "physics", "rendering", "the rest", "KB an environment"]
    return _table(heading, rows) + "\n\n" + _source(data["provenance"], "cpu-environment.json")


def figure2() -> str:
    """Steps a second by number of environments, beside the DeepMind Control Suite."""
    data = _read("cpu-figure2.json")
    systems = {"ours": "ours", "dm_control": "dm_control, one by one", "gymnasium": "dm_control, Gymnasium's vector"}
    numbers = sorted({row["num_envs"] for row in data["rows"]})
    cells = {
        (row["env"], row["system"], row["num_envs"]): f"{row['steps_per_second']:,.0f}"
        if "steps_per_second" in row
        else "-"
        for row in data["rows"]
    }
    tasks = list(dict.fromkeys(row["env"] for row in data["rows"]))
    rows = [[task, name, *(cells[task, key, n] for n in numbers)] for task in tasks for key, name in systems.items()]
    heading = ["task", "system", *(f"{n:,} environment{'s' * (n > 1)}" for n in numbers)]
    return _table(heading, rows) + "\n\n" + _source(data["provenance"], "cpu-figure2.json")


def distractors() -> str:
    """What each distractor leaves of the rate without any."""
    data = _read("cpu-distractors.json")
    rows = sorted(data["rows"], key=lambda row: -row["of_none"])
    cells = [[f"`{row['distractor']}`", f"{row['of_none']:.2f}"] for row in rows]
    columns = 3
    length = -(-len(cells) // columns)
    cells += [["", ""]] * (length * columns - len(cells))
    together = [[cell for k in range(columns) for cell in cells[k * length + i]] for i in range(length)]
    heading = ["distractor", "rate, of none"] * columns
    return _table(heading, together) + "\n\n" + _source(data["provenance"], "cpu-distractors.json")


def resets() -> str:
    """What fresh initial states cost."""
    data = _read("cpu-resets.json")
    ways = {"every step": "all, every step", "conditional": "those that need one", "pool": "a pool of 64"}
    found = {(row["env"], row["way"]): row for row in data["rows"]}
    rows = []
    for task in dict.fromkeys(row["env"] for row in data["rows"]):
        cells = []
        for way in ways:
            row = found[task, way]
            cells.append(f"{row['cost']:.1%}" + " (ours)" * row["ours"])
        rows.append([task, *cells])
    return _table(["task", *ways.values()], rows) + "\n\n" + _source(data["provenance"], "cpu-resets.json")


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


TABLES = {
    "learning": learning,
    "rendering": rendering,
    "environment": environment,
    "figure2": figure2,
    "resets": resets,
    "distractors": distractors,
    "peers": peers,
}


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
