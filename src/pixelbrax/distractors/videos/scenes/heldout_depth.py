"""Held-out families in perspective: flights over mountains, rooms, tunnels."""

import numpy as np

from pixelbrax.distractors.videos.scenes.drawing import (
    Array,
    Canvas,
    Layer,
    Noise,
    View,
    blend,
    colors,
    compose,
    flip,
    rgb,
    shaded,
    smooth,
    varied,
)

_Rng = np.random.Generator


def mountains(rng: _Rng, view: View) -> Array:
    """A flight over snowy mountains."""
    high, low, sun, snow, rock, wood = colors(
        view.turn(
            [
                "2868c0 c8e4f8 fff8e0 f4f8ff 686470 243c30",
                "302858 f8a878 ffd8a0 ffd8d0 604850 2c2838",
                "8898a8 e0e4e8 ffffff e8ecf0 585c64 303c38",
                "081028 304878 d8e8ff 90a8d8 283048 101c28",
            ],
        )
    )
    noise, horizon = Noise(rng), rng.uniform(-0.4, -0.15)
    sun_x, side = rng.uniform(-0.7, 0.7), flip(rng)
    speed, start, lean = rng.uniform(0.7, 1.1), rng.uniform(0, 40), rng.uniform(-0.25, 0.25)
    valley = rng.uniform(0, 6.3)

    def sky(canvas: Canvas) -> None:
        canvas.over(blend(high, low, smooth(-1.1, horizon + 0.2, canvas.y + 0 * canvas.x)))
        canvas.disc(sun_x, horizon - 0.35, 0.07, 0.07, blend(sun, np.ones(3), 0.5))
        cirrus = noise(canvas, 0.5, 5, 0.7, stretch=3.5)
        canvas.over(blend(low, np.ones(3), 0.5), 0.6 * smooth(0.1, 0.9, cirrus))
        for row, up in ((3, 0.34), (31, 0.2)):
            peak = 0.7 * (1 - np.abs(noise.line(canvas.x, 0.5, 1, row=row)))
            peak = peak + 0.13 * noise.line(canvas.x, 0.22, 5, 0.55, row=row)
            below = canvas.y - horizon - 0.1 + up * peak
            grain = noise(canvas, 0.12, 4, 0.9, stretch=0.5, lift=row)
            light = noise.line(canvas.x + 0.02, 0.14, 4, 0.6, row=row) - noise.line(
                canvas.x - 0.02, 0.14, 4, 0.6, row=row
            )
            color = blend(snow, rock, smooth(0.05, 0.3, below + 0.15 * grain - 0.02))
            color = blend(shaded(color, side * 0.6 * light + 0.15 * grain), low, 0.35 + 0.1 * (row > 5) + 0 * below)
            canvas.over(color, canvas.inside(below))

    frames = compose(view, [Layer(view, 0.08 * lean * view.t, sky)])
    depth = 0.45 * 1.09 ** np.arange(42)
    depth = depth[:, None]
    haze_color = blend(low, sun, 0.15)[:, None, None]
    columns = np.arange(view.width)
    for i, image in enumerate(frames):
        position = start + speed * view.t[i]
        beside = lean * (position - start) + 0.5 * np.sin(valley + 0.5 * position)
        across, along = beside + depth * view.x, position + depth + 0 * view.x
        course = 0.5 * np.sin(valley + 0.5 * along)
        level = 0.75 * smooth(0.2, 2.4, np.abs(across - course)) - 0.2
        for octave in range(5):
            size = 3.0 * 0.5**octave
            ridge = 0.8 - 2.0 * np.abs(noise.at(across / size + 9 * octave, along / size))
            level = level + 0.62 * 0.46**octave * ridge
        top = horizon + (1.45 - level) / depth
        seen = np.minimum.accumulate(top, 0)
        number = np.zeros((view.height, view.width), int)
        for edge in seen:
            number += edge > view.y
        is_sky = number == len(depth)
        number = np.minimum(number, len(depth) - 1)
        before = np.maximum(number - 1, 0)
        rise = top[before, columns] - top[number, columns]
        share = np.where(number > 0, (top[before, columns] - view.y) / np.where(rise > 1e-9, rise, 1), 0)
        share = np.clip(share, 0, 1)

        def between(values: Array, before=before, number=number, share=share) -> Array:
            return values[before, columns] + share * (values[number, columns] - values[before, columns])

        far = depth[before, 0] + share * (depth[number, 0] - depth[before, 0])
        x, z = beside + far * view.x, position + far
        tilt = np.gradient(level, axis=1) / np.gradient(across, axis=1) * side
        climb = np.gradient(level, axis=0) / np.gradient(along, axis=0)
        tilt, climb, here = between(tilt), between(climb), between(level)
        fine = np.clip(1.6 - far * 22 * view.pitch / 0.9, 0, 1)
        grain = noise.at(x * 6, z * 6) + 0.9 * noise.at(x * 16, z * 16) * fine
        grain = grain + 0.9 * noise.at(x * 41, z * 41) * np.clip(1.6 - far * 60 * view.pitch / 0.9, 0, 1)
        steep = np.sqrt(tilt * tilt + climb * climb)
        white = smooth(0.0, 0.2, np.abs(here + 0.05) + 0.2 - 0.3 * steep + 0.28 * grain)
        color = blend(rock, wood, smooth(0.0, -0.2, here + 0.2 * grain)) * (1 + 0.35 * grain)
        color = color + white * (snow[:, None, None] - color)
        color = color * np.clip(0.8 + 0.38 * tilt + 0.1 * climb + 0.1 * grain, 0.25, 1.15)
        haze = np.clip(far / depth[-1, 0], 0, 1)
        color = color + haze * (haze_color - color)
        cover = np.clip((view.y - seen[-1]) / view.pitch + 0.5, 0, 1)
        cover = np.where(is_sky, np.minimum(cover, 0.5), np.maximum(cover, 0.5))
        image += (cover * (np.clip(color, 0, 1) - image)).astype(np.float32)
    return frames


def room(rng: _Rng, view: View) -> Array:
    """A furnished room in perspective, a rolling ball; the camera moves through it."""
    paper, stripe, wood, ceiling, cloth, door = colors(
        view.turn(
            [
                "d8c8a8 c0a880 8c5c34 f0ece0 a03c3c 704828",
                "88a8a0 a0c0b4 b08858 e8f0e8 305870 e8e8e0",
                "c890a0 d8a8b0 58483c f8e8e8 405840 f0f0f0",
                "687898 586888 a89878 d0d4dc d8a030 303850",
                "e0d890 d0c060 684830 f8f4e0 508048 905030",
            ],
        )
    )
    noise = Noise(rng)
    wide, high, long = rng.uniform(1.1, 1.5), 0.8, rng.uniform(2.4, 3.2)
    tiles, turn, mirrored = rng.random() < 0.5, flip(rng), rng.random() < 0.5
    sway, rate, phase = rng.uniform(0.25, 0.45), rng.uniform(0.8, 1.4), rng.uniform(0, 6.3)
    # Boxes: left, right, top, bottom, near, far, color.
    back, sofa, shelf = long - 0.05, cloth, varied(rng, wood)
    boxes = [
        (-0.55, 0.55, 0.35, high, back - 0.5, back - 0.08, sofa),
        (-0.55, 0.55, 0.1, 0.5, back - 0.12, back, sofa * 0.85),
        (-0.68, -0.52, 0.22, high, back - 0.5, back, sofa * 0.92),
        (0.52, 0.68, 0.22, high, back - 0.5, back, sofa * 0.92),
        (wide - 0.35, wide, -0.45, high, long - 1.5, long - 0.8, shelf),
        (-0.35, 0.3, 0.42, 0.47, long - 1.35, long - 0.85, wood * 0.75),
        (-0.32, -0.27, 0.47, high, long - 1.3, long - 1.25, wood * 0.6),
        (0.22, 0.27, 0.47, high, long - 1.3, long - 1.25, wood * 0.6),
        (-wide + 0.05, -wide + 0.4, 0.3, high, long - 1.7, long - 1.2, rng.uniform(0.2, 0.8, 3)),
    ]
    art = rng.uniform(0.1, 0.95, (4, 3))
    outside = varied(rng, rgb("a0d0f8"))
    frames = np.zeros((len(view.t), 3, view.height, view.width), np.float32)
    ball, ball_at, ball_rate = rng.uniform(0.1, 0.9, 3), long - rng.uniform(1.5, 1.7), rng.uniform(1.2, 2.0)
    for i, t in enumerate(view.t):
        eye_x = turn * sway * np.sin(rate * t + phase)
        eye_y, eye_z = 0.05 + 0.04 * np.sin(2 * t + phase), 0.25 * np.cos(0.7 * rate * t + phase)
        ray_x = 0.85 * view.x - 0.25 * eye_x + 0 * view.y
        ray_y = 0.85 * view.y + 1e-9 + 0 * view.x  # never 0
        far = (long - eye_z) + 0 * ray_x
        wall = np.where(ray_x > 0, wide - eye_x, -wide - eye_x) / ray_x
        floor = np.where(ray_y > 0, high - eye_y, -high - eye_y) / ray_y
        hit = np.minimum(far, np.minimum(wall, floor))
        x, y, z = eye_x + hit * ray_x, eye_y + hit * ray_y, eye_z + hit
        is_wall, is_floor = (hit == wall) & (hit < far), (hit == floor) & (hit < far)
        u, v = np.where(is_wall, z, x), np.where(is_floor, z, y)
        grain = noise.at(u * 9, v * 9) + 0.9 * noise.at(u * 22, v * 22)
        soft = 45 / (1 + hit)
        color = blend(paper, stripe, 0.5 + 0.5 * np.tanh(0.2 * soft * np.sin(u * 22)))
        light = np.where(is_wall, 0.85 - 0.1 * turn * np.sign(ray_x), 1.0) + 0.07 * grain
        planks = noise.cells(
            x * (3 if tiles else 7) + 0.5, z * (3 if tiles else 0.9) + 3 * np.floor(x * 7) * (not tiles)
        )
        if tiles:
            planks = np.sign(np.sin(np.pi * 3 * x + 1.57) * np.sin(np.pi * 3 * z))
        below = wood[:, None, None] * (1.0 + 0.28 * planks + 0.14 * grain)
        color = np.where(is_floor, np.where(ray_y > 0, below, ceiling[:, None, None] * (0.95 - 0.05 * grain)), color)
        is_back = ~is_wall & ~is_floor
        color = _decals(color, is_back, is_wall & (ray_x < 0), x, y, z, long, art, outside, door)
        a, b, c = wide - np.abs(x), high - np.abs(y), long - z
        middle = np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))  # of the distances from the planes
        light = light * (0.72 + 0.28 * smooth(0.0, 0.35, middle))
        color = color * light
        for left, right, up, down, near, rear, tone in boxes:
            depths = np.array([near, rear]) - eye_z
            rows = slice(
                *np.searchsorted(ray_y[:, 0], [((up - eye_y) / depths).min(), ((down - eye_y) / depths).max()])
            )
            columns = slice(
                *np.searchsorted(ray_x[0], [((left - eye_x) / depths).min(), ((right - eye_x) / depths).max()])
            )
            sx, sy = ray_x[rows, columns], ray_y[rows, columns]
            ax, bx, ay, by = (left - eye_x) / sx, (right - eye_x) / sx, (up - eye_y) / sy, (down - eye_y) / sy
            x0, y0 = np.minimum(ax, bx), np.minimum(ay, by)
            enter = np.maximum(np.maximum(x0, y0), depths[0])
            leave = np.minimum(np.minimum(np.maximum(ax, bx), np.maximum(ay, by)), depths[1])
            seen = (enter < leave) & (enter > 0.05) & (enter < hit[rows, columns])
            face = np.where(enter == y0, 1.25, np.where(enter == x0, 0.65, 0.95)) + 0.12 * grain[rows, columns]
            color[:, rows, columns] = np.where(seen, tone[:, None, None] * face, color[:, rows, columns])
            hit[rows, columns] = np.where(seen, enter, hit[rows, columns])
        radius = 0.13
        bx = 0.8 * np.sin(ball_rate * t + phase) - eye_x
        bz, by = ball_at - eye_z, high - radius - eye_y
        px, py, size = bx / bz, by / bz, radius / bz
        dist = np.sqrt((ray_x - px) ** 2 + (ray_y - py) ** 2) / size
        turned = np.sin(9 * (ray_x - px) / (size * 3) - 6 * np.sin(ball_rate * t + phase))
        skin = blend(ball, np.ones(3), 0.85 * (turned > 0)) * np.clip(
            1.15 - 0.5 * dist - 0.5 * (ray_y - py) / size, 0.2, 1.2
        )
        inside = np.clip((1 - dist) * size / view.pitch + 0.5, 0, 1) * (bz < hit)
        frames[i] = color + inside * (skin - color)
    return frames if mirrored else frames[..., ::-1]


def _decals(color, is_back, is_left, x, y, z, long, art, outside, door):
    """Pictures, a window and a door on the walls."""
    for n, at in enumerate((-0.75, 0.0, 0.72)):
        dx, dy = np.abs(x - at), np.abs(y + 0.32)
        half = (0.22, 0.26, 0.2)[n]
        frame, inner = np.maximum(dx - half, dy - 0.2), np.maximum(dx - half + 0.03, dy - 0.17)
        color = np.where(is_back & (frame < 0), np.array([0.2, 0.14, 0.1])[:, None, None], color)
        mark = np.sin(9 * x + 3 * n) + np.sin(14 * y + 5 * x * n) > 0.3
        image = np.where(mark, art[n][:, None, None], art[n + 1][:, None, None])
        color = np.where(is_back & (inner < 0), image, color)
    dz, dy = np.abs(z - long + 0.9), np.abs(y + 0.15)
    pane = np.maximum(dz - 0.42, dy - 0.36)
    bars = np.minimum(np.minimum(dz, dy), np.minimum(np.abs(dz - 0.42), np.abs(dy - 0.36)))
    view = blend(np.ones(3), outside, np.clip(-1.5 * y, 0, 1))
    view = np.where(y > 0.02 + 0.05 * np.sin(9 * z), np.array([0.3, 0.55, 0.25])[:, None, None], view)
    color = np.where(is_left & (pane < 0), np.where(bars < 0.025, 0.95, view), color)
    leaf = np.maximum(np.abs(z - long + 1.9) - 0.24, -0.35 - y)
    knob = np.abs(z - long + 1.72) + np.abs(y - 0.25) < 0.05
    return np.where(is_left & (leaf < 0), np.where(knob, 0.9, door[:, None, None]), color)


def tunnel(rng: _Rng, view: View) -> Array:
    """A flight through a lit tunnel."""
    wall, joint, lamp, end, road = colors(
        view.turn(
            [
                "98948c 504c48 fff0c0 fff8e8 38383c",
                "5878a0 203050 a0f0ff e0f8ff 283040",
                "b06840 582c18 ffd060 f8e8c0 402820",
                "609060 243c28 e0ffa0 f0ffd8 303830",
                "9068a8 382848 ff90e0 ffe8ff 302838",
            ]
        )
    )
    noise, square = Noise(rng), rng.random() < 0.5
    rate, speed = rng.uniform(1.0, 1.6), rng.uniform(0.5, 0.9)
    phases, spin = rng.uniform(0, 6.3, 2), rng.uniform(-0.25, 0.25)
    sides, length = int(rng.integers(9, 15)), rng.uniform(1.6, 2.4)
    lamps = np.mod(rng.integers(sides) + np.arange(3) * (sides // 3), sides)
    frames = np.zeros((len(view.t), 3, view.height, view.width), np.float32)
    for i, t in enumerate(view.t):
        x = view.x - 0.3 * np.sin(rate * t + phases[0]) + 0 * view.y
        y = view.y - 0.18 * np.sin(1.3 * rate * t + phases[1]) + 0 * view.x
        radius = np.sqrt(x * x + y * y)
        reach = np.maximum(np.maximum(np.abs(x) * 0.85, np.abs(y) * 1.1), 0.02) if square else np.maximum(radius, 0.02)
        depth = 0.5 / reach
        angle = (np.arctan2(y, x) / (2 * np.pi) + 0.5 + (0 if square else spin * t)) * sides
        along = depth * 1.1 + speed * t
        detail = 1 / (1 + (depth * 0.4) ** 2)
        grain = 0.6 * noise.at(angle * 2, along * 6) + noise.at(angle * 6, along * 18)
        tone = noise.cells(angle, along * length)
        dv = np.abs(np.mod(along * length, 1) - 0.5)
        ring = smooth(0.40, 0.46, dv)
        seam = smooth(0.42, 0.47, np.abs(angle - np.floor(angle) - 0.5))
        base = wall[:, None, None] * (1 + detail * (0.35 * tone + 0.3 * grain))
        base = base + 0.85 * np.maximum(ring, seam) * detail * (joint[:, None, None] - base)
        if square:
            low = (y > 0) & (np.abs(y) * 1.1 > np.abs(x) * 0.85)
            across = x / reach
            asphalt = road[:, None, None] * (1 + 0.5 * detail * grain)
            lines = (np.abs(across) < 0.05) & (np.mod(along, 1.0) < 0.5) | (np.abs(np.abs(across) - 0.95) < 0.05)
            base = np.where(low, np.where(lines, 0.9, asphalt), base)
        lit = np.isin(np.floor(np.mod(angle, sides)), lamps) & (y < 0.3 * reach if square else True)
        strip = lit * smooth(0.35, 0.2, np.abs(angle - np.floor(angle) - 0.5)) * smooth(0.1, 0.16, 0.5 - dv)
        glow = 0.75 + 0.35 * np.cos(2 * np.pi * along * length)
        base = base * glow * (0.35 + 0.9 / (1 + 0.25 * depth))
        base = base + strip * (lamp[:, None, None] - base) * 0.95
        fog = smooth(1.5, 9.0, depth)
        frames[i] = base + fog * (end[:, None, None] - base)
    return frames
