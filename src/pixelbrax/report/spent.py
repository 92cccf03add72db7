"""Where a run's time went."""

import math

from pixelbrax.report.facts import RunFacts
from pixelbrax.report.markup import Markup, markup, tag
from pixelbrax.report.page import section, table
from pixelbrax.training import TOTAL, WALL

_COMPILING, _REST, _KILLED = "compiling", "starting, writing and the rest", "sessions that were killed, or go on"


def time_section(facts: RunFacts) -> Markup | None:
    """A bar of the parts, and a table of them; None where nothing is known."""
    parts, whole = spent(facts)
    if not parts:
        return None
    items = sorted(parts.items(), key=lambda item: -item[1])
    share = {name: seconds / max(whole, 1e-9) for name, seconds in items}
    colors = {name: f"var(--c{k % 8})" for k, name in enumerate(share)}
    bar = [
        tag("i", style=f"width: {100 * part:.2f}%; background: {colors[name]}", title=f"{name}: {part:.0%}")
        for name, part in share.items()
    ]
    keys = [tag("span", tag("i", style=f"background: {colors[name]}"), name, class_="key") for name in share]
    rows = [(key, duration(seconds), f"{share[name]:.0%}") for key, (name, seconds) in zip(keys, items, strict=True)]
    told = markup(
        "Acting and learning are one compiled program: ", tag("code", "pixelbrax bench train"), " tells them apart."
    )
    return section(
        f"Where its time went: {duration(whole)}",
        tag("div", bar, class_="bar"),
        table((), rows, numeric=(1, 2)),
        note=told,
    )


def spent(facts: RunFacts) -> tuple[dict[str, float], float]:
    """Seconds by part, and of all; of a run that was killed, only until its last row of metrics."""
    if whole := facts.timings.get(TOTAL, 0.0):
        parts: dict[str, float] = {}
        for what, seconds in facts.timings.items():
            if what != TOTAL:
                name = _COMPILING if what.startswith(_COMPILING) else what
                parts[name] = parts.get(name, 0.0) + seconds
        rest = whole - sum(parts.values())
        parts |= {_REST: rest} if rest > 0 else {}
        killed = facts.rows[-1].get(WALL, 0.0) - whole if facts.rows else 0.0  # they wrote no timings
        return (parts | {_KILLED: killed}, whole + killed) if killed > 1 else (parts, whole)
    if not facts.rows or "wall_seconds" not in (row := facts.rows[-1]):
        return {}, 0.0
    rest = max(0.0, row["wall_seconds"] - row["seconds"])
    return {"training": row["seconds"], "starting, compiling and evaluation": rest}, row["seconds"] + rest


def duration(seconds: float) -> str:
    """Seconds for people: 8.2 s, 3 min 20 s, 2 h 5 min; "-" where they are not known."""
    if math.isnan(seconds):
        return "-"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min"
