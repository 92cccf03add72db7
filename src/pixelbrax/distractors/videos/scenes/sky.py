"""The sky of several families."""

import numpy as np

from pixelbrax.distractors.videos.scenes.drawing import (
    Array,
    Canvas,
    Layer,
    Noise,
    View,
    blend,
    shaded,
    smooth,
)


def sky(view: View, high: Array, low: Array, horizon: float, sun: Array, at: tuple[float, float], size: float) -> Layer:
    """A gradient with the sun."""

    def draw(canvas: Canvas) -> None:
        canvas.over(blend(high, low, smooth(-1.1, horizon, canvas.y + 0 * canvas.x)))
        away = np.sqrt((canvas.x - at[0]) ** 2 + (canvas.y - at[1]) ** 2)
        canvas.over(sun, 0.55 * np.exp(-3.5 * away))
        canvas.disc(*at, size, size, blend(sun, np.ones(3), 0.6))

    return Layer(view, 0.0, draw)


def clouds(view: View, noise: Noise, dx: Array, color: Array, cover: float, horizon: float) -> Layer:
    """Clouds that are bright above and gray below."""

    def draw(canvas: Canvas) -> None:
        density = noise(canvas, 0.5, 5, 0.6, stretch=2.2)
        light = density - noise(canvas, 0.5, 5, 0.6, stretch=2.2, lift=-0.07)
        edge = smooth(0.1, 0.45, density + cover)
        canvas.over(shaded(color, 0.45 * light - 0.12), edge * smooth(horizon + 0.15, horizon - 0.35, canvas.y))

    return Layer(view, dx, draw)
