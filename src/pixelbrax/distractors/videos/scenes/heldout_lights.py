"""Held-out families: aquariums, fireworks."""

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

_Rng = np.random.Generator


def aquarium(rng: _Rng, view: View) -> Array:
    """Fish, bubbles and weeds in front of rocks, under rays of light."""
    light, water, deep, sand, rock = colors(
        view.turn(
            [
                "a0f0f8 2090c0 083878 d8c890 485868",
                "c0f8d8 28a890 084848 b8b078 405048",
                "c8e0ff 4868d0 181850 a090b0 383860",
                "90e8e0 107098 041c38 808878 203038",
            ],
        )
    )
    noise, floor, slant = Noise(rng), rng.uniform(0.5, 0.7), rng.uniform(-0.5, 0.5)
    pan = rng.uniform(-0.25, 0.25) * view.t
    corals = [
        (
            rng.uniform(-1.6, 1.6),
            rng.uniform(-0.02, 0.3),
            rng.uniform(0.02, 0.07),
            varied(rng, pick(rng, colors("f06070 f0a030 c050c0 f0e060 e08090 60c080"))),
        )
        for _ in range(110)
    ]

    def background(canvas: Canvas) -> None:
        depth = canvas.y + 0.1 * noise(canvas, 0.5, 4, 0.8)
        canvas.over(blend(blend(light, water, smooth(-1.3, -0.1, depth)), deep, smooth(-0.4, 0.8, depth)))
        for lift, far in ((0.0, 0.6), (4.0, 0.25)):
            top = floor - (0.1 + 0.45 * far) - 0.3 * noise.line(canvas.x, 0.45, 5, 0.6, row=int(lift))
            grain = noise(canvas, 0.2, 5, 0.95, lift=lift)
            canvas.over(shaded(blend(rock, water, far), 0.45 * grain), canvas.inside(canvas.y - top))
        for x, up, size, color in corals:
            canvas.disc(x, floor - up * (0.5 + 0.5 * np.sin(5 * x)), size, size, color * 0.55)
            canvas.disc(
                x - 0.2 * size, floor - up * (0.5 + 0.5 * np.sin(5 * x)) - 0.2 * size, 0.7 * size, 0.7 * size, color
            )
        grain = noise(canvas, 0.12, 5, 1.0, stretch=1.6)
        canvas.over(shaded(sand, 0.28 * grain), canvas.inside(canvas.y - floor - 0.04 * noise.line(canvas.x, 0.4, 3)))

    parts: list[Part] = [Layer(view, pan, background)]
    for side in (-1, 1):

        def rays(canvas: Canvas, side=side) -> None:
            beam = noise.line(canvas.x - slant * (canvas.y + 1), 0.25, 3, 0.7, row=20 + side)
            canvas.over(light, 0.4 * smooth(0.1, 0.9, beam) * smooth(0.8, -1.0, canvas.y))

        parts.append(Layer(view, pan + side * 0.2 * view.t, rays))
    parts += [_weed(rng, view, pan, floor) for _ in range(int(rng.integers(5, 9)))]
    parts += [_fish(rng, view, pan, floor, 0.09 + 0.012 * i) for i in range(int(rng.integers(9, 15)))]
    for _ in range(4):
        x, way = rng.uniform(-0.9, 0.9), rng.uniform(0, 6.3)
        for _ in range(5):
            size, start, speed = rng.uniform(0.012, 0.035), rng.uniform(-1, 1), rng.uniform(0.35, 0.6)
            y = start - speed * view.t
            y = np.where(y < floor, y, 9.0)
            parts.append(Sprite(view, x + 0.03 * np.sin(5 * y + way) - pan, y, size, size, _bubble(size)))
    return compose(view, parts)


def _bubble(size: float):
    def draw(canvas: Canvas, frames: Array) -> None:
        canvas.over(rgb("e8ffff"), 0.75 * canvas.in_disc(0, 0, size, size))
        canvas.over(rgb("50a0b8"), 0.7 * canvas.in_disc(0.1 * size, 0.12 * size, 0.68 * size, 0.68 * size))

    return draw


def _weed(rng: _Rng, view: View, pan: Array, floor: float) -> Sprite:
    tall, x, phase, rate = rng.uniform(0.35, 0.9), rng.uniform(-1.2, 1.2), rng.uniform(0, 6.3), rng.uniform(2, 3.5)
    color, blades = varied(rng, pick(rng, colors("308838 789828 186850 a04038"))), rng.uniform(-0.1, 0.1, 4)

    def draw(canvas: Canvas, frames: Array) -> None:
        up = np.clip((tall / 2 - canvas.y) / tall, 0, 1)
        for i, lean in enumerate(blades):
            sway = 0.07 * up * np.sin(phase + i + 5 * up - rate * view.t[frames, None, None]) + lean * up
            width = 0.026 * (1 - up**2 * (1 + i) / 5) + 0.008 * np.sin(40 * up + i)
            canvas.over(color * (0.65 + 0.15 * i), canvas.inside(width - np.abs(canvas.x - sway - 0.03 * (i - 1.5))))

    return Sprite(view, x - pan, floor + 0.05 - tall / 2 + 0 * pan, 0.3, tall / 2, draw)


def _fish(rng: _Rng, view: View, pan: Array, floor: float, size: float) -> Sprite:
    """A fish; `size` is half its length."""
    way, speed = flip(rng), rng.uniform(0.25, 0.7)
    x, y = rng.uniform(-1, 1) + way * speed * view.t - pan, rng.uniform(-0.8, floor - 0.15)
    y = y + rng.uniform(0.02, 0.06) * np.sin(rng.uniform(1.5, 3) * view.t + rng.uniform(0, 6.3))
    pair = pick(
        rng,
        [
            "f08020 ffffff",
            "f8d828 203040",
            "3060e0 f8e040",
            "e03048 f8d0c0",
            "e8e8f0 303040",
            "a050d0 f0c0f0",
            "40c890 104838",
        ],
    )
    body, stripe = (varied(rng, color) for color in colors(pair))
    tall, stripes, wag = rng.uniform(0.4, 0.75), rng.uniform(0, 6), rng.uniform(9, 14)

    def draw(canvas: Canvas, frames: Array) -> None:
        u, v = canvas.x * way / size, canvas.y / size
        bend = 0.1 * np.sin(wag * view.t[frames, None, None] + 2.5 * u) * np.clip(0.4 - u, 0, 2)
        v = v - bend
        narrow = 0.55 + 0.45 * np.sin(wag * view.t[frames, None, None])
        tail = np.minimum(-u - 0.5, np.minimum(0.98 + u, (-u - 0.45) * 1.1 - np.abs(v) / (0.6 + 0.4 * narrow)))
        fin = np.minimum(0.3 - np.abs(u), v + 1.25 * tall - 0.4 * (u + 0.3)) * 0.7
        canvas.over(body * 0.7, canvas.inside(size * np.minimum(fin, -v)))
        canvas.over(stripe * 0.6 + body * 0.4, canvas.inside(size * tail))
        inside = canvas.inside(size * tall * (1 - np.sqrt(((u - 0.1) / 0.72) ** 2 + (v / tall) ** 2)))
        canvas.over(body * 0.85, inside)
        canvas.over(stripe, inside * smooth(0.2, 0.5, np.sin(stripes + 9 * u)) * (np.abs(u) < 0.5))
        canvas.over(np.ones(3), 0.35 * inside * smooth(0.0, 0.9, v / tall))
        canvas.over(np.zeros(3), 0.3 * inside * smooth(0.2, 0.9, -v / tall))
        canvas.over(np.ones(3), canvas.inside(size * (0.11 - np.sqrt((u - 0.55) ** 2 + (v + 0.08) ** 2))))
        canvas.over(np.zeros(3), canvas.inside(size * (0.06 - np.sqrt((u - 0.57) ** 2 + (v + 0.08) ** 2))))

    return Sprite(view, x, y, 1.1 * size, size, draw)


def fireworks(rng: _Rng, view: View) -> Array:
    """Fireworks over a skyline and its reflection in a river."""
    high, low = colors(view.turn(["080818 303058", "100818 502848", "041018 184050", "181020 60404c"]))
    noise, shore = Noise(rng), rng.uniform(0.3, 0.5)
    towers, x = [], -1.1
    while x < 1.1:
        wide = rng.uniform(0.08, 0.24)
        towers.append((x, x + wide, shore - rng.uniform(0.1, 0.5), rng.uniform(0.03, 0.12), rng.uniform(-0.3, 0.4)))
        x += wide + rng.uniform(-0.02, 0.05)

    def town(canvas: Canvas) -> None:
        canvas.over(blend(high, low, smooth(-1.0, shore, canvas.y + 0 * canvas.x)))
        smoke = noise(canvas, 0.6, 6, 0.85)
        canvas.over(blend(low, np.ones(3), 0.3), 0.5 * smooth(-0.4, 1.2, smoke))
        for n, (left, right, top, tone, lit) in enumerate(towers):
            c = canvas.window(left, right, top, 2)
            if c.rgba.size:
                c.over(tone + 0.3 * low, c.in_box(left, right, top, 2))
                u, v = (c.x - left) / 0.045, (c.y - top) / 0.055
                pane = np.maximum(
                    np.abs(u - np.floor(u) - 0.5) * 0.045 - 0.013, np.abs(v - np.floor(v) - 0.5) * 0.055 - 0.016
                )
                glow = blend(rgb("ffd070"), rgb("c0e0ff"), 0.5 + 0.5 * noise.cells(u + n, v))
                c.over(glow, c.inside(-pane) * c.in_box(left, right, top, 2) * (noise.cells(u, v + 5 * n) > lit))

    parts: list[Part] = [Layer(view, 0.0, town)]
    starts = [-0.3 + 0.23 * i + rng.uniform(-0.1, 0.1) for i in range(9)]
    for start in starts:
        parts += _burst(rng, view, start, shore)
    frames = compose(view, parts)
    ages = view.t[:, None] - np.array(starts)
    flash = 0.06 * (np.exp(-4 * np.maximum(ages, 0)) * smooth(-0.02, 0.06, ages)).sum(1)
    ripple, phase = rng.uniform(60, 90), rng.uniform(0, 6.3)
    first = int(np.searchsorted(view.y[:, 0], shore))
    rows = np.arange(first, view.height)
    if len(rows) and first:
        depth = (view.y[rows, 0] - shore)[:, None]
        for i, image in enumerate(frames):
            wave = np.sin(ripple * depth / (0.4 + depth) + 9 * view.x * (1 - depth) - 5 * view.t[i] + phase)
            wave = wave + 0.6 * np.sin(1.7 * ripple * depth / (0.4 + depth) - 14 * view.x - 7 * view.t[i])
            up = shore - depth * 1.25 + 0.03 * wave * (0.2 + depth)
            row = np.clip(np.round((up - view.y[0, 0]) / view.pitch).astype(int), 0, first - 1)
            column = np.arange(view.width) + np.round(0.03 * wave * depth / view.pitch).astype(int)
            mirror = image[:, row, np.clip(column, 0, view.width - 1)]
            image[:, first:] = (0.62 + 0.15 * wave) * mirror + 0.05 * low[:, None, None] + flash[i]
    return frames


def _burst(rng: _Rng, view: View, start: float, shore: float) -> list[Part]:
    """A rocket that rises and bursts into sparks; it bursts at `start` seconds."""
    x, y, size = rng.uniform(-0.8, 0.8), rng.uniform(-0.8, shore - 0.65), rng.uniform(0.4, 0.62)
    pair = pick(
        rng, ["ff4030 ffd080", "40ff60 f0ffc0", "5080ff d0e0ff", "ffd030 ffffff", "ff50d0 ffd0f0", "40e8f0 ffffff"]
    )
    color, tip = colors(pair)
    count, table = int(rng.integers(18, 30)), rng.uniform(0, 1, (2, 3, 32))
    age = view.t - start
    alive = (age > 0) & (age < 1.3)
    away = np.where(alive, 0.0, 9.0)

    def draw(canvas: Canvas, frames: Array) -> None:
        time = age[frames, None, None]
        radius = np.sqrt(canvas.x**2 + canvas.y**2) + 1e-9
        angle = np.arctan2(canvas.y, canvas.x) / (2 * np.pi)
        fade = smooth(1.3, 0.5, time)
        total = 0.35 * np.exp(-((radius / (0.12 + 0.1 * time)) ** 2)) * smooth(0.5, 0.0, time)
        hot = total
        for ring, (shift, speed, twinkle) in enumerate(table):
            spoke = angle * count + 0.5 * ring
            index = np.floor(spoke).astype(int) % count
            beside = (spoke - np.floor(spoke) - 0.3 - 0.4 * shift[index]) / count * 2 * np.pi * radius
            head = size * (0.55 + 0.45 * speed[index]) * (1 - 0.3 * ring) * (1 - np.exp(-3.0 * time))
            behind = (head - radius) / size
            trail = np.exp(-3.5 * np.maximum(behind, 0)) * smooth(-0.03, 0.0, behind)
            thin = 0.014 + 0.5 * canvas.pitch
            streak = trail * np.exp(-((beside / thin) ** 2)) * (0.6 + 0.4 * np.sin(9 * time + 6 * twinkle[index]))
            total = total + streak * smooth(0.0, 0.1, radius)
            hot = hot + streak * np.exp(-20 * np.maximum(behind, 0))
        value = np.clip(total * fade * 1.3, 0, 1.2)
        canvas.rgba[:3] = value * blend(color, tip, np.clip(hot, 0, 1))

    fall = 0.12 * np.where(alive, age, 0) ** 2
    rise = np.clip((age + 0.7) / 0.7, 0, 1)
    path = shore + (y - shore) * (1 - (1 - rise) ** 2) + np.where((age > -0.7) & (age < 0), 0, 9)

    def rocket(canvas: Canvas, frames: Array) -> None:
        canvas.rgba[:3] = (
            np.exp(-((canvas.x / 0.014) ** 2))
            * smooth(-0.03, 0.0, canvas.y)
            * np.exp(-canvas.y / 0.05)
            * tip.reshape(3, 1, 1, 1)
        )

    return [
        Sprite(view, x + 0 * age, path, 0.05, 0.15, rocket, glow=True),
        Sprite(view, x + away, y + fall, size * 1.05, size * 1.05, draw, glow=True),
    ]
