"""Where things in the world are put, and what of the world is changed, in scenes with more than a body on a floor."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import pixelbrax
from pixelbrax.distractors import (
    CameraWalk,
    Distractor,
    FloorColors,
    Objects,
    RenderedFrame,
    Role,
    SceneContext,
    SceneView,
    Twin,
    Video,
    main_body,
)
from pixelbrax.distractors.kinds.color import sky_colors
from pixelbrax.distractors.kinds.places import level_floors
from pixelbrax.envs import camera_fn, camera_places
from pixelbrax.errors import ConfigError
from pixelbrax.render import GeomPose, Scene, look_at
from tests.distractors.frames import CAMERA, keys
from tests.probe import probe_env

# An arm beside the origin, behind a cube and a plane that is not drawn; a wall.
_MODEL = mujoco.MjModel.from_xml_string(
    """
    <mujoco>
      <asset>
        <texture name="grid" type="2d" builtin="checker" rgb1=".1 .2 .3" rgb2=".2 .3 .4" width="64" height="64"/>
        <material name="grid" texture="grid" texrepeat="4 4" texuniform="true"/>
      </asset>
      <worldbody>
        <geom name="hidden" type="plane" size="5 5 .1" group="3"/>
        <geom name="floor" type="plane" size="5 5 .1" material="grid"/>
        <geom name="wall" type="plane" size="1 1 .1" pos="0 3 0" zaxis="0 -1 0" rgba=".5 .1 .1 1"/>
        <body name="cube" pos="3 0 1"><freejoint/><geom size=".1"/></body>
        <body name="base" pos="0 -2 1">
          <geom size=".1"/>
          <body name="arm">
            <joint name="arm" axis="0 1 0"/>
            <geom type="capsule" fromto="0 0 0 .3 0 0" size=".05"/>
          </body>
        </body>
      </worldbody>
      <actuator><motor joint="arm"/></actuator>
    </mujoco>
    """
)


def _pose():
    data = mujoco.MjData(_MODEL)
    mujoco.mj_forward(_MODEL, data)
    return GeomPose(jnp.float32(data.geom_xpos), jnp.float32(data.geom_xmat).reshape(-1, 3, 3)), data


def test_the_main_body_is_the_one_that_is_driven_whatever_stands_before_it():
    assert main_body(_MODEL) == _MODEL.body("base").id


@pytest.mark.parametrize("body", [None, "base", "arm"])
def test_a_camera_that_does_not_move_circles_the_origin(body):
    """As in the Distracting Control Suite: `if camera_type != 'fixed': start_pos -= center of mass`."""
    spec = pixelbrax.CameraSpec((0.0, -3.0), 2.0, 0.5, 45.0, body)
    place = camera_places(_MODEL, {"": camera_fn(_MODEL, spec)})[""]
    center = _pose()[1].subtree_com[main_body(_MODEL)]
    pos = np.array(place.body_offset) + center
    np.testing.assert_allclose(place.offset, pos - center if body == "arm" else pos, atol=1e-5)
    assert CameraWalk.of_intensity(0.1).around_origin


def test_objects_keep_clear_of_a_body_that_is_beside_the_origin():
    scene = Scene.from_mujoco(_MODEL)
    context, (pose, _) = SceneContext.of(_MODEL, scene, 16, 16), _pose()
    objects = Objects(count=20)
    furnish = jax.jit(lambda key: objects.furnish(objects.init(key, context), scene, pose, context)[1].xpos)
    for key in keys(5):
        across = np.asarray(furnish(key))[_MODEL.ngeom :, 1] + 2.0
        assert (np.abs(across) >= 0.2 * context.world_unit - 1e-4).all()


@pytest.mark.full
@pytest.mark.parametrize("kind", [Objects, Twin])
def test_all_cameras_see_them_at_one_place(kind):
    near, far = (look_at(jnp.array([0.0, -y, y / 2]), jnp.zeros(3), 45.0) for y in (2.0, 6.0))
    env = probe_env(distractors=kind(), camera={"near": near, "far": far}, image_size=8)
    state = env.reset(jax.random.key(0))
    beside, beyond = (env.render_inputs(state, name)[1].xpos for name in ("near", "far"))
    np.testing.assert_array_equal(beside, beyond)


def test_the_colors_of_a_floor_are_not_those_of_a_wall():
    scene = Scene.from_mujoco(_MODEL)
    context = SceneContext.of(_MODEL, scene, 16, 16)
    assert [context.roles[i] for i in (0, 1, 2)] == [Role.FLOOR] * 3
    for amount, same in ((0.0, True), (0.5, False)):
        colors = FloorColors(amount)
        state: Any = colors.init(jax.random.key(0), context)
        changed = np.asarray(
            colors.apply_scene(state, SceneView(scene, CAMERA, jnp.float32(3.0)), context).scene.pattern_rgb
        )
        np.testing.assert_array_equal(changed[2], np.asarray(scene.pattern_rgb)[2])
        assert np.allclose(changed[1], np.asarray(scene.pattern_rgb)[1], atol=1e-6) == same


def test_a_video_on_the_floor_is_not_on_the_walls():
    context = SceneContext.of(_MODEL, Scene.from_mujoco(_MODEL), 16, 16)
    np.testing.assert_array_equal(np.flatnonzero(level_floors(context)), [0, 1])
    video = Video(sky=0.0, floor=1.0).prepare(context)
    segmentation = jnp.full((16, 16), 2).at[:8].set(1)  # a wall below the floor
    frame = RenderedFrame(jnp.zeros((3, 16, 16)), segmentation, CAMERA)
    shown = video.apply_frame(video.init(jax.random.key(0), context), frame, context).rgb
    assert shown[:, :8].max() > 0
    np.testing.assert_array_equal(shown[:, 8:], 0.0)


def test_the_color_of_a_sky_is_the_mean_over_its_faces():
    texels = np.zeros((6, 3), np.float32)
    texels[5] = 1.0
    scene = replace(probe_env().scene, sky_texture=0, textures=(jnp.asarray(texels),), texture_shape=((6, ((1, 1),)),))
    np.testing.assert_allclose(sky_colors(scene), 1 / 6, rtol=1e-6)


@dataclass(frozen=True)
class _Counts(Distractor):
    """Changes the scene by what it has seen."""

    def init(self, key, context):
        return {"seen": jnp.zeros(())}

    def remember(self, state, frame, context):
        return {"seen": state["seen"] + 1}

    def apply_scene(self, state, view, context):
        return view._replace(distance=view.distance + state["seen"])


def test_what_changes_the_scene_may_remember_frames():
    env = probe_env(distractors=_Counts(), image_size=8)
    state = env.step(env.reset(jax.random.key(0)), jnp.zeros(1))
    (counts,) = [each.states for each in state.info["distractors"].values()]
    assert counts[0]["seen"] == 2
    with pytest.raises(ConfigError, match="remembers pixels, but outputs is depth"):
        probe_env(distractors=_Counts(), image_size=8, outputs=("depth",))
