"""Tendons against what MuJoCo itself would draw: capsules and colors of `mjv_updateScene`, which needs no OpenGL."""

from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.distractors import Role, SceneContext
from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.physics import RecordedPhysics
from pixelbrax.render import GeomPose, Scene, look_at, orbit, render, spatial_tendons, tendon_segments
from pixelbrax.render.tolerances import NO_SIZE

CREATURE = """
<mujoco>
  <option gravity="0.3 0 -9.81"/>
  <visual><quality numslices="99"/></visual>
  <asset><material name="rope" rgba="0.8 0.6 0.2 1" specular="0.1"/></asset>
  <worldbody>
    <light pos="0 0 4"/>
    <geom type="plane" size="5 5 1"/>
    <site name="hook" pos="0 0 2"/>
    <site name="high" pos="0.5 0.3 2"/>
    <body pos="0 0 1.4">
      <freejoint/>
      <geom name="ball" type="sphere" size="0.15"/>
      <geom name="rod" type="cylinder" size="0.08 0.3" pos="0.5 0 0" euler="70 20 0"/>
      <site name="a" pos="-0.3 0.02 0.1"/>
      <site name="b" pos="0.3 0.03 0.05"/>
      <site name="near" pos="0.75 0.1 0.1"/>
      <site name="over" pos="0 0 0.3"/>
      <site name="within" pos="0.02 0.01 0.05"/>
      <site name="beside" pos="0.5 0 0.2"/>
      <site name="in_rod" pos="0.5 0.01 0.02"/>
      <body pos="0 0 -0.5">
        <joint type="ball"/>
        <geom size="0.05"/>
        <site name="c" pos="-0.1 0.3 0.2"/>
        <site name="d" pos="0.3 0.1 -0.1"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <spatial name="straight" width="0.01" rgba="0.2 0.3 0.9 1">
      <site site="a"/><site site="c"/><site site="d"/>
    </spatial>
    <spatial name="pulley" width="0.008" material="rope">
      <site site="a"/><site site="b"/><pulley divisor="2"/><site site="b"/><site site="c"/><pulley divisor="2"/>
      <site site="b"/><site site="d"/>
    </spatial>
    <spatial name="around_ball" width="0.01"><site site="hook"/><geom geom="ball"/><site site="d"/></spatial>
    <spatial name="over_ball" width="0.01">
      <site site="c"/><geom geom="ball" sidesite="over"/><site site="high"/>
    </spatial>
    <spatial name="through_ball" width="0.01">
      <site site="c"/><geom geom="ball" sidesite="within"/><site site="b"/>
    </spatial>
    <spatial name="around_rod" width="0.01"><site site="d"/><geom geom="rod"/><site site="high"/></spatial>
    <spatial name="beside_rod" width="0.01">
      <site site="d"/><geom geom="rod" sidesite="beside"/><site site="hook"/>
    </spatial>
    <spatial name="through_rod" width="0.01">
      <site site="d"/><geom geom="rod" sidesite="in_rod"/><site site="near"/>
    </spatial>
    <spatial name="string" width="0.01" limited="true" range="0 1.2"><site site="hook"/><site site="a"/></spatial>
    <spatial name="spring" width="0.01" stiffness="5" springlength="0 1.5"><site site="b"/><site site="high"/></spatial>
    <spatial name="limited" width="0.01" limited="true" range="0.3 0.9" solimplimit="0.4 0.8 0.3 0.4 3">
      <site site="b"/><site site="c"/><site site="d"/>
    </spatial>
    <spatial name="hidden" width="0.01" group="4"><site site="a"/><site site="d"/></spatial>
    <fixed name="joints"><joint joint="swing" coef="1"/></fixed>
  </tendon>
</mujoco>
""".replace('<joint type="ball"/>', '<joint name="swing" axis="1 0.3 0"/><joint axis="0 1 0"/>')
POSES = 40
TOLERANCE = 1e-3  # meters, of our corners to MuJoCo's curves of 99 segments
CURVED = ("string", "spring", "around_ball", "over_ball", "around_rod", "beside_rod")
SAG = 0.02  # of our segments, fewer than MuJoCo's


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(CREATURE)


def posed(model: mujoco.MjModel, seed: int) -> mujoco.MjData:
    """Data in a random pose, high and low, so that strings hang and are taut."""
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    data.qpos[:3] += rng.normal(size=3) * [0.3, 0.3, 0.4]
    data.qpos[3:7] = rng.normal(size=4)
    data.qpos[7:] = rng.normal(size=len(data.qpos) - 7)
    mujoco.mj_forward(model, data)
    return data


def drawn(model: mujoco.MjModel, data: mujoco.MjData) -> dict[int, list]:
    """What MuJoCo draws of each tendon: both ends, the radius and the color of each capsule."""
    scene, option = mujoco.MjvScene(model, 1000), mujoco.MjvOption()
    mujoco.mjv_updateScene(model, data, option, None, mujoco.MjvCamera(), mujoco.mjtCatBit.mjCAT_ALL, scene)
    found: dict = {}
    for geom in scene.geoms[: scene.ngeom]:
        if geom.objtype == mujoco.mjtObj.mjOBJ_TENDON:
            half = geom.mat[:, 2] * geom.size[2]
            capsule = geom.pos - half, geom.pos + half, float(geom.size[0]), geom.rgba.copy()
            found.setdefault(geom.objid, []).append(capsule)
    return found


def ours(model: mujoco.MjModel, scene: Scene, pose: GeomPose) -> dict[int, list]:
    """The same of our scene, without capsules that are not needed."""
    tendons = tendon_segments(model)
    first, found = len(scene.geom_type) - len(tendons), {}
    size, rgb = np.asarray(scene.geom_size), np.asarray(scene.geom_rgb)
    xpos, xmat = np.asarray(pose.xpos), np.asarray(pose.xmat)
    for row, tendon in enumerate(tendons, first):
        if row in scene.visible and size[row, 0] > NO_SIZE:
            half = xmat[row, :, 2] * size[row, 1]
            capsule = xpos[row] - half, xpos[row] + half, size[row, 0], rgb[row]
            found.setdefault(tendon, []).append(capsule)
    return found


def distance(point: np.ndarray, capsules: list) -> float:
    """From a point to the nearest of some capsules' axes."""
    found = []
    for start, end, *_ in capsules:
        along = end - start
        share = np.clip((point - start) @ along / max(along @ along, 1e-12), 0, 1)
        found.append(np.linalg.norm(start + share * along - point))
    return min(found)


@pytest.mark.parametrize("sites", [False, pytest.param(True, marks=pytest.mark.full)])
def test_tendons_are_where_mujoco_draws_them(model: mujoco.MjModel, sites: bool) -> None:
    place, scene = spatial_tendons(model), Scene.from_mujoco(model, sites=sites, tendons=True)
    assert place is not None
    place = jax.jit(place)
    seen: dict[str, set[int]] = {}
    for seed in range(POSES):
        data = posed(model, seed)
        theirs = drawn(model, data)
        mine = ours(model, *place(scene, GeomPose.from_mujoco(data, sites=sites), data.site_xpos))
        assert set(theirs) == set(mine)
        for tendon, capsules in theirs.items():
            name = model.tendon(tendon).name
            seen.setdefault(name, set()).add(len(capsules))
            assert (len(capsules) == 1) == (len(mine[tendon]) == 1), (seed, name)
            near = max(distance(point, capsules) for start, end, *_ in mine[tendon] for point in (start, end))
            assert near < TOLERANCE, (seed, name)
            far = max(distance(point, mine[tendon]) for start, *_ in capsules for point in (start,))
            assert far < (SAG if name in CURVED else TOLERANCE), (seed, name)
            for theirs_of, mine_of in zip(capsules[0][2:], mine[tendon][0][2:], strict=True):  # radius and color
                np.testing.assert_allclose(np.ravel(theirs_of)[:3], mine_of, atol=2e-3, err_msg=f"{seed} {name}")
    # Every case was met: taut and slack strings, arcs short and long, and tendons that pass their geom by.
    assert seen["string"] == seen["spring"] == {1, max(seen["string"])}
    assert seen["through_ball"] == seen["through_rod"] == {1, 2}
    assert all(1 in seen[name] and max(seen[name]) >= 10 for name in CURVED if "_" in name)


@pytest.mark.full
def test_gradients_are_finite_and_those_of_finite_differences(model: mujoco.MjModel) -> None:
    place, scene = spatial_tendons(model), Scene.from_mujoco(model, tendons=True)
    assert place is not None
    weights = jax.random.normal(jax.random.key(0), (2, len(tendon_segments(model)), 3))

    def total(sites: jax.Array, pose: GeomPose) -> jax.Array:
        placed_scene, placed = place(scene, pose, sites)
        of_tendons = slice(pose.xpos.shape[0], None)
        turned = jnp.sum(placed.xmat[of_tendons] * 1e-3)
        moved = jnp.sum(weights[0] * placed.xpos[of_tendons])
        return moved + jnp.sum(weights[1] * placed_scene.geom_size[of_tendons]) + turned

    value, gradient = jax.jit(total), jax.jit(jax.grad(total, (0, 1)))
    for seed in range(12):
        data = posed(model, seed)
        sites, pose = jnp.float32(data.site_xpos), GeomPose.from_mujoco(data)
        by_sites, by_pose = gradient(sites, pose)
        assert all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves((by_sites, by_pose)))
        if seed != 3:  # others may be at an edge, where a tendon begins to touch or to hang
            continue
        for key in jax.random.split(jax.random.key(1), 6):
            along, h = jax.random.normal(key, sites.shape), 1e-3
            difference = (value(sites + h * along, pose) - value(sites - h * along, pose)) / (2 * h)
            np.testing.assert_allclose(jnp.sum(by_sites * along), difference, rtol=0.02, atol=0.02)


_UNTOUCHED = """
<mujoco>
  <worldbody>
    <light pos="0 -1 3"/>
    <geom name="far" pos="0 0 9" size="0.1"/>
    <site name="a" pos="-0.6 0 0"/>
    <body pos="0.5 0 0.1"><joint type="slide"/><geom size="0.01" rgba="1 1 1 0"/><site name="b"/></body>
  </worldbody>
  <tendon>
    <spatial width="0.08" rgba="1 0.1 0 {alpha}" {string}><site site="a"/>{between}<site site="b"/></spatial>
  </tendon>
</mujoco>
"""
_TAUT = 'limited="true" range="0 0.9"'


@pytest.mark.parametrize(
    ("alpha", "soft", "by_site"),
    [
        (1.0, 1.5, False),
        pytest.param(0.4, None, False, marks=pytest.mark.full),
        pytest.param(1.0, 1.5, True, marks=pytest.mark.full),
    ],
)
def test_what_is_straight_looks_alike_however_many_capsules_it_may_need(
    alpha: float, soft: float | None, by_site: bool
) -> None:
    """And its soft image has the same derivatives."""

    def seen(between: str = "", string: str = "") -> jax.Array:
        text = _UNTOUCHED.format(alpha=alpha, between=between, string=string)
        model = mujoco.MjModel.from_xml_string(text)
        place, scene = spatial_tendons(model), Scene.from_mujoco(model, tendons=True)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        camera, pose = look_at(jnp.array([0.0, -2.0, 0.3]), jnp.zeros(3), 45.0), GeomPose.from_mujoco(data)
        assert place is not None

        def image(sites: jax.Array) -> jax.Array:
            return render(*place(scene, pose, sites), camera, 12, 12, ("color",), soft=soft).color

        of_image = jax.grad(lambda sites: image(sites)[3:].sum()) if by_site else image
        return jax.jit(of_image)(jnp.float32(data.site_xpos))

    plain = seen()
    assert np.abs(plain).max() > 0.3
    for other in (seen('<geom geom="far"/>'), seen(string=_TAUT)):
        np.testing.assert_allclose(other, plain, rtol=1e-2 if by_site else 0, atol=2e-3)


@pytest.mark.full
def test_a_batch_is_its_elements(model: mujoco.MjModel) -> None:
    place, scene = spatial_tendons(model), Scene.from_mujoco(model, tendons=True)
    assert place is not None
    every = [posed(model, seed) for seed in range(3)]
    poses = jax.tree.map(lambda *x: jnp.stack(x), *(GeomPose.from_mujoco(data) for data in every))
    sites = jnp.stack([jnp.float32(data.site_xpos) for data in every])

    def ends(pose: GeomPose, sites: jax.Array) -> tuple[jax.Array, jax.Array]:
        placed_scene, placed = place(scene, pose, sites)
        half = placed.xmat[:, :, 2] * placed_scene.geom_size[:, 1:2]  # what has no length has any direction
        return placed.xpos - half, placed.xpos + half

    batch, one = jax.jit(jax.vmap(ends))(poses, sites), jax.jit(ends)
    for i, data in enumerate(every):
        alone = one(GeomPose.from_mujoco(data), sites[i])
        for some, same in zip(jax.tree.leaves(batch), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(some[i], same, atol=1e-5)


def test_roles_are_of_what_holds_a_tendon() -> None:
    model = mujoco.MjModel.from_xml_string("""
        <mujoco>
          <asset><material name="rope"/></asset>
          <worldbody>
            <site name="fixed"/>
            <body pos="0 0 1"><joint name="driven" type="slide"/><geom size="0.1"/><site name="body"/></body>
            <body pos="1 0 1"><freejoint/><geom size="0.1"/><site name="object"/></body>
          </worldbody>
          <tendon>
            <spatial material="rope"><site site="fixed"/><site site="object"/></spatial>
            <spatial><site site="object"/><site site="body"/></spatial>
          </tendon>
          <actuator><motor joint="driven"/></actuator>
        </mujoco>""")
    scene = Scene.from_mujoco(model, sites=True, tendons=True)
    context = SceneContext.of(model, scene, 8, 8)
    assert tendon_segments(model) == (0, 1)
    assert context.roles[-2:] == (Role.OBJECT, Role.BODY)
    assert context.materials[-2:] == ("rope", "")
    assert len(SceneContext.of(model, Scene.from_mujoco(model, sites=True), 8, 8).roles) == len(context.roles) - 2


def test_an_environment_shows_them() -> None:
    model = mujoco.MjModel.from_xml_string("""
        <mujoco>
          <worldbody>
            <light pos="0 -1 3"/><geom type="plane" size="5 5 1"/><site name="hook" pos="-0.5 0 1.5" size="0.02"/>
            <body pos="0.4 0 1"><freejoint/><geom size="0.1"/><site name="ball" size="0.02"/></body>
          </worldbody>
          <tendon>
            <spatial width="0.05"><site site="hook"/><site site="ball"/></spatial>
          </tendon>
        </mujoco>""")
    physics = RecordedPhysics.of_random_controls(model, 1, 0.05)
    camera = orbit(jnp.array([0.0, 0.0, 1.2]), 3.0, 90.0, -10.0)
    options: Any = {"image_size": 24, "frame_stack": 1, "outputs": ("pixels", "segmentation")}
    with_them, without = (PixelEnv(physics, camera, tendons=tendons, **options) for tendons in (True, False))
    seen, other = (env.reset(jax.random.key(0)).obs for env in (with_them, without))
    tendons = np.asarray(seen["segmentation"]) >= model.ngeom + model.nsite
    assert tendons.sum() > 8
    assert np.array_equal(seen["pixels"][~tendons], other["pixels"][~tendons])
    assert (seen["pixels"] != other["pixels"]).any()


def test_poses_must_fit(model: mujoco.MjModel) -> None:
    place, data = spatial_tendons(model), posed(model, 0)
    assert place is not None
    with pytest.raises(ConfigError, match="read the scene with tendons=True"):
        place(Scene.from_mujoco(model), GeomPose.from_mujoco(data), data.site_xpos)
    assert spatial_tendons(mujoco.MjModel.from_xml_string("<mujoco/>")) is None
