"""Families to train on: hills, forests, seas."""

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


def hills(rng: _Rng, view: View) -> Array:
    """Wooded hills behind one another and drifting clouds; the camera pans."""
    high, low, sun, cloud, far, near = colors(
        view.turn(
            [
                "2f6fc0 b9dcf2 fff2c0 ffffff 7fa0b0 4f8a2c",
                "35407c f2a070 ffd080 f0b0a0 8a7898 3c5a30",
                "8fa3ad d5dcdc f4f4e8 e8ecec 8a9a98 54703c",
                "3f86c8 f0deb8 fff0c8 fff6e8 c09878 b4783c",
                "4a90d0 e0e8e0 fff0d0 ffffff 9a8a88 b8642a",
                "203058 6080a8 e8e8ff 8090b0 50648a 203c3c",
            ],
        )
    )
    near, pan = varied(rng, near), flip(rng) * rng.uniform(0.5, 0.9) * view.t
    horizon = rng.uniform(-0.3, 0.1)
    sun_at = rng.uniform(-0.8, 0.8), horizon - rng.uniform(0.15, 0.6)
    noise, ground = Noise(rng), Noise(rng)
    parts: list[Part] = [sky(view, high, low, horizon + 0.3, sun, sun_at, rng.uniform(0.06, 0.12))]
    drift = 0.15 * pan + rng.uniform(-0.3, 0.3) * view.t
    parts.append(clouds(view, noise, drift, cloud, rng.uniform(-0.1, 0.35), horizon + 0.3))
    count = int(rng.integers(3, 6))
    for i in range(count):
        depth = (i + 1) / count
        base, height = horizon + 0.75 * depth**1.6, 0.34 - 0.24 * depth
        color, cell = blend(far, near, depth**0.8), rng.uniform(0.5, 0.9)
        shades = [varied(rng, color, 0.1) for _ in range(3)]

        def draw(canvas: Canvas, i=i, depth=depth, base=base, height=height, cell=cell, shades=shades) -> None:
            top = base + height * ground.line(canvas.x, cell, 3, 0.4, row=11 * i)
            trees = (0.012 + 0.03 * depth) * ground.line(canvas.x, 0.04 + 0.08 * depth, 3, 0.8, row=11 * i + 5)
            below = canvas.y - top
            field = ground(canvas, 0.35, 2, stretch=2.5, lift=3.0 * i)
            color = blend(shades[0], shades[1], smooth(0.0, 0.06, field))
            color = blend(color, shades[2], smooth(0.3, 0.36, field))
            grain = ground(canvas, 0.05 + 0.1 * depth, 4, 0.9, stretch=1.4, lift=7.0 * i)
            light = (0.12 + 0.28 * depth) * grain + 0.25 * smooth(0.25, 0.0, below) - 0.3 * smooth(0.05, 0.02, below)
            canvas.over(shaded(color, light), canvas.inside(below + trees - 0.01))

        parts.append(Layer(view, pan * (0.15 + 0.85 * depth**1.5), draw))
    parts.append(Layer(view, 1.5 * pan, _trees(rng, near, 1.5 * pan, horizon + 0.75)))
    return compose(view, parts)


def _trees(rng: _Rng, color: Array, dx: Array, ground: float):
    """Round trees near the camera."""
    trees = []
    x = dx.min() - 1.2
    while x < dx.max() + 1.2:
        x += rng.uniform(0.3, 1.1)
        size = rng.uniform(0.12, 0.24)
        leaves = [
            (x + size * rng.normal(0, 0.5), rng.normal(0, 0.42) * size, size * rng.uniform(0.15, 0.45), rng.random())
            for _ in range(34)
        ]
        trees.append((x, ground + rng.uniform(-0.1, 0.15), size, sorted(leaves, key=lambda leaf: leaf[3])))

    def draw(canvas: Canvas) -> None:
        for x, foot, size, leaves in trees:
            middle = foot - 2.1 * size
            canvas.box(x - 0.1 * size, x + 0.1 * size, middle, foot, rgb("3a2a1c"))
            for cx, dy, radius, bright in leaves:
                canvas.disc(cx, middle + dy, radius, radius, np.clip(color * (0.35 + 0.9 * bright - dy), 0, 1))

    return draw


def forest(rng: _Rng, view: View) -> Array:
    """Trunks in several depths, leaves that sway; the camera passes by."""
    mist, bark, leaf, soil, glow = colors(
        view.turn(
            [
                "cfe4b0 4a3826 4c8428 5c4c2c fff8c8",
                "a8c4c0 3c3430 2c6444 44483c e8fff0",
                "f0d090 503020 c87820 845028 fff0b0",
                "c0ccd8 40444c 5c7080 c8d0d8 ffffff",
                "e8b8a0 40282c a03828 6c3830 ffe0c0",
                "88a868 2c2418 305c1c 38401c e0f0a0",
            ],
        )
    )
    pan = flip(rng) * rng.uniform(0.4, 0.8) * view.t
    noise, floor = Noise(rng), rng.uniform(0.25, 0.5)
    ray = rng.uniform(-0.6, 0.6)

    def background(canvas: Canvas) -> None:
        away = np.sqrt((canvas.x - ray) ** 2 + (canvas.y + 0.4) ** 2)
        grain = noise(canvas, 0.3, 5, 0.9)
        canvas.over(shaded(blend(glow, mist * 0.9, smooth(0.0, 1.3, away + 0.4 * grain)), 0.12 * grain))

    parts: list[Part] = [Layer(view, 0.1 * pan, background)]
    count = 4
    for i in range(count):
        depth = (i + 1) / count
        speed = 0.2 + 1.1 * depth**1.5
        ground = floor + 0.5 * depth**1.5 - 0.2
        dx = speed * pan
        wood, green, earth = (varied(rng, blend(mist, c, 0.3 + 0.7 * depth), 0.04) for c in (bark, leaf, soil))
        trunks = []
        x = dx.min() - 1.2
        while x < dx.max() + 1.2:
            x += rng.uniform(0.18, 0.55) * (0.5 + 0.8 * depth)
            trunks.append(
                (x, rng.uniform(0.02, 0.055) * (0.4 + 1.6 * depth), rng.normal(0, 0.05), rng.uniform(0.7, 1.2))
            )

        def draw(canvas: Canvas, i=i, depth=depth, ground=ground, wood=wood, earth=earth, trunks=trunks) -> None:
            top = ground + 0.06 * noise.line(canvas.x, 0.4, 5, 0.75, row=9 * i)
            grain = noise(canvas, 0.12, 5, 0.95, stretch=1.6, lift=5.0 * i)
            canvas.over(shaded(earth, 0.28 * depth * grain - 0.12), canvas.inside(canvas.y - top))
            for x, radius, lean, bright in trunks:
                c = canvas.window(x - radius - 0.15, x + radius + 0.15, -2, ground + 0.08)
                if c.rgba.size:
                    u = (c.x - x - lean * (c.y - ground)) / (
                        radius * (1 + 0.25 * smooth(-0.2, 0.0, c.y - ground - 0.05))
                    )
                    rough = noise(c, 0.22, 4, 0.95, stretch=0.16, lift=11 * x)
                    color = shaded(wood * bright, 0.5 * depth * rough - 0.45 * np.clip(u, -1, 1) - 0.1)
                    c.over(color, c.inside((1 - np.abs(u)) * radius) * c.inside(ground + 0.05 - c.y))

        parts.append(Layer(view, dx, draw))
        for side in range(2):
            sway = 0.05 * depth * np.sin(rng.uniform(2, 4) * view.t + rng.uniform(0, 6.3))
            leaves = _leaves(rng, green, dx, depth, ground, side)
            parts.append(Layer(view, dx + sway, leaves, 0.4 * sway))
    return compose(view, parts)


def _leaves(rng: _Rng, color: Array, dx: Array, depth: float, ground: float, side: int):
    """Clusters of leaves: in the crown, or on bushes."""
    spots = []
    for _ in range(int(7 * (dx.max() - dx.min() + 2.4))):
        x = rng.uniform(dx.min() - 1.2, dx.max() + 1.2)
        y = rng.uniform(-1.15, -0.45) if side or rng.random() < 0.5 else ground - rng.uniform(0.0, 0.1)
        for _ in range(9):
            size = (0.018 + 0.036 * depth) * rng.uniform(0.6, 1.6)
            spread = rng.normal(0, 0.05 + 0.06 * depth, 2)
            spots.append((x + spread[0], y + spread[1] * 0.7, size, np.clip(color * rng.uniform(0.5, 1.35), 0, 1)))

    def draw(canvas: Canvas) -> None:
        for x, y, size, shade in spots:
            canvas.disc(x, y, size * 1.2, size * 0.7, shade)

    return draw


def sea(rng: _Rng, view: View) -> Array:
    """Waves to the horizon, the glitter of a low sun, boats."""
    high, low, sun, deep, pale, shine = colors(
        view.turn(
            [
                "2870c8 c0e0f4 fff8d8 0c4878 4898b8 ffffff",
                "38285c f88848 ffd070 281c40 b06058 ffd890",
                "0a1230 304070 e8f0ff 060c20 284068 d8e8ff",
                "788890 c8ccc8 f8f8f0 2c4444 7c9490 e8f0f0",
                "3088b8 f0e8d0 fff0c8 086c74 50c0b0 ffffff",
                "702848 f0a0a0 ffe0b0 301838 985878 ffd0c0",
            ],
        )
    )
    horizon, sun_x = rng.uniform(-0.25, 0.15), rng.uniform(-0.6, 0.6)
    noise, drift = Noise(rng), rng.uniform(-0.35, 0.35) * view.t
    parts: list[Part] = [
        sky(view, high, low, horizon, sun, (sun_x, horizon - rng.uniform(0.12, 0.5)), rng.uniform(0.08, 0.15)),
        clouds(view, noise, drift, blend(low, np.ones(3), 0.35), rng.uniform(-0.1, 0.3), horizon),
    ]
    if rng.random() < 0.6:
        island, color = rng.uniform(-1, 1), blend(deep, low, 0.35)

        def land(canvas: Canvas) -> None:
            height = (
                0.16 * smooth(0.75, 0.1, np.abs(canvas.x - island)) * (1 + 0.5 * noise.line(canvas.x, 0.25, 5, 0.6))
            )
            grain = noise(canvas, 0.08, 4, 0.9)
            canvas.over(shaded(color, 0.25 * grain), canvas.inside(canvas.y - horizon + height))

        parts.append(Layer(view, 0.15 * drift, land))
    water = _water(rng, view, horizon, sun_x, (deep, pale, blend(low, pale, 0.5), shine))
    boats: list[Part] = []
    for _ in range(int(rng.integers(0, 4))):
        size, x, speed = rng.uniform(0.08, 0.22), rng.uniform(-0.9, 0.9), rng.uniform(-0.25, 0.25)
        sail, roll = varied(rng, pick(rng, colors("ffffff f0e0c0 c03030 f0b030"))), rng.uniform(0, 6.3)
        path = horizon + 0.35 * size - 0.4 * size + 0.012 * np.sin(2.5 * view.t + roll)
        boats.append(Sprite(view, x + speed * view.t, path, size, size, _boat(size, sail, np.sign(speed))))
    frames = compose(view, parts)
    for i, image in enumerate(frames):
        water(image, i)
        for boat in boats:
            boat.paint(image, i)
    return frames


def _boat(size: float, sail: Array, way: float):
    def draw(canvas: Canvas, frames: Array) -> None:
        u, v = canvas.x * way / size, canvas.y / size
        for side, wide in ((1, 0.75), (-1, 0.5)):
            canvas.over(
                sail * (0.8 + 0.2 * side),
                canvas.inside(size * np.minimum((v + 0.9) * wide - side * u, side * u)) * (v < 0.45),
            )
        canvas.over(
            rgb("503020"),
            canvas.inside(size * np.minimum(v - 0.5, 0.85 - v)) * canvas.inside(size * (1 - np.abs(u) - v * 0.5)),
        )

    return draw


def _water(rng: _Rng, view: View, horizon: float, sun_x: float, palette: tuple[Array, ...]):
    """A function that paints the water over the lower part of a frame."""
    deep, pale, far, shine = palette
    first = int(np.searchsorted(view.y[:, 0], horizon))
    canvas = Canvas.empty(view.x, view.y[first:], view.pitch)
    below = np.maximum(canvas.y - horizon, view.pitch / 4)
    distance = 0.3 / below
    across, foot = canvas.x * distance, distance * distance * view.pitch / 0.3
    count = 18
    wind = rng.uniform(-0.7, 0.7)
    waves, rates, heights = [], [], []
    for i in range(count):
        number = 11.0 * 1.25**i * rng.uniform(0.9, 1.1)
        angle = wind + rng.normal(0, 0.5)
        kx, kz = number * np.sin(angle), number * np.cos(angle)
        phase = kx * across + kz * distance + rng.uniform(0, 6.3)
        weight = np.exp(-((0.35 * kz * foot) ** 2) - (0.35 * kx * distance * view.pitch) ** 2)
        waves += [weight * np.cos(phase), weight * np.sin(phase)]
        rates.append(1.2 * np.sqrt(number))
        heights.append(0.94**i)
    slopes = np.stack(waves).reshape(2 * count, -1)
    edge = canvas.inside(canvas.y - horizon + 0 * canvas.x)
    far_share = np.exp(-3.5 * below)[None]
    column = np.exp(-(((canvas.x - sun_x) / (0.12 + 0.35 * below)) ** 2))

    def paint(image: Array, frame: int) -> None:
        turn = np.array(rates) * view.t[frame]
        mix = np.stack([np.array(heights) * np.cos(turn), np.array(heights) * np.sin(turn)], 1).reshape(-1)
        slope = (mix @ slopes).reshape(edge.shape) * 0.33
        color = blend(deep, pale, np.clip(0.42 + 0.5 * slope, 0, 1))
        color = color + far_share * (far[:, None, None] - color)
        glitter = column * np.clip(1.6 * slope - 0.5 + 0.6 * column, 0, 1)
        color = color + glitter * (shine[:, None, None] - color)
        image[:, first:] += (edge * (color - image[:, first:])).astype(np.float32)

    return paint
