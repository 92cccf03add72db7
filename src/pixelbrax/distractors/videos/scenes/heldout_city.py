"""A held-out family: cities from above."""

import functools
from dataclasses import dataclass

import numpy as np

from pixelbrax.distractors.videos.scenes.drawing import (
    Array,
    Canvas,
    Layer,
    Noise,
    Part,
    View,
    blend,
    colors,
    compose,
    rgb,
    shaded,
)

_Rng = np.random.Generator
_ROAD = 0.085  # half of a street's width
_LOTS = 2  # along each side of a block


@dataclass(frozen=True)
class _City:
    """Streets in a grid, with lots between them.

    Attributes:
      noise: of lots, windows and cars.
      cosine, sine: of the angle between the streets and the image.
      span: from street to street.
      few: lots whose number is above it are parks, -1..1.
      row: of the noise of the cars.
      ground, roof, lamp, window: colors.
    """

    noise: Noise
    cosine: float
    sine: float
    span: float
    few: float
    row: int
    ground: Array
    roof: Array
    lamp: Array
    window: Array

    def turned(self, canvas: Canvas) -> tuple[Array, Array]:
        """Coordinates along and across the streets; 0 is the middle of a street."""
        c, s = self.cosine, self.sine
        return c * canvas.x - s * canvas.y, s * canvas.x + c * canvas.y

    def plots(self, u: Array, v: Array) -> tuple[Array, Array, Array]:
        """The numbers of the lots, and the distance from the edges of what is built there."""
        size = (self.span - 2 * _ROAD) / _LOTS
        places, edges = [], []
        for q in (u, v):
            block = np.floor(q / self.span)
            inner = (q - block * self.span - _ROAD) / size
            places.append(block * _LOTS + np.clip(np.floor(inner), 0, _LOTS - 1))
            edges.append(
                np.minimum(inner - np.floor(inner), np.ceil(inner) - inner) * size * ((inner > 0) & (inner < _LOTS))
            )
        gap = 0.012 + 0.022 * (self.noise.cells(places[0] + 5, places[1] + 3) + 1)
        return places[0], places[1], np.minimum(edges[0], edges[1]) - gap

    def streets(self, canvas: Canvas) -> None:
        """The ground with parks, pavements, markings and lamps."""
        u, v = self.turned(canvas)
        grain = self.noise(canvas, 0.1, 4, 1.0)
        canvas.over(shaded(self.ground, 0.4 * grain))
        away_u, away_v = (np.abs(q - self.span * np.round(q / self.span)) for q in (u, v))
        lot_u, lot_v, _ = self.plots(u, v)
        is_park = self.noise.cells(lot_u, lot_v) > self.few
        inside = canvas.inside(np.minimum(away_u, away_v) - _ROAD)
        canvas.over(shaded(rgb("1c4820"), 0.7 * grain), inside * is_park)
        canvas.over(shaded(blend(self.ground, self.lamp, 0.4), 0.2 * grain), 1 - inside)
        for along, away in ((u, away_v), (v, away_u)):
            canvas.over(np.array([0.8, 0.8, 0.75]), 0.7 * canvas.inside(0.006 - away) * (np.mod(along, 0.1) < 0.055))
            post = np.abs(np.mod(along, 0.3) - 0.15)
            glow = np.exp(-((post / 0.035) ** 2) - ((away - _ROAD) / 0.025) ** 2)
            canvas.over(blend(self.lamp, np.ones(3), 0.3), 0.9 * glow)

    def story(self, canvas: Canvas, level: int, scale: float) -> None:
        """The towers at one height: walls with windows, or the roofs of those that end there."""
        u, v = self.turned(canvas)
        u, v = u / scale, v / scale
        lot_u, lot_v, edge = self.plots(u, v)
        cells, roof = self.noise.cells, self.roof[:, None, None]
        levels = np.floor(2 + 5.4 * (cells(lot_u + 9, lot_v + 4) + 1))
        inside = canvas.inside(edge * scale) * (cells(lot_u, lot_v) <= self.few) * (level <= levels)
        if not inside.any():
            return
        wall = roof * (0.5 + 0.25 * cells(lot_u + 2, lot_v))
        lit = (cells(u * 22, v * 22 + 17 * level) > -0.1) & (level % 2 == 1)
        color = np.where(lit, self.window[:, None, None], wall)
        tone = roof * (1.0 + 0.6 * cells(lot_u + 4, lot_v + 1)) * (1 + 0.15 * self.noise(canvas, 0.08, 3, 1.0))
        tone = blend(tone, tone * 1.5, canvas.inside(0.02 - edge))
        vent = np.maximum(np.abs(np.mod(u * 5, 1) - 0.5), np.abs(np.mod(v * 5, 1) - 0.5)) < 0.22
        tone = np.where(vent & (cells(u * 5, v * 5) > 0.2), tone * 0.6, tone)
        canvas.over(np.clip(np.where(level == levels, tone, color), 0, 1), inside)

    def traffic(self, canvas: Canvas, along_u: bool, way: int) -> None:
        """Cars with their lights, on the streets of one direction."""
        u, v = self.turned(canvas)
        along, side = (u, v) if along_u else (v, u)
        lane, place = np.round(side / self.span), along / 0.24
        middle = (np.floor(place) + 0.5) * 0.24 + 0.05 * self.noise.cells(place, lane + self.row + 11)
        there = self.noise.cells(place, lane + self.row) > -0.3
        off = side - lane * self.span - way * (0.04 if along_u else -0.04)
        ahead = (along - middle) * way
        body = np.minimum(0.036 - np.abs(ahead), 0.018 - np.abs(off))
        canvas.over(rgb("484c58"), canvas.inside(body) * there)
        beam = np.exp(-(((ahead - 0.07) / 0.04) ** 2) - (off / 0.02) ** 2)
        canvas.over(rgb("fffff0"), np.clip(1.2 * beam, 0, 0.9) * there)
        canvas.over(rgb("ff2818"), np.exp(-(((ahead + 0.036) / 0.014) ** 2) - (off / 0.016) ** 2) * there)


def city_above(rng: _Rng, view: View) -> Array:
    """A city at night from above: towers with lit windows, roads, traffic; the camera flies over it."""
    ground, roof, lamp, window = colors(
        view.turn(
            [
                "181c2c 40485c ffa840 fff0b0",
                "101c1c 485450 d8f0c0 c0f0ff",
                "201420 584050 ff9050 ffd0e0",
                "0c1430 384878 e0e8ff ffe060",
            ],
        )
    )
    turn, noise, span = rng.uniform(0, 2 * np.pi), Noise(rng), rng.uniform(0.7, 0.95)
    c, s = np.cos(turn), np.sin(turn)
    heading, speed, start = rng.uniform(0, 6.3), rng.uniform(0.3, 0.5), rng.uniform(-9, 9, 2)
    dx, dy = start[0] + speed * np.cos(heading) * view.t, start[1] + speed * np.sin(heading) * view.t
    few, row = rng.uniform(0.6, 0.9), int(rng.integers(1000))
    city = _City(noise, c, s, span, few, row, ground, roof, lamp, window)
    parts: list[Part] = [Layer(view, dx, city.streets, dy)]
    for along_u, way in ((True, 1), (True, -1), (False, 1), (False, -1)):
        rate = way * rng.uniform(0.3, 0.5)
        move_x, move_y = (c * rate, -s * rate) if along_u else (s * rate, c * rate)
        cars = functools.partial(city.traffic, along_u=along_u, way=way)
        parts.append(Layer(view, dx - move_x * view.t, cars, dy - move_y * view.t))
    for level in range(1, 13):
        scale = 1 + 0.03 * level
        story = functools.partial(city.story, level=level, scale=scale)
        parts.append(Layer(view, scale * dx, story, scale * dy))
    return compose(view, parts)
