"""What moves, by its laws: cameras at their bounds, fields of view, where videos begin."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.distractors import SceneView, Video
from pixelbrax.distractors.kinds.camera import CameraOrbit, FieldOfView
from pixelbrax.distractors.kinds.camera_walk import CameraWalk
from tests.distractors.frames import context, keys, view
from tests.probe import probe_env


def test_at_a_bound_an_orbit_has_the_velocity_of_what_it_could_move():
    here, several = context(), keys(100)
    orbit = CameraOrbit.of_intensity(0.3)
    state = jax.vmap(lambda key: orbit.init(key, here))(several)
    state = state._replace(azimuth=jnp.full(100, orbit.angle), zoom=jnp.full(100, 1 + orbit.zoom_out))
    after = jax.vmap(lambda s, key: orbit.step(s, key, here))(state, several)
    pairs = ((after.azimuth, state.azimuth), (after.elevation, state.elevation), (after.zoom, state.zoom))
    np.testing.assert_allclose(after.velocity, np.stack([a - b for a, b in pairs], 1), atol=1e-6)
    assert (np.abs(after.velocity[:, 0]) < 1e-6).mean() > 0.3


def test_at_a_bound_a_camera_that_walks_has_the_velocity_of_what_it_could_move():
    here, walk = context(), CameraWalk.of_intensity(0.3)
    state = jax.vmap(lambda key: walk.init(key, here))(keys(100))
    after = jax.vmap(lambda s, key: walk.step(s, key, here))(state, keys(100))

    def places(state):
        radius, azimuth, polar = np.asarray(state.place, np.float64).T
        flat = radius * np.sin(polar)
        return np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), radius * np.cos(polar)], 1)

    np.testing.assert_allclose(after.velocity, places(after) - places(state), atol=1e-5)
    np.testing.assert_allclose(after.roll_velocity, after.roll - state.roll, atol=1e-6)


def test_a_field_of_view_is_as_often_wider_as_narrower():
    here, wide = context(), FieldOfView(0.8)
    drawn = np.log(np.asarray(jax.vmap(lambda key: wide.init(key, here))(keys(2000))))
    np.testing.assert_allclose((drawn.min(), drawn.mean(), drawn.max()), (-0.8, 0.0, 0.8), atol=0.04)
    for factor, fovy in ((0.5, 22.5), (2.0, 90.0), (4.0, 150.0)):
        camera = wide.apply_scene(jnp.float32(factor), view(), here).camera
        assert float(camera.fovy) == pytest.approx(fovy)


def test_videos_begin_anywhere_and_run_either_way():
    here = context()
    video: Any = Video().prepare(here)
    state = jax.vmap(lambda key: video.init(key, here))(keys(2000))
    length = np.asarray(video.bank.length)[np.asarray(state.clip)]
    np.testing.assert_allclose(np.mean(np.asarray(state.position) / length), 0.5, atol=0.03)
    assert (np.asarray(state.position) < length).all()
    np.testing.assert_allclose(np.mean(np.asarray(state.direction) > 0), 0.5, atol=0.04)
    np.testing.assert_allclose(np.bincount(state.clip, minlength=60) / 2000, 1 / 60, atol=0.012)


def test_the_camera_keeps_looking_at_the_body_from_above():
    here = context()
    env = probe_env()
    state = env.reset(jax.random.key(0))
    scene, _, camera = env.render_inputs(state)
    seen = SceneView(scene, camera, jnp.float32(3.0))
    target = camera.pos - 3.0 * camera.mat[:, 2]
    orbit = CameraOrbit.of_intensity(0.5)
    for seed in range(10):
        moved = orbit.apply_scene(orbit.init(jax.random.key(seed), here), seen, here).camera
        away = moved.pos - target
        np.testing.assert_allclose(away / np.linalg.norm(away), moved.mat[:, 2], atol=1e-5)
        np.testing.assert_allclose(moved.mat.T @ moved.mat, np.eye(3), atol=1e-5)
        assert away[2] >= -1e-4, "above"
        assert 3 * 0.75 - 1e-3 <= np.linalg.norm(away) <= 3 * 1.75 + 1e-3
    unmoved = jax.tree.map(jnp.zeros_like, orbit.init(jax.random.key(0), here))._replace(zoom=jnp.ones(()))
    still = CameraOrbit(angle=1.0).apply_scene(unmoved, seen, here).camera
    np.testing.assert_allclose(still.mat, camera.mat, atol=1e-6)
    np.testing.assert_allclose(still.pos, camera.pos, atol=1e-5)
