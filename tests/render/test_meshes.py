"""Meshes and height fields against MuJoCo's ray caster, and what else holds of them."""

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.render import GeomPose, Scene, look_at, render, renderer
from pixelbrax.render.mesh import walk
from pixelbrax.render.mesh.triangles import CLUSTER_SIZE, make_mesh
from tests.render import oracle

HEIGHT, WIDTH = 37, 53  # no whole tiles
_ALL = ("depth", "segmentation", "normals")
_SMOOTH = (1, 2, 3, 4, 5)  # ids of the geoms in `_model` whose normals are not those of their triangles


def _model(seed: int) -> mujoco.MjModel:
    """Meshes, twice the same one among them, a height field and shapes, in random places."""
    rng = np.random.default_rng(seed)

    def place() -> str:
        x, y, z = rng.uniform(-0.8, 0.8, 3)
        return f'pos="{x:.3f} {y:.3f} {z:.3f}" euler="{" ".join(f"{a:.1f}" for a in rng.uniform(0, 360, 3))}"'

    hills = " ".join(f"{h:.3f}" for h in rng.uniform(0, 1, 6 * 9))
    points = " ".join(f"{x:.3f}" for x in rng.normal(size=30))
    return mujoco.MjModel.from_xml_string(
        f"""
        <mujoco>
          <asset>
            <mesh name="ring" builtin="supertorus" params="12 .4 1 1" scale=".3 .3 .3"/>
            <mesh name="ball" builtin="sphere" params="2" scale=".2 .3 .2"/>
            <mesh name="rock" vertex="{points}" scale=".2 .2 .2"/>
            <mesh name="bowl" builtin="hemisphere" params="3" scale=".3 .2 .2"/>
            <hfield name="hills" nrow="6" ncol="9" size=".5 .4 .3 .1" elevation="{hills}"/>
          </asset>
          <worldbody>
            <light pos="1 -2 3" dir="-.3 .6 -1" cutoff="80"/>
            <geom type="plane" size="2 2 1" pos="0 0 -1"/>
            <geom type="mesh" mesh="ring" {place()}/>
            <geom type="mesh" mesh="ball" {place()}/>
            <geom type="mesh" mesh="ring" {place()}/>
            <geom type="mesh" mesh="rock" {place()}/>
            <geom type="mesh" mesh="bowl" {place()}/>
            <geom type="hfield" hfield="hills" {place()}/>
            <geom type="box" size=".2 .1 .3" {place()}/>
            <geom type="capsule" size=".1 .2" {place()}/>
          </worldbody>
        </mujoco>
        """
    )


def _setup(seed: int):
    model = _model(seed)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi)
    camera = look_at(jnp.array([2.5 * np.cos(angle), 2.5 * np.sin(angle), 0.8]), jnp.zeros(3), 60.0)
    return model, data, Scene.from_mujoco(model), GeomPose.from_mujoco(data), camera


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 6))])
def test_rays_meet_what_mujocos_meet(seed):
    model, data, scene, pose, camera = _setup(seed)
    frame = render(scene, pose, camera, HEIGHT, WIDTH, _ALL)
    truth = oracle.cast_one_by_one(model, data, camera, HEIGHT, WIDTH)
    oracle.check(frame, truth, smooth=_SMOOTH)
    seen = set(np.unique(truth.ids))
    assert len(seen & {1, 2, 3, 4, 5, 6}) >= 4, "the camera sees meshes"


def _assert_same(frame, other):
    same = np.asarray(frame.segmentation) == np.asarray(other.segmentation)
    assert same.mean() > 0.999
    np.testing.assert_allclose(frame.depth[same], other.depth[same], rtol=2e-5)
    off = np.abs(np.asarray(frame.rgb)[same].astype(int) - np.asarray(other.rgb)[same])
    assert (off.max(-1) > 1).mean() < 0.001


@pytest.mark.full
def test_a_batch_is_its_images():
    """Whatever varies within it: poses, the camera's angle, the meshes themselves."""
    _, _, scene, pose, camera = _setup(0)
    outputs = ("rgb", "depth", "segmentation")

    def one(shift, fovy, stretch):
        meshes = tuple(dataclasses.replace(mesh, corners=mesh.corners * stretch) for mesh in scene.meshes)
        moved = dataclasses.replace(pose, xpos=pose.xpos + shift)
        other = dataclasses.replace(camera, fovy=fovy)
        return render(dataclasses.replace(scene, meshes=meshes), moved, other, HEIGHT, WIDTH, outputs, shadows=True)

    shift = 0.1 * jax.random.normal(jax.random.key(0), (4, 1, 3))
    fovy, stretch = jnp.array([50.0, 55.0, 60.0, 65.0]), jnp.array([0.8, 0.9, 1.0, 1.1])
    batch = jax.jit(jax.vmap(one))(shift, fovy, stretch)
    single = jax.jit(one)
    for i in range(4):
        _assert_same(jax.tree.map(lambda x, i=i: x[i], batch), single(shift[i], fovy[i], stretch[i]))
    # Within one camera angle, and of batches of batches.
    moved = jax.jit(jax.vmap(jax.vmap(lambda shift: one(shift, 60.0, 1.0))))(shift.reshape(2, 2, 1, 3))
    for i in range(4):
        _assert_same(jax.tree.map(lambda x, i=i: x[i // 2, i % 2], moved), single(shift[i], 60.0, 1.0))


@pytest.mark.full
@pytest.mark.parametrize("many_clusters", [0, 1000])
@pytest.mark.parametrize(("shadows", "alone"), [(False, False), (True, False), (False, True)])
def test_the_program_for_accelerators_renders_the_same(shadows, alone, many_clusters, monkeypatch, request):
    """The program for accelerators, run on a CPU: of images side by side, and of one; by tiles, and by all pairs."""
    _, _, scene, pose, camera = _setup(1)
    shift = 0.1 * jax.random.normal(jax.random.key(0), (2, 1, 3))

    def rendered():
        def one(shift):
            moved = dataclasses.replace(pose, xpos=pose.xpos + shift)
            return render(scene, moved, camera, 16, 24, ("rgb", "depth", "segmentation"), shadows=shadows)

        return jax.jit(one)(shift[0]) if alone else jax.jit(jax.vmap(one))(shift)

    expected = rendered()
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax.lax, "platform_dependent", lambda *args, default, **_: default(*args))
    monkeypatch.setattr(walk, "_MANY_CLUSTERS", many_clusters)
    few = walk.Loop(more_than=9, tiles=3, clusters=2), walk.Loop(more_than=0, tiles=8, clusters=3)
    monkeypatch.setattr(walk, "LOOPS_ON_ACCELERATORS", few)
    renderer._flat_renderer.cache_clear()
    request.addfinalizer(renderer._flat_renderer.cache_clear)
    _assert_same(rendered(), expected)


@pytest.mark.full
def test_supersampled_colors_are_the_mean_of_a_finer_image():
    _, _, scene, pose, camera = _setup(2)
    fine = np.asarray(render(scene, pose, camera, 2 * HEIGHT, 2 * WIDTH, ("color",), shadows=True).color)
    four = render(scene, pose, camera, HEIGHT, WIDTH, ("color",), shadows=True, samples=4).color
    off = np.abs(four - fine.reshape(HEIGHT, 2, WIDTH, 2, 3).mean((1, 3))).max(-1)
    assert (off > 2e-3).mean() < 0.002


def test_a_camera_in_a_closed_mesh_looks_out_of_it():
    """As in MuJoCo's renderer, which shows fronts only. Its shadow stays."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><asset><mesh name="m" builtin="sphere" params="2" scale="0.4 0.4 0.4"/></asset>
        <worldbody><light directional="true" dir="0 0 -1"/>
        <geom type="mesh" mesh="m"/><geom type="mesh" mesh="m" pos="3 0 0"/>
        <geom type="plane" size="9 9 1" pos="0 0 -1"/></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = look_at(jnp.array([0.1, 0.05, 0.05]), jnp.array([1.0, 0.0, -0.4]), 100.0)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    frame = render(scene, pose, camera, 32, 32, _ALL)
    ids = np.asarray(frame.segmentation)
    assert set(np.unique(ids)) == {-1, 1, 2}
    model.geom_group[0] = 5
    truth = oracle.cast_one_by_one(model, data, camera, 32, 32)
    assert (ids == truth.ids).mean() > 0.995
    down = look_at(jnp.array([0.1, 0.05, 0.05]), jnp.array([0.2, 0.0, -1.0]), 60.0)
    lit, shaded = (render(scene, pose, down, 16, 16, ("rgb",), shadows=shadows).rgb for shadows in (False, True))
    assert ((shaded < lit).any(-1)).mean() > 0.1


def test_no_ray_passes_between_triangles():
    """Of a fine mesh, whose triangles are smaller than pixels, from many places at once."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><asset><mesh name="m" builtin="sphere" params="4"/></asset>
        <worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    places = jax.random.normal(jax.random.key(1), (8, 3))
    places = 3 * places / jnp.linalg.norm(places, axis=1, keepdims=True)

    def depths(place):
        return render(scene, pose, look_at(place, jnp.zeros(3), 20.0), 64, 64, ("depth",)).depth

    depth = np.asarray(jax.jit(jax.vmap(depths))(places))
    assert depth.max() < 3.5, "no hole, and nothing of the far side"


@pytest.mark.full
def test_derivatives_are_those_of_finite_differences():
    _, _, scene, pose, camera = _setup(0)

    def image(shift):
        moved = dataclasses.replace(pose, xpos=pose.xpos + shift * jnp.array([0.3, -0.2, 0.5]))
        frame = render(scene, moved, camera, HEIGHT, WIDTH, ("depth", "color", "segmentation"))
        return frame.depth, frame.color, frame.segmentation

    step = 1e-3
    (_, _, ids), (depth_slope, color_slope, _) = jax.jvp(image, (0.0,), (1.0,))
    low, high = image(-step), image(step)
    meshes = np.isin(ids, [1, 2, 3, 4, 5, 6]) & (ids == low[2]) & (ids == high[2])
    assert meshes.sum() > 200
    found = (np.asarray(high[0])[meshes] - np.asarray(low[0])[meshes]) / (2 * step)
    close = np.abs(found - np.asarray(depth_slope)[meshes]) < 0.02 + 0.02 * np.abs(found)
    assert close.mean() > 0.95, "but where another triangle comes into a pixel"
    assert np.isfinite(color_slope).all()
    slope = jax.grad(lambda shift: jnp.where(meshes, image(shift)[0], 0.0).sum())(0.0)
    np.testing.assert_allclose(slope, np.asarray(depth_slope)[meshes].sum(), rtol=1e-3)


@pytest.mark.full
def test_corners_can_be_learned():
    """Gradients reach the corners of a mesh through depth and color."""
    _, _, scene, pose, camera = _setup(0)

    def loss(corners):
        mesh = dataclasses.replace(scene.meshes[0], corners=corners)
        frame = render(
            dataclasses.replace(scene, meshes=(mesh, *scene.meshes[1:])), pose, camera, HEIGHT, WIDTH, ("color",)
        )
        return jnp.mean(frame.color**2)

    gradient = jax.grad(loss)(scene.meshes[0].corners)
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() > 0


@pytest.mark.parametrize("unrolled", [True, False])
@pytest.mark.parametrize("own_rays", [False, True])
def test_each_tile_meets_the_clusters_within_whose_bounds_it_is(own_rays, unrolled):
    """Of more clusters than a word has bits, by many tiles or none; the oracle goes through all pairs."""
    images, tiles, rays, number = 3, 30, 8, 70
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (2, images, tiles, 1)) + rng.uniform(0, 0.1, (2, images, tiles, rays))
    x, y = (each.astype(np.float32) if own_rays else each[:1].astype(np.float32) for each in (x, y))
    rows = rng.normal(size=(images, 12, number, CLUSTER_SIZE)).astype(np.float32)
    rows[:, 11] += 5  # else most are behind the rays' origin
    low = rng.uniform(-1.5, 1, (images, 2, number)).astype(np.float32)
    high = low + rng.uniform(0, 1, low.shape).astype(np.float32)
    low[:, :, ::5] = np.inf  # as of clusters that show their back
    used = rng.uniform(size=(tiles, rays)) < 0.5
    used[3] = False
    labels = rng.permutation(number).astype(np.int32)

    def one(rows, low, high, x, y):
        clusters = walk.Clusters(rows, low, high)
        return walk.nearest(clusters, jnp.asarray(labels), x, y, jnp.asarray(used), unrolled=unrolled)

    of_rays = 0 if own_rays else None
    rays_of = (x, y) if own_rays else (x[0], y[0])
    found = jax.jit(jax.vmap(one, in_axes=(0, 0, 0, of_rays, of_rays)))(rows, low, high, *rays_of)
    for image, tile in np.ndindex(images, tiles):
        if not used[tile].any():
            continue
        place = np.stack([x[image % len(x), tile], y[image % len(y), tile]])
        ends = place[:, used[tile]].min(1), place[:, used[tile]].max(1)
        meet = ((low[image] <= ends[1][:, None]) & (high[image] >= ends[0][:, None])).all(0)
        products = rows[image].reshape(4, 3, -1, 1)
        products = products[:, 0] * place[0] + products[:, 1] * place[1] + products[:, 2]
        inside = (products[:3] >= 0).all(0) & np.repeat(meet, CLUSTER_SIZE)[:, None]
        nearness = np.where(inside, products[3], 0).max(0, initial=0)
        winner = np.where(inside, products[3], 0).argmax(0)
        hit = used[tile] & (nearness > 0)
        np.testing.assert_allclose(found.nearness[image, tile][used[tile]], nearness[used[tile]], rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(found.label[image, tile][hit], labels[winner // CLUSTER_SIZE][hit])
        np.testing.assert_array_equal(found.number[image, tile][hit], (winner % CLUSTER_SIZE)[hit])


@pytest.mark.full
def test_shadows_do_not_depend_on_what_else_is_in_the_image():
    """Under a low sun, from a camera whose highest rays meet the ground a million meters away."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><asset><mesh name="m" builtin="sphere" params="2" scale=".3 .3 .3"/></asset><worldbody>
        <light directional="true" dir=".8 .2 -.5"/><geom type="plane" size="0 0 1"/>
        <geom type="mesh" mesh="m" pos="0 0 .6"/><geom type="mesh" mesh="m" pos="-.6 -.15 .9"/></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    camera = look_at(jnp.array([-1.5, -3.0, 1.0]), jnp.array([0.0, 0.0, 1.0 - 3e-6]), 60.0)

    def rendered(crop):
        return render(scene, pose, camera, 33, 33, ("color", "depth"), shadows=True, crop=crop)

    whole, lower = rendered((16, 0, 17, 33)), rendered((17, 0, 16, 33))
    assert np.isfinite(whole.depth).all()
    assert whole.depth[0].max() > 1e5
    np.testing.assert_allclose(whole.color[1:], lower.color, atol=1e-4)


def test_clusters_are_neighbors():
    """Clusters hold every triangle once, and are small."""
    model = _model(0)
    mesh = Scene.from_mujoco(model).meshes[0]
    corners = np.asarray(mesh.corners)
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    count = model.mesh_facenum[0]
    assert len(corners) == -(-count // CLUSTER_SIZE) * CLUSTER_SIZE
    assert (area > 0).sum() == count
    extent = np.ptp(corners.reshape(-1, 3 * CLUSTER_SIZE, 3), axis=1).max(1)
    assert extent.max() < 0.7 * np.ptp(corners.reshape(-1, 3), axis=0).max()


def test_only_a_closed_surface_whose_front_is_outside_hides_its_back():
    model = _model(0)
    first, last = model.mesh_vertadr[1], model.mesh_vertadr[1] + model.mesh_vertnum[1]
    rows = slice(model.mesh_faceadr[1], model.mesh_faceadr[1] + model.mesh_facenum[1])
    vertices, faces = model.mesh_vert[first:last], model.mesh_face[rows]
    assert make_mesh(vertices, faces, None, None).closed
    assert not make_mesh(vertices, faces[:-1], None, None).closed, "a hole"
    assert not make_mesh(vertices, faces[:, ::-1], None, None).closed, "inside out"
    beside = np.concatenate([vertices, 0.5 * vertices + 1.0])
    both = np.concatenate([faces, faces[:, ::-1] + len(vertices)])
    assert not make_mesh(beside, both, None, None).closed, "a small one beside it, inside out"
    assert all(mesh.closed for mesh in Scene.from_mujoco(model).meshes), "height fields, too"


def test_soft_silhouettes_are_refused():
    _, _, scene, pose, camera = _setup(0)
    with pytest.raises(ConfigError, match="soft silhouettes of meshes"):
        render(scene, pose, camera, 16, 16, soft=1.0)


@pytest.mark.full
def test_a_robot_of_meshes():
    """MJX's shadow hand, whose meshes come with it."""
    file = Path(mujoco.__file__).parent / "mjx" / "test_data" / "shadow_hand" / "scene_right.xml"
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    hand = data.geom_xpos[model.geom_type == mujoco.mjtGeom.mjGEOM_MESH].mean(0)
    camera = look_at(jnp.array(hand + [0.3, 0.25, 0.15]), jnp.array(hand), 50.0)
    frame = render(Scene.from_mujoco(model), GeomPose.from_mujoco(data), camera, 64, 64, _ALL)
    truth = oracle.cast_one_by_one(model, data, camera, 64, 64)
    meshes = tuple(np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_MESH).tolist())
    oracle.check(frame, truth, smooth=meshes)
    assert len(set(np.unique(truth.ids)) & {*meshes}) > 8
