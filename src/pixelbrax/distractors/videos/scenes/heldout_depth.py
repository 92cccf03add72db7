"""Held-out families in perspective: flights over mountains, tunnels."""

from dataclasses import dataclass

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
    shaded,
    smooth,
)

_Rng = np.random.Generator
_DEPTHS = (0.45 * 1.09 ** np.arange(42))[:, None]  # at which the ground's height is known


@dataclass(frozen=True)
class _Range:
    """Mountains around a valley.

    Attributes:
      noise: of their heights and surfaces.
      horizon: height of the horizon in the image.
      side: 1 or -1, from where the sun shines.
      lean: how far the flight is from straight ahead.
      valley: phase of its bends.
      low, sun, snow, rock, wood: colors; `low` is the sky at the horizon.
    """

    noise: Noise
    horizon: float
    side: float
    lean: float
    valley: float
    low: Array
    sun: Array
    snow: Array
    rock: Array
    wood: Array

    def ridges(self, canvas: Canvas) -> None:
        """Two far rows of peaks."""
        noise = self.noise
        for row, up in ((3, 0.34), (31, 0.2)):
            peak = 0.7 * (1 - np.abs(noise.line(canvas.x, 0.5, 1, row=row)))
            peak = peak + 0.13 * noise.line(canvas.x, 0.22, 5, 0.55, row=row)
            below = canvas.y - self.horizon - 0.1 + up * peak
            grain = noise(canvas, 0.12, 4, 0.9, stretch=0.5, lift=row)
            right, left = (noise.line(canvas.x + dx, 0.14, 4, 0.6, row=row) for dx in (0.02, -0.02))
            color = blend(self.snow, self.rock, smooth(0.05, 0.3, below + 0.15 * grain - 0.02))
            color = shaded(color, self.side * 0.6 * (right - left) + 0.15 * grain)
            canvas.over(blend(color, self.low, 0.35 + 0.1 * (row > 5) + 0 * below), canvas.inside(below))

    def heights(self, across: Array, along: Array) -> Array:
        """Height of the ground at places."""
        course = 0.5 * np.sin(self.valley + 0.5 * along)
        level = 0.75 * smooth(0.2, 2.4, np.abs(across - course)) - 0.2
        for octave in range(5):
            size = 3.0 * 0.5**octave
            ridge = 0.8 - 2.0 * np.abs(self.noise.at(across / size + 9 * octave, along / size))
            level = level + 0.62 * 0.46**octave * ridge
        return level

    def surface(self, x: Array, z: Array, far: Array, here: Array, tilt: Array, climb: Array, pitch: float) -> Array:
        """Colors of the ground at places, by their distances, heights and slopes; `pitch` is the size of a pixel."""
        noise = self.noise
        fine = np.clip(1.6 - far * 22 * pitch / 0.9, 0, 1)
        grain = noise.at(x * 6, z * 6) + 0.9 * noise.at(x * 16, z * 16) * fine
        grain = grain + 0.9 * noise.at(x * 41, z * 41) * np.clip(1.6 - far * 60 * pitch / 0.9, 0, 1)
        steep = np.sqrt(tilt * tilt + climb * climb)
        white = smooth(0.0, 0.2, np.abs(here + 0.05) + 0.2 - 0.3 * steep + 0.28 * grain)
        color = blend(self.rock, self.wood, smooth(0.0, -0.2, here + 0.2 * grain)) * (1 + 0.35 * grain)
        color = color + white * (self.snow[:, None, None] - color)
        return color * np.clip(0.8 + 0.38 * tilt + 0.1 * climb + 0.1 * grain, 0.25, 1.15)

    def draw(self, image: Array, view: View, start: float, position: float) -> None:
        """Draws the ground into an image (3, height, width), as seen from a position along the valley."""
        beside = self.lean * (position - start) + 0.5 * np.sin(self.valley + 0.5 * position)
        across, along = beside + _DEPTHS * view.x, position + _DEPTHS + 0 * view.x
        level = self.heights(across, along)
        top = self.horizon + (1.45 - level) / _DEPTHS
        seen = np.minimum.accumulate(top, 0)
        number = np.zeros((view.height, view.width), int)
        for edge in seen:
            number += edge > view.y
        is_sky = number == len(_DEPTHS)
        number = np.minimum(number, len(_DEPTHS) - 1)
        before, columns = np.maximum(number - 1, 0), np.arange(view.width)
        rise = top[before, columns] - top[number, columns]
        share = np.where(number > 0, (top[before, columns] - view.y) / np.where(rise > 1e-9, rise, 1), 0)
        share = np.clip(share, 0, 1)

        def between(values: Array) -> Array:
            return values[before, columns] + share * (values[number, columns] - values[before, columns])

        far = _DEPTHS[before, 0] + share * (_DEPTHS[number, 0] - _DEPTHS[before, 0])
        tilt = np.gradient(level, axis=1) / np.gradient(across, axis=1) * self.side
        climb = np.gradient(level, axis=0) / np.gradient(along, axis=0)
        slopes = between(level), between(tilt), between(climb)
        color = self.surface(beside + far * view.x, position + far, far, *slopes, view.pitch)
        haze = np.clip(far / _DEPTHS[-1, 0], 0, 1)
        color = color + haze * (blend(self.low, self.sun, 0.15)[:, None, None] - color)
        cover = np.clip((view.y - seen[-1]) / view.pitch + 0.5, 0, 1)
        cover = np.where(is_sky, np.minimum(cover, 0.5), np.maximum(cover, 0.5))
        image += (cover * (np.clip(color, 0, 1) - image)).astype(np.float32)


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
    peaks = _Range(noise, horizon, side, lean, rng.uniform(0, 6.3), low, sun, snow, rock, wood)

    def sky(canvas: Canvas) -> None:
        canvas.over(blend(high, low, smooth(-1.1, horizon + 0.2, canvas.y + 0 * canvas.x)))
        canvas.disc(sun_x, horizon - 0.35, 0.07, 0.07, blend(sun, np.ones(3), 0.5))
        cirrus = noise(canvas, 0.5, 5, 0.7, stretch=3.5)
        canvas.over(blend(low, np.ones(3), 0.5), 0.6 * smooth(0.1, 0.9, cirrus))
        peaks.ridges(canvas)

    frames = compose(view, [Layer(view, 0.08 * lean * view.t, sky)])
    for i, image in enumerate(frames):
        peaks.draw(image, view, start, start + speed * view.t[i])
    return frames


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
