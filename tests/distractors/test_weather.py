"""Rain, snow and fog."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.distractors import Fog, Rain, Snow
from pixelbrax.errors import ConfigError
from tests.distractors.frames import context, frame, keys, noise, seen

_BLACK = np.zeros((3, 64, 64), np.float32)


@pytest.mark.parametrize("kind", [Rain, Snow, Fog])
def test_without_density_there_is_no_weather(kind):
    assert kind(density=0.0).is_identity
    rgb = noise()
    np.testing.assert_allclose(seen(kind(density=0.0), rgb), rgb, atol=1e-6)
    with pytest.raises(ConfigError, match=f"{kind.__name__}: density is 2"):
        kind(density=2.0)


@pytest.mark.parametrize("kind", [Rain, Snow, Fog])
def test_weather_is_a_mixture_with_the_frame_and_the_same_for_the_same_key(kind):
    rgb = noise(9, 31)
    shown = seen(kind(), rgb, steps=2)
    np.testing.assert_array_equal(shown, seen(kind(), rgb, steps=2))
    assert np.isfinite(shown).all()
    assert shown.min() >= min(rgb.min(), 0.5) - 1e-6
    assert shown.max() <= 1.0 + 1e-6
    here, weather = context(9, 31), kind()

    def first(key):
        return weather.apply_frame(weather.init(key, here), frame(rgb), here).rgb

    together, alone = jax.jit(jax.vmap(first))(keys(3)), jax.jit(first)
    for i, key in enumerate(keys(3)):
        np.testing.assert_allclose(together[i], alone(key), atol=1e-5)


def test_rain_falls_along_itself():
    """A step later, the picture is that of before, shifted down by the speed and aside by the slant."""
    here = context(64, 64)
    rain = Rain(layers=1, slant=0.0, speed=4 * 2 / 64)  # four pixels
    state = rain.init(jax.random.key(3), here)
    first, later = (
        np.asarray(rain.apply_frame(s, frame(_BLACK), here).rgb)
        for s in (state, rain.step(state, jax.random.key(0), here))
    )
    assert first.max() > 0.3
    np.testing.assert_allclose(later[:, 4:], first[:, :-4], atol=0.02)


def test_snow_falls_and_drifts():
    here = context(64, 64)
    snow = Snow(layers=1, speed=2 * 2 / 64, wind=3 * 2 / 64, gust=0.0)
    state = snow.init(jax.random.key(0), here)._replace(wind=jnp.float32(3 * 2 / 64))
    first, later = (
        np.asarray(snow.apply_frame(s, frame(_BLACK), here).rgb)
        for s in (state, snow.step(state, jax.random.key(0), here))
    )
    np.testing.assert_allclose(later[:, 2:, 3:], first[:, :-2, :-3], atol=0.02)
    assert 0.005 < (first[0] > 0.5).mean() < 0.5


def test_fog_replaces_a_share_of_the_light():
    here, fog = context(64, 64), Fog(density=0.6, variation=0.0, speed=0.0)
    state = fog.init(jax.random.key(0), here)
    rgb = noise(64, 64)
    shown = np.asarray(fog.apply_frame(state, frame(rgb), here).rgb)
    np.testing.assert_allclose(shown, rgb + state.density * (state.gray - rgb), atol=1e-6)
    assert 0.3 <= state.density <= 0.6
    swathes = replace(fog, variation=0.5)
    varied = np.asarray(swathes.apply_frame(state, frame(np.zeros_like(rgb)), here).rgb)[0] / float(state.gray)
    assert varied.min() >= 0.5 * state.density - 1e-5
    assert varied.max() <= 1.5 * state.density + 1e-5
    assert varied.std() > 0.01
