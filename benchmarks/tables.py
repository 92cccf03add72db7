"""Writes the README's and the docs' tables from `benchmarks/results`, or with --check fails if they are out of date.

Usage: python benchmarks/tables.py [--check]
"""

import argparse
import functools
import json
import re
import sys
from pathlib import Path

import task_tables

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


def _compiler(facts: dict[str, str], file: str) -> str:
    """Where a table's numbers are from, if nothing was run."""
    return (
        f"Compiled by JAX {facts['jax']} for an H200, commit {facts['commit'][:9]}, and not run "
        f"(`benchmarks/results/{file}`)."
    )


def _read(file: str) -> dict:
    return json.loads((RESULTS / file).read_text())


def learning(machine: str = "cpu") -> str:
    """Returns after training, the seeds of one setting in a row."""
    finished = [row for row in _read(f"{machine}-learning.json")["rows"] if "trained" in row["evaluations"]]
    groups: dict[tuple[str, ...], list[dict]] = {}
    for row in finished:
        distracted = " + ".join(row.get("distractors", [])) or "nothing"
        key = (row["algorithm"].upper(), row["env"], row["observation"], distracted, f"{row['steps']:,}")
        groups.setdefault(key, []).append(row)
    from_states = {
        row["env"]: row["evaluations"]["trained"]["mean_return"] for row in finished if row["observation"] == "states"
    }
    rows = []
    for key, runs in sorted(groups.items(), key=lambda item: (item[0][1], item[0][0] != "PPO", item[0])):
        runs = sorted(runs, key=lambda row: row["seed"])
        trained = [run["evaluations"]["trained"] for run in runs]
        each = ", ".join(f"{result['mean_return']:,.0f} ± {result['standard_error']:,.0f}" for result in trained)
        mean = sum(result["mean_return"] for result in trained) / len(trained)
        minutes = sorted(run["training_seconds"] / 60 for run in runs)
        times = f"{minutes[0]:.0f}" if len(runs) == 1 else f"{minutes[0]:.0f} to {minutes[-1]:.0f}"
        middles = [result["iqm"] for result in trained if "iqm" in result]
        middle = f"{sum(middles) / len(middles):,.0f}" if len(middles) == len(trained) else "-"
        yardstick = from_states.get(key[1])
        share = f"{mean / yardstick:.0%}" if yardstick else "-"
        rows.append([*key, each, f"{mean:,.0f}", middle, share, times])
    heading = ["algorithm", "task", "seen", "distracted by", "actions", "return of each seed", "mean", "IQM"]
    heading += ["of states", "minutes"]
    first, *further = (row["provenance"] for row in finished)
    return _table(heading, rows) + "\n\n" + _source(first, f"{machine}-learning.json", *further)


def generalization() -> str:
    """Returns of a run under looks that it has not seen."""
    data = _read("cpu-generalization.json")
    rows = []
    for pair in data["pairs"]:
        before, after = (pair[which]["mean_return"] for which in ("trained", "tested"))
        low, high = pair["gap_interval"]
        look = " + ".join(pair["test"]).removesuffix("@test")
        rows.append([f"`{look}`", f"{after:,.0f}", f"{after / before:.0%}", f"{low:,.0f} to {high:,.0f}"])
    heading = ["look", "return", "of the return as trained", "95 % interval of the gap"]
    return _table(heading, rows) + "\n\n" + _source(data["provenance"], "cpu-generalization.json")


def _together(pattern: str) -> tuple[list[dict], str]:
    """The rows of several files of one machine, and where they are from."""
    files = sorted(RESULTS.glob(pattern))
    data = [json.loads(file.read_text()) for file in files]
    first, *further = (part["provenance"] for part in data)
    rows = [row for part in data for row in part["rows"]]
    return rows, _source(first, ", ".join(file.name for file in files), *further)


def _varied(rows: list[dict], names: dict[str, str]) -> dict[str, str]:
    """Those settings, by key and heading, in which the rows differ."""
    return {key: heading for key, heading in names.items() if len({str(row.get(key)) for row in rows}) > 1}


def rendering(machine: str = "cpu") -> str:
    """Frames a second of the renderer: in all that was drawn there, with shadows, several outputs, more samples."""
    found, source = _together(f"{machine}-render*.json")
    names = {"size": "pixels", "num_envs": "images at once", "outputs": "outputs", "shadows": "shadows"}
    varied = _varied(found, names | {"samples": "samples"})
    rows = [
        [row["env"], *(str(row.get(key, "")) for key in varied), f"{row['frames_per_second']:,}"]
        + [f"{row['share_of_peak']:.0%}"]
        for row in found
    ]
    heading = ["task", *varied.values(), "frames/s", "share of the machine's peak"]
    return _table(heading, rows) + "\n\n" + source


def environment(machine: str = "cpu") -> str:
    """Steps a second of whole environments, and of what a step is made."""
    found, source = _together(f"{machine}-environment*.json")
    varied = _varied(found, {"num_envs": "environments"})
    rows = []
    for row in found:
        shares = [
            f"{row[part] / row['seconds_per_step']:.0%}"
            for part in ("physics_seconds", "render_seconds", "rest_seconds")
        ]
        settings = [f"{row[key]:,}" for key in varied]
        memory = f"{row['bytes_per_env'] / 1000:,.0f}"
        rows.append([row["env"], *settings, f"{row['steps_per_second']:,}", *shares, memory])
    heading = ["task", *varied.values(), "steps/s", "physics", "rendering", "the rest", "KB an environment"]
    return _table(heading, rows) + "\n\n" + source


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


def distractors(machine: str = "cpu") -> str:
    """What each distractor leaves of the rate without any."""
    data = _read(f"{machine}-distractors.json")
    rows = sorted(data["rows"], key=lambda row: -row["of_none"])
    cells = [[f"`{row['distractor']}`", f"{row['of_none']:.2f}"] for row in rows]
    columns = 3
    length = -(-len(cells) // columns)
    cells += [["", ""]] * (length * columns - len(cells))
    together = [[cell for k in range(columns) for cell in cells[k * length + i]] for i in range(length)]
    heading = ["distractor", "rate, of none"] * columns
    return _table(heading, together) + "\n\n" + _source(data["provenance"], f"{machine}-distractors.json")


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


def peers(machine: str = "cpu") -> str:
    """Other renderers beside ours."""
    data = _read(f"{machine}-peers.json")
    rows = []
    for row in data["rows"]:
        if "reason" in row:
            rows.append([row["env"], row["renderer"], "cannot run", row["reason"]])
        else:
            times = f"{1 / row['times_ours']:,.1f}" if row["renderer"] != "ours" else "1"
            rows.append([row["env"], row["renderer"], f"{row['frames_per_second']:,.0f}", times])
    heading = ["task", "renderer", "frames/s", "ours is so many times as fast"]
    return _table(heading, rows) + "\n\n" + _source(data["provenance"], f"{machine}-peers.json")


def compiled() -> str:
    """What XLA makes of the renderer on a GPU, and how fast that could be by the card's data sheet."""
    data = _read("h200-compiled-render.json")
    lanes, clock, bandwidth = 132 * 128, 1.98e9, 4.8e12  # NVIDIA's data sheet of the H200
    rows = []
    for row in data["rows"]:
        if row["program"] == "render":
            instructions = sum(kernel["instructions"] for kernel in row["machine_code"].values()) / 4
            moved = row["bytes_moved"] / row["num_envs"]
            most = 1 / (instructions * row["size"] ** 2 / (lanes * clock) + moved / bandwidth)
            task = row["of"] + " with shadows" * row["shadows"]
            rows.append(
                [task, f"{row['kernels']}", f"{instructions:,.0f}", f"{moved / 1000:,.0f}", f"{most / 1e6:.1f}"]
            )
    heading = ["task", "kernels", "instructions a pixel", "KB moved an image", "million frames/s by data sheet"]
    return _table(heading, rows) + "\n\n" + _compiler(data["provenance"], "h200-compiled-render.json")


def programs() -> str:
    """What XLA makes of a step of many environments, and of an update, on a GPU."""
    data = _read("h200-compiled-training.json")
    rows = []
    for row in data["rows"]:
        step = row["program"] == "step"
        name = f"a step of {row['num_envs']:,} {row['of']}" if step else f"an update of `{row['of']}`"
        gigabytes = [f"{row[key] / 1e9:,.{digits}f}" for key, digits in (("bytes_moved", 1), ("bytes_between", 2))]
        rows.append([name, f"{row['kernels']:,}", *gigabytes])
    heading = ["program", "kernels", "GB moved", "GB in between"]
    return _table(heading, rows) + "\n\n" + _compiler(data["provenance"], "h200-compiled-training.json")


TABLES = {
    "learning": learning,
    "generalization": generalization,
    "rendering": rendering,
    "environment": environment,
    "figure2": figure2,
    "resets": resets,
    "distractors": distractors,
    "peers": peers,
    "compiled": compiled,
    "programs": programs,
}
ALSO_ON_GPUS = {"learning": "learning", "rendering": "render", "environment": "environment"}
ALSO_ON_GPUS |= {"distractors": "distractors", "peers": "peers"}
for _name, _stem in ALSO_ON_GPUS.items():  # what gpu.py has brought home
    for _machine in sorted(file.name.removesuffix(f"-{_stem}.json") for file in RESULTS.glob(f"*-{_stem}.json")):
        if _machine != "cpu" and "-" not in _machine:
            TABLES[f"{_name}-{_machine}"] = functools.partial(TABLES[_name], _machine)


def main() -> int:
    """Rewrites the documents between their markers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for document, tables in ((README, TABLES), (ROOT / "docs" / "tasks.md", task_tables.TABLES)):
        text = before = document.read_text()
        for name, table in tables.items():
            pattern = re.compile(f"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
            if not pattern.search(text):
                sys.exit(f"{document.name} has no table {name}")
            text = pattern.sub(lambda match, table=table: f"{match[1]}{table()}\n{match[2]}", text)
        if not check:
            document.write_text(text)
        elif text != before:
            sys.exit(f"{document.name}'s tables are out of date: run python benchmarks/tables.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
