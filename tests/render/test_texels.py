"""Textures texel by texel, against float64 formulas: their levels, edges, channels and faces, and what they replace."""

import io

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from PIL import Image

from pixelbrax.render import (
    Camera,
    GeomPose,
    Scene,
    SkyMapping,
    add_geoms,
    add_poses,
    look_at,
    paint,
    paint_sky,
    render,
)
from pixelbrax.render.mip import mip_chain

SIZE = 16
_FROM_ABOVE = Camera(jnp.array([0.0, 0.0, 2.0]), jnp.eye(3), jnp.float32(10.0))
_AMBIENT = '<visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>'


def _read(xml: str, assets: dict[str, bytes] | None = None) -> tuple[Scene, GeomPose]:
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{_AMBIENT}{xml}</mujoco>", assets or {})
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return Scene.from_mujoco(model), GeomPose.from_mujoco(data)


def _color(scene: Scene, pose: GeomPose, camera: Camera = _FROM_ABOVE, size: int = SIZE) -> np.ndarray:
    return np.asarray(render(scene, pose, camera, size, size, ("color",)).color)


def _floor(look: str = 'rgba="1 1 1 1"', assets: str = "") -> tuple[Scene, GeomPose]:
    return _read(f'{assets}<worldbody><geom type="plane" size="0 0 1" {look}/></worldbody>')


def test_a_level_has_the_means_of_four_texels_and_counts_an_odd_last_one_twice():
    image = np.random.default_rng(0).uniform(size=(1, 3, 5, 3))
    shape, texels = mip_chain(image)
    assert shape == (1, ((3, 5), (2, 3), (1, 2), (1, 1)))
    rows, columns = ((0, 1), (2, 2)), ((0, 1), (2, 3), (4, 4))
    expected = [[image[0, r][:, c].mean((0, 1)) for c in map(list, columns)] for r in map(list, rows)]
    np.testing.assert_allclose(texels[15:21].reshape(2, 3, 3), expected)


@pytest.mark.parametrize(("footprint", "level"), [(1.3, 0), (1.5, 1), (2.7, 1), (3.0, 2)])
def test_the_level_whose_texels_are_nearest_in_size_to_a_pixel_is_taken(footprint, level):
    """By their ratio: from the root of two on the next. Stripes are of one texel in red, of two in green."""
    columns, texels = np.arange(32), 32
    stripes = np.stack([columns % 2, columns // 2 % 2, 0 * columns], axis=-1).astype(np.float32)
    pixel = 2.0 * 2.0 * np.tan(np.radians(5.0)) / SIZE  # meters of the floor
    scene, pose = _floor()
    color = _color(paint(scene, [0], np.broadcast_to(stripes, (32, 32, 3)), [texels * pixel / footprint] * 2), pose)
    varies = np.ptp(color, axis=(0, 1)) > 0.2
    assert (varies[0], varies[1]) == (level < 1, level < 2)


def test_a_picture_on_a_floor_is_interpolated_across_its_edges():
    row = np.array([0.1, 0.9, 0.3, 0.6])
    image = np.stack([np.tile(row, (4, 1)), np.tile(row[:, None], (1, 4)), np.zeros((4, 4))], axis=-1)
    scene, pose = _floor()
    size = 0.2
    color = _color(paint(scene, [0], image.astype(np.float32), (size, size)), pose)
    half = 2.0 * np.tan(np.radians(5.0))
    right = (np.arange(SIZE) + 0.5 - SIZE / 2) * 2 * half / SIZE
    texel = 4 * ((0.5 + right / size) % 1) - 0.5
    expected = np.interp(texel, np.arange(-1, 5), [row[-1], *row, row[0]])
    assert ((texel < 0) | (texel > 3)).sum() > 2
    np.testing.assert_allclose(color[:, :, 0], np.broadcast_to(expected, (SIZE, SIZE)), atol=2e-3)
    np.testing.assert_allclose(color[:, :, 1], np.broadcast_to(expected[:, None], (SIZE, SIZE)), atol=2e-3)


def test_a_skys_mirror_images_join_without_a_seam():
    """Beyond a picture's edge its own last texel follows, and not the first of the other side."""
    ramp = np.array([0.1, 0.3, 0.6, 0.9])
    image = np.stack([np.tile(ramp, (4, 1)), np.tile(ramp[:, None], (1, 4)), np.zeros((4, 4))], axis=-1)
    scene = Scene.from_mujoco(mujoco.MjModel.from_xml_string("<mujoco/>"))
    scene = paint_sky(scene, image.astype(np.float32), SkyMapping.PLANE, (0.5, 0.5), heading=0.0)
    camera = look_at(jnp.zeros(3), jnp.array([1.0, 0.0, 0.0]), 60.0)
    color = _color(scene, GeomPose(jnp.zeros((0, 3)), jnp.zeros((0, 3, 3))), camera)
    place = (np.arange(SIZE) + 0.5 - SIZE / 2) * 2 * np.tan(np.radians(30.0)) / SIZE
    share = 1 - np.abs((0.5 + place / 0.5) % 2 - 1)
    expected = np.interp(4 * share - 0.5, np.arange(4), ramp)
    assert ((share < 0.12) | (share > 0.88)).sum() >= 2
    np.testing.assert_allclose(color[:, :, 0], np.broadcast_to(expected, (SIZE, SIZE)), atol=2e-3)
    np.testing.assert_allclose(color[:, :, 1], np.broadcast_to(expected[:, None], (SIZE, SIZE)), atol=2e-3)


def _png(image: np.ndarray, mode: str) -> bytes:
    out = io.BytesIO()
    Image.fromarray(image, mode).save(out, "PNG")
    return out.getvalue()


def _textured_by_spec(texels: np.ndarray) -> Scene:
    """A floor with a texture of any number of channels, which MuJoCo takes from a specification but from no file."""
    spec = mujoco.MjSpec()
    height, width, channels = texels.shape
    kind = mujoco.mjtTexture.mjTEXTURE_2D
    texture = spec.add_texture(name="t", type=kind, width=width, height=height, nchannel=channels)
    texture.data = texels.tobytes()
    material = spec.add_material(name="m", texrepeat=[3, 3])
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "t"
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1], material="m")
    return Scene.from_mujoco(spec.compile())


def test_a_texture_of_two_channels_is_gray():
    """As one of the first channel alone; the other is its alpha, which no color has."""
    gray = np.random.default_rng(0).integers(0, 256, (8, 8, 1), np.uint8)
    alone, both = (_textured_by_spec(x).textures[0] for x in (gray, np.concatenate([gray, 255 - gray], axis=-1)))
    np.testing.assert_allclose(alone[:64], np.repeat(gray.reshape(-1, 1) / 255, 3, axis=1), atol=1e-6)
    np.testing.assert_array_equal(alone, both)


_SIDES = ("right", "left", "up", "down", "front", "back")


def test_six_faces_are_those_of_a_models_skybox():
    faces = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), np.uint8)
    files = " ".join(f'file{side}="{side}.png"' for side in _SIDES)
    pictures = {f"{side}.png": _png(face, "RGB") for side, face in zip(_SIDES, faces, strict=True)}
    scene, pose = _read(f'<asset><texture type="skybox" {files}/></asset><worldbody/>', pictures)
    painted = paint_sky(_read("<worldbody/>")[0], faces, SkyMapping.CUBE)
    for ahead in (*np.eye(3), *-np.eye(3)):
        camera = look_at(jnp.zeros(3), jnp.array(ahead), 80.0)
        np.testing.assert_allclose(_color(painted, pose, camera), _color(scene, pose, camera), atol=2e-3)


_TEXTURES = {
    "a checker": '<texture name="t" type="2d" builtin="checker" rgb1=".9 .2 .1" rgb2=".2 .3 .4" width="8" height="8"/>',
    "one color": '<texture name="t" type="2d" builtin="flat" rgb1=".9 .2 .1" width="8" height="8"/>',
}


@pytest.mark.parametrize("texture", _TEXTURES)
def test_a_picture_takes_the_place_of_the_texture_before(texture):
    image = np.random.default_rng(0).integers(0, 256, (8, 8, 3), np.uint8)
    (plain, pose), (textured, _) = (
        _floor(),
        _floor('material="m"', f'<asset>{_TEXTURES[texture]}<material name="m" texture="t"/></asset>'),
    )
    assert np.abs(_color(textured, pose) - _color(plain, pose)).max() > 0.1
    expected = _color(paint(plain, [0], image, (0.2, 0.2)), pose)
    np.testing.assert_allclose(_color(paint(textured, [0], image, (0.2, 0.2)), pose), expected, atol=1e-6)


def test_more_geoms_shine_as_those_of_a_model():
    lamp = '<light pos="0 -1 3" dir="0 .3 -1" specular=".9 .9 .9"/>'
    floor = '<geom type="plane" size="1 1 1"/>'
    ball = '<geom size=".3" pos="0 0 .5" rgba=".2 .3 .8 1"/>'
    whole, whole_pose = _read(f"<worldbody>{lamp}{floor}{ball}</worldbody>")
    scene, pose = _read(f"<worldbody>{lamp}{floor}</worldbody>")
    more = add_geoms(scene, ["sphere"], whole.geom_size[1:], whole.geom_rgb[1:])
    camera = look_at(jnp.array([0.0, -1.5, 1.5]), jnp.array([0.0, 0.0, 0.5]), 30.0)
    expected = _color(whole, whole_pose, camera)
    assert expected[..., 0].max() > 0.6  # of blue: its highlight
    np.testing.assert_allclose(_color(more, add_poses(pose, whole_pose.xpos[1:]), camera), expected, atol=1e-5)
