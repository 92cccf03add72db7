"""Transparency, reflections and fog: their laws, derivatives and programs. `tests/golden` has MuJoCo's pictures."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.render import Camera, GeomPose, Scene, look_at, render, renderer

SIZE = 32
EVERYTHING: dict[str, Any] = {"shadows": True, "reflections": True, "fog": True}


def _setup(geoms: str) -> tuple[Scene, GeomPose, Camera]:
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><statistic extent="1"/><visual><map fogstart="1" fogend="6"/></visual>
        <asset><material name="mirror" reflectance=".4" rgba=".3 .4 .5 1"/>
        <mesh name="ball" builtin="sphere" params="2" scale=".2 .2 .2"/></asset>
        <worldbody><light pos="1 -2 3" dir="-.3 .6 -1" diffuse=".5 .5 .5"/>
        <geom type="plane" size="2 2 .1" material="mirror"/>{geoms}</worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = look_at(jnp.array([0.2, -3.0, 1.3]), jnp.array([0.0, 0.0, 0.5]), 40.0)
    return Scene.from_mujoco(model), GeomPose.from_mujoco(data), camera


# Two bodies one behind the other. The larger one's center is farther away, but its bounding sphere is nearer.
_PAIR = """<geom type="box" size=".4 .1 .3" pos="0 -.2 .6" rgba=".9 .3 .2 {}"/>
    <geom type="box" size=".9 .02 .5" pos=".2 0 .6" rgba=".2 .3 .8 {}"/>"""
_SOLIDS = """<geom type="sphere" size=".25" pos="-.6 .3 .5" rgba=".9 .3 .2 1"/>
    <geom type="capsule" size=".15 .3" pos="-.4 -.6 .5" euler="50 10 0" rgba=".7 .6 .2 .5"/>
    <geom type="box" size=".2 .15 .25" pos=".5 .2 .5" euler="30 20 40" rgba=".6 .3 .7 1"/>
    <geom type="ellipsoid" size=".2 .2 .1" pos="0 -.8 .5" rgba=".3 .7 .2 .6"/>"""
_ALL = f'{_SOLIDS}<geom type="mesh" mesh="ball" pos=".5 -.7 .5" rgba=".3 .9 .9 .4"/>'


def _colors(geoms: str, **effects) -> np.ndarray:
    scene, pose, camera = _setup(geoms)
    return np.asarray(jax.jit(lambda: render(scene, pose, camera, SIZE, SIZE, ("color",), **effects).color)())


def test_transparent_geoms_are_blended_twice_in_the_order_of_their_bounding_spheres():
    a, b = 0.4, 0.7
    neither, first, second = (_colors(_PAIR.format(*alpha)) for alpha in ((0, 0), (1, 0), (0, 1)))
    both = _colors(_PAIR.format(a, b))
    has_first, has_second = (np.any(np.abs(x - neither) > 1e-3, axis=-1, keepdims=True) for x in (first, second))
    alphas = {"first": (a * has_first, first), "second": (b * has_second, second)}
    expected = neither
    for name in ("second", "first", "first", "second"):  # the larger one counts as nearer
        alpha, color = alphas[name]
        expected = alpha * color + (1 - alpha) * expected
    assert (has_first & has_second).sum() > 50
    np.testing.assert_allclose(both, expected, atol=1e-5)
    np.testing.assert_allclose(_colors(_PAIR.format(a, 0)), neither + (1 - (1 - a) ** 2) * (first - neither), atol=1e-5)


@pytest.mark.parametrize(
    ("place", "other"),
    [
        (-0.465, 'type="capsule" size=".1 .9" pos=".2 0 .6" euler="0 90 0"'),
        pytest.param(-0.477, 'type="ellipsoid" size=".9 .3 .4" pos=".2 0 .6"', marks=pytest.mark.full),
        (-0.5, 'type="plane" size="1 .6 .1" pos="0 0 .6" euler="90 0 0"'),
    ],
    ids=["capsule", "ellipsoid", "plane"],
)
def test_bounding_spheres_are_mujocos_and_planes_are_last(place, other):
    geoms = f"""<geom type="box" size=".4 .1 .3" pos="0 {place} .6" rgba=".9 .3 .2 {{}}"/>
        <geom {other} rgba=".2 .3 .8 {{}}"/>"""
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{geoms.format(1, 1)}</worldbody></mujoco>")
    near = np.linalg.norm(model.geom_pos - [0.2, -3.0, 1.3], axis=1) - model.geom_rbound
    near[model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE] = np.inf
    a, b = 0.4, 0.7
    neither, *alone, both = (_colors(geoms.format(*alpha)) for alpha in ((0, 0), (1, 0), (0, 1), (a, b)))
    shares = [
        alpha * np.any(np.abs(x - neither) > 1e-3, -1, keepdims=True) for alpha, x in zip((a, b), alone, strict=True)
    ]
    expected, order = neither, np.argsort(near).tolist()
    for k in (*order, *order[::-1]):
        expected = shares[k] * alone[k] + (1 - shares[k]) * expected
    assert ((shares[0] > 0) & (shares[1] > 0)).sum() > 20
    np.testing.assert_allclose(both, expected, atol=2e-4)


def test_depth_and_segmentation_are_those_of_the_nearest_geom_transparent_or_not():
    scene, pose, camera = _setup(_SOLIDS)
    frame = render(scene, pose, camera, SIZE, SIZE, ("segmentation", "depth", "rgb"))
    opaque = render(replace(scene, transparent=()), pose, camera, SIZE, SIZE, ("segmentation", "depth", "rgb"))
    np.testing.assert_array_equal(frame.segmentation, opaque.segmentation)
    np.testing.assert_allclose(frame.depth, opaque.depth, rtol=2e-6)
    changed = np.any(np.asarray(frame.rgb != opaque.rgb), axis=-1)
    np.testing.assert_array_equal(changed, np.isin(frame.segmentation, scene.transparent))


def test_what_a_scene_does_not_have_leaves_its_program_as_it_is():
    scene, pose, camera = _setup("")
    plain = replace(scene, mirror=-1)

    def program(scene, **effects):
        return str(jax.make_jaxpr(lambda pose: render(scene, pose, camera, 8, 8, **effects).rgb)(pose))

    assert program(plain, reflections=True) == program(plain)
    assert program(scene, reflections=True) != program(scene)


def test_a_reflection_is_what_the_cameras_mirror_image_sees():
    geoms = '<geom type="box" size=".3 .2 .2" pos=".3 0 .6" euler="10 20 30" rgba=".9 .3 .2 1"/>'
    scene, pose, camera = _setup(geoms)
    # Highlights and the headlight depend on where the camera is. From below the plane is not seen.
    dark, dull = jnp.zeros(3), jnp.zeros_like(scene.geom_specular)
    scene = replace(scene, headlight_diffuse=dark, headlight_specular=dark, geom_specular=dull)
    outputs = ("color", "segmentation")
    plain, reflecting = (render(scene, pose, camera, SIZE, SIZE, outputs, reflections=r) for r in (False, True))
    from_below = look_at(jnp.array([0.2, -3.0, -1.3]), jnp.array([0.0, 0.0, -0.5]), 40.0)
    below = render(scene, pose, from_below, SIZE, SIZE, outputs)
    seen = np.asarray((below.segmentation == 1)[::-1] & (plain.segmentation == 0))
    assert seen.sum() > 20
    np.testing.assert_allclose((reflecting.color - plain.color)[seen], 0.4 * below.color[::-1][seen], atol=1e-4)
    np.testing.assert_allclose(reflecting.color[~seen], plain.color[~seen], atol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize(
    ("geoms", "effects"),
    [(_SOLIDS, {}), (_ALL, EVERYTHING)],
    ids=["transparent", "everything"],
)
def test_derivatives_are_those_of_finite_differences_inside_silhouettes(geoms, effects):
    scene, pose, camera = _setup(geoms)
    shifts = jnp.array(np.random.default_rng(0).normal(size=pose.xpos.shape), jnp.float32).at[0].set(0.0)
    step = 1e-3

    def rendered(amounts):
        shift, alpha, color, reflectance, fog = amounts
        changed = replace(
            scene,
            geom_alpha=scene.geom_alpha + 0.3 * alpha,
            geom_rgb=scene.geom_rgb + color * jnp.array([0.3, -0.2, 0.1]),
            geom_reflectance=scene.geom_reflectance + reflectance,
            air=replace(scene.air, fog_range=scene.air.fog_range + fog),
        )
        moved = replace(pose, xpos=pose.xpos + shift * shifts)
        return render(changed, moved, camera, SIZE, SIZE, ("color",), **effects).color

    forward = jax.jit(lambda direction: jax.jvp(rendered, (jnp.zeros(5),), (direction,)))
    reverse = jax.jit(jax.grad(lambda amounts: jnp.sum(rendered(amounts))))(jnp.zeros(5))
    middle = np.asarray(rendered(jnp.zeros(5)))
    for i in range(5 if effects else 3):
        direction = jnp.eye(5)[i]
        derivative = np.asarray(forward(direction)[1])
        low, high = (np.asarray(rendered(sign * step * direction)) for sign in (-1, 1))
        # Where an edge passes, of a geom, a shadow or a reflection, the picture jumps.
        smooth = np.abs(high - 2 * middle + low).max(-1) < 2e-3
        off = np.abs(derivative - (high - low) / (2 * step))[smooth] > 0.02 + 0.03 * np.abs(derivative[smooth])
        assert smooth.mean() > 0.8
        assert off.mean() < 0.02, i
        assert np.abs(derivative).mean() > 1e-4, i
        np.testing.assert_allclose(derivative.sum(), reverse[i], rtol=2e-3, atol=0.05)


@pytest.mark.full
@pytest.mark.parametrize("geoms", [_SOLIDS, _ALL], ids=["solids", "with a mesh"])
def test_the_program_for_accelerators_renders_the_same_with_every_effect(geoms, monkeypatch, request):
    scene, pose, camera = _setup(geoms)
    scenes, cameras = jax.tree.map(lambda x: jnp.repeat(x[None], 3, 0), (scene, camera))
    scenes = replace(scenes, geom_alpha=scenes.geom_alpha * jnp.array([[1.0], [0.8], [0.6]]))
    cameras = replace(cameras, pos=cameras.pos + jnp.array([[0.0, 0, 0], [0.5, 0, 0], [0, 0, 0.5]]))

    def rendered():
        return jax.jit(
            jax.vmap(lambda scene, camera: render(scene, pose, camera, SIZE, SIZE, ("color",), **EVERYTHING).color)
        )(scenes, cameras)

    expected = rendered()
    monkeypatch.setattr(jax.lax, "platform_dependent", lambda *args, default, **_: default(*args))
    renderer._flat_renderer.cache_clear()
    request.addfinalizer(renderer._flat_renderer.cache_clear)
    off = jnp.abs(rendered() - expected).max(-1)
    assert (off < 0.01).mean() > 0.995


def test_soft_images_of_transparent_geoms_become_sharp():
    geoms = '<geom type="box" size=".2 .15 .25" pos="0 0 .5" euler="30 20 40" rgba=".6 .3 .7 .4"/>'
    scene, pose, camera = _setup(geoms)

    def rendered(soft):
        return np.asarray(jax.jit(lambda: render(scene, pose, camera, SIZE, SIZE, ("color",), soft=soft).color)())

    sharp = rendered(None)
    errors = [np.abs(rendered(soft) - sharp).mean() for soft in (0.2, 0.02)]
    assert errors[0] > 3 * errors[1]
    assert errors[1] < 1e-3
    with pytest.raises(ConfigError, match="reflections"):
        render(scene, pose, camera, SIZE, SIZE, ("color",), soft=1.0, reflections=True)


def test_shadows_of_the_same_exposure_change_only_what_they_darken():
    """Under two bright lights MuJoCo's shadows brighten a texture, since each light is clipped by itself."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><asset><texture name="t" type="2d" builtin="checker" rgb1=".6 .5 .4" rgb2=".2 .3 .4" width="64"
        height="64"/><material name="m" texture="t"/></asset><worldbody>
        <light pos="1 0 3" dir="-.3 0 -1" diffuse=".9 .9 .9" ambient=".1 .1 .1"/>
        <light pos="-1 0 3" dir=".3 0 -1" diffuse=".9 .9 .9"/>
        <geom type="plane" size="2 2 .1" material="m"/><geom size=".3" pos="0 0 .4"/></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    camera = look_at(jnp.array([0.2, -3.0, 1.3]), jnp.array([0.0, 0.0, 0.5]), 40.0)
    without, mujocos, ours = (
        np.asarray(render(scene, pose, camera, SIZE, SIZE, ("color",), shadows=shadows).color)
        for shadows in (False, True, "same_exposure")
    )
    assert (mujocos - without).max() > 0.1
    assert (ours - without).max() < 1e-5
    darker = np.any(ours < without - 1e-4, axis=-1)
    assert 0.01 < darker.mean() < 0.3
    np.testing.assert_allclose(ours[~darker], without[~darker], atol=1e-4)


@pytest.mark.parametrize("kind", ["2d", pytest.param("cube", marks=pytest.mark.full)])
def test_a_texture_on_the_only_mesh_which_is_transparent(kind):
    """It looks as it does beside an opaque mesh that is not in the image."""
    texture = f'<texture name="t" type="{kind}" builtin="checker" rgb2="1 0 0" width="8" height="8"/>'
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><asset>{texture}<material name="m" texture="t" rgba="1 1 1 .5"/>
        <mesh name="ball" builtin="sphere" params="2" scale=".2 .2 .2"/></asset><worldbody>
        <geom type="mesh" mesh="ball" material="m"/><geom type="mesh" mesh="ball" pos="0 -9 0"/></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    camera = look_at(jnp.array([0.3, -1.0, 0.4]), jnp.zeros(3), 40.0)
    alone, beside = (
        render(replace(scene, visible=visible), pose, camera, 8, 8, ("color",)).color for visible in ((0,), (0, 1))
    )
    assert alone.max() > 0.1
    np.testing.assert_allclose(alone, beside, atol=1e-6)


def test_what_is_behind_a_mirror_hides_nothing_of_its_reflection():
    """A leg below a table whose top reflects what stands on it: both meshes, or both boxes."""
    block = " ".join(f"{x} {y} {z}" for x in (-0.25, 0.25) for y in (-0.25, 0.25) for z in (-0.3, 0.3))

    def rendered(block_xml):
        model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><asset><material name="m" reflectance=".9" rgba=".3 .3 .3 1"/><mesh name="block"
            vertex="{block}"/></asset><worldbody><geom type="box" size=".8 .8 .02" material="m"/>
            <geom {block_xml} pos="0 0 -.35"/><geom {block_xml} pos="0 .4 .4" rgba="1 0 0 1"/></worldbody></mujoco>"""
        )
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        camera = look_at(jnp.array([0.0, -2.5, 1.1]), jnp.array([0.0, 0.0, 0.1]), 45.0)
        scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
        return np.asarray(render(scene, pose, camera, SIZE, SIZE, ("color",), reflections=True).color)

    boxes, meshes = rendered('type="box" size=".25 .25 .3"'), rendered('type="mesh" mesh="block"')
    assert (np.abs(boxes - meshes).max(-1) > 0.05).mean() < 0.01
