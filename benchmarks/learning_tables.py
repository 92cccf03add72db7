"""The tables of what was learned."""

from collections.abc import Iterable

import numpy as np
from markdown_tables import read, source, table

from pixelbrax.training import over_runs

_FALLEN = 1_000  # a lower return is that of a fall
_WHOLE = 1_000  # frames of an episode that does not end early


def _finished(machine: str) -> list[dict]:
    """The rows of finished training runs."""
    return [row for row in read(f"{machine}-learning.json")["rows"] if "trained" in row["evaluations"]]


def by_setting(finished: list[dict]) -> list[tuple[tuple[str, ...], list[dict]]]:
    """Runs that differ in their seed only, by (algorithm, task, observation, distractors, steps, engine)."""
    groups: dict[tuple[str, ...], list[dict]] = {}
    for row in finished:
        distractors = " + ".join(row.get("distractors", [])) or "none"
        algorithm = row["algorithm"].upper() + ", through images" * (row.get("render_gradient") == "pixels")
        options = row.get("options", "")
        algorithm += ", shared critic" * ("--critic shared" in options)
        algorithm += ", videos fade in" * ("--difficulty-measure" in options)
        key = (algorithm, row["env"], row["observation"], distractors, f"{row['steps']:,}", row["backend"])
        groups.setdefault(key, []).append(row)
    ordered = sorted(groups.items(), key=lambda item: (item[0][1], item[0][0] != "PPO", item[0]))
    return [(key, sorted(runs, key=lambda row: row["seed"])) for key, runs in ordered]


def _mean_return(runs: list[dict]) -> float:
    return sum(run["evaluations"]["trained"]["mean_return"] for run in runs) / len(runs)


def _minutes(runs: list[dict]) -> str:
    return _range(run["training_seconds"] / 60 for run in runs)


def _range(values: Iterable[float]) -> str:
    """The least and the largest, in whole numbers; one where they are the same."""
    known = list(values)
    ends = f"{min(known):.0f}", f"{max(known):.0f}"
    return " to ".join(dict.fromkeys(ends))


def _from_states(finished: list[dict], task: str, steps: int) -> float | None:
    """Mean return of PPO from states on a task, after a number of actions or the nearest to it with evaluations."""
    found = _evaluated_from_states(finished, task, steps)
    return float(np.mean(found)) if found else None


def _evaluated_from_states(finished: list[dict], task: str, steps: int) -> list[float]:
    """The same, run by run; empty if there is none."""
    found: dict[int, list[float]] = {}
    for row in finished:
        if row["env"] == task and row["observation"] == "states":
            for name, result in row["evaluations"].items():
                if name not in ("untrained", "best"):
                    found.setdefault(result["steps"], []).append(result["mean_return"])
    return found[min(found, key=lambda there: abs(there - steps))] if found else []


def _below(runs: list[dict], level: float) -> str:
    """Share of the episodes whose return is below a level."""
    trained = [run["evaluations"]["trained"] for run in runs]
    if not all("returns" in result for result in trained):
        return "-"
    returns = np.concatenate([result["returns"] for result in trained])
    return f"{(returns < level).mean():.0%}"


def learning(machine: str = "cpu") -> str:
    """Returns after training, the seeds of one setting in a row."""
    finished = _finished(machine)
    settings = by_setting(finished)
    best = {task: max(_mean_return(runs) for key, runs in settings if key[1] == task) for (_, task, *_), _ in settings}
    rows = []
    for key, runs in settings:
        trained = [run["evaluations"]["trained"] for run in runs]
        each = ", ".join(f"{result['mean_return']:,.0f} ± {result['standard_error']:,.0f}" for result in trained)
        center = over_runs(np.array([result["mean_return"] for result in trained]))
        mean = f"{center.value:,.0f}" + (f" ({center.low:,.0f} to {center.high:,.0f})" if len(runs) > 1 else "")
        drawn = [f"{run['sampled_return']:,.0f}" if run.get("sampled_return") is not None else "-" for run in runs]
        sampled = "-" if set(drawn) == {"-"} else ", ".join(drawn)
        reference = _from_states(finished, key[1], runs[0]["steps"])
        share = f"{_mean_return(runs) / reference:.0%}" if reference else "-"
        rows.append([*key[:5], each, mean, sampled, _below(runs, best[key[1]] / 2), share, _minutes(runs)])
    heading = ["algorithm", "task", "observation", "distractors", "actions", "return, seed by seed"]
    heading += ["mean (95 % over seeds)", "return with sampled actions", "episodes below half of the best"]
    heading += ["of the state policy's", "minutes"]
    first, *further = (row["provenance"] for row in finished)
    return table(heading, rows) + "\n\n" + source(first, f"{machine}-learning.json", *further)


def rewards() -> str:
    """Returns by rewards alone from pixels, beside PPO from states after as many actions."""
    finished = read("cpu-rewards.json")["rows"]
    rows = []
    for (algorithm, task, observation, distractors, steps, _), runs in by_setting(finished):
        if observation == "states":
            continue
        trained = [run["evaluations"]["trained"] for run in runs]
        each = ", ".join(f"{result['mean_return']:,.0f} ± {result['standard_error']:,.0f}" for result in trained)
        held_out = ", ".join(f"{result['held_out']['mean_return']:,.0f}" for result in trained if "held_out" in result)
        drawn = ", ".join(f"{run['sampled_return']:,.0f}" for run in runs)
        ended = np.concatenate([result["lengths"] for result in trained]) < _WHOLE
        reference = _evaluated_from_states(finished, task, runs[0]["steps"])
        share = f"{_mean_return(runs) / np.mean(reference):.0%}" if reference else "-"
        states = ", ".join(f"{value:,.0f}" for value in reference) or "-"
        how = [task, algorithm, observation, distractors, steps]
        rows.append([*how, each, held_out or "-", drawn, f"{ended.mean():.0%}", states, share, _minutes(runs)])
    heading = ["task", "algorithm", "observation", "distractors", "actions", "return, seed by seed"]
    heading += ["under held-out distractors", "with sampled actions", "episodes that end early"]
    heading += ["PPO from states, seed by seed", "share of it", "minutes"]
    first, *further = (row["provenance"] for row in finished)
    return table(heading, rows) + "\n\n" + source(first, "cpu-rewards.json", *further)


def demo() -> str:
    """The demo's students, seed by seed."""
    data = read("cpu-demo.json")["rows"]
    found = {row["run"]: row for row in data if "trained" in row["evaluations"]}
    rows, means, worst = [], [], []
    for name, row in found.items():
        if (teacher := found.get(f"{name}-teacher")) is None:
            continue
        trained = row["evaluations"]["trained"]
        low = sum(value < _FALLEN for value in trained["returns"]) / trained["episodes"]
        each = f"{trained['mean_return']:,.0f} ± {trained['standard_error']:,.0f}"
        seconds = [f"{run['training_seconds']}" for run in (teacher, row)]
        taught_by = f"{trained['teacher']['mean_return']:,.0f}"
        rows.append([f"{row['seed']}", taught_by, each, f"{min(trained['returns']):,.0f}", f"{low:.1%}", *seconds])
        means.append(trained["mean_return"])
        worst.append(low)
    center = over_runs(np.array(means))
    interval = f"interquartile mean {center.value:,.0f}, 95 % {center.low:,.0f} to {center.high:,.0f}"
    together = f"**{np.mean(means):,.0f}** ({interval})"
    rows.append(["all", "", together, "", f"{np.mean(worst):.1%}", "", ""])
    heading = ["seed", "its teacher's return", "student's", "worst episode", f"episodes below {_FALLEN:,}"]
    heading += ["seconds of the teacher's training", "of the student's"]
    return (
        table(heading, rows) + "\n\n" + source(data[0]["provenance"], "cpu-demo.json", *(r["provenance"] for r in data))
    )


def controls() -> str:
    """Returns of policies that see nothing, by task and engine."""
    data = read("cpu-controls.json")
    found = {(row["env"], row["engine"], row["control"]): row for row in data["rows"]}
    rows = []
    for env, engine in dict.fromkeys((row["env"], row["engine"]) for row in data["rows"]):
        each = [found[env, engine, kind] for kind in ("nothing", "random", "rhythm")]
        returns = [f"{row['mean']:,.0f} ± {row['standard_error']:,.0f}" for row in each]
        rows.append([env, engine, *returns, f"{each[-1]['hertz']:.1f}", f"{each[-1]['frames'] / 1e6:.1f}M"])
    heading = ["task", "engine", "no action", "random actions", "best rhythm", "its frequency, Hz", "frames of search"]
    return table(heading, rows) + "\n\n" + source(data["provenance"], "cpu-controls.json")


def distillation() -> str:
    """Students beside their teachers, in the same episodes."""
    finished = [row for row in read("cpu-distillation.json")["rows"] if "teacher" in row["evaluations"]["trained"]]
    rows = []
    for key, runs in by_setting(finished):
        trained = [run["evaluations"]["trained"] for run in runs]
        teacher = sum(result["teacher"]["mean_return"] for result in trained) / len(trained)
        each = ", ".join(f"{result['mean_return']:,.0f} ± {result['standard_error']:,.0f}" for result in trained)
        held_out = [result["held_out"]["mean_return"] for result in trained if "held_out" in result]
        unseen = f"{sum(held_out) / len(held_out):,.0f}" if held_out else "-"
        share = f"{_mean_return(runs) / teacher:.0%}"
        rows.append([*key[1:5], f"{teacher:,.0f}", each, share, unseen, _minutes(runs)])
    heading = ["task", "observation", "distractors", "actions", "its teacher's return", "student's, seed by seed"]
    heading += ["share", "under held-out distractors", "minutes"]
    first, *further = (row["provenance"] for row in finished)
    return table(heading, rows) + "\n\n" + source(first, "cpu-distillation.json", *further)


def _best_controls() -> dict[str, float]:
    """What the best of the policies that see nothing returns, by task."""
    best: dict[str, float] = {}
    for control in read("cpu-controls.json")["rows"]:
        best[control["env"]] = max(control["mean"], best.get(control["env"], -np.inf))
    return best


def _students(data: list[dict]) -> list[tuple[tuple[str, ...], list[dict]]]:
    """Students by setting, those of a task without distractors first."""
    known = [row for row in data if "teacher" in row["evaluations"].get("trained", {})]
    return sorted(by_setting(known), key=lambda item: (item[0][1], item[0][3] != "none"))


def tasks() -> str:
    """Students of Walker2d, Ant and Humanoid beside their teachers, and beside what needs no eyes."""
    data = read("cpu-tasks.json")["rows"]
    found, blind = {row["run"]: row for row in data}, _best_controls()
    rows = []
    for key, runs in _students(data):
        trained = [run["evaluations"]["trained"] for run in runs]
        each = ", ".join(f"{result['mean_return']:,.0f} ± {result['standard_error']:,.0f}" for result in trained)
        teachers = [result["teacher"]["mean_return"] for result in trained]
        shares = [result["mean_return"] / teacher for result, teacher in zip(trained, teachers, strict=True)]
        held_out = [f"{result['held_out']['mean_return']:,.0f}" for result in trained if "held_out" in result]
        taught = [found[f"{key[1]}-s{run['seed']}-teacher"]["training_seconds"] / 60 for run in runs]
        minutes = [
            f"{before:.0f} + {run['training_seconds'] / 60:.0f}" for before, run in zip(taught, runs, strict=True)
        ]
        cells = [", ".join(f"{share:.0%}" for share in shares), f"{_mean_return(runs) / blind[key[1]]:.1f}"]
        cells += [_below(runs, min(teachers) / 2), ", ".join(held_out) or "-", ", ".join(minutes)]
        rows.append([*key[1:5], ", ".join(f"{value:,.0f}" for value in teachers), each, *cells])
    heading = ["task", "observation", "distractors", "actions", "their teachers' returns", "students', seed by seed"]
    heading += ["of the teacher's", "times the best control", "episodes below half of the teacher's"]
    heading += ["under held-out distractors", "minutes, teacher + student"]
    first, *further = (row["provenance"] for row in data)
    return table(heading, rows) + "\n\n" + source(first, "cpu-tasks.json", *further)


def tasks_summary() -> str:
    """Students of Walker2d, Ant and Humanoid: seeds, their teachers and what needs no eyes."""
    data, blind = read("cpu-tasks.json")["rows"], _best_controls()
    seconds = {row["run"]: row["training_seconds"] for row in data}
    rows = []
    for key, runs in _students(data):
        trained = [run["evaluations"]["trained"] for run in runs]
        each = ", ".join(f"{result['mean_return']:,.0f}" for result in trained)
        teachers = ", ".join(f"{result['teacher']['mean_return']:,.0f}" for result in trained)
        spent = _range((seconds[f"{key[1]}-s{run['seed']}-teacher"] + run["training_seconds"]) / 60 for run in runs)
        rows.append([key[1], key[2], key[3], each, teachers, f"{blind[key[1]]:,.0f}", spent])
    heading = ["task", "observation", "distractors", "students', seed by seed", "their teachers'"]
    return table([*heading, "best policy without eyes", "minutes, teacher and student"], rows)


def suite() -> str:
    """Teachers and students on tasks of the DeepMind Control Suite, beside published returns after as many frames."""
    data, published = read("cpu-suite.json")["rows"], read("suite-references.json")
    known = {(row["algorithm"], row["task"], row["frames"]): row["mean_return"] for row in published["rows"]}
    peers = list(dict.fromkeys(row["algorithm"] for row in published["rows"]))
    rows = []
    for task in dict.fromkeys(row["env"] for row in data):
        runs = [row for row in data if row["env"] == task and "trained" in row["evaluations"]]
        for teachers, frames in ((True, 250_000), (False, 500_000)):
            group = [run for run in runs if run["run"].endswith("-teacher") == teachers]
            trained = [run["evaluations"]["trained"] for run in group]
            each = ", ".join(f"{result['mean_return']:,.0f} ± {result['standard_error']:,.0f}" for result in trained)
            others = [f"{known[peer, task, frames]:,.0f}" for peer in peers]
            role = f"{'teacher' if teachers else 'student'}, {group[0]['observation']}"
            rows.append([f"`{task}`", role, f"{frames:,}", each, *others, _minutes(group)])
    heading = ["task", "ours is a", "frames in all", "ours, seed by seed", *peers, "minutes of ours"]
    first, *further = (row["provenance"] for row in data)
    return table(heading, rows) + "\n\n" + source(first, "cpu-suite.json", *further)


def at_equal_steps(file: str) -> str:
    """Returns of several algorithms after the same numbers of actions, the seeds of one setting in a row."""
    rows = []
    data = read(file)["rows"]
    on_the_way = (x["steps"] for row in data for x in row["evaluations"].values() if 0 < x["steps"] < row["steps"])
    half = next(on_the_way, None)
    engines = len({row["backend"] for row in data}) > 1
    for key, runs in by_setting([row for row in data if "trained" in row["evaluations"]]):

        def each(steps: int | None, runs: list[dict] = runs) -> str:
            results = [result for run in runs for name, result in run["evaluations"].items() if name != "best"]
            found = [result for result in results if result["steps"] == steps]
            return ", ".join(f"{result['mean_return']:,.0f}" for result in found) or "-"

        seconds = sum(run["training_seconds"] for run in runs) / len(runs)
        middle = [each(half)] if half else []
        engine = [key[5]] if engines else []
        rows.append([key[1], *engine, key[0], key[2], *middle, each(runs[0]["steps"]), key[4], f"{seconds:,.0f}"])
    heading = ["task", *(["engine"] if engines else []), "algorithm", "observation"]
    heading += ["return half-way, seed by seed"] if half else []
    heading += ["return in the end, seed by seed", "actions", "seconds"]
    first, *further = (row["provenance"] for row in data)
    return table(heading, rows) + "\n\n" + source(first, file, *further)


def rewards_summary() -> str:
    """Returns by rewards alone, from pixels and from states: means over seeds."""
    finished = read("cpu-rewards.json")["rows"]
    rows = []
    for (algorithm, task, observation, distractors, steps, _), runs in by_setting(finished):
        if observation != "states":
            states = _from_states(finished, task, runs[0]["steps"])
            means = ["-" if value is None else f"{value:,.0f}" for value in (_mean_return(runs), states)]
            rows.append([task, algorithm, observation, distractors, steps, f"{len(runs)}", *means, _minutes(runs)])
    heading = ["task", "algorithm", "observation", "distractors", "actions", "seeds", "mean return"]
    return table([*heading, "PPO's from states", "minutes"], rows)


def learning_summary() -> str:
    """Returns after training from pixels, and the baselines: mean over seeds."""
    finished = _finished("cpu")
    rows = [
        [key[0], key[1], key[2], key[3], key[4], f"{len(runs)}", f"{_mean_return(runs):,.0f}", _minutes(runs)]
        for key, runs in by_setting(finished)
    ]
    heading = ["algorithm", "task", "observation", "distractors", "actions", "seeds", "mean return", "minutes"]
    return table(heading, rows)
