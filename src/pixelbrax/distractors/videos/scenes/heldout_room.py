"""A held-out family: furnished rooms in perspective."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pixelbrax.distractors.videos.scenes.drawing import Array, Noise, View, blend, colors, flip, rgb, smooth, varied

_Rng = np.random.Generator
_Point = tuple[float, float, float]


@dataclass(frozen=True)
class _Room:
    """A room, its furniture and colors. x is to the right, y down, z into the room.

    Attributes:
      noise: of all surfaces.
      wide, high: half of its width and height.
      long: where the back wall is.
      tiles: whether the floor has tiles, not planks.
      turn: 1 or -1, to which side the light falls.
      boxes: left, right, top, bottom, near, far and color of each piece of furniture.
      paper, stripe, wood, ceiling, door, outside: colors.
      art: (4, 3) colors of pictures.
    """

    noise: Noise
    wide: float
    high: float
    long: float
    tiles: bool
    turn: float
    boxes: list[tuple[Any, ...]]
    paper: Array
    stripe: Array
    wood: Array
    ceiling: Array
    door: Array
    outside: Array
    art: Array


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
    boxes = _furniture(rng, wide, high, long, wood, cloth)
    art = rng.uniform(0.1, 0.95, (4, 3))
    outside = varied(rng, rgb("a0d0f8"))
    here = _Room(noise, wide, high, long, tiles, turn, boxes, paper, stripe, wood, ceiling, door, outside, art)
    ball, ball_at, ball_rate = rng.uniform(0.1, 0.9, 3), long - rng.uniform(1.5, 1.7), rng.uniform(1.2, 2.0)
    frames = np.zeros((len(view.t), 3, view.height, view.width), np.float32)
    for i, t in enumerate(view.t):
        eye_x = turn * sway * np.sin(rate * t + phase)
        eye_y, eye_z = 0.05 + 0.04 * np.sin(2 * t + phase), 0.25 * np.cos(0.7 * rate * t + phase)
        ray_x = 0.85 * view.x - 0.25 * eye_x + 0 * view.y
        ray_y = 0.85 * view.y + 1e-9 + 0 * view.x  # never 0
        color, hit, grain = _surfaces(here, (eye_x, eye_y, eye_z), ray_x, ray_y)
        for box in boxes:
            _draw_box(box, (eye_x, eye_y, eye_z), ray_x, ray_y, color, hit, grain)
        radius, roll = 0.13, np.sin(ball_rate * t + phase)
        bx, by, bz = 0.8 * roll - eye_x, high - radius - eye_y, ball_at - eye_z
        px, py, size = bx / bz, by / bz, radius / bz
        dist = np.sqrt((ray_x - px) ** 2 + (ray_y - py) ** 2) / size
        turned = np.sin(9 * (ray_x - px) / (size * 3) - 6 * roll)
        shade = np.clip(1.15 - 0.5 * dist - 0.5 * (ray_y - py) / size, 0.2, 1.2)
        skin = blend(ball, np.ones(3), 0.85 * (turned > 0)) * shade
        inside = np.clip((1 - dist) * size / view.pitch + 0.5, 0, 1) * (bz < hit)
        frames[i] = color + inside * (skin - color)
    return frames if mirrored else frames[..., ::-1]


def _furniture(rng: _Rng, wide: float, high: float, long: float, wood: Array, cloth: Array) -> list[tuple[Any, ...]]:
    """A sofa, a shelf, a table and a chest: see `_Room.boxes`."""
    back, sofa, shelf = long - 0.05, cloth, varied(rng, wood)
    return [
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


def _surfaces(room: _Room, eye: _Point, ray_x: Array, ray_y: Array) -> tuple[Array, Array, Array]:
    """Walls, floor and ceiling: their colors, their distances, and the grain of what is seen."""
    eye_x, eye_y, eye_z = eye
    far = (room.long - eye_z) + 0 * ray_x
    wall = np.where(ray_x > 0, room.wide - eye_x, -room.wide - eye_x) / ray_x
    floor = np.where(ray_y > 0, room.high - eye_y, -room.high - eye_y) / ray_y
    hit = np.minimum(far, np.minimum(wall, floor))
    x, y, z = eye_x + hit * ray_x, eye_y + hit * ray_y, eye_z + hit
    is_wall, is_floor = (hit == wall) & (hit < far), (hit == floor) & (hit < far)
    u, v = np.where(is_wall, z, x), np.where(is_floor, z, y)
    grain = room.noise.at(u * 9, v * 9) + 0.9 * room.noise.at(u * 22, v * 22)
    soft = 45 / (1 + hit)
    color = blend(room.paper, room.stripe, 0.5 + 0.5 * np.tanh(0.2 * soft * np.sin(u * 22)))
    light = np.where(is_wall, 0.85 - 0.1 * room.turn * np.sign(ray_x), 1.0) + 0.07 * grain
    if room.tiles:
        planks = np.sign(np.sin(np.pi * 3 * x + 1.57) * np.sin(np.pi * 3 * z))
    else:
        planks = room.noise.cells(x * 7 + 0.5, z * 0.9 + 3 * np.floor(x * 7))
    below = room.wood[:, None, None] * (1.0 + 0.28 * planks + 0.14 * grain)
    above = room.ceiling[:, None, None] * (0.95 - 0.05 * grain)
    color = np.where(is_floor, np.where(ray_y > 0, below, above), color)
    color = _decals(room, color, ~is_wall & ~is_floor, is_wall & (ray_x < 0), x, y, z)
    a, b, c = room.wide - np.abs(x), room.high - np.abs(y), room.long - z
    middle = np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))  # of the distances from the planes
    light = light * (0.72 + 0.28 * smooth(0.0, 0.35, middle))
    return color * light, hit, grain


def _draw_box(
    box: tuple[Any, ...], eye: _Point, ray_x: Array, ray_y: Array, color: Array, hit: Array, grain: Array
) -> None:
    """Draws a piece of furniture into `color` where it is nearer than `hit`, which it updates."""
    left, right, up, down, near, rear, tone = box
    eye_x, eye_y, eye_z = eye
    depths = np.array([near, rear]) - eye_z
    high, low = ((up - eye_y) / depths).min(), ((down - eye_y) / depths).max()
    first, last = ((left - eye_x) / depths).min(), ((right - eye_x) / depths).max()
    rows = slice(*np.searchsorted(ray_y[:, 0], [high, low]))
    columns = slice(*np.searchsorted(ray_x[0], [first, last]))
    sx, sy = ray_x[rows, columns], ray_y[rows, columns]
    ax, bx, ay, by = (left - eye_x) / sx, (right - eye_x) / sx, (up - eye_y) / sy, (down - eye_y) / sy
    x0, y0 = np.minimum(ax, bx), np.minimum(ay, by)
    enter = np.maximum(np.maximum(x0, y0), depths[0])
    leave = np.minimum(np.minimum(np.maximum(ax, bx), np.maximum(ay, by)), depths[1])
    seen = (enter < leave) & (enter > 0.05) & (enter < hit[rows, columns])
    face = np.where(enter == y0, 1.25, np.where(enter == x0, 0.65, 0.95)) + 0.12 * grain[rows, columns]
    color[:, rows, columns] = np.where(seen, tone[:, None, None] * face, color[:, rows, columns])
    hit[rows, columns] = np.where(seen, enter, hit[rows, columns])


def _decals(room: _Room, color: Array, is_back: Array, is_left: Array, x: Array, y: Array, z: Array) -> Array:
    """Pictures, a window and a door on the walls."""
    for n, at in enumerate((-0.75, 0.0, 0.72)):
        dx, dy = np.abs(x - at), np.abs(y + 0.32)
        half = (0.22, 0.26, 0.2)[n]
        frame, inner = np.maximum(dx - half, dy - 0.2), np.maximum(dx - half + 0.03, dy - 0.17)
        color = np.where(is_back & (frame < 0), np.array([0.2, 0.14, 0.1])[:, None, None], color)
        mark = np.sin(9 * x + 3 * n) + np.sin(14 * y + 5 * x * n) > 0.3
        image = np.where(mark, room.art[n][:, None, None], room.art[n + 1][:, None, None])
        color = np.where(is_back & (inner < 0), image, color)
    dz, dy = np.abs(z - room.long + 0.9), np.abs(y + 0.15)
    pane = np.maximum(dz - 0.42, dy - 0.36)
    bars = np.minimum(np.minimum(dz, dy), np.minimum(np.abs(dz - 0.42), np.abs(dy - 0.36)))
    view = blend(np.ones(3), room.outside, np.clip(-1.5 * y, 0, 1))
    view = np.where(y > 0.02 + 0.05 * np.sin(9 * z), np.array([0.3, 0.55, 0.25])[:, None, None], view)
    color = np.where(is_left & (pane < 0), np.where(bars < 0.025, 0.95, view), color)
    leaf = np.maximum(np.abs(z - room.long + 1.9) - 0.24, -0.35 - y)
    knob = np.abs(z - room.long + 1.72) + np.abs(y - 0.25) < 0.05
    return np.where(is_left & (leaf < 0), np.where(knob, 0.9, room.door[:, None, None]), color)
