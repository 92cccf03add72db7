"""Images of the page, and when they are due."""

import numpy as np
import pytest

from pixelbrax.viewer.images import beside, from_depth, from_packed, from_pixels, from_segmentation, to_rgb
from pixelbrax.viewer.orbit import Orbit
from pixelbrax.viewer.pace import Pace


def test_colors_are_red_green_blue_and_opaque():
    rgb = np.random.default_rng(0).integers(0, 256, (3, 4, 3), np.uint8)
    image = from_pixels(rgb)
    np.testing.assert_array_equal(image.astype("<u4").view(np.uint8).reshape(3, 4, 4)[..., :3], rgb)
    assert (image >> 24 == 255).all()
    np.testing.assert_array_equal(to_rgb(image), rgb)
    np.testing.assert_array_equal(from_packed(image & np.uint32(0xFFFFFF)), image)
    np.testing.assert_array_equal(to_rgb(from_pixels(rgb[..., :1])), rgb[..., :1].repeat(3, axis=-1))


def test_near_is_light_far_is_dark_and_the_sky_is_darkest():
    depth = np.array([[0.01, 1.0, 3.0, 30.0, np.inf]], np.float32)
    brightness = to_rgb(from_depth(depth, 3.0)).astype(int).sum(-1)[0]
    assert (np.diff(brightness) < 0).all()
    middle = to_rgb(from_depth(np.array([[3.0, 7.0]], np.float32), 3.0))[0]
    assert (middle[0] == to_rgb(from_depth(np.array([[7.0]], np.float32), 7.0))[0, 0]).all()
    assert (middle[0] != middle[1]).any()


def test_geoms_have_colors_of_their_own_and_nothing_is_dark():
    ids = np.arange(-1, 40, dtype=np.int32)[None]
    image = from_segmentation(ids)
    assert len(np.unique(image)) == 41
    brightness = to_rgb(image).max(-1)[0]
    assert brightness[0] < 40 < brightness[1:].min()
    np.testing.assert_array_equal(from_segmentation(ids[:, 1:] + 256), image[:, 1:])


def test_a_small_image_beside_a_large_one_is_as_high():
    small, large = np.arange(6, dtype=np.uint32).reshape(2, 3), np.full((4, 5), 9, np.uint32)
    both = beside(small, large)
    assert both.shape == (4, 6 + 5)
    np.testing.assert_array_equal(both[:, :6], small.repeat(2, axis=0).repeat(2, axis=1))
    np.testing.assert_array_equal(both[:, 6:], large)


@pytest.mark.parametrize("speed", [0.5, 1.0, 4.0])
def test_frames_take_what_they_simulate_at_the_speed_that_is_asked_for(speed):
    pace, now = Pace(dt=0.1, speed=speed), 7.0
    pace.restart(now)
    assert pace.due_in(now) == 0
    for _ in range(40):
        now += max(pace.due_in(now), 0.0)
        pace.stepped(now)
    assert now - 7.0 == pytest.approx(39 * 0.1 / speed)
    assert pace.achieved == pytest.approx(speed)


def test_a_little_lag_is_made_up_for_and_a_long_one_forgotten():
    pace = Pace(dt=0.1)
    pace.restart(0.0)
    pace.stepped(0.0)
    pace.stepped(0.2)  # 0.1 late
    assert pace.due_in(0.2) == pytest.approx(0.0)
    pace.stepped(9.0)
    assert -0.3 < pace.due_in(9.0) < 0
    assert pace.achieved is not None
    assert 0.01 < pace.achieved < 0.1
    pace.restart(20.0)
    assert (pace.due_in(20.0), pace.achieved) == (0.0, None)


def test_a_camera_that_looks_away_from_the_body_circles_what_is_a_meter_ahead():
    mat = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])  # along +y
    orbit = Orbit.from_camera(np.array([0.0, 3.0, 1.0]), mat, 45.0, np.zeros(3), follows=False)
    assert (orbit.lookat, orbit.distance) == (pytest.approx((0.0, 4.0, 1.0)), 1.0)
