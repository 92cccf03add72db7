"""The tables of `docs/tasks.md` from `benchmarks/results`; `tables.py` writes them."""

from markdown_tables import read, table

_INTEGRATORS = {0: "Euler", 1: "RK4", 2: "implicit", 3: "implicitfast"}
_CONES = {0: "pyramidal", 1: "elliptic"}


def _read(file: str) -> tuple[list[dict], str]:
    data = read(file)
    facts = data["provenance"]
    source = f"Python {facts['python']}, JAX {facts['jax']}, commit {facts['commit'][:9]}"
    return data["rows"], f"Made with {source} (`benchmarks/results/{file}`)."


def visibility() -> str:
    """The share of first images that show target, object and body, by task and size, and how many pixels each has."""
    found, source = _read("cpu-visibility.json")
    sizes = sorted({row["size"] for row in found})
    by_task = {task: {row["size"]: row for row in found if row["env"] == task} for task in {r["env"] for r in found}}
    rows = []
    for task, of_size in sorted(by_task.items(), key=lambda item: ("/" in item[0], item[0])):
        shares = [f"{of_size[size]['all_visible']:.1%}" for size in sizes]
        names = of_size[sizes[0]]["median_pixels"]
        pixels = [
            ", ".join(f"{name} {of_size[size]['median_pixels'][name]:.0f}" for name in names) for size in (sizes[0], 64)
        ]
        rows.append([f"`{task}`", *shares, *pixels])
    heading = ["task", *(f"{size}x{size}" for size in sizes)]
    heading += [f"median pixels at {size}x{size}" for size in (sizes[0], 64)]
    return table(heading, rows) + "\n\n" + f"First images of {found[0]['resets']:,} episodes. " + source


def suite_physics() -> str:
    """Settings of Playground's physics and of the suite's, and how far their trajectories diverge."""
    found, source = _read("cpu-suite-physics.json")
    rows = []
    for row in found:
        theirs, ours = row["dm_control"], row["playground"]["settings"]
        both = {key: (ours[key], theirs[key]) for key in theirs}
        cells = [_pair(*both["timestep"], "{:g}"), _pair(*both["iterations"], "{:.0f}")]
        cells += [_pair(*both["ls_iterations"], "{:.0f}")]
        cells += [_pair(*(_INTEGRATORS[int(x)] for x in both["integrator"]))]
        cells += [
            _pair(*(_CONES[int(x)] for x in both["cone"])),
            _pair(*("no yes".split()[int(x)] for x in both["eulerdamp"])),
        ]
        cells += [f"{theirs['control_dt']:g}"]
        for way in ("playground", "suite"):
            cells.append(", ".join(_apart(value) for value in row[way]["apart"].values()))
        rows.append([f"`{row['env']}`", *cells])
    steps = ", ".join(found[0]["suite"]["apart"])
    heading = [
        "task",
        "time step, s",
        "iterations",
        "line search",
        "integrator",
        "cone",
        "eulerdamp",
        "control step, s",
    ]
    heading += [f"difference after {steps} steps", 'with `physics="suite"`']
    return table(heading, rows) + "\n\n" + source


def suite_rewards() -> str:
    """Control steps, lengths of episodes and rewards of our tasks beside the suite's."""
    found, source = _read("cpu-suite-physics.json")
    rows = []
    for row in found:
        ours, low_high = row["suite"], " to ".join(f"{value:.2g}" for value in row["rewards"])
        control = _pair(ours["settings"]["control_dt"], row["dm_control"]["control_dt"], "{:g}")
        steps = _pair(ours["steps"], row["steps"], "{:,}")
        cells = [f"`{row['env']}`", control, steps, low_high, _apart(ours["reward_apart"])]
        for kind in ("earned_apart", "seen_apart"):
            cells += [_pair(_apart(row["playground"][kind]), _apart(ours[kind]))]
        rows.append(cells)
    heading = ["task", "control step, s", "control steps an episode", "the suite's rewards of 600 states"]
    heading += ["largest difference of ours", "of rewards in ten steps of episodes", "of observations in them"]
    return table(heading, rows) + "\n\n" + source


def _pair(ours: object, theirs: object, form: str = "{}") -> str:
    return form.format(ours) if ours == theirs else f"{form.format(ours)} → {form.format(theirs)}"


def _apart(value: float) -> str:
    return "0" if value < 1e-5 else f"{value:.1g}"


TABLES = {"visibility": visibility, "suite-physics": suite_physics, "suite-rewards": suite_rewards}
