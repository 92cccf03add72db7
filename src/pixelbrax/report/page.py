"""A page of HTML in one file, which loads nothing from elsewhere."""

import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pixelbrax.report.markup import Markup, data_url, markup, tag

# Browsers refuse everything that is not in the file itself.
_POLICY = (
    "default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)
_MOST_BYTES = 30_000_000  # of a video in a page


def page(title: str, *body: Any, script: str = "", style: str = "page.css") -> str:
    """The text of an HTML file.

    Args:
      title: of the window.
      *body: its content.
      script: JavaScript at its end; must not contain "</script".
      style: file of its style sheet in this package.
    """
    head = markup(
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(resource(style))),
    )
    end = tag("script", Markup(script)) if script else None
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{markup(body, end)}</body></html>\n'


def link_to(file: Path, page: Path) -> str:
    """The address of a file in a page's links."""
    return quote(os.path.relpath(file.absolute(), page.absolute().parent).replace(os.sep, "/"))


def resource(name: str) -> str:
    """The text of a file beside this one."""
    return (resources.files("pixelbrax.report") / name).read_text(encoding="utf-8")


def section(title: str, *content: Any, note: Any = None, wide: bool = False) -> Markup:
    """A titled part of a page.

    Args:
      title: its heading.
      *content: what is below it.
      note: a sentence under the heading.
      wide: as wide as the page, instead of half of it.
    """
    told = tag("p", note, class_="note") if note else None
    return tag("section", tag("h2", title), told, content, class_="wide" if wide else None)


def table(head: Sequence[Any], rows: Sequence[Sequence[Any]], numeric: Sequence[int] = ()) -> Markup:
    """A table, which scrolls where it is wider than the page.

    Args:
      head: titles of the columns; empty for none.
      rows: cells.
      numeric: columns that are aligned as numbers.
    """

    def cells(kind: str, row: Sequence[Any]) -> list[Markup]:
        return [tag(kind, cell, class_="number" if k in numeric else None) for k, cell in enumerate(row)]

    top = tag("thead", tag("tr", cells("th", head))) if head else None
    body = tag("tbody", [tag("tr", cells("td", row)) for row in rows])
    return tag("div", tag("table", top, body), class_="scroll")


def tiles(facts: Sequence[tuple[Any, str, str]]) -> Markup:
    """Large numbers side by side: (number, what it is, detail)."""
    each = [
        tag("div", tag("b", number), tag("span", what), tag("small", detail) if detail else None, class_="tile")
        for number, what, detail in facts
    ]
    return tag("div", each, class_="tiles")


def film_size(file: Path) -> int:
    """Bytes of a video in a page; 0 for one that is too large."""
    size = file.stat().st_size
    return size if size <= _MOST_BYTES else 0


def film(file: Path, caption: str) -> Markup:
    """A video in the page itself; one that is too large is only named."""
    if not film_size(file):
        return tag("figure", tag("p", f"{file} has {file.stat().st_size / 1e6:,.0f} MB: it is not in this page."))
    shown = tag("video", src=data_url(file), controls=True, loop=True, muted=True, playsinline=True, autoplay=True)
    return tag("figure", shown, tag("figcaption", caption))


def more(summary: Any, *content: Any) -> Markup:
    """What is shown on a click."""
    return tag("details", tag("summary", summary), content)
