"""Lenses, lights in the image, and a camera that shakes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.distractors import CameraShake, Glare, LensDistortion, PointLights
from pixelbrax.distractors.kinds.filters import grid
from pixelbrax.distractors.kinds.lens import LensState
from pixelbrax.errors import ConfigError
from tests.distractors.frames import CAMERA, context, frame, keys, noise, view


def _through(lens: LensDistortion, k1: float, center: tuple[float, float], rgb: np.ndarray) -> np.ndarray:
    here = context(*rgb.shape[1:])
    return np.asarray(lens.apply_frame(LensState(jnp.float32(k1), jnp.array(center)), frame(rgb), here).rgb)


def test_no_distortion_is_the_image():
    rgb = (np.round(255 * noise(9, 31)) / 255).astype(np.float32)  # it interpolates 8 bits
    np.testing.assert_allclose(_through(LensDistortion(), 0.0, (0.0, 0.0), rgb), rgb, atol=1e-7)
    assert LensDistortion(0.0, 0.0).is_identity


@pytest.mark.parametrize("k1", [-0.15, 0.15])
def test_a_lens_shows_what_is_where_its_formula_says(k1):
    """A picture of x itself: at distance r from the center there is the x of r (1 + k1 r^2)."""
    y, x = grid(64, 64)
    rgb = np.broadcast_to(0.5 + 0.25 * x, (3, 64, 64)).astype(np.float32)
    shown = (_through(LensDistortion(), k1, (0.0, 0.0), rgb)[0] - 0.5) / 0.25
    law = np.clip(x * (1 + k1 * (x**2 + y**2)), x.min(), x.max())
    np.testing.assert_allclose(shown, law, atol=0.02)


def test_the_principal_point_shifts_the_image():
    _, x = grid(64, 64)
    rgb = np.broadcast_to(0.5 + 0.25 * x, (3, 64, 64)).astype(np.float32)
    shown = (_through(LensDistortion(), 0.0, (4 * 2 / 64, 0.0), rgb)[0] - 0.5) / 0.25
    np.testing.assert_allclose(shown[:, 4:], np.broadcast_to(x, (64, 64))[:, :-4], atol=0.02)


def test_the_principal_point_shifts_the_image_downwards_too():
    y, _ = grid(64, 64)
    rgb = np.broadcast_to(0.5 + 0.25 * y, (3, 64, 64)).astype(np.float32)
    shown = (_through(LensDistortion(), 0.0, (0.0, 4 * 2 / 64), rgb)[0] - 0.5) / 0.25
    np.testing.assert_allclose(shown[4:], np.broadcast_to(y, (64, 64))[:-4], atol=0.02)


def test_lights_add_by_their_law():
    here = context(64, 64)
    lights = PointLights(intensity=0.8, radius=0.1, falloff=2.0, count=1)
    state = lights.init(jax.random.key(0), here)
    y, x = grid(64, 64)
    added = np.asarray(lights.apply_frame(state, frame(np.zeros((3, 64, 64))), here).rgb)
    distance = np.hypot(x - state.position[0, 0], y - state.position[0, 1])
    # A tenth of the diagonal, more or less.
    diagonal = 2 * np.sqrt(2)
    assert 0.08 * diagonal <= state.radius[0] <= 0.12 * diagonal
    law = np.asarray(state.rgb)[0][:, None, None] / (1 + (distance / float(state.radius[0])) ** 2)
    np.testing.assert_allclose(added, law, atol=1e-4)
    rgb = noise(64, 64)
    np.testing.assert_allclose(lights.apply_frame(state, frame(rgb), here).rgb, rgb + added, atol=1e-5)
    assert PointLights(count=0).is_identity
    with pytest.raises(ConfigError, match="PointLights: count is 17"):
        PointLights(count=17)


def test_glare_only_adds_light_most_at_its_source():
    here, glare = context(64, 64), Glare(streaks=2, speed=0.0)
    state = glare.init(jax.random.key(1), here)._replace(position=jnp.zeros(2))
    added = np.asarray(glare.apply_frame(state, frame(np.zeros((3, 64, 64))), here).rgb)[0]
    assert added.min() >= 0
    np.testing.assert_allclose(added[31:33, 31:33], state.amount, rtol=0.05)
    bare = np.asarray(Glare(streaks=0).apply_frame(state, frame(np.zeros((3, 64, 64))), here).rgb)[0]
    y, x = grid(64, 64)
    np.testing.assert_allclose(bare, state.amount / (1 + (x**2 + y**2) / 0.25**2), rtol=1e-4)
    assert (added >= bare - 1e-6).all()
    assert Glare(0.0).is_identity


@pytest.mark.parametrize("streaks", [1, 2, 3, 4])
def test_streaks_of_a_glare_divide_the_half_circle(streaks):
    here, glare = context(65, 65), Glare(streaks=streaks, radius=1.0, width=0.0, speed=0.0)
    amount, angle, _ = jax.vmap(lambda key: glare.init(key, here))(keys(500))
    np.testing.assert_allclose((amount.min(), amount.max(), angle.min(), angle.max()), (0.5, 1, 0, np.pi), atol=0.02)
    state = glare.init(jax.random.key(1), here)._replace(position=jnp.zeros(2), angle=jnp.float32(0.0))
    added = np.asarray(glare.apply_frame(state, frame(np.zeros((3, 65, 65))), here).rgb)[0]
    y, x = grid(65, 65)
    on_ring = np.abs(np.hypot(x, y) - 0.9) < 1 / 65
    turn = np.degrees(np.arctan2(y, x))[on_ring] % 180
    lines = np.arange(streaks) * 180 / streaks
    aside = np.abs((turn[:, None] - lines + 90) % 180 - 90).min(1)
    bright, dark = added[on_ring][aside < 1], added[on_ring][aside > 12]
    assert bright.min() > 1.2 * dark.max()


def test_lights_that_wander_stay_in_the_middle():
    here, lights = context(), PointLights(count=16, speed=0.3)
    state = lights.init(jax.random.key(0), here)
    for key in keys(20):
        assert np.abs(state.position).max() <= 0.7 + 1e-6
        state = lights.step(state, key, here)


def test_a_shake_is_stationary_from_the_first_frame():
    here, shake = context(), CameraShake(persistence=0.6)
    state, frames = jax.vmap(lambda key: shake.init(key, here))(keys(4000)), []
    for t in range(4):
        frames.append(np.asarray(state))
        step_keys = jax.vmap(jax.random.fold_in, (0, None))(keys(4000), 100 + t)
        state = jax.vmap(lambda s, key: shake.step(s, key, here))(state, step_keys)
    for each in frames:
        np.testing.assert_allclose(each.std(0), 1.0, rtol=0.06)
        assert np.abs(each.mean(0)).max() < 0.06
    np.testing.assert_allclose(np.mean(frames[0] * frames[1], 0), 0.6, atol=0.06)
    np.testing.assert_allclose(np.mean(frames[0] * frames[3], 0), 0.6**3, atol=0.06)


def test_a_shaken_camera_is_a_camera():
    here, shake = context(), CameraShake(rotation=0.2, translation=0.1)
    still = shake.apply_scene(jnp.zeros(6), view(), here).camera
    np.testing.assert_allclose(still.mat, CAMERA.mat, atol=1e-6)
    np.testing.assert_allclose(still.pos, CAMERA.pos, atol=1e-6)
    moved = shake.apply_scene(jnp.array([1.0, -0.5, 2.0, 1.0, 0.0, 0.0]), view(), here).camera
    np.testing.assert_allclose(moved.mat.T @ moved.mat, np.eye(3), atol=1e-5)
    np.testing.assert_allclose(np.linalg.det(moved.mat), 1.0, atol=1e-5)
    np.testing.assert_allclose(moved.pos - CAMERA.pos, 0.3 * CAMERA.mat[:, 0], atol=1e-5)
    back = shake.apply_scene(jnp.array([0.0, 0.0, 0.0, 0.0, 0.0, 2.0]), view(), here)
    np.testing.assert_allclose(back.camera.pos - CAMERA.pos, 0.6 * CAMERA.mat[:, 2], atol=1e-5)
    np.testing.assert_allclose(back.distance, 3.6, rtol=1e-5)
    yawed = shake.apply_scene(jnp.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0]), view(), here).camera
    np.testing.assert_allclose(yawed.mat[:, 1], CAMERA.mat[:, 1], atol=1e-6)
    np.testing.assert_allclose(yawed.mat[:, 2] @ CAMERA.mat[:, 2], np.cos(0.2), atol=1e-5)
    assert CameraShake(0.0, 0.0).is_identity
