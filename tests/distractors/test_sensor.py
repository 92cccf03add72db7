"""What sensors and encoders do to an image."""

import io

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from pixelbrax.distractors import ColorMix, ColorTemperature, DeadPixels, Jpeg
from pixelbrax.errors import ConfigError
from tests.distractors.frames import context, frame, keys, noise, seen

_LUMA = np.array([0.299, 0.587, 0.114])


def _smooth(height: int, width: int) -> np.ndarray:
    y, x = np.mgrid[:height, :width] / max(height, width)
    return np.stack([0.5 + 0.4 * np.sin(5 * x), 0.5 + 0.4 * np.cos(4 * y), 0.3 + 0.5 * x * y]).astype(np.float32)


@pytest.mark.parametrize("quality", [5, 30, 75, 95])
@pytest.mark.parametrize("size", [(16, 24), (13, 31)])
@pytest.mark.parametrize("picture", [_smooth, noise])
def test_jpeg_is_that_of_pillow(quality, size, picture):
    whole = np.round(255 * picture(*size)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(np.moveaxis(whole, 0, -1)).save(file, "JPEG", quality=quality, subsampling=0)
    law = np.moveaxis(np.asarray(Image.open(file)).astype(float), -1, 0)
    found = 255 * seen(Jpeg(float(quality), float(quality)), whole / 255)
    # Pillow's integer arithmetic rounds a few coefficients and colors to the other side.
    apart, lost = np.abs(found - law), np.abs(law - whole).mean()
    assert np.median(apart) < 0.8
    assert apart.mean() < 0.5 + 0.15 * lost


def test_jpeg_grows_worse_with_strength():
    rgb = noise()
    far = [np.abs(seen(Jpeg(quality, quality), rgb) - rgb).mean() for quality in (100.0, 60.0, 30.0, 5.0)]
    assert far == sorted(far)
    assert far[0] < 0.01
    params = Jpeg(5.0, 30.0).params
    scaled = Jpeg(5.0, 30.0).scaled(params, 0.5)
    np.testing.assert_allclose((scaled["worst"], scaled["best"]), (52.5, 65.0))
    assert Jpeg(100.0, 100.0).is_identity
    with pytest.raises(ConfigError, match=r"Jpeg: worst is 50\.0: it must be at most 30, the best"):
        Jpeg(50.0, 30.0)


def test_dead_pixels_stay_for_an_episode():
    rgb, dead = np.full((3, 64, 64), 0.5, np.float32), DeadPixels(0.1)
    first, later, other = seen(dead, rgb), seen(dead, rgb, steps=3), seen(dead, rgb, seed=7)
    stuck = (first != 0.5).any(0)
    np.testing.assert_array_equal(first, later)
    assert 0.07 < stuck.mean() < 0.13
    assert set(np.unique(first)) == {0.0, 0.5, 1.0}
    assert (stuck & (other != 0.5).any(0)).mean() < 0.03, "elsewhere in another episode"
    np.testing.assert_array_equal(seen(DeadPixels(0.0), rgb), rgb)


def test_color_temperature_opposes_red_and_blue_and_keeps_grays_luminance():
    here, gray = context(), np.full((3, 16, 16), 0.4, np.float32)
    for amount in (-0.8, 0.3):
        red, green, blue = ColorTemperature().filter(jnp.float32(amount), jnp.asarray(gray), here)[:, 0, 0]
        np.testing.assert_allclose(_LUMA @ np.array([red, green, blue]), 0.4, rtol=1e-5)
        np.testing.assert_allclose(red / blue, np.exp(2 * amount), rtol=1e-5)


def test_mixed_channels():
    here, rgb, mix = context(), noise(), ColorMix(0.5)
    matrices = jax.vmap(lambda key: mix.init(key, here))(keys(500))
    np.testing.assert_allclose(np.abs(matrices).sum(-1), 1.0, rtol=1e-5)
    assert (np.diagonal(matrices, axis1=1, axis2=2).mean(0) > 0.4).all()
    one = matrices[0]
    np.testing.assert_allclose(
        mix.apply_frame(one, frame(rgb), here).rgb, np.einsum("ij,jhw->ihw", one, rgb), atol=1e-6
    )
    np.testing.assert_array_equal(mix.step(one, jax.random.key(1), here), one)
    again = ColorMix(0.5, every_frame=True).step(one, jax.random.key(1), here)
    assert np.abs(again - one).max() > 0.01
    with pytest.raises(ConfigError, match="ColorMix: std is -1"):
        ColorMix(-1.0)
