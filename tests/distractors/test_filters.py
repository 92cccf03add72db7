"""Filters of the image by their formulas, written down a second time."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import ndimage

from pixelbrax.distractors import (
    Blur,
    CenterLight,
    Hue,
    Jitter,
    PoissonNoise,
    RadialLight,
    Saturation,
    Sharpen,
    Vignette,
)
from tests.distractors.frames import context, frame, keys, noise, seen

_LUMA = np.array([0.299, 0.587, 0.114])


def _places(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """X and y of pixels' centers, whose longer side spans -1..1."""
    y, x = np.mgrid[:height, :width] + 0.5
    return (2 * x - width) / max(height, width), (2 * y - height) / max(height, width)


def _filtered(kind: Any, amount: float, rgb: np.ndarray) -> np.ndarray:
    return np.asarray(kind().filter(jnp.float32(amount), jnp.asarray(rgb), context(*rgb.shape[1:])))


@pytest.mark.parametrize("amount", [0.4, 1.0, 1.5])
def test_blur_and_sharpening_are_scipys(amount):
    rgb = noise(9, 14)
    blurred = np.stack([ndimage.gaussian_filter(each, amount, mode="nearest", radius=2) for each in rgb])
    np.testing.assert_allclose(_filtered(Blur, amount, rgb), blurred, atol=1e-5)
    around = np.stack([ndimage.uniform_filter(each, 3, mode="nearest") for each in rgb])
    np.testing.assert_allclose(_filtered(Sharpen, amount, rgb), rgb + amount * (rgb - around), atol=1e-5)


def test_saturation_multiplies_the_distance_from_gray():
    rgb = noise()
    gray = np.einsum("c,chw->hw", _LUMA, rgb)[None]
    np.testing.assert_allclose(_filtered(Saturation, math.log(2), rgb), gray + 2 * (rgb - gray), atol=1e-5)


@pytest.mark.parametrize(("height", "width"), [(16, 16), (9, 31)])
def test_light_falls_off_by_its_formula(height, width):
    x, y = _places(height, width)
    here, black, rgb = context(height, width), frame(np.zeros((3, height, width))), noise(height, width)
    far = (x**2 + y**2) / (x**2 + y**2).max()
    np.testing.assert_allclose(_filtered(Vignette, 0.7, rgb), rgb * (1 - 0.7 * far), atol=1e-5)
    spot = RadialLight(width=0.4).apply_frame(jnp.array([0.6, 0.3, -0.2]), black, here).rgb
    law = 0.6 * np.exp(-((x - 0.3) ** 2 + (y + 0.2) ** 2) / (2 * 0.4**2))
    np.testing.assert_allclose(spot, np.broadcast_to(law, (3, height, width)), atol=1e-5)
    color = (1.0, 0.6, 0.2)
    middle = CenterLight(0.8, color).apply_frame(jnp.zeros(()), black, here).rgb
    radius = np.hypot(x, y) / np.hypot(height, width) * max(height, width)  # 1 in the image's own corners
    np.testing.assert_allclose(middle, 0.8 * np.array(color)[:, None, None] * (1 - radius**1.5), atol=1e-5)


def test_jitter_shifts_by_every_number_of_pixels_up_to_its_own():
    drawn = jax.vmap(lambda key: Jitter(2).init(key, context()))(keys(300))
    np.testing.assert_array_equal(np.unique(drawn), [-2, -1, 0, 1, 2])


def test_photons_are_noisy_by_the_root_of_their_number():
    noisy = PoissonNoise(50.0)
    for gray in (0.1, 0.9):
        rgb = np.full((3, 64, 64), gray, np.float32)
        for share in (1.0, 0.5):
            given = noisy.with_params(noisy.scaled(noisy.params, share))
            std = (seen(given, rgb) - rgb).std()
            np.testing.assert_allclose(std, share * math.sqrt(gray / 50), rtol=0.04)


def test_a_filter_walks_by_its_own_steps():
    walk, here = Hue(10.0, 0.1), context()
    step = jax.vmap(lambda key: walk.step(jnp.zeros(()), key, here))(keys(2000))
    np.testing.assert_allclose(np.std(step), 0.1, rtol=0.06)
