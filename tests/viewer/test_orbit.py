"""The free camera's arithmetic, against the renderer's cameras."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelbrax.render import orbit
from pixelbrax.viewer import Orbit

BODY = np.array([3.0, -2.0, 0.7])
angles = st.builds(
    Orbit,
    st.tuples(*[st.floats(-5, 5)] * 3),
    st.floats(0.5, 20),
    st.floats(-180, 180),
    st.floats(-85, 85),
    st.floats(20, 90),
    st.just(False),
)
drags = st.floats(-0.4, 0.4)


def _camera(view: Orbit) -> tuple[np.ndarray, np.ndarray]:
    camera = orbit(jnp.array(view.lookat), view.distance, view.azimuth, view.elevation, view.fovy)
    return np.asarray(camera.pos, np.float64), np.asarray(camera.mat, np.float64)


def _seen(view: Orbit, point: np.ndarray) -> np.ndarray:
    """Where a point is in the image: right and down from the middle, in units of the image's height."""
    pos, mat = _camera(view)
    x, y, z = mat.T @ (point - pos)
    return np.array([x, -y]) / (-z * 2 * np.tan(np.radians(view.fovy) / 2))


@settings(max_examples=30, deadline=None)
@given(angles)
def test_the_orbit_of_a_camera_is_where_the_camera_is(view):
    pos, mat = _camera(view)
    for follows in (False, True):
        found = Orbit.from_camera(pos, mat, view.fovy, np.array(view.lookat), follows)
        assert found.follows is follows
        moved = found.following(False, np.array(view.lookat))
        there = _camera(moved)
        np.testing.assert_allclose(there[0], pos, atol=2e-3)
        np.testing.assert_allclose(there[1], mat, atol=2e-3)


@pytest.mark.parametrize("elevation", [-90.0, 90.0])
def test_straight_down_and_up_keep_the_images_up(elevation):
    pos, mat = _camera(Orbit((0, 0, 0), 3.0, 30.0, elevation))
    found = Orbit.from_camera(pos, mat, 45.0, np.zeros(3), False)
    np.testing.assert_allclose(_camera(found)[1], mat, atol=1e-3)


@settings(max_examples=30, deadline=None)
@given(angles, drags, drags)
def test_panning_keeps_the_point_looked_at_under_the_pointer(view, right, down):
    np.testing.assert_allclose(_seen(view.panned(right, down), np.array(view.lookat)), [right, down], atol=1e-3)


@settings(max_examples=30, deadline=None)
@given(angles, drags, st.floats(-0.2, 0.2))
def test_turning_keeps_the_point_and_the_distance_and_goes_back(view, right, down):
    turned = view.turned(right, down)
    assert (turned.lookat, turned.distance) == (view.lookat, view.distance)
    if abs(view.elevation - 180 * down) <= 90:
        back = turned.turned(-right, -down)
        assert (back.azimuth - view.azimuth + 180) % 360 == pytest.approx(180, abs=1e-6)
        assert back.elevation == pytest.approx(view.elevation)


def test_nothing_ever_leaves_its_bounds():
    view = Orbit()
    for _ in range(50):
        view = view.turned(9.0, 9.0).zoomed(50).panned(10, 10)
    assert np.isfinite([*view.lookat, view.distance, view.azimuth]).all()
    assert view.elevation == -90
    assert view.zoomed(-50).zoomed(-50).zoomed(-50).distance > 0


def test_zooming_out_and_in_is_no_zoom():
    assert Orbit().zoomed(3).zoomed(-3).distance == pytest.approx(Orbit().distance)
    assert Orbit().zoomed(1).distance > Orbit().distance


def test_following_changes_no_image():
    view = Orbit((1.0, 2.0, 0.3), follows=False)
    followed = view.following(True, BODY)
    assert followed.lookat == pytest.approx((-2.0, 4.0, 0.3))
    assert followed.following(False, BODY) == view
    assert view.following(False, BODY) is view
