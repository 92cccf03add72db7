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


def test_slanted_rain_falls_along_itself():
    here = context(64, 64)
    rain = Rain(layers=1, speed=4 * 2 / 64)  # four pixels
    state = rain.init(jax.random.key(3), here)._replace(slant=jnp.float32(1.0))
    first, later = (
        np.asarray(rain.apply_frame(s, frame(_BLACK), here).rgb)
        for s in (state, rain.step(state, jax.random.key(0), here))
    )
    np.testing.assert_allclose(later[:, 4:, :-4], first[:, :-4, 4:], atol=0.02)
    assert np.abs(first[0, 1:] - first[0, :-1]).mean() > 1.5 * np.abs(first[0, 1:, :-1] - first[0, :-1, 1:]).mean()


def test_rain_that_is_farther_is_fainter():
    here = context(64, 64)
    near, both = Rain(layers=1), Rain(layers=2)
    state = near.init(jax.random.key(0), here)
    one, two = (np.asarray(rain.apply_frame(state, frame(_BLACK), here).rgb)[0] for rain in (near, both))
    assert (two >= one - 1e-6).all()
    added = two[two > one + 1e-6]
    assert 0.5 * one.max() < added.max() <= 0.75 * 0.85 * 0.8 + 1e-6
    assert added.size > 100


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


def test_snow_that_is_farther_falls_slower():
    here = context(64, 64)
    near, both = (Snow(layers=n, speed=20 * 2 / 64, wind=0.0, gust=0.0) for n in (1, 2))
    state = near.init(jax.random.key(0), here)
    later = near.step(state, jax.random.key(0), here)
    (one, two), (one_later, two_later) = (
        [np.asarray(snow.apply_frame(s, frame(_BLACK), here).rgb)[0] for snow in (near, both)] for s in (state, later)
    )
    clear = (one[:-13] == 0) & (one_later[13:] == 0)  # of the near layer, which falls by 20 pixels, the far one by 13
    assert (clear & (two[:-13] > 0.3)).sum() > 20
    np.testing.assert_allclose(two_later[13:][clear], two[:-13][clear], atol=0.02)


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


def test_swathes_of_fog_drift_as_fast_as_it_says_however_long_they_are():
    here, fog = context(64, 64), Fog(speed=4 * 2 / 64)  # four pixels
    for length in (1.0, 2.5):
        wave = jnp.array([[2 * np.pi / length, 0.0]] * 3, jnp.float32)
        state = fog.init(jax.random.key(0), here)._replace(vector=wave)
        first, later = (
            np.asarray(fog.apply_frame(s, frame(_BLACK), here).rgb)
            for s in (state, fog.step(state, jax.random.key(0), here))
        )
        assert first.std() > 0.01
        np.testing.assert_allclose(later[:, :, 4:], first[:, :, :-4], atol=1e-4)
