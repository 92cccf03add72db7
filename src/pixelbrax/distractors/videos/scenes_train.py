"""Families of scenes to train on: hills, streets, forests, seas, crowds."""

import numpy as np

from pixelbrax.distractors.videos.scene_drawing import (
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

_Rng = np.random.Generator


def _sky(
    view: View, high: Array, low: Array, horizon: float, sun: Array, at: tuple[float, float], size: float
) -> Layer:
    """A gradient with the sun."""

    def draw(canvas: Canvas) -> None:
        canvas.over(blend(high, low, smooth(-1.1, horizon, canvas.y + 0 * canvas.x)))
        away = np.sqrt((canvas.x - at[0]) ** 2 + (canvas.y - at[1]) ** 2)
        canvas.over(sun, 0.55 * np.exp(-3.5 * away))
        canvas.disc(*at, size, size, blend(sun, np.ones(3), 0.6))

    return Layer(view, 0.0, draw)


def _clouds(view: View, noise: Noise, dx: Array, color: Array, cover: float, horizon: float) -> Layer:
    """Clouds that are bright above and gray below."""

    def draw(canvas: Canvas) -> None:
        density = noise(canvas, 0.5, 5, 0.6, stretch=2.2)
        light = density - noise(canvas, 0.5, 5, 0.6, stretch=2.2, lift=-0.07)
        edge = smooth(0.1, 0.45, density + cover)
        canvas.over(shaded(color, 0.45 * light - 0.12), edge * smooth(horizon + 0.15, horizon - 0.35, canvas.y))

    return Layer(view, dx, draw)


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
    parts: list[Part] = [_sky(view, high, low, horizon + 0.3, sun, sun_at, rng.uniform(0.06, 0.12))]
    drift = 0.15 * pan + rng.uniform(-0.3, 0.3) * view.t
    parts.append(_clouds(view, noise, drift, cloud, rng.uniform(-0.1, 0.35), horizon + 0.3))
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
    parts: list[Part] = [_sky(view, high, low, 0.2, sun, (rng.uniform(-0.8, 0.8), rng.uniform(-0.8, -0.3)), 0.07)]
    parts.append(_clouds(view, noise, 0.1 * pan, blend(low, np.ones(3), 0.4), rng.uniform(-0.3, 0.2), 0.2))
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
        _sky(view, high, low, horizon, sun, (sun_x, horizon - rng.uniform(0.12, 0.5)), rng.uniform(0.08, 0.15)),
        _clouds(view, noise, drift, blend(low, np.ones(3), 0.35), rng.uniform(-0.1, 0.3), horizon),
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


def _walker(rng: _Rng, view: View, pan: Array, foot: float, tall: float) -> Sprite:
    """Somebody walking; `foot` is where the feet are, `tall` the height."""
    way, speed = flip(rng), rng.uniform(0.35, 0.75)
    x = rng.uniform(-1.3, 1.3) + way * speed * view.t - pan
    phase = rng.uniform(0, 6.3) + 2 * np.pi * speed * view.t / (0.75 * tall)
    shirt, legs = (
        varied(rng, rng.uniform(0.1, 0.9, 3)),
        varied(rng, pick(rng, colors("283858 202020 706050 504038 a09880"))),
    )
    skin, hair = (
        pick(rng, colors("f0c8a8 d8a078 a87048 704828 4c3020")),
        pick(rng, colors("201810 604020 c8a050 808080 a04820")),
    )
    wide, skirt, bag = rng.uniform(0.085, 0.115), rng.random() < 0.3, rng.random() < 0.35
    bag_color = rng.uniform(0.1, 0.8, 3)

    def draw(canvas: Canvas, frames: Array) -> None:
        c = Canvas(canvas.x * way, canvas.y, canvas.pitch, canvas.rgba)
        swing = phase[frames, None, None]
        bob = 0.012 * tall * np.cos(2 * swing)
        hip, shoulder, head = 0.02 * tall + bob, -0.27 * tall + bob, -0.4 * tall + bob

        def limb(angle, bend, top, upper, lower, color, radius):
            knee_x, knee_y = upper * np.sin(angle), top + upper * np.cos(angle)
            end_x, end_y = knee_x + lower * np.sin(angle + bend), knee_y + lower * np.cos(angle + bend)
            c.over(color, c.in_limb(0.0, top, knee_x, knee_y, radius))
            c.over(color, c.in_limb(knee_x, knee_y, end_x, end_y, radius * 0.8))
            return end_x, end_y

        def side(sign, dark):
            angle = 0.5 * np.sin(swing) * sign
            bend = -0.35 - 0.35 * np.cos(swing) * sign
            end = limb(angle, bend, hip, 0.23 * tall, 0.23 * tall, legs * dark, 0.045 * tall)
            c.over(rgb("201c1c"), c.in_limb(end[0], end[1], end[0] + 0.06 * tall, end[1] + 0.005, 0.026 * tall))

        def arm(sign, dark):
            end = limb(
                -0.55 * np.sin(swing) * sign,
                0.35,
                shoulder + 0.02 * tall,
                0.15 * tall,
                0.14 * tall,
                shirt * dark,
                0.033 * tall,
            )
            c.over(skin, c.in_disc(end[0], end[1], 0.03 * tall, 0.03 * tall))

        arm(-1, 0.7)
        side(-1, 0.75)
        side(1, 1.0)
        if skirt:
            c.over(
                shirt * 0.85,
                c.inside(
                    np.minimum(
                        0.06 * tall + 0.35 * (c.y - hip) - np.abs(c.x),
                        np.minimum(c.y - hip + 0.04 * tall, hip + 0.2 * tall - c.y),
                    )
                ),
            )
        c.over(shirt, c.in_limb(0.0, shoulder + 0.03 * tall, 0.0, hip - 0.02 * tall, wide * tall))
        if bag:
            c.over(
                bag_color,
                c.in_limb(-0.12 * tall, shoulder + 0.07 * tall, -0.12 * tall, shoulder + 0.2 * tall, 0.07 * tall),
            )
        arm(1, 0.88)
        c.over(skin, c.in_limb(0.0, shoulder, 0.01 * tall, head, 0.03 * tall))
        c.over(hair, c.in_disc(-0.012 * tall, head - 0.012 * tall, 0.068 * tall, 0.078 * tall))
        c.over(skin, c.in_disc(0.018 * tall, head + 0.012 * tall, 0.05 * tall, 0.06 * tall))

    return Sprite(view, x, foot - 0.49 * tall + 0 * x, 0.36 * tall, 0.54 * tall, draw)


FAMILIES = (hills, street, forest, sea, crowd)
