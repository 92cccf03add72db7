"""Targets, objects and bodies can be seen in the first images of episodes, at the sizes that agents use."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import pixelbrax
from pixelbrax.distractors import Role, geom_roles
from pixelbrax.envs import camera_fn
from pixelbrax.errors import ConfigError
from pixelbrax.physics import MjcfPhysics
from pixelbrax.tasks import CameraSpec, Palette, Task, get_task

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
# What is missing from 0.99 is told in docs/tasks.md: the hand hides the object or the target.
LEAST = {"reacher": (0.99, 0.99), "pusher": (0.99, 0.99), "fetch": (0.99, 0.99), "grasp": (0.97, 0.99)}
# The suite's camera 0: the target of the swimmer is out of its sight most of the time.
LEAST |= {"dmc/reacher_easy": (0.99, 0.99), "dmc/finger_turn_hard": (0.99, 0.99), "dmc/point_mass": (0.85, 0.99)}


@pytest.mark.full
@pytest.mark.parametrize("task", LEAST)
def test_what_a_task_is_about_is_seen_in_its_first_images(task, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from visibility import rows_of  # pyright: ignore[reportMissingImports]

    for row in rows_of(task, (32, 64, 84), 1024):
        assert row["all_visible"] >= LEAST[task][row["size"] > 32], row


@pytest.mark.full
def test_a_camera_on_the_center_of_mass_keeps_the_fish_in_sight(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from visibility import rows_of  # pyright: ignore[reportMissingImports]

    (row,) = rows_of("dmc/fish_swim", (64,), 256)
    assert row["visible"]["body"] > 0.99


def test_objects_are_told_apart_from_bodies_and_targets():
    model = mujoco.MjModel.from_xml_string(
        """
        <mujoco>
          <worldbody>
            <geom type="plane" size="1 1 1"/>
            <body><joint name="arm"/><geom size=".1"/></body>
            <body><freejoint/><geom size=".1"/></body>
            <body name="goal"><geom size=".1"/></body>
          </worldbody>
          <actuator><motor joint="arm"/></actuator>
        </mujoco>
        """
    )
    assert geom_roles(model) == (Role.FLOOR, Role.BODY, Role.OBJECT, Role.TARGET)


def test_a_drawn_size_leaves_physics_and_contacts_alone():
    physics = get_task("reacher").load_physics("generalized")
    drawn, target = physics.mj_model, physics.mj_model.geom("target").id
    engine = physics.model
    assert drawn.geom_size[target, 0] == 0.025
    np.testing.assert_allclose(engine.mj_model.geom_size[target, 0], 0.009)
    np.testing.assert_allclose(engine.geom_size[target, 0], 0.009)
    assert engine.mj_model.geom_type[target] == engine.geom_type[target] == mujoco.mjtGeom.mjGEOM_SPHERE
    for name in ("geom_contype", "geom_conaffinity", "body_mass", "body_inertia"):
        np.testing.assert_array_equal(getattr(drawn, name), getattr(engine.mj_model, name))
    assert drawn.geom_contype[target] == drawn.geom_conaffinity[target] == 0


def test_a_model_that_its_caller_keeps_is_not_painted():
    """Else the second environment of a task would simulate the picture."""
    model = mujoco.MjModel.from_xml_string(
        """
        <mujoco><worldbody><body name="target"><joint name="x" type="slide" axis="1 0 0"/><geom size=".1"/></body>
        </worldbody><actuator><motor joint="x" ctrlrange="-1 1"/></actuator></mujoco>
        """
    )

    def load(backend):
        return MjcfPhysics(model, lambda before, action, after: after.qpos[0])

    palette = Palette(discs=(("target", 0.2),), accents=(("target", (1.0, 0.0, 0.0)),))
    task = Task("mine", "slide", ("jax",), load, CameraSpec((0.0, -1.0), 1.0, 0.0, 45.0), palette=palette)
    color = model.geom_rgba.copy()
    for _ in range(2):
        physics = task.load_physics()
        assert physics.mj_model.geom_type[0] == mujoco.mjtGeom.mjGEOM_CYLINDER
        assert model.geom_type[0] == physics.model.geom_type[0] == mujoco.mjtGeom.mjGEOM_SPHERE
        np.testing.assert_array_equal(model.geom_rgba, color)


def test_a_disc_lies_on_the_ground():
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body name="target" pos="1 2 .3"><geom size=".1" pos="0 0 .1"/></body></worldbody></mujoco>'
    )
    Palette(discs=(("target", 0.5),)).apply(model)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    np.testing.assert_allclose(data.geom_xpos[0], [1, 2, 0.001], atol=1e-9)
    np.testing.assert_allclose(model.geom_size[0], [0.5, 0.001, 0])


TWO = mujoco.MjModel.from_xml_string(
    """
    <mujoco><worldbody>
      <body name="dog"><freejoint/><geom size="1"/></body><body name="target" mocap="true"><geom size="1"/></body>
    </worldbody></mujoco>
    """
)


@pytest.mark.parametrize("distance", [0.0, 3.0, 17.0, 34.0])
@pytest.mark.parametrize("angle", [0.0, 1.0, 2.0, 3.1, -1.5])
@pytest.mark.parametrize("aspect", [1.0, 0.5, 2.0])
def test_a_camera_keeps_two_bodies_in_the_image(distance, angle, aspect):
    spec = get_task("fetch").camera
    assert isinstance(spec, CameraSpec)
    both = CameraSpec(spec.offset, spec.height, spec.target_height, spec.fovy, body="dog", also="target")
    at = camera_fn(TWO, both, aspect)
    dog = np.array([40.0, -7.0, 1.0])
    target = dog + distance * np.array([np.cos(angle), np.sin(angle), 0.0])
    camera = at(jnp.asarray(np.stack([np.zeros(3), dog, target]), jnp.float32), jnp.zeros((3, 3, 3)))
    half = np.tan(np.radians(float(camera.fovy)) / 2)
    for point in (dog, target):
        x, y, z = np.asarray(camera.mat).T @ (point - np.asarray(camera.pos))
        assert z < 0
        assert abs(x) / -z < half * aspect
        assert abs(y) / -z < half
    # No farther away than it must be: together they take half of the image or more.
    assert (
        np.linalg.norm(np.asarray(camera.pos) - (dog + target) / 2) < 1.5 * (distance / 2 / min(1.0, aspect) + 5) / half
    )


def test_a_second_body_is_checked():
    with pytest.raises(ConfigError, match="the name of a second body"):
        CameraSpec((0.0, -1.0), 1.0, 0.0, 45.0, body=None, also="target")
    with pytest.raises(ConfigError, match="no body 'goal'"):
        camera_fn(TWO, CameraSpec((0.0, -1.0), 1.0, 0.0, 45.0, body="dog", also="goal"))


@pytest.mark.full
def test_fetch_shows_its_target_also_after_a_hit():
    env = pixelbrax.make("fetch", image_size=64, outputs=("segmentation",))

    def hit(key):
        state = env.reset(key)
        near = state.physics.engine_state.info | {"target": jnp.array([1.0, 0.0, 1.375])}
        data = state.physics.engine_state.replace(info=near)
        state = env.step(replace(state, physics=replace(state.physics, engine_state=data)), jnp.zeros(env.action_size))
        return state.physics.metrics["hits"], jnp.sum(state.obs["segmentation"] == 12)

    hits, pixels = jax.jit(jax.vmap(hit))(jax.random.split(jax.random.key(0), 64))
    assert (hits == 1).all()
    assert (pixels > 0).all()
