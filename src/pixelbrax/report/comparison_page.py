"""The report of several runs: their curves over each other, what they reach, and the settings that set them apart."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pixelbrax.report.axes import short
from pixelbrax.report.chart import Series, chart
from pixelbrax.report.curves import FEW, together
from pixelbrax.report.facts import RunFacts, interval_of, settings_of, shown
from pixelbrax.report.markup import Markup, tag
from pixelbrax.report.page import film, film_size, link_to, more, page, section, table
from pixelbrax.report.spent import duration
from pixelbrax.training import amount

_MOST_BYTES = 40_000_000  # of all videos in a page
Groups = Mapping[str, Sequence[RunFacts]]


def page_of_runs(
    groups: Groups,
    results: Sequence[Mapping[str, Any]],
    improvements: Mapping[tuple[str, str], tuple[float, float, float]],
    notes: Sequence[str],
    out: Path,
) -> str:
    """The text of an HTML file about several runs.

    Args:
      groups: runs that differ in their seeds only, by what sets them apart from others.
      results: rows of `Comparison.table`.
      improvements: of `Comparison.improvements`: how probable it is that the first is better than the second.
      notes: what a reader must know, such as runs that are left out of the results.
      out: where the file will be; it links to the runs' own reports.
    """
    runs = [run for several in groups.values() for run in several]
    tasks = list(dict.fromkeys(run.config.environment.task for run in runs))
    title = f"{len(runs)} runs of {len(groups)} settings" if len(groups) > 1 else f"{len(runs)} runs"
    problems = [problem for run in runs for problem in run.problems]
    told = [tag("p", note, class_="alarm") for note in (*notes, *problems)]
    head = tag("header", tag("h1", title), tag("p", ", ".join(tasks)), told)
    colors = {name: k for k, name in enumerate(groups)}
    body = tag(
        "main",
        [_curves(task, groups, colors) for task in tasks],
        _results(results, improvements),
        _differences(groups),
        _videos(groups),
        _runs(groups, out),
    )
    return page(f"{title}: {', '.join(tasks)}", head, body)


def _curves(task: str, groups: Groups, colors: Mapping[str, int]) -> Markup:
    """Returns on one task against actions and against minutes."""
    there = {name: [run for run in runs if run.config.environment.task == task] for name, runs in groups.items()}
    there = {name: [run for run in runs if run.has_returns and not run.run.failure] for name, runs in there.items()}
    there = {name: runs for name, runs in there.items() if runs}
    note = (
        "Sampled actions, in episodes of training: the mean of less than ten runs, the interquartile mean of more, "
        f"with its 95 % interval, as far as all of a setting's runs are; of less than {FEW} each run is a thin line "
        "instead, and of more what lies beyond."
    )
    against = [_against("steps", 1.0, "actions", there, colors), _against("seconds", 60.0, "minutes", there, colors)]
    return section(f"Return, {task}", tag("div", against, class_="side"), note=note, wide=True)


def _against(column: str, unit: float, label: str, groups: Groups, colors: Mapping[str, int]) -> Markup:
    series = []
    for name, runs in groups.items():
        curve = together(name, [run.rows for run in runs], column)
        told = curve.label if column == "steps" else ""
        lines = [Series("", (at / unit).tolist(), y.tolist(), color=colors[name], thin=True) for at, y in curve.alone]
        if not len(curve.x):  # no center that could carry the name
            lines[0] = replace(lines[0], name=told)
        ends = {} if len(runs) < FEW else {"low": curve.low.tolist(), "high": curve.high.tolist()}
        center = Series(told, (curve.x / unit).tolist(), curve.center.tolist(), color=colors[name], **ends)
        series += [*lines, center]
    return chart(series, label, f"return against {label}", size="half", x_whole=column == "steps")


def _results(rows: Sequence[Mapping[str, Any]], improvements: Mapping[tuple[str, str], tuple]) -> Markup | None:
    if not rows:
        return None
    head = ("task", "setting", "seeds", "return (95 %)", "worst seed", "episodes below", "ended early")
    cells = [
        (
            row["task"],
            row["setting"],
            row["runs"],
            amount(row["return"]) + (" ({} to {})".format(*map(amount, row["interval"])) if row["runs"] > 1 else ""),
            amount(row["worst"]),
            f"{row['below']:.0%} below {amount(row['level'])}",
            f"{row['early']:.0%}",
        )
        for row in rows
    ]
    odds = [
        (better, worse, f"{value:.2f} ({low:.2f} to {high:.2f})")
        for (better, worse), (value, low, high) in improvements.items()
    ]
    below = table(("setting", "better than", "probability (95 %)"), odds, numeric=(2,)) if odds else None
    note = "Deterministic policies after training; intervals are over seeds."
    return section("What they reach", table(head, cells, numeric=(2, 3, 4, 5, 6)), below, note=note, wide=True)


def _differences(groups: Groups) -> Markup | None:
    """Settings that are not the same in all groups."""
    settings = {name: settings_of(runs[0].config) for name, runs in groups.items()}
    names = list(dict.fromkeys(name for each in settings.values() for name in each if name != "seed"))
    values = {name: [shown(each[name][0]) if name in each else "-" for each in settings.values()] for name in names}
    rows = [(tag("code", name), *row) for name, row in values.items() if len(set(row)) > 1]
    if not rows:
        return None
    return section("Settings that differ", table(("setting", *settings), rows), wide=True)


def _videos(groups: Groups) -> Markup | None:
    """The video of each setting's first run that has one."""
    figures, size = [], 0
    for name, runs in groups.items():
        shown = next((run for run in runs if run.run.video_file.is_file()), None)
        if shown is None or size + film_size(shown.run.video_file) > _MOST_BYTES:
            continue
        size += film_size(shown.run.video_file)
        figures.append(film(shown.run.video_file, shown.titled(name, shown.run.video_file)))
    return section("Their policies", tag("div", figures, class_="side"), wide=True) if figures else None


def _runs(groups: Groups, out: Path) -> Markup:
    head = ("run", "setting", "seed", "state", "actions", "return (95 %)", "held-out", "time")
    rows = [_row(run, name, out) for name, runs in groups.items() for run in runs]
    return section("Runs", table(head, rows, numeric=(2, 4, 5, 6, 7)), _commands(groups), wide=True)


def _row(run: RunFacts, setting: str, out: Path) -> list[Any]:
    state, kind = run.state
    file = run.run.report_file
    link = link_to(file, out)
    name = tag("a", run.name, href=link) if file.is_file() else run.name
    result, wall = "-", run.rows[-1].get("wall_seconds", run.rows[-1]["seconds"]) if run.rows else 0.0
    if last := run.last:
        low, high = interval_of(last)
        result = f"{amount(last['mean_return'])} ({amount(low)} to {amount(high)})"
    held_out = amount(run.held_out["mean_return"]) if run.held_out else "-"
    badge = tag("span", state, class_=kind, title=run.run.failure or None)
    return [name, setting, run.config.seed, badge, short(run.steps), result, held_out, duration(wall)]


def _commands(groups: Groups) -> Markup | None:
    """What started the runs, to be opened by a click."""
    lines = [run.provenance.get("command", "") for runs in groups.values() for run in runs]
    told = "\n".join(dict.fromkeys(filter(None, lines)))
    return more("what started them", tag("pre", told)) if told else None
