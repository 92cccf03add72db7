"""Derivatives of the image against finite differences, and what they are good for."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.render import Camera, GeomPose, Scene, look_at, paint, render

SIZE = 32
_PRIMITIVES = """
    <geom type="sphere" size=".25" pos="-.7 0 .5" rgba=".9 .3 .2 1"/>
    <geom type="ellipsoid" size=".3 .2 .15" pos=".8 .2 .6" euler="0 20 30" rgba=".2 .3 .8 1"/>
    <geom type="cylinder" size=".2 .2" pos="-.4 -.6 1.1" euler="50 10 0" rgba=".7 .6 .2 1"/>
    <geom type="capsule" size=".12 .25" pos=".1 -.3 .7" euler="20 50 0" rgba=".2 .6 .3 1"/>
    <geom type="box" size=".2 .15 .25" pos=".6 -.4 1.2" euler="30 20 40" rgba=".6 .3 .7 1"/>
"""


def _model(geoms: str, floor: str = 'material="m"') -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        f"""
        <mujoco>
          <asset>
            <texture type="skybox" builtin="gradient" rgb1=".3 .5 .7" rgb2=".9 .8 .6" width="64" height="64"/>
            <texture name="c" type="2d" builtin="checker" rgb1=".8 .7 .6" rgb2=".3 .3 .4" width="64" height="64"/>
            <material name="m" texture="c" texrepeat="2 2" specular=".2" shininess=".1"/>
          </asset>
          <worldbody>
            <light pos="1 -2 3" dir="-.3 .6 -1" cutoff="80" exponent="1" attenuation="1 .02 .01" diffuse=".5 .5 .5"/>
            <geom type="plane" size="0 0 1" {floor}/>
            {geoms}
          </worldbody>
        </mujoco>
        """
    )


ALL = _model(_PRIMITIVES)
# Derivatives of surfaces, light and textures are tested on ALL. Programs of soft images are long, and so are reverses.
FEW = _model("".join(_PRIMITIVES.splitlines(keepends=True)[-2:]), floor="")
ONE = _model(_PRIMITIVES.splitlines(keepends=True)[-2])


def _setup(model: mujoco.MjModel) -> tuple[Scene, GeomPose, Camera]:
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = look_at(jnp.array([0.2, -3.0, 1.3]), jnp.array([0.0, 0.0, 0.7]), 50.0)
    return Scene.from_mujoco(model), GeomPose.from_mujoco(data), camera


DIRECTIONS = ("pose", "turn", "size", "color", "light", "camera")


def _move(scene: Scene, pose: GeomPose, camera: Camera, amounts):
    """The same, a little changed in each of `DIRECTIONS`."""
    shift, turn, size, color, light, view = amounts
    shifts = jnp.array(np.random.default_rng(0).normal(size=pose.xpos.shape), jnp.float32).at[0].set(0.0)
    c, s, one, zero = jnp.cos(turn), jnp.sin(turn), jnp.ones(()), jnp.zeros(())
    rotation = jnp.stack([one, zero, zero, zero, c, -s, zero, s, c]).reshape(3, 3)
    pose = GeomPose(pose.xpos + shift * shifts, jnp.concatenate([pose.xmat[:1], pose.xmat[1:] @ rotation]))
    scene = replace(
        scene,
        geom_size=scene.geom_size * (1 + size),
        geom_rgb=scene.geom_rgb + color * jnp.array([0.3, -0.2, 0.1]),
        light_pos=scene.light_pos + light * jnp.array([1.0, 0.5, -0.7]),
        light_diffuse=scene.light_diffuse * (1 + light),
    )
    return scene, pose, look_at(camera.pos + view * jnp.array([0.5, 0.3, 0.2]), jnp.array([0.0, 0.0, 0.7]), 50.0)


def _share_off(derivative, difference) -> float:
    """Share of numbers that are not alike. Kinks (an edge of a face, a clipped color) make a few differ."""
    return float(np.mean(np.abs(np.asarray(derivative - difference)) > 0.02 + 0.03 * np.abs(np.asarray(derivative))))


STEP = 1e-3


@pytest.mark.full  # the fast suite has them through TorchRL
@pytest.mark.parametrize("model", [ONE, FEW], ids=["box", "box on a floor"])
def test_derivatives_of_soft_images_are_those_of_finite_differences(model):
    start = _setup(model)
    weights = jnp.array(np.random.default_rng(1).normal(size=(SIZE, SIZE, 3)), jnp.float32)

    def rendered(amounts):
        return render(*_move(*start, amounts), SIZE, SIZE, ("color",), soft=2.0).color

    @jax.jit  # one program for all: compiling is what takes the time
    def differentiate(amounts, direction):
        return jax.jvp(rendered, (amounts,), (direction,))

    # Not compiled: that takes longer than to run it once, and the law is one of its trace.
    reverse = jax.grad(lambda amounts: jnp.sum(rendered(amounts) * weights))(jnp.zeros(6))
    for i, name in enumerate(DIRECTIONS):
        direction = jnp.eye(6)[i]
        forward = differentiate(jnp.zeros(6), direction)[1]
        low, high = (differentiate(sign * STEP * direction, direction)[0] for sign in (-1, 1))
        np.testing.assert_allclose(jnp.sum(forward * weights), reverse[i], rtol=1e-3, atol=1e-2, err_msg=name)
        assert np.abs(forward).mean() > 0.01, name
        assert _share_off(forward, (high - low) / (2 * STEP)) < 0.02, name


@pytest.mark.full
def test_derivatives_of_sharp_images_are_those_of_finite_differences_inside_silhouettes():
    start = _setup(ALL)

    @jax.jit
    def rendered(amounts):
        return render(*_move(*start, amounts), SIZE, SIZE, ("color", "depth", "normals", "segmentation"))

    @jax.jit
    def differentiate(direction):
        def smooth(amounts):
            frame = rendered(amounts)
            return frame.color, frame.depth, frame.normals

        return jax.jvp(smooth, (jnp.zeros(6),), (direction,))[1]

    middle = rendered(jnp.zeros(6))
    for i, direction in enumerate(DIRECTIONS):
        low, high = rendered(-STEP * jnp.eye(6)[i]), rendered(STEP * jnp.eye(6)[i])
        still = (low.segmentation == middle.segmentation) & (middle.segmentation == high.segmentation)
        still = np.asarray(still & (middle.segmentation >= 0))
        assert still.mean() > 0.5
        for name, derivative in zip(("color", "depth", "normals"), differentiate(jnp.eye(6)[i]), strict=True):
            difference = (getattr(high, name) - getattr(low, name)) / (2 * STEP)
            assert np.isfinite(np.asarray(derivative)[still]).all()
            assert _share_off(derivative[still], difference[still]) < 0.02, (direction, name)


def test_gradients_are_finite_and_compose_with_vmap():
    scene, pose, camera = _setup(ONE)
    batch = jax.tree.map(lambda x: jnp.stack([x, x + 0.01]), pose.xpos)

    def loss(scene, xpos, camera):
        color = render(scene, replace(pose, xpos=xpos), camera, SIZE, SIZE, ("color",), samples=4, shadows=True).color
        return jnp.mean(color**2)

    gradient = jax.jit(jax.vmap(jax.grad(loss, argnums=(0, 1, 2)), in_axes=(None, 0, None)))(scene, batch, camera)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
    assert np.abs(gradient[0].geom_rgb).sum() > 0
    assert np.abs(gradient[1]).sum() > 0


@pytest.mark.full
def test_the_program_of_a_soft_image_grows_little_with_geoms_of_a_kind():
    """Geom by geom, XLA took more than twelve minutes and 18 GB for the gradients through images of ten."""

    def equations(count: int) -> int:
        geoms = [f'<geom type="capsule" size=".1 .2" pos="{i} 0 1" rgba=".{i + 1} .5 .2 1"/>' for i in range(count)]
        start = _setup(_model("".join(geoms)))

        def loss(amounts):
            return jnp.sum(render(*_move(*start, amounts), SIZE, SIZE, ("color",), soft=2.0).color)

        return str(jax.make_jaxpr(jax.grad(loss))(jnp.zeros(6))).count(" = ")

    assert equations(6) < 1.5 * equations(1)


def test_a_soft_image_of_nothing_is_the_sky():
    scene, pose, camera = _setup(
        mujoco.MjModel.from_xml_string('<mujoco><worldbody><geom size=".1" rgba="1 1 1 0"/></worldbody></mujoco>')
    )
    assert not scene.visible
    soft, sharp = (render(scene, pose, camera, 8, 8, ("color",), soft=soft).color for soft in (2.0, None))
    np.testing.assert_array_equal(soft, sharp)


def test_soft_images_become_sharp():
    scene, pose, camera = _setup(FEW)

    def rendered(soft):  # compiled: operation by operation takes longer
        return np.asarray(jax.jit(lambda: render(scene, pose, camera, SIZE, SIZE, ("color",), soft=soft).color)())

    sharp = rendered(None)
    errors = [np.abs(rendered(soft) - sharp).mean() for soft in (2.0, 0.2, 0.02)]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 1e-3


def _finite_with_respect_to_poses(body: str, camera: Camera, size: int, **settings) -> None:
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    if settings.pop("painted", False):
        scene = paint(scene, [1], jnp.linspace(0, 1, 48).reshape(4, 4, 3))

    def total(pose, camera):
        return render(scene, pose, camera, size, size, ("color",), **settings).color.sum()

    found = jax.jit(jax.grad(total, (0, 1)))(pose, camera)
    assert all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(found))


def test_gradients_are_finite_where_a_ray_is_vertical():
    """The middle one of an odd number, of a camera that looks straight down."""
    camera = look_at(jnp.array([0.0, 0.0, 2.0]), jnp.zeros(3), 45.0)
    _finite_with_respect_to_poses('<geom type="plane" size="0 0 1"/><geom pos="1 0 0" size=".3"/>', camera, 5)


def test_gradients_are_finite_beside_a_ball_with_a_picture():
    camera = look_at(jnp.array([0.0, -2.0, 0.6]), jnp.array([0.0, 0.0, 0.3]), 45.0)
    ball = '<geom type="plane" size="0 0 1"/><geom size=".3" pos="0 0 .3"/>'
    _finite_with_respect_to_poses(ball, camera, 6, painted=True)


@pytest.mark.full
def test_many_geoms_have_gradients():
    """A gather, instead of a chain of selects."""
    rng = np.random.default_rng(0)
    spheres = "".join(f'<geom size=".05" pos="{x} {y} {z}"/>' for x, y, z in rng.uniform(-1, 1, (140, 3)))
    _finite_with_respect_to_poses(spheres, look_at(jnp.array([0.0, -4.0, 0.0]), jnp.zeros(3), 40.0), 4)


@pytest.mark.full
def test_softness_is_in_pixels_however_many_rays_each_has():
    model = mujoco.MjModel.from_xml_string('<mujoco><worldbody><geom size=".3"/></worldbody></mujoco>')
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    camera = look_at(jnp.array([0.0, -2.0, 0.0]), jnp.zeros(3), 45.0)
    one, four = (render(scene, pose, camera, 16, 16, ("color",), soft=3.0, samples=n).color for n in (1, 4))
    np.testing.assert_allclose(four, one, atol=0.02)


def test_softness_blurs_the_order_in_depth_by_its_formula():
    """Two walls, one a little behind the other, fill the image: the front hides the other by a sigmoid."""
    scene, pose, camera = _setup(
        mujoco.MjModel.from_xml_string(
            """<mujoco><visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual><worldbody>
            <geom type="box" size="50 .01 50" rgba="1 0 0 1"/><geom type="box" size="50 .01 50" rgba="0 1 0 1"/>
            </worldbody></mujoco>"""
        )
    )
    camera = look_at(jnp.array([0.0, -4.0, 0.0]), jnp.zeros(3), 40.0)
    pose = replace(pose, xpos=jnp.array([[0.0, 0.0, 0.0], [0.0, 0.3, 0.0]]))
    softness, size = 2.0, 9
    color = render(scene, pose, camera, size, size, ("color",), soft=softness).color
    near, far = 3.99, 4.29
    width = softness * 0.5 * (near + far) * 2 * np.tan(np.radians(20)) / size  # meters of so many pixels there
    behind = 1 / (1 + np.exp((far - near) / width))  # how far the one behind hides the front
    np.testing.assert_allclose(color[size // 2, size // 2, :2], [1 - behind, behind], atol=2e-3)


@pytest.mark.parametrize(
    "geom",
    ['type="box" size=".8 .8 .8"', 'type="cylinder" size=".8 .8" euler="90 0 0"', 'type="capsule" size=".8 .3"'],
    ids=["box", "cylinder", "capsule"],
)
def test_a_soft_image_is_whole_far_from_silhouettes(geom):
    """Also where rays run along an axis of what they meet: in the middle of a face."""
    scene, pose, _ = _setup(
        mujoco.MjModel.from_xml_string(
            f"""<mujoco><visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>
            <worldbody><geom {geom} rgba="1 1 1 1"/></worldbody></mujoco>"""
        )
    )
    camera = look_at(jnp.array([0.0, -3.0, 0.0]), jnp.zeros(3), 45.0)
    for size in (30, 31):
        soft = render(scene, pose, camera, size, size, ("color",), soft=1.0).color
        middle = slice(size // 2 - 3, size // 2 + 4)  # seven pixels and more from every silhouette
        np.testing.assert_allclose(soft[middle, middle], 1.0, atol=2e-3)


@pytest.mark.parametrize("soft", [None, pytest.param(1.0, marks=pytest.mark.full)])
def test_a_derivative_at_the_middle_of_a_cylinders_end_is_a_number(soft):
    """Where a ray meets the axis itself, which has no direction across."""
    scene, pose, _ = _setup(
        mujoco.MjModel.from_xml_string(
            '<mujoco><worldbody><geom type="cylinder" size=".8 .8" euler="90 0 0"/></worldbody></mujoco>'
        )
    )
    camera = look_at(jnp.array([0.0, -3.0, 0.0]), jnp.zeros(3), 45.0)

    def brightness(xpos):
        return render(scene, replace(pose, xpos=xpos), camera, 9, 9, ("color",), soft=soft).color.sum()

    assert jnp.isfinite(jax.jit(jax.grad(brightness))(pose.xpos)).all()
