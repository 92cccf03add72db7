"""Lights of the scene, and colors of its sky."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.distractors import (
    Ambience,
    ColorSettings,
    LightColor,
    LightPosition,
    LightShift,
    MovingLight,
    SceneView,
    SkyColors,
)
from pixelbrax.distractors.kinds.color import sky_colors
from pixelbrax.render import LightKind, paint_sky, render
from tests.distractors.frames import CAMERA, context, keys, view
from tests.probe import probe_env


def _lit() -> SceneView:
    """By a sun that shines along +x and down, and by a lamp that shines down."""
    scene, two = view().scene, lambda rows: jnp.array(rows, jnp.float32)
    gray = jnp.full((2, 3), 0.3)
    scene = replace(
        scene,
        light_kind=(LightKind.DIRECTIONAL, LightKind.SPOT),
        light_castshadow=(True, True),
        light_pos=two([[0, 0, 3], [1, 2, 3]]),
        light_dir=two([[0.6, 0, -0.8], [0, 0, -1]]),
        light_ambient=gray,
        light_diffuse=gray,
        light_specular=gray,
        light_attenuation=two([[1, 0, 0]] * 2),
        light_cutoff=two([45, 45]),
        light_exponent=two([1, 1]),
    )
    return view()._replace(scene=scene)


def test_a_lamp_is_shifted_and_a_sun_shines_from_where_it_has_moved():
    offset = np.array([1.0, -2.0, 0.5])
    here, before = replace(context(), scene=_lit().scene), _lit()
    shift = LightShift(tuple(offset), tuple(offset))
    after = shift.apply_scene(shift.init(jax.random.key(0), here), before, here).scene
    np.testing.assert_allclose(after.light_pos[1] - before.scene.light_pos[1], offset, atol=1e-6)
    np.testing.assert_array_equal(after.light_dir[1], before.scene.light_dir[1])
    place = -6 * np.asarray(before.scene.light_dir[0]) + offset  # meters from what it shines on
    np.testing.assert_allclose(after.light_dir[0], -place / np.linalg.norm(place), atol=1e-6)


def test_lights_shifted_both_ways_stay_as_high():
    here, position = replace(context(), scene=_lit().scene), LightPosition(1.0, 2.0, both_ways=True)
    drawn = np.asarray(jax.vmap(lambda key: position.init(key, here))(keys(300)))
    assert (np.abs(drawn) >= 1).all()
    assert (np.abs(drawn) <= 2).all()
    np.testing.assert_allclose((drawn < 0).mean((0, 1)), [0.5, 0.5, 0.0], atol=0.08)


def test_moving_lights_turn_back_at_their_reach():
    here, moving = context(), MovingLight(0.3, reach=1.0)
    state, way = moving.init(jax.random.key(0), here), []
    for _ in range(40):
        before, state = state, moving.step(state, jax.random.key(0), here)
        way.append(float(state.offset))
        np.testing.assert_allclose(abs(state.offset - before.offset), 0.3, atol=1e-5)
    assert 1.0 < max(way) <= 1.3 + 1e-5
    assert -1.3 - 1e-5 <= min(way) < -1.0


def test_an_ambience_is_a_level_and_a_tint():
    ranges = ((0.1, 0.8, 0.05), (0.4, 0.9, 0.1), (0.05, 0.3, 0.02))
    here, ambience = context(), Ambience(*ranges)
    drawn = np.asarray(jax.vmap(lambda key: ambience.init(key, here))(keys(1000)))
    for found, (least, most, tint) in zip(drawn.swapaxes(0, 1), ranges, strict=True):
        np.testing.assert_allclose(np.ptp(found, axis=1).max(), 2 * tint, rtol=0.1)
        np.testing.assert_allclose((found.mean(1).min(), found.mean(1).max()), (least, most), atol=tint)
    scene = ambience.apply_scene(jnp.asarray(drawn[0]), view(), here).scene
    own = scene.headlight_ambient, scene.headlight_diffuse, scene.headlight_specular
    np.testing.assert_array_equal(np.stack(own), drawn[0])


def test_no_light_is_less_than_dark():
    here, before = replace(context(), scene=_lit().scene), _lit()
    light = LightColor(10.0)
    state = light.init(jax.random.key(0), here)
    after = light.apply_scene(state, before, here).scene
    np.testing.assert_allclose(after.headlight_diffuse, np.maximum(before.scene.headlight_diffuse + state[0], 0))
    np.testing.assert_allclose(after.light_diffuse, np.maximum(before.scene.light_diffuse + state[1:], 0))
    assert (state < -1).any()


@pytest.mark.parametrize("texels", [np.float32, np.uint8])
@pytest.mark.parametrize("kind", [SkyColors(1.0), ColorSettings(0.2)], ids=["sky", "settings"])
def test_a_sky_with_a_picture_gets_colors_in_its_place(kind, texels):
    env = probe_env()
    _, pose, _ = env.render_inputs(env.reset(jax.random.key(0)))
    image = np.random.default_rng(0).uniform(0, 1, (8, 8, 3))
    picture = paint_sky(view().scene, (image if texels == np.float32 else 255 * image).astype(texels))
    np.testing.assert_allclose(sky_colors(picture), np.broadcast_to(image.mean((0, 1)), (2, 3)), atol=0.01)
    here = replace(context(), scene=picture)
    state = kind.init(jax.random.key(1), here)
    scene = kind.apply_scene(state, view()._replace(scene=picture), here).scene
    up = replace(CAMERA, pos=jnp.array([0.0, 0.0, 9.0]), mat=jnp.diag(jnp.array([1.0, -1.0, -1.0])))
    color = np.asarray(render(scene, pose, up, 9, 9, ("color",)).color)
    np.testing.assert_allclose(color[4, 4], scene.sky_rgb[1], atol=0.01)
