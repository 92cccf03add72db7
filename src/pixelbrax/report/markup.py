"""HTML from Python: text is escaped unless it is markup already."""

import base64
import html
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_KINDS = {".png": "image/png", ".mp4": "video/mp4"}
_VOID = {"img", "meta", "br", "hr"}


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


def markup(*parts: Any) -> Markup:
    """The parts one after another: `Markup` as it is, None as nothing, iterables part by part, the rest escaped."""
    return Markup("".join(map(_text, parts)))


def _text(part: Any) -> str:
    if part is None:
        return ""
    if isinstance(part, Markup):
        return part
    if isinstance(part, Iterable) and not isinstance(part, str):
        return "".join(map(_text, part))
    return html.escape(str(part))


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element.

    Args:
      name: such as "p".
      *children: its content, as for `markup`.
      **attributes: a trailing underscore is dropped (`class_`), others become hyphens (`stroke_width`); True is an
        attribute without a value, None and False are left out.
    """
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    known = [key if value is True else f'{key}="{_quoted(value)}"' for key, value in given.items() if _is_given(value)]
    start = " ".join([name, *known])
    return Markup(f"<{start}>" if name in _VOID else f"<{start}>{markup(*children)}</{name}>")


def _is_given(value: Any) -> bool:
    return value is not None and value is not False


def _quoted(value: Any) -> str:
    """An attribute's value; numbers to two decimals, which is a hundredth of a pixel in pictures."""
    text = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return html.escape(text)


def data_url(source: Path | bytes, kind: str = "") -> str:
    """A file, or its bytes, as a URL that holds all of it.

    Args:
      source: a PNG or MP4 file, or bytes.
      kind: media type of the bytes, such as "image/png".
    """
    if isinstance(source, Path):
        source, kind = source.read_bytes(), _KINDS[source.suffix]
    return f"data:{kind};base64,{base64.b64encode(source).decode()}"
