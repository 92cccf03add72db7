"""The report of one run: a page for whoever trained it, and whoever wants to know what came of it."""

import math
from typing import Any

from pixelbrax.report.axes import short
from pixelbrax.report.chart import Series, chart
from pixelbrax.report.facts import RunFacts, interval_of, looks_of
from pixelbrax.report.looks import evaluation_section, saliency_section, videos_section
from pixelbrax.report.markup import Markup, markup, tag
from pixelbrax.report.page import more, page, section, table, tiles
from pixelbrax.report.settings_table import settings_section
from pixelbrax.report.spent import duration, time_section
from pixelbrax.training import (
    BUFFER,
    CHANGED,
    CURRICULUM,
    GATE,
    HELD_OUT,
    SOFTWARE,
    TEACHER,
    UNTRAINED,
    RunDir,
    amount,
    hooks_in,
    in_shell,
)

_TOLD = ("updates", "steps", "frames", "return", "episodes", "diverged", "seconds", "wall_seconds")  # elsewhere
_NAMES = {
    "kl": "KL divergence of an update",
    "skipped": "share of gradient steps left out",
    "steps_per_second": "actions per second",
}
_MOST_DIVERGED = 0.01  # share of episodes


def page_of_run(run: RunDir) -> str:
    """A run's report as the text of an HTML file, from what is in its folder.

    Raises:
      ConfigError: the run's settings cannot be read.
    """
    facts = RunFacts.of(run)
    body = tag(
        "main",
        section("Return", _curve(facts), note=_curve_note(facts), wide=True),
        videos_section(facts),
        saliency_section(facts),
        evaluation_section(facts),
        time_section(facts),
        again_section(facts),
        settings_section(facts),
        _learning(facts),
    )
    what = f"{facts.what}, seed {facts.config.seed}"
    return page(f"{facts.name}: {what}", _header(facts, what), tiles(headline(facts)), body, footer(facts))


def _header(facts: RunFacts, what: str) -> Markup:
    state, kind = facts.state
    badge = tag("span", state, class_=f"state {kind}")
    alarms = [facts.run.failure, *facts.problems, _diverged(facts)]
    told = [tag("p", alarm, class_="alarm") for alarm in alarms if alarm]
    return tag("header", tag("h1", facts.name, badge), tag("p", what), told)


def _diverged(facts: RunFacts) -> str:
    count, all_of = (sum(row.get(name, 0.0) for row in facts.rows) for name in ("diverged", "episodes"))
    if count <= _MOST_DIVERGED * all_of:
        return ""
    return (
        f"Physics, reward or action became NaN or infinite in {count:,.0f} episodes of training; {all_of:,.0f} whole "
        "ones have ended."
    )


def headline(facts: RunFacts) -> list[tuple[Any, str, str]]:
    """The numbers that matter most: (number, what it is, detail)."""
    found = []
    if last := facts.last:
        low, high = interval_of(last)
        interval = f"95 % interval {amount(low)} to {amount(high)}"
        interval += f", {last['episodes']:.0f} episodes" if "episodes" in last else ""
        found.append((amount(last["mean_return"]), "return, deterministic policy", interval))
    if last and (held_out := facts.held_out):
        mean, theirs = held_out["mean_return"], last["mean_return"]
        kept = f", {mean / theirs:.0%} of it" if theirs > 0 else ""
        found.append((amount(mean), "return under held-out looks", f"{looks_of(held_out)}{kept}"))
    if before := facts.evaluations.get(UNTRAINED):
        found.append((amount(before["mean_return"]), "return before training", ""))
    if facts.rows:
        row = facts.rows[-1]
        found.append((short(facts.steps), "actions of training", f"of {short(facts.total_steps)}"))
        wall = row.get("wall_seconds", row["seconds"])
        found.append((duration(wall), "from start to the last update", f"{duration(row['seconds'])} of training"))
        if row["seconds"] > 0:
            found.append((f"{facts.steps / row['seconds']:,.0f}", "actions per second", "of training time"))
    return found


def _curve(facts: RunFacts) -> Markup:
    steps = [row["steps"] for row in facts.rows]
    series = [Series("sampled actions: episodes of training", steps, [row["return"] for row in facts.rows])]
    results = [result for _, result in facts.on_the_way]
    series += evaluated(results, "deterministic policy: evaluations, 95 % intervals", color=1)
    held_out = [{"steps": result["steps"]} | result[HELD_OUT] for result in results if HELD_OUT in result]
    if held_out:
        series += evaluated(held_out, f"the same under {looks_of(held_out[0])}", color=3)
    teachers = [result[TEACHER]["mean_return"] for result in results if TEACHER in result]
    lines = [(teachers[-1], "its teacher, deterministic")] if teachers else []
    return chart(series, "actions", "return of an episode", lines=lines)


def evaluated(results: list[dict[str, Any]], name: str, color: int) -> list[Series]:
    """Evaluations as a series of points with their intervals; none of no evaluations."""
    if not results:
        return []
    intervals = [interval_of(result) for result in results]
    low, high = zip(*intervals, strict=True)
    steps, means = [result["steps"] for result in results], [result["mean_return"] for result in results]
    return [Series(name, steps, means, low, high, color, "dotted")]


def _curve_note(facts: RunFacts) -> str | None:
    if not facts.rows:
        return "No update has been recorded yet."
    if not any(math.isfinite(row["return"]) for row in facts.rows):
        return "No whole episode has ended in training yet."
    return None


def again_section(facts: RunFacts) -> Markup:
    """Where the run was made, and the commands that make it again."""
    told = dict(facts.provenance)
    command, commit = told.pop("command", ""), told.get("commit", "")
    again, note = _again(facts)
    lines = [f"git checkout {commit.removesuffix('+changes')}"] * bool(commit) + [again] * bool(again)
    parts: list[Any] = [tag("pre", "\n".join(lines))] if lines else []
    if commit.endswith("+changes"):
        parts.append(tag("p", "The checkout had changes that were not committed.", class_="note"))
    if command and command != again:
        parts += [tag("h3", "What started it"), tag("pre", command)]
    first = ("machine", "device", "commit", "pixelbrax", "python", "jax")
    named = [(name, told.pop(name)) for name in first if name in told] + list(told.items())
    named = [("seed", facts.config.seed), *named]
    rows = [(name, tag("code", value)) for name, value in named]
    parts.append(more("machine and versions", table((), rows)))
    return section("Do it again", parts, note=note)


def _again(facts: RunFacts) -> tuple[str, str]:
    """What makes the run again, which may not be known, and how like it the other will be."""
    command = facts.provenance.get("command", "")
    alone = f"pixelbrax train --config {in_shell(facts.run.path)}"
    note = "The same seed on the same machine gives the same metrics, bit for bit."
    since = (CHANGED, "settings "), (SOFTWARE, ""), (BUFFER, "replay buffer ")
    if told := [f"{what}{facts.provenance[name]}" for name, what in since if facts.provenance.get(name)]:
        note = f"It was resumed otherwise than it began ({'; '.join(told)}): made in one go, its metrics are others."
    acted = hooks_in(facts.provenance)
    hooks = [name for name in acted if name != GATE]
    needed = ["its environment, which was made in Python"] if facts.config.environment.facts else []
    needed += [f"the hooks that acted on its training: {', '.join(hooks)}"] if hooks else []
    needs = f" The call needs {' and '.join(needed)}." if needed else ""
    if (plan := facts.run.path.resolve().parent / CURRICULUM).is_file() or GATE in acted:
        again = f"pixelbrax curriculum {in_shell(plan)}"
        if hooks:
            again = f"pixelbrax.train_curriculum({str(plan)!r}, hooks=[...])"
        return (
            again if plan.is_file() else command,
            f"{note} It is a stage of a curriculum, all of which is trained.{needs}",
        )
    if needed:
        return command, f"{note}{needs}"
    if (agents := facts.provenance.get("agents", "1")) == "1":
        return alone, note
    beside = f"It was trained side by side with others, {agents} agents in all"
    if not command:
        return alone, f"{beside}: alone, its metrics are the same up to rounding."
    return command, f"{note} {beside}: alone, by {alone}, its metrics are the same up to rounding."


def _learning(facts: RunFacts) -> Markup | None:
    """Every other column of the metrics."""
    if not facts.rows:
        return None
    steps = [row["steps"] for row in facts.rows]
    names = [name for name in facts.rows[-1] if name not in _TOLD]
    values = {name: [row.get(name, math.nan) for row in facts.rows] for name in names}
    values = {name: y for name, y in values.items() if any(map(math.isfinite, y))}
    figures = [chart([Series("", steps, y)], caption=_title(name), size="small") for name, y in values.items()]
    return section("How it learned", tag("div", figures, class_="small"), note="Against actions.", wide=True)


def _title(name: str) -> str:
    return _NAMES.get(name, name.replace("_", " "))


def footer(facts: RunFacts) -> Markup:
    """Who wrote the page."""
    version = facts.provenance.get("pixelbrax", "")
    return tag("footer", markup("Written by PixelBrax ", version, " from ", tag("code", facts.run.path), "."))
