"""The renderer against MuJoCo's ray caster and against itself."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pixelbrax
from pixelbrax.render import (
    Camera,
    GeomPose,
    Scene,
    UnsupportedGeomError,
    look_at,
    render,
    render_where,
    renderer,
)
from pixelbrax.render.analysis import analyze
from tests.compilations import compilations
from tests.render import oracle

SIZE = 48
ALL = ("rgb", "depth", "segmentation", "normals")


def _load(xml: str) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def _random_model(seed: int) -> tuple[mujoco.MjModel, mujoco.MjData]:
    rng = np.random.default_rng(seed)
    geoms = ['<geom type="plane" size="0 0 1" pos="0 0 -1"/>', '<geom type="plane" size="2 1 1" pos="0 0 -0.5"/>']
    for kind in ("sphere", "capsule", "capsule", "ellipsoid", "cylinder", "box"):
        pos, euler = (" ".join(f"{v:.4f}" for v in rng.uniform(-s, s, 3)) for s in (1, 180))
        size = " ".join(f"{v:.4f}" for v in rng.uniform(0.05, 0.5, 3))
        geoms.append(f'<geom type="{kind}" size="{size}" pos="{pos}" euler="{euler}"/>')
    return _load(f"<mujoco><worldbody>{''.join(geoms)}</worldbody></mujoco>")


@jax.jit
def _render(scene, pose, camera):
    return render(scene, pose, camera, SIZE, SIZE, ALL)


def _check(model, data, camera, label=""):
    frame = _render(Scene.from_mujoco(model), GeomPose.from_mujoco(data), camera)
    oracle.check(frame, oracle.cast(model, data, camera, SIZE, SIZE), label=label)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**31), inside=st.booleans())
def test_generated_models_look_as_mujocos_ray_caster_sees_them(seed, inside):
    model, data = _random_model(seed)
    rng = np.random.default_rng(seed + 1)
    pos = rng.uniform(-2.5, 2.5, 3)
    if inside:  # the camera sits inside a geom
        pos = data.geom_xpos[rng.integers(2, model.ngeom)] + 0.01
    camera = look_at(jnp.asarray(pos, jnp.float32), jnp.asarray(rng.uniform(-0.5, 0.5, 3), jnp.float32), 60.0)
    _check(model, data, camera)


_EXTREMES = {
    "enormous": """
        <geom type="sphere" size="1000" pos="0 0 -1002"/><geom type="box" size="500 1 300" pos="0 700 0"/>
        <geom type="cylinder" size="300 2000" pos="-900 900 0"/>
        <geom type="ellipsoid" size="400 300 900" pos="900 900 0"/>
        <geom type="capsule" size="100 500" pos="0 600 700" euler="0 90 0"/>""",
    "tiny": """
        <geom type="sphere" size=".002" pos="0 -2.8 0"/><geom type="box" size=".3 .3 1e-5" euler="80 0 0"/>
        <geom type="cylinder" size=".3 1e-5" pos="1 0 0" euler="70 20 0"/>
        <geom type="ellipsoid" size=".3 .2 1e-5" pos="-1 0 0" euler="60 20 0"/>
        <geom type="capsule" size=".001 .5" pos="0 0 .8" euler="0 80 0"/>""",
    "behind": """
        <geom type="sphere" size=".5" pos="0 -5 0"/><geom type="box" size=".5 .5 .5" pos="1 -6 0"/>
        <geom type="cylinder" size=".3 .5" pos="-1 -4 0"/><geom type="ellipsoid" size=".3 .2 .5" pos="0 -4 1"/>
        <geom type="capsule" size=".1 .5" pos="0 -4 -1"/><geom type="plane" size="0 0 1" pos="0 0 5"/>""",
    "along their axes": """
        <geom type="cylinder" size=".3 .5" euler="90 0 0"/>
        <geom type="capsule" size=".2 .5" pos="1 0 0" euler="90 0 0"/>
        <geom type="box" size=".3 .5 .2" pos="-1 0 0"/><geom type="plane" size="1 1 1" pos="0 0 -.6" euler="1 0 0"/>
        <geom type="ellipsoid" size=".2 .5 .1" pos="0 0 .8"/>""",
}


@pytest.mark.parametrize("name", _EXTREMES)
def test_extreme_geoms_look_as_mujocos_ray_caster_sees_them(name):
    model, data = _load(f"<mujoco><worldbody>{_EXTREMES[name]}</worldbody></mujoco>")
    _check(model, data, look_at(jnp.array([0.0, -3.0, 0.0]), jnp.zeros(3), 60.0), name)


def test_geoms_without_size_are_not_seen():
    model, data = _random_model(3)
    model.geom_size[2:] = 0
    scene = Scene.from_mujoco(model)
    frame = _render(scene, GeomPose.from_mujoco(data), look_at(jnp.array([0.0, -3.0, 0.3]), jnp.zeros(3), 60.0))
    ids = np.asarray(frame.segmentation)
    assert (ids >= 2).sum() <= 2
    assert np.isfinite(np.asarray(frame.normals)).all()


def test_image_is_upright_and_not_mirrored(strict):
    model = mujoco.MjModel.from_xml_string(
        """
        <mujoco><worldbody>
          <geom type="sphere" size=".2" pos="0 0 1" rgba="1 0 0 1"/>
          <geom type="sphere" size=".2" pos="1 0 0" rgba="0 1 0 1"/>
        </worldbody></mujoco>
        """
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    # Seen from -y, the world's x points to the right and z up.
    camera = look_at(jnp.array([0.0, -4.0, 0.0]), jnp.zeros(3), 60.0)
    ids = np.asarray(
        render(Scene.from_mujoco(model), GeomPose.from_mujoco(data), camera, SIZE, SIZE, ("segmentation",)).segmentation
    )
    rows, columns = np.nonzero(ids == 0)
    assert rows.mean() < SIZE / 3
    assert abs(columns.mean() - (SIZE - 1) / 2) < 1
    rows, columns = np.nonzero(ids == 1)
    assert columns.mean() > 2 * SIZE / 3
    assert abs(rows.mean() - (SIZE - 1) / 2) < 1


_THREE = """<mujoco><worldbody><geom type="plane" size="2 1 1" pos="0 0 -.5"/>
    <geom type="capsule" size=".2 .5" euler="40 20 0" rgba=".9 .3 .2 1"/>
    <geom type="box" size=".3 .5 .2" pos="-1 0 0" rgba=".2 .6 .3 1"/></worldbody></mujoco>"""


@pytest.mark.parametrize("kinds", ["three", pytest.param("all", marks=pytest.mark.full)])
def test_a_batch_in_chunks_equals_single_images(strict, kinds):
    model, data = _load(_THREE) if kinds == "three" else _random_model(0)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    count = 7  # two chunks, and one more
    angles = jnp.linspace(0.0, 6.0, count)
    cameras = jax.vmap(lambda a: look_at(jnp.stack([3 * jnp.cos(a), 3 * jnp.sin(a), a * 0.1]), jnp.zeros(3), 50.0))(
        angles
    )
    colors = jnp.linspace(0.1, 1.0, count)[:, None, None] * scene.geom_rgb[None]

    def rendered(camera, rgb):
        return render(dataclasses.replace(scene, geom_rgb=rgb), pose, camera, 32, 32, (*ALL, "packed"))

    batch, single = jax.jit(jax.vmap(rendered))(cameras, colors), jax.jit(rendered)
    for i in range(count):
        one = single(jax.tree.map(lambda x, i=i: x[i], cameras), colors[i])
        np.testing.assert_array_equal(batch.segmentation[i], one.segmentation)
        np.testing.assert_allclose(batch.depth[i], one.depth, rtol=1e-5)
        assert np.abs(batch.rgb[i].astype(int) - one.rgb.astype(int)).max() <= 1
    bytes_of = np.asarray(batch.rgb).astype(np.uint32)
    np.testing.assert_array_equal(batch.packed, bytes_of @ np.array([1, 2**8, 2**16], np.uint32))
    pairs = jax.tree.map(lambda x: x[:6].reshape(2, 3, *x.shape[1:]), (cameras, colors))
    nested = jax.jit(jax.vmap(jax.vmap(rendered)))(*pairs)
    np.testing.assert_array_equal(nested.segmentation.reshape(6, 32, 32), batch.segmentation[:6])


_MORE = [
    pytest.param(name, marks=pytest.mark.full)
    for name in ("every kind, shaded", "every kind, all varied", "humanoid", "dmc/finger_spin")
]


@pytest.mark.parametrize("name", ["every kind", *_MORE])
def test_the_program_for_accelerators_renders_the_same(name, monkeypatch, request):
    """The program for accelerators, run on a CPU; what GPUs make of it is for `benchmarks/gpu.py` to see."""
    shown: dict = {"height": SIZE, "width": SIZE, "outputs": (*ALL, "color"), "shadows": True, "samples": 4}
    if name == "every kind":
        shown |= {"shadows": False, "samples": 1}
    if name.startswith("every kind"):
        model, data = _random_model(3)
        camera = look_at(jnp.array([0.0, -3.0, 0.3]), jnp.zeros(3), 60.0)
        scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
        scenes, poses, cameras = jax.tree.map(lambda x: jnp.repeat(x[None], 3, 0), (scene, pose, camera))
        scenes = dataclasses.replace(scenes, geom_size=scenes.geom_size * jnp.array([[[1.0]], [[1.1]], [[1.2]]]))
        if name == "every kind, all varied":
            function, batch = functools.partial(render, **shown), (scenes, poses, cameras)
        else:
            function, batch = lambda camera: render(scene, pose, camera, **shown), (cameras,)
    else:
        env = pixelbrax.make(name)
        _, *batch = jax.vmap(lambda key: env.render_inputs(env.reset(key)))(jax.random.split(jax.random.key(0), 3))
        function = lambda pose, camera: render(env.scene, pose, camera, **shown)  # noqa: E731

    def rendered():
        return jax.jit(jax.vmap(function))(*batch)

    expected = rendered()
    monkeypatch.setattr(jax.lax, "platform_dependent", lambda *args, default, **_: default(*args))
    renderer._flat_renderer.cache_clear()
    request.addfinalizer(renderer._flat_renderer.cache_clear)
    frame = rendered()
    same = frame.segmentation == expected.segmentation
    assert same.mean() > 0.999
    np.testing.assert_allclose(frame.depth[same], expected.depth[same], rtol=2e-4)
    off = jnp.abs(frame.color - expected.color).max(-1)
    assert (off < 0.01).mean() > 0.995


@pytest.mark.parametrize(
    "alone",
    ["textures", "everything"]
    + [pytest.param(name, marks=pytest.mark.full) for name in ("geom_size", "xmat", "geom_rgb", "light_dir", "fovy")],
)
def test_leaves_can_vary_in_a_batch_alone_and_with_all_others(alone):
    model = mujoco.MjModel.from_xml_string("""<mujoco><asset>
        <texture name="t" type="2d" builtin="checker" rgb1=".9 .8 .7" rgb2=".2 .3 .4" width="8" height="8"/>
        <material name="m" texture="t" emission=".1"/></asset><worldbody>
        <light pos="1 1 2" dir="0 0 -1" cutoff="60"/><geom type="plane" size="1 1 .1" material="m"/>
        <geom size=".3" pos="0 0 .4" material="m"/></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = look_at(jnp.array([1.5, 0.5, 1.0]), jnp.array([0.0, 0.0, 0.3]), 50.0)
    paths, structure = jax.tree.flatten_with_path((Scene.from_mujoco(model), GeomPose.from_mujoco(data), camera))
    names, leaves = [jax.tree_util.keystr(path) for path, _ in paths], [leaf for _, leaf in paths]
    others = [0.05 + 0.9 * leaf for leaf in leaves]

    def rendered(*leaves):
        scene, pose, camera = structure.unflatten(leaves)
        return render(scene, pose, camera, 12, 12, ("color",), shadows=True).color

    single = jax.jit(rendered)
    varied = [alone in name or alone == "everything" for name in names]
    assert any(varied)
    second = [b if v else a for a, b, v in zip(leaves, others, varied, strict=True)]
    # Constant leaves are closed over, as an environment's scene is.
    axes = [0 if v else None for v in varied]
    pairs = [jnp.stack([a, b]) if v else a for a, b, v in zip(leaves, others, varied, strict=True)]
    constant = [None if v else a for a, v in zip(leaves, varied, strict=True)]

    @jax.jit
    def both(pairs):
        def mixed(*x):
            return rendered(*(a if c is None else c for a, c in zip(x, constant, strict=True)))

        return jax.vmap(mixed, in_axes=axes)(*pairs)

    np.testing.assert_allclose(both(pairs), jnp.stack([single(*leaves), single(*second)]), atol=1e-5)


def test_lambert_light_and_gradient_sky_by_hand(strict):
    model = mujoco.MjModel.from_xml_string(
        """
        <mujoco>
          <visual><headlight ambient="0.1 0.1 0.1" diffuse="0.2 0.2 0.2" specular="0 0 0"/></visual>
          <asset><texture type="skybox" builtin="gradient" rgb1="0 0 1" rgb2="1 0 0" width="64" height="64"/></asset>
          <worldbody>
            <light directional="true" dir="0 1 -1" diffuse="0.5 0.5 0.5" ambient="0 0 0" specular="0 0 0"/>
            <geom type="plane" size="0 0 1" rgba="0.8 0.4 0.2 1"/>
          </worldbody>
        </mujoco>
        """
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = look_at(jnp.array([0.0, -3.0, 1.0]), jnp.array([0.0, 0.0, 1.0]), 90.0)
    rgb = np.asarray(render(Scene.from_mujoco(model), GeomPose.from_mujoco(data), camera, 64, 64).rgb, float)
    # The headlight shines horizontally, along the floor; the light meets it at 45 degrees.
    expected = np.array([0.8, 0.4, 0.2]) * (0.1 + 0.5 * np.sqrt(0.5)) * 255
    np.testing.assert_allclose(rgb[-1, 32], expected, atol=1)
    assert rgb[0, 32, 2] > rgb[31, 32, 2] > rgb[31, 32, 1]  # bluer towards the zenith
    assert rgb[0, 32, 0] < rgb[31, 32, 0]


def test_checker_cells_lie_where_their_period_says_and_blend_far_away(strict):
    model = mujoco.MjModel.from_xml_string(
        """
        <mujoco>
          <visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>
          <asset>
            <texture name="t" type="2d" builtin="checker" rgb1="1 1 1" rgb2="0 0 0" width="64" height="64"/>
            <material name="m" texture="t" texrepeat="10 10"/>
          </asset>
          <worldbody><geom type="plane" size="5 5 1" material="m"/></worldbody>
        </mujoco>
        """
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene = Scene.from_mujoco(model).with_infinite_planes()
    np.testing.assert_allclose(scene.texture_scale[0, :2], [1.0, 1.0])  # repeats a meter
    above = Camera(jnp.array([100.0, 100.0, 1.0]), jnp.eye(3), jnp.array(90.0))  # looks straight down on 2 m x 2 m
    image = np.asarray(render(scene, GeomPose.from_mujoco(data), above, 64, 64).rgb)[..., 0]
    cells = image.reshape(4, 16, 4, 16)[:, 2:-2, :, 2:-2]  # cells of half a meter are 16 pixels; edges are left out
    assert np.ptp(cells, axis=(1, 3)).max() == 0
    means = cells.mean((1, 3))
    assert set(means.ravel()) == {0.0, 255.0}
    assert (means[:, :-1] != means[:, 1:]).all()
    assert (means[:-1] != means[1:]).all()
    far = look_at(jnp.array([0.0, 0.0, 1.0]), jnp.array([0.0, 1000.0, 0.0]), 40.0)
    horizon = np.asarray(render(scene, GeomPose.from_mujoco(data), far, 64, 64).rgb)[33, :, 0]
    assert np.abs(horizon.astype(int) - 128).max() < 20


@pytest.mark.parametrize("softly", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_camera_in_geoms_looks_out_of_them(softly):
    """As in MuJoCo's renderer, which shows fronts only. Their shadow stays."""
    sizes = {
        "sphere": "0.3",
        "capsule": "0.2 0.3",
        "ellipsoid": "0.2 0.3 0.4",
        "cylinder": "0.3 0.2",
        "box": ".2 .3 .2",
    }
    around = [f'<geom type="{kind}" size="{x}" pos="-1 0 1" euler="20 30 0"/>' for kind, x in sizes.items()]
    around += ['<geom size="0.25" pos="-1 -0.2 1"/>']  # the camera is on its surface
    shown = '<geom type="plane" size="5 5 1"/><geom size="0.2" pos="1 0 0.5"/>'
    light = '<light directional="true" pos="0 0 9" dir="1 0 -0.9" diffuse="0.5 0.5 0.5"/>'
    camera = look_at(jnp.array([-1.0, 0.05, 1.0]), jnp.array([0.5, 0.0, 0.3]), 60.0)

    def images(geoms):
        model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{light}{shown}{geoms}</worldbody></mujoco>")
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        of = functools.partial(render, Scene.from_mujoco(model), GeomPose.from_mujoco(data), camera, 16, 16)
        return of(("depth", "segmentation", "rgb"), shadows=True), of(("color",), soft=1.0).color if softly else 0.0

    (plain, soft), (frame, with_them) = images(""), images("".join(around))
    np.testing.assert_array_equal(frame.segmentation, plain.segmentation)
    np.testing.assert_allclose(frame.depth, plain.depth, rtol=1e-5)  # of more geoms, keys keep fewer digits
    np.testing.assert_allclose(with_them, soft, atol=1e-5)
    darker = (frame.rgb.astype(int) < plain.rgb.astype(int) - 20).any(-1)
    assert 3 < darker.sum() < 100
    assert np.abs(frame.rgb[~darker].astype(int) - plain.rgb[~darker].astype(int)).max() <= 1


def test_hidden_geoms_are_not_rendered():
    model = mujoco.MjModel.from_xml_string(
        """
        <mujoco><worldbody>
          <geom type="box" size="1 1 1" group="3"/>
          <geom type="box" size="1 1 1" rgba="1 1 1 0"/>
        </worldbody></mujoco>
        """
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = look_at(jnp.array([0.0, -4.0, 0.0]), jnp.zeros(3), 60.0)
    frame = render(Scene.from_mujoco(model), GeomPose.from_mujoco(data), camera, 16, 16, ALL)
    assert (np.asarray(frame.segmentation) == -1).all()
    assert np.isinf(np.asarray(frame.depth)).all()


def test_a_geom_that_is_not_supported_is_named_or_skipped():
    model, data = _load(
        """
        <mujoco>
          <asset><mesh name="m" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
          <worldbody><geom name="crate" type="mesh" mesh="m"/><geom type="sphere" size=".5"/></worldbody>
        </mujoco>
        """
    )
    model.geom_type[0] = mujoco.mjtGeom.mjGEOM_SDF
    with pytest.raises(UnsupportedGeomError, match=r"geom 0 .*crate.* of type sdf"):
        Scene.from_mujoco(model)
    scene = Scene.from_mujoco(model, skip_unsupported=True)
    frame = _render(scene, GeomPose.from_mujoco(data), look_at(jnp.array([0.0, -3.0, 0.0]), jnp.zeros(3), 40.0))
    assert set(np.unique(frame.segmentation)) == {-1, 1}


@pytest.mark.full
def test_supersampling_smooths_edges_and_leaves_geometry_alone():
    model, data = _random_model(5)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    camera = look_at(jnp.array([0.0, -3.0, 0.3]), jnp.zeros(3), 60.0)
    fine = np.asarray(render(scene, pose, camera, 2 * SIZE, 2 * SIZE, ("color",)).color)
    four = render(scene, pose, camera, SIZE, SIZE, ("color", "segmentation"), samples=4)
    np.testing.assert_allclose(four.color, fine.reshape(SIZE, 2, SIZE, 2, 3).mean((1, 3)), atol=2e-3)
    one = render(scene, pose, camera, SIZE, SIZE, ("segmentation",))
    np.testing.assert_array_equal(four.segmentation, one.segmentation)


def test_numbers_known_when_compiling_give_the_same_picture():
    model, data = _random_model(6)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    camera = look_at(jnp.array([0.0, -3.0, 0.3]), jnp.zeros(3), 60.0)
    constant = jax.jit(lambda: render(scene, pose, camera, SIZE, SIZE).rgb)()
    assert np.abs(constant.astype(int) - _render(scene, pose, camera).rgb.astype(int)).max() <= 1


def test_called_by_itself_it_is_one_program():
    model, data = _random_model(7)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    eyes = np.array([[0.0, -3.0, 0.3], [1.0, -2.0, 0.5]], np.float32)

    def shown(eye):
        return render(scene, pose, look_at(jnp.asarray(eye), jnp.zeros(3), 60.0), 16, 16, ("color",)).color

    count, first = compilations(lambda: shown(eyes[0]))
    assert count < 15, "it has hundreds of operations"
    count, second = compilations(lambda: shown(eyes[1]))
    assert count == 0
    assert (first != second).any()


@pytest.mark.parametrize("samples", [pytest.param(1, marks=pytest.mark.full), 4])
def test_a_crop_is_that_part_of_the_image(samples):
    model, data = _random_model(1)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    camera = look_at(jnp.array([0.0, -3.0, 0.3]), jnp.zeros(3), 60.0)
    outputs = ("rgb", "depth", "segmentation")
    whole = render(scene, pose, camera, 30, 44, outputs, samples=samples)
    part = render(scene, pose, camera, 30, 44, outputs, samples=samples, crop=(7, 12, 11, 24))
    window = np.s_[7:18, 12:36]
    assert part.rgb.shape == (11, 24, 3)
    np.testing.assert_array_equal(part.segmentation, whole.segmentation[window])
    np.testing.assert_allclose(part.depth, whole.depth[window], rtol=1e-5)
    assert np.abs(part.rgb.astype(int) - whole.rgb[window].astype(int)).max() <= 1


def test_only_the_needed_images_of_a_batch_are_rendered():
    model, data = _load(_THREE)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    cameras = jax.vmap(lambda x: look_at(jnp.stack([x, -3.0, 0.3]), jnp.zeros(3), 60.0))(jnp.linspace(-1.0, 1.0, 12))
    needed = jnp.arange(12) % 5 == 0

    def rendered(scene, needed, camera):
        return render_where(needed, scene, pose, camera, 16, 24, outputs=("packed", "depth"))

    frames = jax.jit(jax.vmap(rendered, in_axes=(None, 0, 0)))(scene, needed, cameras)
    all_frames = jax.jit(jax.vmap(lambda camera: render(scene, pose, camera, 16, 24, ("packed", "depth"))))(cameras)
    np.testing.assert_array_equal(frames.packed, jnp.where(needed[:, None, None], all_frames.packed, 0))
    np.testing.assert_array_equal(frames.depth, jnp.where(needed[:, None, None], all_frames.depth, 0))
    single = jax.jit(rendered)(scene, needed[1], jax.tree.map(lambda x: x[1], cameras))
    assert not single.packed.any()


def test_what_is_known_of_a_scene_is_known_while_it_is_traced():
    """A scene is a constant of the programs that render it."""
    scene = Scene.from_mujoco(_load(_THREE)[0])
    within = []
    jax.jit(lambda: within.append(analyze(scene)))()
    assert within == [analyze(scene)]
