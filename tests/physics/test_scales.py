"""Random factors do on every engine what their names say, or are refused."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from mujoco import mjx

import pixelbrax
from pixelbrax.errors import ConfigError
from pixelbrax.physics import random_factors
from pixelbrax.physics._unread import unread_by
from pixelbrax.physics.randomize import Randomizer
from pixelbrax.tasks import get_task


def test_masses_are_what_springs_make_of_them():
    """Brax's "spring" computes with mass^(1 - spring_mass_scale)."""
    physics = get_task("halfcheetah").load_physics("spring")
    model = physics.model
    assert 0 < model.spring_mass_scale < 1
    sampled = Randomizer(physics, random_factors({"mass": 0.5})).sample(jax.random.key(3))
    factor = sampled["body_mass"][1] / model.body_mass[1]
    assert abs(factor - 1) > 0.1
    for leaf, scale in (("mass", model.spring_mass_scale), ("i", model.spring_inertia_scale)):
        own = getattr(model.link.inertia, leaf)
        found = sampled[f"link.inertia.{leaf}"]
        there = np.asarray(own) != 0
        effective = np.asarray(found)[there] ** (1 - scale) / np.asarray(own)[there] ** (1 - scale)
        np.testing.assert_allclose(effective, factor, rtol=1e-5)


@pytest.mark.parametrize(
    ("task", "name", "message"),
    [
        ("ant", "mass", "mass does nothing on 'spring': the model's spring_mass_scale is 1"),
        ("ant", "damping", "damping does nothing on 'spring', which reads no joint's damping"),
    ],
)
def test_what_an_engine_does_not_read_is_refused(task, name, message):
    with pytest.raises(ConfigError, match=message):
        pixelbrax.make(task, backend="spring", randomization_fn=random_factors({name: 0.3}))
    physics = get_task(task).load_physics("generalized")
    assert Randomizer(physics, random_factors({name: 0.3})).active


_DRIVEN = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <body><joint name="a" axis="0 1 0" damping="1" actuatorfrcrange="-9 9"/><geom name="ball" size=".1"/></body>
  </worldbody>
  <actuator>
    <motor joint="a" gear="3"/>
    <position joint="a" kp="20" kv="2" forcerange="-4 4"/>
    <muscle joint="a" lengthrange="0 1"/>
  </actuator>
  <contact><pair geom1="floor" geom2="ball" friction=".7 .7 .1 .1 .1"/></contact>
</mujoco>
"""


@pytest.mark.parametrize("ranges", [None, [("mass", 0.1)], "mass"])
def test_ranges_are_a_dict(ranges):
    with pytest.raises(ConfigError, match=r"the randomization is .*: it must be a dict of ranges"):
        random_factors(ranges)


def test_strength_is_force_and_pairs_have_their_own_friction():
    """A servo's goal stays where it is, and a muscle's lengths stay its own."""
    model = mjx.put_model(mujoco.MjModel.from_xml_string(_DRIVEN))
    keys = jax.random.key_data(jax.random.split(jax.random.key(0), 1))
    changed, axes = random_factors({"strength": 0.5, "friction": 0.5})(model, keys)
    assert axes.actuator_gear is None
    factor = changed.actuator_gainprm[0, 0, 0]
    assert abs(factor - 1) > 0.1
    np.testing.assert_allclose(changed.actuator_gainprm[0, 1, 0], 20 * factor)
    np.testing.assert_allclose(changed.actuator_biasprm[0, 1, :3], [0, -20 * factor, -2 * factor])
    np.testing.assert_allclose(changed.actuator_forcerange[0, 1], [-4 * factor, 4 * factor])
    np.testing.assert_allclose(changed.jnt_actfrcrange[0, -1], [-9 * factor, 9 * factor], rtol=1e-6)
    for leaf in ("actuator_gainprm", "actuator_biasprm"):
        own, muscle = getattr(model, leaf)[2], getattr(changed, leaf)[0, 2]
        forces = np.isin(np.arange(len(own)), [2, 3])
        np.testing.assert_allclose(muscle, np.where(forces, factor * own, own))
    rubbing = changed.geom_friction[0, 0, 0] / model.geom_friction[0, 0]
    np.testing.assert_allclose(changed.pair_friction[0, 0, 0], 0.7 * rubbing, rtol=1e-6)
    assert abs(rubbing - factor) > 0.01, "each name has a factor of its own"


def test_sensors_of_a_subtrees_velocity_know_of_its_mass():
    """By which MJX divides its momentum: of `dmc/cheetah_run` and others it is what the reward is of."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body name="a"><freejoint/><geom size=".1" mass="2"/><body pos=".3 0 0"><joint/>
        <geom size=".1" mass="1"/></body></body></worldbody><sensor><subtreelinvel body="a"/></sensor></mujoco>"""
    )
    own = mjx.put_model(model)
    keys = jax.random.key_data(jax.random.split(jax.random.key(0), 1))
    changed, axes = random_factors({"mass": 0.5})(own, keys)
    heavier = jax.tree.map(lambda x, axis: x if axis is None else x[0], changed, axes, is_leaf=lambda x: x is None)
    assert abs(heavier.body_mass[1] / 2 - 1) > 0.1
    np.testing.assert_allclose(heavier.body_subtreemass[1], heavier.body_mass.sum(), rtol=1e-6)

    @jax.jit
    def seen(model, velocity):
        data = mjx.make_data(own).replace(qvel=velocity)
        for update in (mjx.kinematics, mjx.com_pos, mjx.com_vel, mjx.sensor_vel):
            data = update(model, data)
        return data.sensordata

    speed = [4.0, -1.0, 2.0]
    np.testing.assert_allclose(seen(heavier, jnp.array([*speed, 0.0, 0.0, 0.0, 0.0])), speed, rtol=1e-5)


@pytest.mark.parametrize(
    ("engine", "changed", "lines"),
    [
        ("spring", {"geom_friction", "link.inertia.mass"}, []),
        (
            "spring",
            {"body_mass"},
            ["'body_mass', which Brax's 'spring' engine does not read: change 'link.inertia.mass'"],
        ),
        ("generalized", {"actuator_biasprm"}, ["change 'actuator.bias_q' and 'actuator.bias_qd' (too)"]),
        ("generalized", {"dof.damping", "dof_damping"}, []),
        (
            "positional",
            {"dof.damping"},
            ["'dof.damping', which Brax's 'positional' engine does not read: leave it out"],
        ),
        ("mjx", {"gravity", "body_mass"}, ["'gravity', which Brax's 'mjx' engine does not read: change 'opt.gravity'"]),
    ],
)
def test_what_an_engine_does_not_read_is_named(engine, changed, lines):
    found = unread_by(engine, changed)
    assert len(found) == len(lines)
    assert all(line in ours for line, ours in zip(lines, found, strict=True))


def test_a_function_that_changes_what_is_not_read_is_warned_of():
    def heavier(system, keys):
        masses = jnp.tile(system.body_mass, (len(keys), 1))
        axes = jax.tree.map(lambda _: None, system).tree_replace({"body_mass": 0})
        return system.tree_replace({"body_mass": masses}), axes

    with pytest.warns(UserWarning, match="randomization_fn changes 'body_mass', which Brax's 'spring' engine does not"):
        Randomizer(get_task("inverted_pendulum").load_physics("spring"), heavier)
