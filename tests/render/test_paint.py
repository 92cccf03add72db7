"""Images and clips in a scene, and more geoms: where a ray meets them, by hand, in float64."""

from dataclasses import replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.render import (
    Camera,
    GeomPose,
    Scene,
    SkyMapping,
    add_geoms,
    add_poses,
    copy_geoms,
    look_at,
    paint,
    paint_sky,
    render,
    repaint,
)

HEIGHT, WIDTH = 24, 32
_BODY = '<geom name="body" size=".3" pos=".2 0 .3" rgba=".9 .3 .2 1"/>'


def _setup(more: str = "") -> tuple[Scene, GeomPose]:
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual><worldbody>
        <geom type="plane" size="0 0 1" rgba="1 1 1 1" pos="0 0 0" euler="0 0 30"/>{_BODY}{more}</worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return Scene.from_mujoco(model), GeomPose.from_mujoco(data)


def _camera(seed: int) -> Camera:
    rng = np.random.default_rng(seed)
    return look_at(jnp.array([*rng.uniform(-3, 3, 2), 1.0]), jnp.array([*rng.uniform(-1, 1, 2), 1.2]), 60.0)


def _directions(camera: Camera) -> np.ndarray:
    """(HEIGHT, WIDTH, 3) in the world's frame, with a component of 1 along the camera's line of sight."""
    scale = np.tan(np.radians(float(camera.fovy)) / 2) * 2 / HEIGHT
    x = (np.arange(WIDTH) + 0.5 - WIDTH / 2) * scale
    y = -(np.arange(HEIGHT) + 0.5 - HEIGHT / 2) * scale
    local = np.stack([*np.meshgrid(x, y), -np.ones((HEIGHT, WIDTH))], axis=-1)
    return local @ np.asarray(camera.mat, np.float64).T


def _ramp(size: int = 64) -> np.ndarray:
    """An image whose color is the place: red to the right, green down."""
    place = (np.arange(size) + 0.5) / size
    right, down = np.meshgrid(place, place)
    return np.stack([right, down, np.full_like(right, 0.5)], axis=-1).astype(np.float32)


def _mirrored(x: np.ndarray) -> np.ndarray:
    return 1 - np.abs(x % 2 - 1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mapping", [SkyMapping.SPHERE, SkyMapping.PLANE])
def test_a_skys_image_is_looked_up_by_the_rays_direction(mapping, seed):
    span, heading = ((90.0, 60.0) if mapping == SkyMapping.SPHERE else (2.5, 1.5)), 40.0
    scene, pose = _setup()
    scene, camera = paint_sky(scene, _ramp(), mapping, span, heading), _camera(seed)
    frame = render(scene, pose, camera, HEIGHT, WIDTH, ("color", "segmentation"))
    d = _directions(camera)
    azimuth = np.degrees(np.arctan2(d[..., 1], d[..., 0])) - heading
    flat = np.hypot(d[..., 0], d[..., 1])
    ahead = flat * np.cos(np.radians(azimuth))
    if mapping == SkyMapping.SPHERE:
        right, up = -((azimuth + 180) % 360 - 180), np.degrees(np.arctan2(d[..., 2], flat))
    else:
        right, up = -flat * np.sin(np.radians(azimuth)) / np.abs(ahead), d[..., 2] / np.abs(ahead)
    u, v = _mirrored(0.5 + right / span[0]), _mirrored(0.5 - up / span[1])
    # At its edges the picture is one texel deep, and mip levels are coarser.
    clear = (np.asarray(frame.segmentation) < 0) & (np.abs(u - 0.5) < 0.4) & (np.abs(v - 0.5) < 0.4)
    clear &= np.abs(ahead) > 0.3
    assert clear.sum() > 50
    np.testing.assert_allclose(np.asarray(frame.color)[clear][:, :2], np.stack([u, v], -1)[clear], atol=0.03)


def test_one_picture_on_a_cube_is_seen_upright_on_every_side():
    scene, pose = _setup()
    scene = paint_sky(scene, _ramp(), SkyMapping.CUBE)
    for azimuth in (0.0, 90.0, 180.0, 270.0):
        ahead = jnp.array([np.cos(np.radians(azimuth)), np.sin(np.radians(azimuth)), 0.0])
        camera = look_at(jnp.array([0.0, 0.0, 1.0]) + 3 * ahead, jnp.array([0.0, 0.0, 1.0]) + 4 * ahead, 89.0)
        color = np.asarray(render(scene, pose, camera, 32, 32, ("color",)).color)[:16]
        np.testing.assert_allclose(color[2:, 2:-2, :2], _ramp(32)[2:16, 2:-2, :2], atol=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_a_floors_image_lies_on_its_plane(seed):
    scene, pose = _setup()
    size = (1.7, 2.3)
    scene, camera = paint(scene, [0], _ramp(), size), _camera(seed)
    camera = look_at(camera.pos * jnp.array([0.3, 0.3, 2.0]), jnp.zeros(3), 60.0)  # from above: pixels are small there
    frame = render(scene, pose, camera, HEIGHT, WIDTH, ("color", "segmentation", "depth"))
    on_floor = np.asarray(frame.segmentation) == 0
    point = np.asarray(camera.pos) + np.asarray(frame.depth)[..., None] * _directions(camera)
    local = np.where(on_floor[..., None], point, 0.0) @ np.asarray(pose.xmat[0], np.float64)
    u, v = (0.5 + local[..., 0] / size[0]) % 1, (0.5 - local[..., 1] / size[1]) % 1
    clear = on_floor & (np.abs(u - 0.5) < 0.35) & (np.abs(v - 0.5) < 0.35)
    assert clear.sum() > 20
    np.testing.assert_allclose(np.asarray(frame.color)[clear][:, :2], np.stack([u, v], -1)[clear], atol=0.04)


def test_an_image_begins_in_a_planes_middle_without_promotion(strict):
    painted = paint(_setup()[0], [0, 1], _ramp(8))
    np.testing.assert_array_equal(painted.texture_offset, [[0.5, 0.5], [0.0, 0.0]])


def test_a_clip_is_shared_by_a_batch_whose_environments_show_their_own_frames():
    scene, pose = _setup()
    clip = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 3), np.uint8)
    scene = paint_sky(paint(scene, [0], clip), clip[:3])
    camera = _camera(0)
    shown = jnp.array([[0.0, 0.0], [4.9, 1.0], [5.0, -1.0], [-0.5, -1.5]])
    frames = [(0, 0), (4, 1), (0, 2), (4, 1)]  # rounded down, and from the first again after the last

    def rendered(scene):
        return render(scene, pose, camera, HEIGHT, WIDTH, ("color",)).color

    at_once = jax.jit(jax.vmap(lambda frame: rendered(replace(scene, texture_frame=frame))))(shown)
    singly = jax.jit(rendered)
    for got, (floor, sky) in zip(at_once, frames, strict=True):
        still = repaint(repaint(scene, 0, clip[floor]), 1, clip[sky])
        np.testing.assert_allclose(got, singly(still), atol=1e-5)


def test_environments_may_have_textures_of_their_own():
    scene, pose = _setup()
    scene, camera = paint(scene, [0, 1], np.zeros((16, 16, 3), np.uint8)), _camera(1)
    images = np.random.default_rng(0).integers(0, 256, (3, 16, 16, 3), np.uint8)

    def rendered(image):
        return render(repaint(scene, 0, image), pose, camera, HEIGHT, WIDTH).rgb

    batch, single = jax.jit(jax.vmap(rendered))(images), jax.jit(rendered)
    for got, image in zip(batch, images, strict=True):
        assert np.abs(np.asarray(got, int) - np.asarray(single(image), int)).max() <= 1
    assert np.any(np.asarray(batch[0] != batch[1]))


@pytest.mark.full
def test_images_of_floats_are_those_of_bytes_and_have_derivatives():
    scene, pose = _setup()
    image, camera = np.random.default_rng(0).integers(0, 256, (8, 8, 3), np.uint8), _camera(2)

    def rendered(image):
        return render(paint_sky(paint(scene, [0], image), image), pose, camera, HEIGHT, WIDTH, ("color",)).color

    np.testing.assert_allclose(rendered(image), rendered(jnp.float32(image) / 255), atol=0.6 / 255)
    gradient = jax.grad(lambda image: rendered(image).sum())(jnp.float32(image) / 255)
    assert np.all(np.isfinite(gradient))
    assert np.abs(gradient).sum() > 1


def test_more_geoms_look_as_those_of_a_model_and_need_no_new_program():
    more = """<geom type="box" size=".2 .1 .3" pos="1 .5 .4" rgba=".2 .5 .8 1"/>
        <geom type="capsule" size=".1 .2 0" pos="-.5 -.8 .3" rgba=".8 .5 .2 1"/>"""
    whole, whole_pose = _setup(more)
    scene, pose = _setup()
    size, rgb = whole.geom_size[2:], whole.geom_rgb[2:]
    camera, traced = _camera(0), []

    @jax.jit
    def rendered(size, xpos):
        traced.append(1)
        more = add_geoms(scene, ["box", "capsule"], jnp.zeros((2, 3)), rgb)
        more = replace(more, geom_size=more.geom_size.at[2:].set(size))
        return render(more, add_poses(pose, xpos), camera, HEIGHT, WIDTH, ("rgb", "segmentation"), shadows=True)

    expected = render(whole, whole_pose, camera, HEIGHT, WIDTH, ("rgb", "segmentation"), shadows=True)
    frame = rendered(size, whole_pose.xpos[2:])
    np.testing.assert_array_equal(frame.segmentation, expected.segmentation)
    assert np.abs(np.asarray(frame.rgb, int) - np.asarray(expected.rgb, int)).max() <= 1
    none = rendered(jnp.zeros((2, 3)), whole_pose.xpos[2:])
    np.testing.assert_array_equal(none.rgb, render(scene, pose, camera, HEIGHT, WIDTH, shadows=True).rgb)
    assert len(traced) == 1


@pytest.mark.full
def test_what_has_no_size_is_in_no_soft_image_either():
    """Nor has it a derivative."""
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><light pos="0 -1 3"/><geom size="0.3"/></worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    camera, kinds = look_at(jnp.array([0.0, -2.0, 0.3]), jnp.zeros(3), 45.0), ["capsule", "box"]

    def seen(x, size):
        more = add_geoms(scene, kinds, jnp.full((2, 3), size), jnp.ones((2, 3)))
        places = jnp.stack([x, jnp.float32(-0.5), jnp.float32(0.1)])
        color = render(more, add_poses(pose, jnp.stack([places] * 2)), camera, 8, 8, ("color",), soft=1.5).color
        return color.sum(), color

    by_place_and_size, color = jax.jit(jax.grad(seen, (0, 1), has_aux=True))(jnp.float32(0.1), jnp.float32(0.0))
    alone = render(scene, pose, camera, 8, 8, ("color",), soft=1.5).color
    np.testing.assert_allclose(color, alone, atol=1e-5)
    assert by_place_and_size == (0.0, 0.0)


@pytest.mark.full
def test_copied_geoms_look_as_those_of_a_model():
    """Colors, a texture, transparency, emission, a mesh: the same as a model with each geom twice."""

    def setup(twice: bool) -> tuple[Scene, GeomPose]:
        kinds = (
            'type="box" size=".2 .1 .3" material="checked"',
            'type="ellipsoid" size=".2 .1 .3" rgba=".2 .9 .3 .4"',
            'type="mesh" mesh="tent" material="glows"',
        )
        places = [(i, j) for j in range(1 + twice) for i in range(3)]
        geoms = "".join(f'<geom {kinds[i]} pos="{i - 1} {1.2 * j - 0.6} .4" euler="0 0 {40 * j}"/>' for i, j in places)
        model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><asset><mesh name="tent" vertex="0 0 0 .4 0 0 0 .4 0 0 0 .4"/>
            <texture name="c" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="32" height="32"/>
            <material name="checked" texture="c" texrepeat="3 2" specular=".9" shininess=".3"/>
            <material name="glows" rgba=".7 .4 .2 1" emission=".5"/></asset><worldbody>
            <light pos="0 0 3"/><geom type="plane" size="0 0 1"/>{geoms}</worldbody></mujoco>"""
        )
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        return Scene.from_mujoco(model), GeomPose.from_mujoco(data)

    (scene, pose), (whole, whole_pose) = setup(False), setup(True)
    copied = copy_geoms(scene, [1, 2, 3])
    pose = add_poses(pose, whole_pose.xpos[4:], whole_pose.xmat[4:])
    for seed in range(3):
        camera = _camera(seed)
        outputs = ("rgb", "segmentation")
        seen, expected = (
            render(s, p, camera, HEIGHT, WIDTH, outputs, shadows=True) for s, p in ((copied, pose), (whole, whole_pose))
        )
        np.testing.assert_array_equal(seen.segmentation, expected.segmentation)
        assert np.abs(np.asarray(seen.rgb, int) - np.asarray(expected.rgb, int)).max() <= 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda s: paint(s, [2], _ramp()), "the scene has no geom 2: it has 2"),
        (lambda s: paint(s, [0], _ramp()[..., :1]), r"images have shape \(64, 64, 1\)"),
        (lambda s: paint(s, [0], np.zeros((4, 4, 3), int)), "images are int"),
        (lambda s: paint(s, [0], _ramp(), (1.0, 0.0)), "size is"),
        (lambda s: paint(s, [0], _ramp(), cast(Any, 2.0)), "size is 2.0: it must be two positive numbers"),
        (lambda s: paint(s, cast(Any, ["floor"]), _ramp()), r"geoms is \['floor'\]: .* whole numbers below 2"),
        (lambda s: paint(s, cast(Any, 1), _ramp()), "geoms is 1: it must be a sequence"),
        (
            lambda s: paint(s, [0], 255 * np.ones((4, 4, 3), np.float32)),
            "images are floats up to 255: they must",
        ),
        (lambda s: paint_sky(s, 255.0 * jnp.ones((4, 4, 3))), "images are floats up to 255"),
        (lambda s: paint(s, [0], "floor.png"), "images are a str: they must be an array"),
        (lambda s: paint_sky(s, _ramp(), heading=cast(Any, "north")), "heading is 'north': it must be a number"),
        (lambda s: repaint(s, 0, _ramp()), "there is no texture 0: the scene has 0"),
        (lambda s: paint_sky(s, _ramp()[:32], SkyMapping.CUBE), "images of a cube"),
        (lambda s: paint_sky(s, _ramp(), span=(0.0, 1.0)), "span is"),
        (lambda s: paint_sky(s, _ramp(), cast(Any, "sphere")), "mapping is 'sphere': .*SkyMapping.SPHERE"),
        (lambda s: repaint(paint(s, [0], _ramp()), 0, _ramp(32)), "32x32 do not fit texture 0 of 64x64"),
        (lambda s: repaint(paint(s, [0], _ramp()), 0, np.zeros((64, 64, 3), np.uint8)), "pass the same kind"),
        (lambda s: add_geoms(s, ["plane"], jnp.ones((1, 3)), jnp.ones((1, 3))), "no geom of type 'plane'"),
        (lambda s: add_geoms(s, ["box"], jnp.ones((2, 3)), jnp.ones((1, 3))), "size of 1 geoms"),
        (lambda s: add_geoms(s, ["box"], -jnp.ones((1, 3)), jnp.ones((1, 3))), "size of 1 geoms is .* at least 0"),
        (lambda s: add_geoms(s, ["box"], jnp.ones((1, 3)), [[255, 0, 0]]), "rgb of 1 geoms is .* from 0 to 1"),
        (lambda s: add_geoms(s, ["box"], "large", jnp.ones((1, 3))), "size of 1 geoms is 'large'"),
        (lambda s: copy_geoms(s, [7]), "geom 7 of the scene is not visible"),
        (lambda s: copy_geoms(s, cast(Any, 1)), "geoms is 1: it must be a sequence of ids"),
        (lambda s: add_poses(_setup()[1], [0.0, 0.0, 1.0]), r"xpos of 3 more geoms has shape \(3,\)"),
        (lambda s: add_poses(_setup()[1], np.zeros((2, 3)), np.eye(3)), r"xmat of 2 .* it must be \(2, 3, 3\)"),
    ],
)
def test_wrong_arguments_are_named(wrong, message):
    with pytest.raises(ConfigError, match=message):
        wrong(_setup()[0])


def test_poses_of_more_geoms_may_be_lists():
    pose = add_poses(_setup()[1], [[1, 0, 2]])
    assert pose.xpos.dtype == jnp.float32
    np.testing.assert_array_equal(pose.xpos[-1], [1, 0, 2])
    np.testing.assert_array_equal(pose.xmat[-1], np.eye(3))
