"""Families to train on: streets, crowds."""

from dataclasses import dataclass

import numpy as np

from pixelbrax.distractors.videos.scenes.drawing import (
    Array,
    Canvas,
    Layer,
    Noise,
    Part,
    Sprite,
    View,
    blend,
    colors,
    compose,
    flip,
    pick,
    rgb,
    shaded,
    smooth,
    varied,
)
from pixelbrax.distractors.videos.scenes.sky import clouds, sky

_Rng = np.random.Generator


def street(rng: _Rng, view: View) -> Array:
    """Houses with windows, traffic on two lanes, lamp posts; the camera moves along."""
    high, low, sun, asphalt, lit, unlit = colors(
        view.turn(
            [
                "4a88d0 c8e0f0 fff4d0 55565a c8dce8 304050",
                "30346c f09868 ffc878 3c3a44 ffd880 3a3c58",
                "0c1028 28305c d0d8ff 1c1d26 ffe090 141828",
                "98a4ac d0d4d4 ffffff 62646a e8e8d0 3c444c",
            ],
        )
    )
    dark = float(np.clip(1.35 - low.mean(), 0.45, 1.0)) if low.mean() > 0.4 else 0.4
    pan = flip(rng) * rng.uniform(0.45, 0.85) * view.t
    noise, kerb = Noise(rng), rng.uniform(0.3, 0.45)
    parts: list[Part] = [sky(view, high, low, 0.2, sun, (rng.uniform(-0.8, 0.8), rng.uniform(-0.8, -0.3)), 0.07)]
    parts.append(clouds(view, noise, 0.1 * pan, blend(low, np.ones(3), 0.4), rng.uniform(-0.3, 0.2), 0.2))
    palette = colors("a8503c c8a078 d8c8a8 8890a0 705048 b86848 e0d8c8 687868 c89048 906878 5878a0 d09088")
    for depth, haze in ((0.35, 0.55), (1.0, 0.0)):
        houses = []
        x = depth * pan.min() - 1.3
        while x < depth * pan.max() + 1.2:
            wide = rng.uniform(0.2, 0.5) * (0.5 + 0.5 * depth)
            top = rng.uniform(-0.95, -0.35) if depth < 1 else rng.uniform(-0.75, 0.02)
            wall = blend(varied(rng, pick(rng, palette)) * dark, low, haze)
            houses.append((x, x + wide, top, wall, rng.uniform(0.085, 0.14), rng.uniform(0.11, 0.17), rng.random(4)))
            x += wide + (0.0 if rng.random() < 0.7 else rng.uniform(0.02, 0.12))

        def draw(canvas: Canvas, houses=houses, haze=haze) -> None:
            for i, house in enumerate(houses):
                _house(canvas.window(house[0], house[1], house[2] - 0.1, kerb), house, noise, kerb, haze, lit, unlit, i)

        parts.append(Layer(view, depth * pan, draw))
    parts.append(Layer(view, pan, lambda canvas: _road(canvas, kerb, asphalt, noise)))
    for lane, way, size in ((kerb + 0.16, 1, 0.85), (kerb + 0.36, -1, 1.15)):
        cars = [
            (
                x + rng.uniform(0, 0.4),
                varied(rng, pick(rng, colors("c02828 2858b0 e8e8e8 202428 d8a820 388048 a0a8b0"))),
            )
            for x in np.arange(-4, 4, 0.95)
        ]
        dx = pan * (1 + 0.15 * size) - way * rng.uniform(0.5, 0.9) * view.t

        def traffic(canvas: Canvas, lane=lane, way=way, size=size, cars=cars) -> None:
            for x, color in cars:
                _car(canvas, x, lane, way, 0.17 * size, color * (0.5 + 0.5 * dark))

        parts.append(Layer(view, dx, traffic))
    posts = np.arange(-4, 4, 0.9) + rng.uniform(0, 0.9)

    def lamps(canvas: Canvas) -> None:
        for x in posts:
            canvas.box(x - 0.012, x + 0.012, -0.55, 1.2, rgb("202420"))
            canvas.box(x, x + 0.16, -0.56, -0.53, rgb("202420"))
            canvas.disc(x + 0.16, -0.52, 0.04, 0.03, lit if dark < 0.7 else rgb("e8e8e0"))

    if rng.random() < 0.6:
        parts.append(Layer(view, 1.5 * pan, lamps))
    return compose(view, parts)


def _house(c: Canvas, house, noise: Noise, kerb: float, haze: float, lit: Array, unlit: Array, number: int) -> None:
    left, right, top, wall, across, down, draws = house
    if not c.rgba.size:
        return
    grain = noise(c, 0.09, 4, 0.95, lift=2.0 * number)
    inside = c.in_box(left, right, top, kerb)
    c.over(shaded(wall, (1 - haze) * 0.22 * grain), inside)
    c.box(left - 0.01, right + 0.01, top - 0.025, top + 0.015, wall * 0.6)
    u, v = (c.x - left - 0.02) / across, (c.y - top - 0.04) / down
    is_lit = noise.cells(u + 9 * number, v + 3) > 0.2 + draws[0] * 0.6
    pane = np.where(is_lit, lit[:, None, None], unlit[:, None, None]) * (1 + 0.25 * noise.cells(u + 5, v + 9 * number))
    pane = blend(pane, wall, haze * np.ones(pane.shape[1:]))
    fu, fv = np.abs(u - np.floor(u) - 0.5) * across, np.abs(v - np.floor(v) - 0.5) * down
    window = c.inside(0.3 * across - fu) * c.inside(0.32 * down - fv) * (np.floor(v) >= 0)
    window = window * (np.floor(u) >= 0) * (np.floor(u) < np.floor((right - left - 0.04) / across))
    c.over(np.clip(pane, 0, 1), window * (c.y < kerb - 0.2))
    c.over(wall * 0.55, 0.8 * c.inside(0.006 - np.abs(fu)) * window)
    if haze == 0:  # a shop
        sign = blend(np.array([draws[1], draws[2], draws[3]]), wall, 0.2)
        c.over(unlit * 1.2, c.in_box(left + 0.02, right - 0.02, kerb - 0.15, kerb))
        c.over(lit * 0.85, c.in_box(left + 0.04, left + 0.45 * (right - left), kerb - 0.13, kerb - 0.03))
        stripes = 0.75 + 0.25 * np.sign(np.sin(c.x * 90))
        c.over(sign[:, None, None] * stripes, c.in_box(left + 0.01, right - 0.01, kerb - 0.19, kerb - 0.13))


def _road(c: Canvas, kerb: float, asphalt: Array, noise: Noise) -> None:
    part = c.window(-99, 99, kerb, 2)
    if not part.rgba.size:
        return
    grain = noise(part, 0.06, 4, 1.0, stretch=1.5)
    part.over(shaded(np.clip(asphalt * 1.7, 0, 1), 0.15 * grain), part.inside(part.y - kerb + 0 * part.x))
    part.over(shaded(asphalt, 0.2 * grain), part.inside(part.y - kerb - 0.07 + 0 * part.x))
    dashes = part.inside(0.09 - np.abs(np.mod(part.x, 0.4) - 0.2))
    part.over(np.array([0.85, 0.85, 0.8]), 0.8 * dashes * part.inside(0.012 - np.abs(part.y - kerb - 0.25)))


def _car(canvas: Canvas, x: float, foot: float, way: int, size: float, color: Array) -> None:
    """A car, seen from the side, that drives in direction `way`; `size` is half its length."""
    c = canvas.window(x - 1.1 * size, x + 1.1 * size, foot - size, foot + 0.1 * size)
    if not c.rgba.size:
        return
    u, v = (c.x - x) * way / size, (c.y - foot) / size
    roof = np.minimum(0.62 - np.abs(u + 0.1) - 0.55 * (-0.4 - v), v + 0.82) * size
    c.over(np.zeros(3), 0.5 * c.in_disc(x, foot, size, 0.08 * size))
    c.over(color * 0.9, c.inside(np.minimum(roof, (-0.3 - v) * size)))
    c.over(rgb("283440"), c.inside(np.minimum(roof - 0.08 * size, (-0.44 - v) * size)))
    c.over(color, c.inside(0.03 * size - np.abs(c.x - x + 0.1 * size * way)) * c.inside((-0.4 - v) * size) * (v > -0.8))
    c.over(shaded(color, -0.5 * (v + 0.35)), c.in_box(x - size, x + size, foot - 0.48 * size, foot - 0.13 * size))
    for wheel in (-0.58, 0.6):
        c.over(rgb("141416"), c.in_disc(x + wheel * size, foot - 0.12 * size, 0.19 * size, 0.19 * size))
        c.over(rgb("90949a"), c.in_disc(x + wheel * size, foot - 0.12 * size, 0.09 * size, 0.09 * size))
    c.over(rgb("fff0a0"), c.in_disc(x + 0.95 * size * way, foot - 0.35 * size, 0.06 * size, 0.07 * size))
    c.over(rgb("d02020"), c.in_disc(x - 0.96 * size * way, foot - 0.35 * size, 0.05 * size, 0.07 * size))


def crowd(rng: _Rng, view: View) -> Array:
    """People who walk past a wall with posters."""
    wall, pave = colors(
        view.turn(
            ["b06848 908c88", "c8b898 787470", "7088a0 a8a49c", "b8bcc0 5c5c60", "687858 988c78", "d0a8a0 807880"]
        )
    )
    wall = varied(rng, wall)
    pan = rng.uniform(-0.5, 0.5) * view.t
    noise, foot, brick = Noise(rng), rng.uniform(0.3, 0.45), rng.random() < 0.6
    posters = []
    x = -2.2
    while x < 2.2:
        x += rng.uniform(0.3, 0.7)
        shapes = [
            (*rng.uniform(-0.8, 0.8, 2), rng.uniform(0.1, 0.6), rng.uniform(0, 1, 3), rng.random() < 0.5)
            for _ in range(7)
        ]
        posters.append(
            (x, rng.uniform(-0.6, -0.3), rng.uniform(0.12, 0.2), rng.uniform(0.18, 0.3), rng.uniform(0, 1, 3), shapes)
        )

    def draw(canvas: Canvas) -> None:
        grain = noise(canvas, 0.3, 5, 0.9)
        light = 0.16 * grain
        if brick:
            row = np.floor(canvas.y / 0.07)
            u, v = canvas.x / 0.16 + 0.5 * np.mod(row, 2), canvas.y / 0.07
            joint = np.minimum(
                0.08 - np.abs(u - np.floor(u) - 0.5) * 0.16, 0.035 - np.abs(v - np.floor(v) - 0.5) * 0.07
            )
            light = light + 0.15 * noise.cells(u, v) - 0.25 * (1 - canvas.inside(joint - 0.006))
        canvas.over(shaded(wall, light))
        for x, y, rx, ry, paper, shapes in posters:
            canvas.box(x - rx, x + rx, y - ry, y + ry, np.clip(paper * 0.8 + 0.2, 0, 1))
            part = canvas.window(x - rx * 0.9 + canvas.pitch, x + rx * 0.9 - canvas.pitch, y - ry * 0.9, y + ry * 0.9)
            for px, py, size, color, is_box in shapes:
                if is_box:
                    part.box(x + rx * (px - size), x + rx * (px + size), y + ry * py, y + ry * (py + 0.4 * size), color)
                else:
                    part.disc(x + rx * px, y + ry * py, rx * size, rx * size, color)
        part = canvas.window(-99, 99, foot - 0.2, 2)
        stones = noise(part, 0.1, 4, 0.95, stretch=2.0)
        u, v = part.x / (0.35 + 0.3 * (part.y - foot + 0.2)), np.log(np.maximum(part.y - foot + 0.6, 0.05)) * 6
        joint = 0.5 - np.maximum(np.abs(u - np.floor(u) - 0.5), np.abs(v - np.floor(v) - 0.5))
        light = 0.16 * stones - 0.25 * smooth(0.05, 0.0, joint)
        part.over(shaded(pave, light), part.inside(part.y - foot + 0.15 + 0 * part.x))

    parts: list[Part] = [Layer(view, pan, draw)]
    count = int(rng.integers(8, 13))
    for i in range(count):
        near = i / (count - 1)
        parts.append(_walker(rng, view, pan, foot + 0.42 * near, 0.62 + 0.3 * near))
    return compose(view, parts)


@dataclass(frozen=True)
class _Walker:
    """Somebody walking.

    Attributes:
      phase: (frame,) of the steps, radians.
      way: 1 to the right, -1 to the left.
      tall: height.
      wide: half of the trunk's width, as a share of the height.
      shirt, legs, skin, hair: colors.
      skirt: whether there is one.
      bag: its color, if there is one.
    """

    phase: Array
    way: float
    tall: float
    wide: float
    shirt: Array
    legs: Array
    skin: Array
    hair: Array
    skirt: bool
    bag: Array | None

    def draw(self, canvas: Canvas, frames: Array) -> None:
        """Draws it around the canvas's origin."""
        c, tall = Canvas(canvas.x * self.way, canvas.y, canvas.pitch, canvas.rgba), self.tall
        swing = self.phase[frames, None, None]
        bob = 0.012 * tall * np.cos(2 * swing)
        hip, shoulder, head = 0.02 * tall + bob, -0.27 * tall + bob, -0.4 * tall + bob
        self._arm(c, swing, shoulder, -1, 0.7)
        self._leg(c, swing, hip, -1, 0.75)
        self._leg(c, swing, hip, 1, 1.0)
        if self.skirt:
            flare = 0.06 * tall + 0.35 * (c.y - hip) - np.abs(c.x)
            hem = np.minimum(c.y - hip + 0.04 * tall, hip + 0.2 * tall - c.y)
            c.over(self.shirt * 0.85, c.inside(np.minimum(flare, hem)))
        c.over(self.shirt, c.in_limb(0.0, shoulder + 0.03 * tall, 0.0, hip - 0.02 * tall, self.wide * tall))
        if self.bag is not None:
            ends = -0.12 * tall, shoulder + 0.07 * tall, -0.12 * tall, shoulder + 0.2 * tall
            c.over(self.bag, c.in_limb(*ends, 0.07 * tall))
        self._arm(c, swing, shoulder, 1, 0.88)
        c.over(self.skin, c.in_limb(0.0, shoulder, 0.01 * tall, head, 0.03 * tall))
        c.over(self.hair, c.in_disc(-0.012 * tall, head - 0.012 * tall, 0.068 * tall, 0.078 * tall))
        c.over(self.skin, c.in_disc(0.018 * tall, head + 0.012 * tall, 0.05 * tall, 0.06 * tall))

    def _leg(self, c: Canvas, swing: Array, hip: Array, sign: int, dark: float) -> None:
        angle, bend = 0.5 * np.sin(swing) * sign, -0.35 - 0.35 * np.cos(swing) * sign
        joints = _limb(angle, bend, hip, 0.23 * self.tall, 0.23 * self.tall)
        x, y = _draw_limb(c, joints, self.legs * dark, 0.045 * self.tall)
        c.over(rgb("201c1c"), c.in_limb(x, y, x + 0.06 * self.tall, y + 0.005, 0.026 * self.tall))

    def _arm(self, c: Canvas, swing: Array, shoulder: Array, sign: int, dark: float) -> None:
        angle, top = -0.55 * np.sin(swing) * sign, shoulder + 0.02 * self.tall
        joints = _limb(angle, 0.35, top, 0.15 * self.tall, 0.14 * self.tall)
        x, y = _draw_limb(c, joints, self.shirt * dark, 0.033 * self.tall)
        c.over(self.skin, c.in_disc(x, y, 0.03 * self.tall, 0.03 * self.tall))


_Joints = tuple[float, Array, Array, Array, Array, Array]


def _limb(angle: Array, bend: Array | float, top: Array, upper: float, lower: float) -> _Joints:
    """X and y of a limb's top, of its knee or elbow, and of its end."""
    knee_x, knee_y = upper * np.sin(angle), top + upper * np.cos(angle)
    end_x, end_y = knee_x + lower * np.sin(angle + bend), knee_y + lower * np.cos(angle + bend)
    return 0.0, top, knee_x, knee_y, end_x, end_y


def _draw_limb(canvas: Canvas, joints: _Joints, color: Array, radius: float) -> tuple[Array, Array]:
    """Draws a limb, and returns x and y of its end."""
    canvas.over(color, canvas.in_limb(*joints[:4], radius))
    canvas.over(color, canvas.in_limb(*joints[2:], radius * 0.8))
    return joints[4], joints[5]


def _walker(rng: _Rng, view: View, pan: Array, foot: float, tall: float) -> Sprite:
    """Somebody walking; `foot` is where the feet are, `tall` the height."""
    way, speed = flip(rng), rng.uniform(0.35, 0.75)
    x = rng.uniform(-1.3, 1.3) + way * speed * view.t - pan
    phase = rng.uniform(0, 6.3) + 2 * np.pi * speed * view.t / (0.75 * tall)
    shirt = varied(rng, rng.uniform(0.1, 0.9, 3))
    legs = varied(rng, pick(rng, colors("283858 202020 706050 504038 a09880")))
    skin = pick(rng, colors("f0c8a8 d8a078 a87048 704828 4c3020"))
    hair = pick(rng, colors("201810 604020 c8a050 808080 a04820"))
    wide, skirt, has_bag = rng.uniform(0.085, 0.115), rng.random() < 0.3, rng.random() < 0.35
    bag = rng.uniform(0.1, 0.8, 3)
    walker = _Walker(phase, way, tall, wide, shirt, legs, skin, hair, skirt, bag if has_bag else None)
    return Sprite(view, x, foot - 0.49 * tall + 0 * x, 0.36 * tall, 0.54 * tall, walker.draw)
