"""Line charts as SVG, whose colors follow the page: dark or light, and in print."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.ticker import MaxNLocator

from pixelbrax.report.axes import dashes_of, short, tick_texts
from pixelbrax.report.markup import Markup, tag

_MOST_POINTS = 400  # of a line: more are finer than a pixel
_NUM_COLORS = 8  # of page.css
_NUM_TICKS = {"large": 6, "narrow": 6, "small": 3}  # of the vertical axis, about
_KINDS = {"wide": ("large", "narrow"), "half": ("narrow",), "small": ("small",)}  # of two the page shows one


@dataclass(frozen=True)
class Series:
    """One curve.

    Attributes:
      name: in the legend; empty for none.
      x, y: points; those that are not finite are left out.
      low, high: ends of each point's interval, if there is one.
      color: number of one of the page's colors; from the ninth on they begin anew, and lines are dashed.
      form: how points are drawn: connected, each by itself, or connected by a dotted line. An interval is a band
        around a line, and bars at points.
      thin: a thin, pale line, for one of many.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    color: int = 0
    form: Literal["line", "points", "dotted"] = "line"
    thin: bool = False

    def known(self) -> "Series":
        """Without points that are not finite; where an end of an interval is not, it is the point."""
        keep = [k for k, (x, y) in enumerate(zip(self.x, self.y, strict=True)) if math.isfinite(x) and math.isfinite(y)]

        def of(values: Sequence[float] | None) -> list[float] | None:
            if values is None:
                return None
            return [float(values[k] if math.isfinite(values[k]) else self.y[k]) for k in keep]

        x, y = of(self.x) or [], of(self.y) or []
        return Series(self.name, x, y, of(self.low), of(self.high), self.color, self.form, self.thin)


@dataclass(frozen=True)
class Frame:
    """Where data lie in a picture.

    Attributes:
      width, height: of the picture, units of its own.
      left, right, top, bottom: margins.
      x, y: range of the data.
    """

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, x: float) -> float:
        """The horizontal place of a value."""
        share = (x - self.x[0]) / (self.x[1] - self.x[0])
        return self.left + share * (self.width - self.left - self.right)

    def down(self, y: float) -> float:
        """The vertical place of a value."""
        share = (y - self.y[0]) / (self.y[1] - self.y[0])
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)


def chart(
    series: Sequence[Series],
    x_label: str = "",
    y_label: str = "",
    *,
    size: Literal["wide", "half", "small"] = "wide",
    lines: Sequence[tuple[float, str]] = (),
    caption: Any = None,
    x_format: Callable[[float], str] = short,
    x_whole: bool = True,
) -> Markup:
    """A figure with a legend under it, where it covers nothing.

    Args:
      series: the curves, of which later ones are above earlier ones.
      x_label: under the horizontal axis.
      y_label: above the vertical axis.
      size: as wide as the page, half of that, or one of many, with few ticks.
      lines: horizontal lines, each with its name.
      caption: under the picture, before the legend.
      x_format: text of a tick of the horizontal axis.
      x_whole: ticks of the horizontal axis are whole numbers.
    """
    known = [each.known() for each in series]
    known = [each for each in known if len(each.x)]
    if not known:
        return tag("figure", tag("p", "no data yet", class_="note"), tag("figcaption", caption) if caption else None)
    pictures = []
    for kind in _KINDS[size]:
        frame = _frame(known, lines, kind)
        drawn = [_axes(frame, kind, x_label, y_label, x_format, x_whole)]
        drawn += [_level(frame, value) for value, _ in lines]
        drawn += [_drawn(frame, each) for each in known]
        box = f"0 0 {frame.width:g} {frame.height:g}"
        pictures.append(tag("svg", drawn, viewBox=box, role="img", aria_label=y_label or None, class_=kind))
    keys = [tag("span", _key(each), each.name, class_="key") for each in known if each.name]
    keys += [tag("span", _line_key(), name, class_="key") for _, name in lines]
    below = tag("figcaption", caption, keys) if keys or caption else None
    return tag("figure", pictures, below)


def _frame(series: Sequence[Series], lines: Sequence[tuple[float, str]], size: str) -> Frame:
    xs = np.concatenate([each.x for each in series])
    values = [each for one in series for each in (one.y, one.low, one.high) if each is not None]
    ys = np.concatenate([*values, [value for value, _ in lines]]).astype(float)
    ys = ys[np.isfinite(ys)]
    low, high = float(ys.min()), float(ys.max())
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    span = (min(float(xs.min()), 0.0), max(float(xs.max()), 1e-9))
    around = (low - room, high + room)
    longest = max(map(len, tick_texts(_ticks(around, _NUM_TICKS[size]))), default=0)
    if size == "small":
        return Frame(280, 130, max(44.0, 8 + 6.0 * longest), 8, 8, 20, span, around)
    left = max(48.0, 8 + 7.0 * longest)
    return Frame(1080 if size == "large" else 400, 330, left, 14, 26, 44, span, around)


def _axes(
    frame: Frame, size: str, x_label: str, y_label: str, x_format: Callable[[float], str], x_whole: bool
) -> list[Markup]:
    bottom, right = frame.height - frame.bottom, frame.width - frame.right
    small, count = size == "small", {"small": 3, "narrow": 5, "large": 8}[size]
    parts = []
    values = _ticks(frame.y, _NUM_TICKS[size])
    for value, text in zip(values, tick_texts(values), strict=True):
        y = frame.down(value)
        parts.append(tag("line", x1=frame.left, x2=right, y1=y, y2=y, class_="grid"))
        parts.append(tag("text", text, x=frame.left - 6.0, y=y + 4, text_anchor="end"))
    for value in _ticks(frame.x, count, x_whole):
        x = frame.across(value)
        parts.append(tag("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, class_="axis"))
        parts.append(tag("text", x_format(value), x=x, y=bottom + (16 if small else 19), text_anchor="middle"))
    parts.append(tag("line", x1=frame.left, x2=right, y1=bottom, y2=bottom, class_="axis"))
    if x_label and not small:
        middle = (frame.left + right) / 2
        parts.append(tag("text", x_label, x=middle, y=frame.height - 5, text_anchor="middle"))
    if y_label and not small:
        parts.append(tag("text", y_label, x=0, y=14))
    return parts


def _ticks(span: tuple[float, float], count: int, whole: bool = False) -> list[float]:
    places = MaxNLocator(nbins=count, integer=whole).tick_values(*span)
    margin = 1e-9 * (span[1] - span[0])
    return [float(place) for place in places if span[0] - margin <= place <= span[1] + margin]


def _drawn(frame: Frame, series: Series) -> list[Markup | None]:
    color = _color(series)
    if series.form == "line" and len(series.x) > 1:
        return [_band(frame, series, color), _line(frame, series, color)]
    parts: list[Markup | None] = [] if series.form != "dotted" else [_line(frame, series, color, dashed=True)]
    for k, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
        at, height = frame.across(x), frame.down(y)
        told = f"{short(x)}: {y:,.6g}"
        if series.low is not None and series.high is not None:
            low, high = frame.down(series.low[k]), frame.down(series.high[k])
            parts += [
                tag("line", x1=at, x2=at, y1=low, y2=high, stroke=color, stroke_width=1.2),
                *(tag("line", x1=at - 3, x2=at + 3, y1=end, y2=end, stroke=color) for end in (low, high)),
            ]
            told += f" ({series.low[k]:,.6g} to {series.high[k]:,.6g})"
        size = 1.6 if series.thin else 3.4
        opacity = 0.35 if series.thin else None
        parts.append(tag("circle", tag("title", told), cx=at, cy=height, r=size, fill=color, opacity=opacity))
    return parts


def _color(series: Series) -> str:
    return f"var(--c{series.color % _NUM_COLORS})"


def _dashes(series: Series, width: float) -> str | None:
    return " ".join(f"{width * length:.3g}" for length in dashes_of(series.color, _NUM_COLORS)) or None


def _line(frame: Frame, series: Series, color: str, dashed: bool = False) -> Markup:
    chosen = np.unique(np.linspace(0, len(series.x) - 1, min(len(series.x), _MOST_POINTS)).round().astype(int))
    points = " ".join(f"{frame.across(series.x[k]):.1f},{frame.down(series.y[k]):.1f}" for k in chosen)
    width, opacity = (0.8, 0.55) if series.thin else (1.8 if not dashed else 1.2, None)
    dots = "2 3" if dashed else _dashes(series, width)
    form = {"stroke_width": width, "stroke_dasharray": dots, "opacity": opacity, "stroke_linejoin": "round"}
    return tag("polyline", points=points, fill="none", stroke=color, **form)


def _band(frame: Frame, series: Series, color: str) -> Markup | None:
    if series.low is None or series.high is None:
        return None
    there = [(frame.across(x), frame.down(y)) for x, y in zip(series.x, series.high, strict=True)]
    back = [(frame.across(x), frame.down(y)) for x, y in zip(series.x, series.low, strict=True)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*there, *reversed(back)])
    return tag("polygon", points=points, fill=color, opacity=0.18)


def _level(frame: Frame, value: float) -> Markup:
    y = frame.down(value)
    return tag(
        "line", x1=frame.left, x2=frame.width - frame.right, y1=y, y2=y, stroke="var(--soft)", stroke_dasharray="6 4"
    )


def _key(series: Series) -> Markup:
    color = _color(series)
    dashes = _dashes(series, 1.8)
    line = tag("line", x1=0, x2=28, y1=6, y2=6, stroke=color, stroke_width=2, stroke_dasharray=dashes)
    if series.form != "line" or len(series.x) == 1:
        dots = "2 3" if series.form == "dotted" else "0 99"
        line = [
            tag("line", x1=0, x2=28, y1=6, y2=6, stroke=color, stroke_width=1.4, stroke_dasharray=dots),
            tag("circle", cx=14, cy=6, r=3.4, fill=color),
        ]
    return tag("svg", line, viewBox="0 0 28 12")


def _line_key() -> Markup:
    line = tag("line", x1=0, x2=28, y1=6, y2=6, stroke="var(--soft)", stroke_dasharray="6 4")
    return tag("svg", line, viewBox="0 0 28 12")
