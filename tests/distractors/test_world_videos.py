"""Videos in the world: on the sky, on the floor, and the texels that they are looked up in."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.distractors import (
    EveryControlStep,
    FloorColors,
    FloorVideo,
    Levels,
    RenderedFrame,
    Role,
    SceneContext,
    SceneView,
    SkyVideo,
    Switching,
)
from pixelbrax.distractors.videos.bank import ClipBank
from pixelbrax.distractors.videos.texels import Texels, check_texels
from pixelbrax.errors import ConfigError
from pixelbrax.render import SkyMapping, look_at, paint, paint_sky, render
from tests.distractors.frames import context as frames_context
from tests.distractors.frames import view
from tests.probe import probe_env


def _smooth_clip(size: int) -> np.ndarray:
    """(1, 3, size, size): a picture without small details, the same at all sizes."""
    place = (np.arange(size) + 0.5) / size
    phases = [2 * np.pi * (a * place[None] + b * place[:, None]) for a, b in ((1, 0), (0, 1), (1, 1))]
    return np.round(127.5 + 127.5 * np.sin(phases)).astype(np.uint8)[None]


_SIZE = 48
_LOOKS = [((2.0, -3.0, 1.5), (0.0, 0.0, 0.5)), ((0.0, 4.0, 0.3), (0.0, 0.0, 2.0)), ((-3.0, 0.5, 2.0), (0.0, 0.0, 4.0))]


def _looking(pos, target, fovy):
    """The probe's scene and poses, a camera, and the context of images of `_SIZE`."""
    env = probe_env(image_size=_SIZE)
    scene, pose, _ = env.render_inputs(env.reset(jax.random.key(0)))
    camera = look_at(jnp.array(pos), jnp.array(target), fovy)
    return scene, pose, camera, SceneContext.of(env.physics.mj_model, env.scene, _SIZE, _SIZE)


@pytest.mark.parametrize(("pos", "target"), [*_LOOKS, ((0.1, 0.0, 5.0), (0.0, 0.0, 0.0))])
def test_a_sky_video_is_where_the_renderers_sky_is(pos, target):
    """Against the renderer's own cube around the world, on all faces, through a floor that lets it through."""
    scene, pose, camera, context = _looking(pos, target, 60.0)
    video = SkyVideo(bank=ClipBank.of({"a": _smooth_clip(256)}), floor=1.0).prepare(context)
    drawn = render(scene, pose, camera, _SIZE, _SIZE, ("color", "segmentation"))
    seen = RenderedFrame(jnp.moveaxis(drawn.color, -1, 0), drawn.segmentation, camera)
    found = video.apply_frame(video.init(jax.random.key(0), context), seen, context).rgb
    picture = jnp.asarray(np.moveaxis(_smooth_clip(256)[0], 0, -1))
    bare = replace(scene, visible=())
    sky = render(paint_sky(bare, picture, SkyMapping.CUBE), pose, camera, _SIZE, _SIZE, ("color",)).color
    body = context.shows(drawn.segmentation, (Role.BODY,))
    difference = np.abs(np.asarray(jnp.moveaxis(found, 0, -1) - sky))[~np.asarray(body)]
    assert np.quantile(difference, 0.99) < 0.06
    assert difference.mean() < 0.02
    np.testing.assert_array_equal(found[:, body], seen.rgb[:, body])


@pytest.mark.parametrize(("pos", "target"), _LOOKS[:1] + [((0.0, -2.0, 2.5), (0.0, 0.0, 0.0))])
def test_a_floor_video_is_where_the_renderers_floor_is(pos, target):
    """Against the renderer's own image on the floor, lit alike."""
    scene, pose, camera, context = _looking(pos, target, 45.0)
    bank = ClipBank.of({"a": _smooth_clip(256)})
    video = FloorVideo(bank=bank, size=2.0).prepare(context)
    state = video.init(jax.random.key(0), context)
    lit = video.observe_scene(state, SceneView(scene, camera, jnp.float32(1)), context).scene
    frame = render(lit, pose, camera, _SIZE, _SIZE, ("color", "segmentation"))
    found = video.apply_frame(
        state, RenderedFrame(jnp.moveaxis(frame.color, -1, 0), frame.segmentation, camera), context
    ).rgb
    floors = np.flatnonzero(context.geoms((Role.FLOOR,))).tolist()
    painted = paint(scene, floors, jnp.asarray(np.moveaxis(_smooth_clip(256)[0], 0, -1)), (2.0, 2.0))
    # Both repeat; ours has the picture's corner at the world's origin, the renderer its middle.
    painted = replace(painted, texture_offset=jnp.zeros_like(painted.texture_offset))
    law = render(painted, pose, camera, _SIZE, _SIZE, ("color",)).color
    near = np.asarray(context.shows(frame.segmentation, (Role.FLOOR,))) & (np.asarray(frame.segmentation) >= 0)
    difference = np.abs(np.asarray(jnp.moveaxis(found, 0, -1) - law))[near]
    assert np.quantile(difference, 0.9) < 0.08
    assert difference.mean() < 0.03


@pytest.mark.parametrize("height", [-3.0, 0.5])
def test_a_floor_video_lies_on_a_floor_that_is_lower_or_higher(height):
    """A camera as far above it sees the same."""
    _, _, camera, context = _looking(*_LOOKS[0], 45.0)
    xml = f'<mujoco><worldbody><geom type="plane" size="5 5 .1" pos="0 0 {height}"/></worldbody></mujoco>'
    moved = replace(context, model=mujoco.MjModel.from_xml_string(xml), roles=(Role.FLOOR,))
    video = FloorVideo(bank=ClipBank.of({"a": _smooth_clip(64)})).prepare(context)
    state, white = video.init(jax.random.key(0), context), jnp.ones((3, _SIZE, _SIZE))
    floor = jnp.zeros((_SIZE, _SIZE), jnp.int32)

    def seen(camera, context):
        return video.apply_frame(state, RenderedFrame(white, floor, camera), context).rgb

    raised = replace(camera, pos=camera.pos + jnp.array([0.0, 0.0, height]))
    difference = np.asarray(seen(raised, moved) - seen(camera, context))
    near = np.abs(difference[:, _SIZE // 2 :])
    assert np.quantile(near, 0.95) < 1e-6
    assert np.asarray(seen(camera, context)).std() > 0.1


def test_texels_are_the_clips_with_smaller_copies():
    rng = np.random.default_rng(0)
    bank = ClipBank.of({"a": rng.integers(0, 256, (2, 3, 8, 8), dtype=np.uint8)})
    texels = Texels.of(bank, 3)
    assert texels.sizes == (8, 4, 2)
    places = (jnp.arange(8) + 0.5) / 8
    right, down = jnp.broadcast_to(places, (8, 8)), jnp.broadcast_to(places[:, None], (8, 8))
    found = texels.at(jnp.int32(1), right, down) * 255
    np.testing.assert_allclose(found, bank.frames[1], atol=1e-3)
    coarse = texels.at(jnp.int32(1), right, down, jnp.full((8, 8), 0.5)) * 255
    mean = bank.frames[1].reshape(3, 2, 4, 2, 4).mean((2, 4))
    np.testing.assert_allclose(coarse[:, ::4, ::4], mean, atol=1.0)


def test_more_texels_than_an_index_has_are_refused_before_they_are_made():
    check_texels(2330, 960, 1)
    clips = ClipBank.of({"a": np.zeros((2331, 3, 1, 1), np.uint8)})
    for kind, size in ((SkyVideo, 640), (FloorVideo, 832)):
        with pytest.raises(ConfigError, match=r"2,331 frames .*: take fewer clips or a smaller image_size"):
            kind(bank=clips).prepare(frames_context(size, size))


def test_a_floor_video_alone_sees_where_the_floor_is():
    env = probe_env(image_size=8, distractors=[FloorColors(1.0), FloorVideo(sky=1.0, floor=1.0, rest=1.0)])
    state = env.reset(jax.random.key(0))
    assert state.obs["pixels"].shape == (8, 8, 9)
    floor = [role == Role.FLOOR for role in frames_context().roles]
    assert (env.render_inputs(state)[0].pattern_rgb[np.array(floor)] != 1).any(), "people see it as it is without video"


def test_only_observations_have_the_white_floor_of_a_floor_video():
    here, video = frames_context(), FloorVideo(bank=ClipBank.of({"a": _smooth_clip(8)}))
    own = view()
    own = own._replace(scene=replace(own.scene, pattern_rgb=jnp.full_like(own.scene.pattern_rgb, 0.3)))
    for one in (video, Levels((video,)), Switching((video,)), EveryControlStep((video,))):
        assert one.changes_scenes
        ready: Any = one.prepare(here)
        state = ready.init(jax.random.key(0), here)
        np.testing.assert_array_equal(ready.apply_scene(state, own, here).scene.pattern_rgb, own.scene.pattern_rgb)
        observed = ready.observe_scene(state, own, here).scene.pattern_rgb
        np.testing.assert_array_equal(observed[here.geoms((Role.FLOOR,))], 1.0)
