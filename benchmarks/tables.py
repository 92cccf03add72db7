"""Writes the tables of README.md and docs/ from `benchmarks/results`; with --check fails if they are out of date.

Usage: python benchmarks/tables.py [--check]
"""

import argparse
import functools
import json
import re
import sys
from collections.abc import Callable

import generalization_tables
import gpu_tables
import physics_tables
import task_tables
import transfer_tables
from learning_tables import (
    at_equal_steps,
    controls,
    demo,
    distillation,
    learning,
    learning_summary,
    rewards,
    rewards_summary,
    suite,
    tasks,
    tasks_summary,
)
from markdown_tables import RESULTS, ROOT, compiler, read, source, table


def speed_summary() -> str:
    """Frames per second of the renderer beside others, and steps per second of whole environments."""
    peers = {(row["env"], row["renderer"]): row for row in read("cpu-peers.json")["rows"]}
    steps = {row["env"]: row["steps_per_second"] for row in read("cpu-environment.json")["rows"]}
    rows = []
    for task in dict.fromkeys(task for task, _ in peers):
        names = ("ours", "opengl-plain", "warp", "jaxrenderer")
        rates = [peers[task, name].get("frames_per_second") for name in names] + [steps.get(task)]
        rows.append([task, *("-" if rate is None else f"{rate:,.0f}" for rate in rates)])
    heading = ["task", "our renderer", "MuJoCo's OpenGL", "mujoco_warp", "the paper's renderer"]
    heading = [*(f"{name}, frames/s" for name in heading[1:]), "environment, steps/s"]
    return table(["task", *heading], rows)


def generalization() -> str:
    """Returns of a run under distractors that it was not trained with."""
    data = read("cpu-generalization.json")
    rows = []
    for pair in data["pairs"]:
        before, after = (pair[which]["mean_return"] for which in ("trained", "tested"))
        low, high = pair["gap_interval"]
        distractor = " + ".join(pair["test"]).removesuffix("@test")
        rows.append([f"`{distractor}`", f"{after:,.0f}", f"{after / before:.0%}", f"{low:,.0f} to {high:,.0f}"])
    heading = ["test distractor", "return", "share of the training return", "95 % interval of the gap"]
    return table(heading, rows) + "\n\n" + source(data["provenance"], "cpu-generalization.json")


def meshes() -> str:
    """Frames per second of scenes of meshes beside HalfCheetah's capsules."""
    data = read("cpu-meshes.json")
    rows = [
        [row["scene"], f"{row['triangles']:,}", f"{row['frames_per_second']:,}", f"{row['of_the_first']:.2f}"]
        for row in data["rows"]
    ]
    heading = ["scene", "triangles", "frames/s", "of the first"]
    return table(heading, rows) + "\n\n" + source(data["provenance"], "cpu-meshes.json")


def outputs() -> str:
    """Images per second of each output, and with gradients."""
    data = read("cpu-outputs.json")
    rows = [
        [row["task"], f"`{row['output']}`", f"{row['images_per_second']:,}", f"{row['of_rgb']:.2g}"]
        for row in data["rows"]
    ]
    return (
        table(["task", "output", "images/s", "of `rgb`"], rows)
        + "\n\n"
        + source(data["provenance"], "cpu-outputs.json")
    )


def _together(pattern: str) -> tuple[list[dict], str]:
    """The rows of several files of one machine, and their provenance line."""
    files = sorted(RESULTS.glob(pattern), key=lambda file: file.stem)
    data = [json.loads(file.read_text()) for file in files]
    first, *further = (part["provenance"] for part in data)
    rows = [row for part in data for row in part["rows"]]
    return rows, source(first, ", ".join(file.name for file in files), *further)


def _with_wide(heading: list[str], rows: list[list[str]], machine: str, what: str, rate: str) -> tuple[list, list]:
    """Adds a column: the rates of the tasks with vectors of 512 bits, where a file has them."""
    if not (RESULTS / f"{machine}-wide-{what}.json").exists():
        return heading, rows
    rates = {row["env"]: f"{row[rate]:,}" for row in read(f"{machine}-wide-{what}.json")["rows"]}
    return [*heading, "with vectors of 512 bits"], [[*row, rates.get(row[0], "-")] for row in rows]


def _varied(rows: list[dict], names: dict[str, str]) -> dict[str, str]:
    """The settings in which the rows differ, by key, with their headings."""
    return {key: heading for key, heading in names.items() if len({str(row.get(key)) for row in rows}) > 1}


def rendering(machine: str = "cpu") -> str:
    """Frames per second of the renderer, for all measured sizes, outputs, shadows and samples."""
    found, source = _together(f"{machine}-render*.json")
    names = {"size": "pixels", "num_envs": "images at once", "outputs": "outputs", "shadows": "shadows"}
    varied = _varied(found, names | {"samples": "samples"})
    rows = [
        [row["env"], *(str(row.get(key, "")) for key in varied), f"{row['frames_per_second']:,}"]
        + [f"{row['share_of_peak']:.0%}"]
        for row in found
    ]
    heading = ["task", *varied.values(), "frames/s", "share of the machine's peak"]
    return table(*_with_wide(heading, rows, machine, "render", "frames_per_second")) + "\n\n" + source


def environment(machine: str = "cpu") -> str:
    """Steps per second of whole environments, and the shares of physics and rendering."""
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
        compiling = "-" if row.get("cached") else f"{row['compile_seconds']:.0f}"
        rows.append([row["env"], *settings, f"{row['steps_per_second']:,}", *shares, memory, compiling])
    split = ["steps/s", "physics", "rendering", "everything else"]
    heading = ["task", *varied.values(), *split, "KB per environment", "seconds to compile"]
    return table(*_with_wide(heading, rows, machine, "environment", "steps_per_second")) + "\n\n" + source


def figure2() -> str:
    """Steps per second by number of environments, beside the DeepMind Control Suite."""
    data = read("cpu-figure2.json")
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
    return table(heading, rows) + "\n\n" + source(data["provenance"], "cpu-figure2.json")


def distractors(machine: str = "cpu") -> str:
    """Throughput with each distractor, relative to none."""
    data = read(f"{machine}-distractors.json")
    rows = sorted(data["rows"], key=lambda row: -row["of_none"])
    cells = [[f"`{row['distractor']}`", f"{row['of_none']:.2f}"] for row in rows]
    columns = 3
    length = -(-len(cells) // columns)
    cells += [["", ""]] * (length * columns - len(cells))
    together = [[cell for k in range(columns) for cell in cells[k * length + i]] for i in range(length)]
    heading = ["distractor", "relative throughput"] * columns
    further = [data["provenance"] | {"commit": row["commit"]} for row in rows]
    return table(heading, together) + "\n\n" + source(data["provenance"], f"{machine}-distractors.json", *further)


def resets() -> str:
    """The overhead of freshly sampled initial states."""
    data = read("cpu-resets.json")
    ways = {
        "every step": "every environment, every step",
        "conditional": "only where an episode ended",
        "pool": "a pool of 64",
    }
    found = {(row["env"], row["way"]): row for row in data["rows"]}
    rows = []
    for task in dict.fromkeys(row["env"] for row in data["rows"]):
        cells = []
        for way in ways:
            row = found[task, way]
            cells.append(f"{row['cost']:.1%}" + " (used)" * row["ours"])
        rows.append([task, *cells])
    return table(["task", *ways.values()], rows) + "\n\n" + source(data["provenance"], "cpu-resets.json")


def gradients() -> str:
    """Variance of gradients through the physics, beside that of policy gradients."""
    data = read("cpu-gradients.json")
    found = {(row["env"], row["engine"], row["horizon"]): row["noise"] for row in data["rows"]}
    horizons = sorted({row["horizon"] for row in data["rows"]})
    settings = dict.fromkeys((row["env"], row["engine"]) for row in data["rows"])
    rows = [[*setting, *(f"{found[*setting, horizon]:.2g}" for horizon in horizons)] for setting in settings]
    heading = ["task", "engine", *(f"{horizon} step" + "s" * (horizon > 1) for horizon in horizons)]
    return table(heading, rows) + "\n\n" + source(data["provenance"], "cpu-gradients.json")


def peers(machine: str = "cpu") -> str:
    """Other renderers beside ours."""
    found, source = _together(f"{machine}-peers*.json")
    rows = []
    for row in found:
        if "reason" in row:
            rows.append([row["env"], row["renderer"], "cannot run", row["reason"]])
        else:
            times = 1 / row["times_ours"]
            speedup = f"{times:,.1f}" if times >= 1 else f"{times:.2f}"
            rows.append([row["env"], row["renderer"], f"{row['frames_per_second']:,.0f}", speedup])
    return table(["task", "renderer", "frames/s", "speedup of ours"], rows) + "\n\n" + source


def compiled() -> str:
    """XLA's program for the renderer on a GPU, and the upper bound on its speed from the card's data sheet."""
    data = read("h200-compiled-render.json")
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
    heading = ["task", "kernels", "instructions per pixel", "KB moved per image", "bound, million frames/s"]
    return table(heading, rows) + "\n\n" + compiler(data["provenance"], "h200-compiled-render.json")


def programs() -> str:
    """XLA's programs for a step of many environments and for an update, on a GPU."""
    first, second = "h200-compiled-training.json", "h200-compiled-learners.json"
    data, further = read(first), read(second)
    rows = []
    for row in data["rows"] + further["rows"]:
        step = row["program"] == "step"
        name = f"a step of {row['num_envs']:,} {row['of']}" if step else f"an update of `{row['of']}`"
        name += "" if row.get("resets", True) else " in which no episode ends"
        gigabytes = [f"{row[key] / 1e9:,.{digits}f}" for key, digits in (("bytes_moved", 1), ("bytes_between", 2))]
        rows.append([name, f"{row['kernels']:,}", *gigabytes])
    heading = ["program", "kernels", "GB moved", "GB of temporaries"]
    sources = [compiler(data["provenance"], first), compiler(further["provenance"], second)]
    return table(heading, rows) + "\n\n" + "\n".join(sources)


LEARNING = {
    "demo": demo,
    "suite": suite,
    "tasks": tasks,
    "rewards": rewards,
    "learning": learning,
    "controls": controls,
    "distillation": distillation,
    "sac": functools.partial(at_equal_steps, "cpu-sac.json"),
    "apg": functools.partial(at_equal_steps, "cpu-apg.json"),
    "es": functools.partial(at_equal_steps, "cpu-es.json"),
    "gradients": gradients,
    "generalization": generalization,
}
SPEED = {
    "meshes": meshes,
    "outputs": outputs,
    "rendering": rendering,
    "environment": environment,
    "figure2": figure2,
    "resets": resets,
    "distractors": distractors,
    "peers": peers,
}
COMPILED = {"compiled": compiled, "programs": programs}
_STEMS = {"learning": "learning", "rendering": "render", "environment": "environment"}
_STEMS |= {"distractors": "distractors", "peers": "peers"}


def of_machines() -> dict[str, Callable[[], str]]:
    """The tables above for each machine of which `gpu.py` left results."""
    made = {}
    for name, stem in _STEMS.items():
        for machine in sorted(file.name.removesuffix(f"-{stem}.json") for file in RESULTS.glob(f"*-{stem}.json")):
            if machine != "cpu" and "-" not in machine:
                made[f"{name}-{machine}"] = functools.partial((LEARNING | SPEED)[name], machine)
    return made


def adapters() -> str:
    """Steps per second through other libraries' interfaces, and of others' environments."""
    data = read("cpu-adapters.json")
    numbers = sorted({row["num_envs"] for row in data["rows"]})
    found = {(row["system"], row["num_envs"]): row for row in data["rows"]}
    rows = []
    for name in dict.fromkeys(row["system"] for row in data["rows"]):
        cells = []
        for n in numbers:
            row = found.get((name, n), {})
            measured = "steps_per_second" in row
            cells += [f"{row['steps_per_second']:,.0f}", f"{row['of_own_loop']:.2f}"] if measured else ["", ""]
        rows.append([name, *cells])
    heading = [text for n in numbers for text in (f"{n} environment{'s' * (n > 1)}, steps/s", "of own loop")]
    return table(["system", *heading], rows) + "\n\n" + source(data["provenance"], "cpu-adapters.json")


def rollouts() -> str:
    """Milliseconds of TorchRL's rollouts of ant, beside BraxEnv."""
    data = read("cpu-adapters.json")
    batches = sorted({row["batch"] for row in data["rollouts"]})
    found = {(row["system"], row["batch"]): f"{row['ms']:,.0f}" for row in data["rollouts"]}
    names = dict.fromkeys(row["system"] for row in data["rollouts"])
    rows = [[name, *(found[name, batch] for batch in batches)] for name in names]
    heading = ["system", *(f"batch {batch}" for batch in batches)]
    return table(heading, rows) + "\n\n" + source(data["provenance"], "cpu-adapters.json")


def memory() -> str:
    """Memory of an update by number of environments, beside the lower bound and what Mesozoic Labs publishes."""
    data = read("cpu-memory.json")
    published = {512: "~2 (T4)", 2048: "~6", 4096: "~12 (V100, A100)", 8192: "~22 (A100)"}
    rows = [
        [
            f"{row['num_envs']:,}",
            f"{row['bytes'] / 1e9:.2f}",
            f"{row['estimate'] / 1e9:.2f}",
            f"{row['bytes'] / row['estimate']:.1f}",
            published.get(row["num_envs"], "-"),
        ]
        for row in data["rows"]
    ]
    heading = ["environments", "compiled update, GB", "lower bound, GB", "times the bound", "Mesozoic Labs, GB"]
    where = source(data["provenance"], "cpu-memory.json").replace("Measured", "Compiled, and not run,", 1)
    return table(heading, rows) + "\n\n" + where


DOCUMENTS: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {
        "learning-summary": learning_summary,
        "rewards-summary": rewards_summary,
        "tasks-summary": tasks_summary,
        "sac": functools.partial(at_equal_steps, "cpu-sac.json"),
        "speed-summary": speed_summary,
        "gpu-summary": gpu_tables.summary,
    },
    "docs/adapters.md": {"adapters": adapters, "rollouts": rollouts},
    "docs/results.md": LEARNING | transfer_tables.TABLES,
    "docs/speed.md": SPEED,
    "docs/gpu.md": gpu_tables.TABLES | COMPILED | of_machines(),
    "docs/physics.md": physics_tables.TABLES,
    "docs/scaling.md": {"memory": memory},
    "docs/tasks.md": task_tables.TABLES,
    "docs/generalization.md": generalization_tables.TABLES,
}


def main() -> int:
    """Rewrites the tables between the documents' markers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for name, tables in DOCUMENTS.items():
        document = ROOT / name
        text = before = document.read_text()
        for title, make in tables.items():
            pattern = re.compile(f"(<!-- table: {title} -->\\n).*?(<!-- end -->)", re.DOTALL)
            if not pattern.search(text):
                sys.exit(f"{name} has no table {title}")
            text = pattern.sub(lambda match, make=make: f"{match[1]}{make()}\n{match[2]}", text)
        if not check:
            document.write_text(text)
        elif text != before:
            sys.exit(f"the tables of {name} are out of date: run python benchmarks/tables.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
