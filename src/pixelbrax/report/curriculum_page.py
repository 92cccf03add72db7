"""The report of a curriculum: its stages one after another."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pixelbrax.report.axes import short
from pixelbrax.report.facts import RunFacts, interval_of
from pixelbrax.report.markup import Markup, data_url, tag
from pixelbrax.report.page import film, link_to, page, section, table
from pixelbrax.training import amount


def page_of_curriculum(
    title: str,
    state: tuple[str, str],
    stages: Sequence[tuple[str, RunFacts, Mapping[str, Any]]],
    folder: Path,
    out: Path,
) -> str:
    """The text of an HTML file about a curriculum.

    Args:
      title: name of the folder.
      state: how far it came, and which of "good", "bad" and "wait" that is.
      stages: each run that has begun: its stage's name, what its folder tells, and its entry in stages.json, or only
        the gate if it has not ended.
      folder: of the curriculum, whose curve.png and across.png are shown.
      out: where the file will be; it links to the runs' own reports.
    """
    badge = tag("span", state[0], class_=f"state {state[1]}")
    what = "; ".join(dict.fromkeys(facts.what for _, facts, _ in stages)) or "no stage has begun"
    pictures = {"curve.png": "All stages", "across.png": "Every stage's policy in every stage"}
    shown = [_picture(folder / name, told) for name, told in pictures.items()]
    body = tag("main", shown, _stages(stages, out), _videos(stages))
    return page(f"{title}: a curriculum", tag("header", tag("h1", title, badge), tag("p", what)), body)


def _picture(file: Path, title: str) -> Markup | None:
    if not file.is_file():
        return None
    return section(title, tag("img", src=data_url(file), alt=title, class_="picture"), wide=True)


def _stages(stages: Sequence[tuple[str, RunFacts, Mapping[str, Any]]], out: Path) -> Markup:
    rows = []
    for name, facts, entry in stages:
        file = facts.run.report_file
        link = link_to(file, out)
        result = "-"
        if last := facts.last:
            result = "{} ({} to {})".format(*map(amount, (last["mean_return"], *interval_of(last))))
        opened = entry.get("opened_at")
        gate = entry.get("gate") or "none"
        ended = "run" in entry
        came = facts.state[0] if not ended else f"opened at {opened:,}" if opened is not None else "stayed closed"
        rows.append(
            [
                tag("a", facts.name, href=link) if file.is_file() else facts.name,
                name,
                short(facts.steps),
                result,
                gate,
                came if gate != "none" or not ended else "-",
            ]
        )
    head = ("run", "stage", "actions", "return (95 %)", "gate", "what came of it")
    note = "Stages may have different rewards: returns of one do not compare with those of another."
    return section("Stages", table(head, rows, numeric=(2, 3)), note=note, wide=True)


def _videos(stages: Sequence[tuple[str, RunFacts, Mapping[str, Any]]]) -> Markup | None:
    files = [(facts.run.video_file, facts.titled(name, facts.run.video_file)) for name, facts, _ in stages]
    figures = [film(file, name) for file, name in files if file.is_file()]
    return section("Their policies", tag("div", figures, class_="side"), wide=True) if figures else None
