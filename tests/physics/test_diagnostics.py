"""Momentum and energy in space, against MuJoCo's own measures and closed forms; the diagnosis and its command."""

import csv
import json
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from brax import contact

from pixelbrax.cli.main import main
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import Protocol, engines_of
from pixelbrax.experiments.drifts import Drifts
from pixelbrax.physics import (
    MUJOCO_INTEGRATORS,
    Totals,
    file_engines,
    load_system,
    quiet_brax,
    simulate_in_mujoco,
    space_simulator,
    subject_of,
    subject_of_file,
)
from pixelbrax.physics.space import Bodies, Motion, in_space, totals, totals_of
from pixelbrax.physics.space.brax_engine import BraxInSpace
from pixelbrax.physics.space.mjx_engine import MjxInSpace
from pixelbrax.tasks import get_task

NAMES = tuple(Totals.__dataclass_fields__)
BOX = '<body><freejoint/><geom type="box" size=".1 .2 .3" mass="3"/></body>'
LIMBS = """
<body name="torso" pos="0 0 1"><freejoint name="root"/><geom type="box" size=".2 .1 .1" mass="2" pos=".05 0 0"/>
  <body name="thigh" pos=".2 0 0"><joint name="hip" axis="0 1 0" {inner}/>
    <geom type="capsule" fromto="0 0 0 .3 0 .1" size=".05" mass="1"/>
    <body name="shin" pos=".3 0 .1"><joint name="knee" axis="0 0 1" {inner}/>
      <geom type="capsule" fromto="0 0 0 0 .3 0" size=".04" mass=".5"/></body></body>
  <body name="arm" pos="-.2 0 0"><joint name="shoulder" axis="1 0 0" {inner}/>
    <geom type="capsule" fromto="0 0 0 0 0 .3" size=".04" mass=".4"/></body></body>
"""
ONE_LIMB = """
<body><freejoint/><geom type="box" size=".2 .1 .1" mass="2" pos=".05 0 0"/>
  <body pos=".2 0 0"><joint axis="0 1 1" armature=".02" stiffness="3"/>
    <geom type="capsule" fromto="0 0 0 .3 0 .1" size=".05" mass="1"/></body></body>
"""  # compiles in less time
ROTORS = 'armature=".02" stiffness="3"'
WORLD = ROTORS + ' damping="2" range="-5 5" frictionloss=".1"'  # what a body in space has no more
ACTUATORS = '<actuator><position joint="knee" kp="50"/><motor joint="hip"/></actuator>'


def _file(tmp_path, bodies, more="", floor=""):
    path = tmp_path / "model.xml"
    head = '<compiler angle="degree"/><option timestep=".005" density="2"/>'
    path.write_text(f"<mujoco>{head}<worldbody>{floor}{bodies}</worldbody>{more}</mujoco>")
    return path


def _model(tmp_path, bodies, **more):
    return mujoco.MjModel.from_xml_path(str(_file(tmp_path, bodies, **more)))


def _random_state(model, seed=0):
    """Positions and velocities far from the reference."""
    rng = np.random.default_rng(seed)
    qpos = model.qpos0.copy()
    mujoco.mj_integratePos(model, qpos, rng.normal(size=model.nv), 0.7)
    return qpos, rng.normal(size=model.nv)


def _mujoco_totals(space, qpos, qvel):
    data = mujoco.MjData(space.model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    return totals_of(space, space.model, data)


def _same(ours, theirs, rtol=2e-5):
    for name in NAMES:
        a, b = np.asarray(getattr(ours, name)), np.asarray(getattr(theirs, name))
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max(), err_msg=name)


def test_a_spinning_box_in_closed_form(strict):
    mass, inertia, spin = 3.0, np.array([0.13, 0.1, 0.05]), np.array([1.0, -2.0, 0.5])
    velocity = np.array([0.3, 0.2, -0.1])
    arrays = (jnp.asarray(x, jnp.float32)[None] for x in (np.array([5.0, 6, 7]), np.eye(3), velocity, spin))
    bodies = Bodies(jnp.array([mass]), jnp.asarray(inertia, jnp.float32)[None])
    ours = totals(bodies, Motion(*arrays))
    energy = 0.5 * (mass * velocity @ velocity + inertia @ spin**2)
    linear, angular = mass * velocity, inertia * spin
    of_linear, of_angular = (np.asarray(np.linalg.norm(x)) for x in (linear, angular))
    _same(ours, Totals(linear, angular, of_linear, of_angular, np.asarray(energy)), rtol=1e-6)


@pytest.mark.parametrize("backend", file_engines())
def test_every_engine_starts_with_mujocos_momentum_and_energy(tmp_path, backend):
    """For the same q and qd, far from the reference; without the scales that change Brax's bodies."""
    inner = ROTORS if backend in ("generalized", "mjx") else ""
    path = _file(tmp_path, LIMBS.format(inner=inner), ACTUATORS)
    model = mujoco.MjModel.from_xml_path(str(path))
    qpos, qvel = _random_state(model)
    space = in_space(model, qpos)
    engine = MjxInSpace(space) if backend == "mjx" else BraxInSpace(load_system(path, backend), space, backend)
    ours = jax.jit(lambda qd: engine.measure(engine.reset(qd)))(jnp.asarray(qvel, jnp.float32))
    _same(ours, _mujoco_totals(space, qpos, qvel))


@pytest.mark.parametrize(
    "backend",
    ["mjx", "generalized", *(pytest.param(name, marks=pytest.mark.full) for name in ("spring", "positional"))],
)
def test_energy_that_other_trees_take_up_is_not_lost(tmp_path, backend):
    """As an equality constraint carries it there; momentum is that of the tree alone."""
    inner = ROTORS if backend in ("generalized", "mjx") else ""
    plate = f'<body pos="3 0 0"><joint type="slide" axis="1 0 0" {inner}/><geom size=".1" mass="2"/>'
    plate += (
        f'<body pos="0 .3 0"><joint axis="0 0 1" {inner}/><geom type="box" size=".1 .2 .1" mass="1"/></body></body>'
    )
    path = _file(tmp_path, LIMBS.format(inner=inner) + plate, ACTUATORS)
    model = mujoco.MjModel.from_xml_path(str(path))
    qpos, qvel = _random_state(model)
    space = in_space(model, qpos)
    engine = MjxInSpace(space) if backend == "mjx" else BraxInSpace(load_system(path, backend), space, backend)
    ours = jax.jit(lambda qd: engine.measure(engine.reset(qd)))(jnp.asarray(qvel, jnp.float32))
    assert len(space.others) == 2
    _same(ours, _mujoco_totals(space, qpos, qvel))


@pytest.mark.parametrize("backend", ["spring", "positional", "generalized"])
def test_nothing_touches_in_space_whatever_a_pair_says(tmp_path, backend):
    bodies = LIMBS.format(inner="").replace("<geom ", '<geom name="trunk" ', 1)
    pair = '<contact><pair geom1="floor" geom2="trunk"/></contact>'
    path = _file(tmp_path, bodies, ACTUATORS + pair, '<geom name="floor" type="plane" size="1 1 .1"/>')
    engine: Any = subject_of_file(path, backend).engine
    with quiet_brax():
        for system, touches in ((load_system(path, backend), True), (engine._system, False)):
            found = jax.eval_shape(partial(contact.get, system), engine._system.link.transform)
            assert (found is not None) == touches


@pytest.mark.parametrize(
    ("option", "said"), [('solver="PGS"', "MJX cannot simulate the model: .*Newton"), ('timestep="0"', "timestep")]
)
def test_what_mjx_cannot_simulate_is_refused(tmp_path, option, said):
    file = _file(tmp_path, ONE_LIMB)
    file.write_text(file.read_text().replace("<worldbody>", f"<option {option}/><worldbody>"))
    with pytest.raises(ConfigError, match=said):
        subject_of_file(file, "mjx")


@pytest.mark.full
def test_mjx_drifts_as_mujoco_does(tmp_path):
    """A simulation in float32 of MJX and one in float64 of MuJoCo's Euler integrator, step by step the same."""
    subject = subject_of_file(_file(tmp_path, ONE_LIMB), "mjx")
    simulate = jax.jit(space_simulator(subject.engine))
    for trial in Protocol(seeds=2).trials(subject.space, 5).values():
        numbers = (jnp.asarray(x, jnp.float32) for x in (trial.kick, trial.torques))
        ours = simulate(*numbers, jnp.float32(subject.timestep), jnp.int32(subject.substeps))
        theirs = simulate_in_mujoco(subject.space, trial, subject.timestep, subject.substeps, "Euler")
        _same(ours, theirs, rtol=2e-4)
        assert ours.energy.shape == (2, 6)


@pytest.mark.parametrize("integrator", MUJOCO_INTEGRATORS)
def test_space_takes_out_all_that_does_not_conserve(tmp_path, integrator):
    """A falling, damped, limited body with servos on a floor conserves momentum and energy once in space.

    Its drift vanishes with the time step: to first order, and faster for RK4.
    """
    model = _model(
        tmp_path, LIMBS.format(inner=WORLD), more=ACTUATORS, floor='<geom type="plane" size="1 1 1" pos="0 0 .9"/>'
    )
    before = model.opt.gravity.copy(), model.dof_damping.copy()
    space = in_space(model, model.qpos0)
    assert np.array_equal(before[0], model.opt.gravity)
    assert np.array_equal(before[1], model.dof_damping)
    trials = Protocol(seeds=3).trials(space, 10)
    drifts = []
    for substeps in (10, 20):
        found = {
            test: simulate_in_mujoco(space, trial, 0.02 / substeps, substeps, integrator)
            for test, trial in trials.items()
        }
        drifts.append(Drifts.of(space, found, 0.02 / substeps, substeps))
    least, most = (3.0, 40.0) if integrator == "RK4" else (1.7, 2.3)
    for name in ("linear", "angular", "energy"):
        coarse, fine = (each.center(name)[0, -1] for each in drifts)
        assert fine < (1e-8 if integrator == "RK4" else 1e-2)
        assert least < coarse / fine < most


def test_what_is_not_linear_is_taken_out_of_springs_and_dampers(tmp_path):
    motor = '<actuator><motor joint="knee" damping="1 2" armature="3"/></actuator>'
    model = _model(tmp_path, LIMBS.format(inner='stiffness="3 5" damping="1 2"'), more=motor)
    assert model.dof_dampingpoly.any()
    assert model.jnt_stiffnesspoly.any()
    space = in_space(model, model.qpos0)
    for name in ("actuator_damping", "actuator_dampingpoly", "actuator_armature"):
        assert getattr(model, name).any()
        assert not getattr(space.model, name).any()
    assert not space.model.dof_dampingpoly.any()
    assert not space.model.jnt_stiffnesspoly.any()
    assert space.model.jnt_stiffness[1] == 3
    assert model.dof_dampingpoly.any()


@pytest.mark.parametrize(
    ("equality", "tied"),
    [
        ('<connect body1="shin" anchor="0 0 0"/>', True),
        ('<weld body1="shin" body2="other"/>', True),
        ('<connect site1="tip" site2="nail"/>', True),
        ('<connect body1="shin" anchor="0 0 0" active="false"/>', False),
        ('<connect body1="shin" body2="arm" anchor="0 0 0"/>', False),
        ('<joint joint1="knee" joint2="hip"/>', False),
    ],
)
def test_a_body_that_a_constraint_ties_to_others_conserves_no_momentum(tmp_path, equality, tied):
    bodies = LIMBS.format(inner="").replace('mass=".5"/>', 'mass=".5"/><site name="tip"/>')
    others = '<site name="nail"/><body name="other"><freejoint/><geom size=".1"/></body>'
    model = _model(tmp_path, bodies + others, more=f"<equality>{equality}</equality>")
    space = in_space(model, model.qpos0)
    assert bool(len(space.linear)) == (not tied)
    assert ("'torso' is held by an equality constraint" in space.why_no_momentum) == tied


@pytest.mark.parametrize(
    ("root", "linear", "angular"),
    [
        ("<freejoint/>", np.eye(3), np.eye(3)),
        (
            '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>',
            np.diag([1, 0, 1]),
            np.diag([0, 1, 0]),
        ),
        ('<joint type="slide" axis="1 0 0"/>', np.diag([1, 0, 0]), np.zeros((3, 3))),
        ('<joint type="slide" axis="1 0 0"/><joint axis="0 1 0"/>', np.diag([1, 0, 0]), np.zeros((3, 3))),
        ('<joint axis="0 1 0"/><joint type="slide" axis="1 0 0"/>', np.zeros((3, 3)), np.zeros((3, 3))),
        ('<joint axis="0 1 0"/>', np.zeros((3, 3)), np.zeros((3, 3))),
        ("", np.zeros((3, 3)), np.zeros((3, 3))),
    ],
)
def test_what_a_root_leaves_conserved(tmp_path, root, linear, angular):
    limb = '<body pos=".1 0 0"><joint axis="0 1 0"/><geom size=".1"/></body>'
    model = _model(tmp_path, f'<body name="trunk">{root}<geom size=".1"/>{limb}</body>')
    space = in_space(model, model.qpos0)
    np.testing.assert_allclose(space.linear.T @ space.linear, linear, atol=1e-9)
    np.testing.assert_allclose(space.angular.T @ space.angular, angular, atol=1e-9)
    assert ("'trunk' is held by the world" in space.why_no_momentum) == (not linear.any())


def test_kicks_are_impulses(tmp_path):
    """Inner forces of joints cancel: the momentum of the whole is that of bodies which fly off alone."""
    model = _model(tmp_path, LIMBS.format(inner=ROTORS))
    space = in_space(model, _random_state(model)[0])
    velocities = np.random.default_rng(1).normal(size=(4, len(space.bodies), 3))
    for kick, velocity in zip(space.kicks(velocities), velocities, strict=True):
        linear = model.body_mass[space.bodies] @ velocity
        np.testing.assert_allclose(_mujoco_totals(space, space.start, kick).linear, linear, atol=1e-9)


def test_trials_of_fewer_seeds_are_the_first_of_more(tmp_path):
    model = _model(tmp_path, LIMBS.format(inner=ROTORS))
    space = in_space(model, model.qpos0)
    few, more = (Protocol(seeds=n, torque=0.3).trials(space, 7) for n in (2, 5))
    for test, trial in few.items():
        np.testing.assert_array_equal(trial.kick, more[test].kick[:2])
        np.testing.assert_array_equal(trial.torques, more[test].torques[:2])
    np.testing.assert_allclose(np.abs(few["momentum"].torques[:, :, space.limbs]), 0.3)
    assert not few["momentum"].torques[:, :, :6].any()
    assert not few["energy"].torques.any()


def test_a_diverged_seed_is_infinite_and_not_nan(tmp_path):
    model = _model(tmp_path, BOX)
    space = in_space(model, model.qpos0)
    energy = np.array([[2.0, 2.2], [2.0, np.nan], [2.0, 2e9], [0.0, 0.0]])
    totals = Totals(np.zeros((4, 2, 3)), np.zeros((4, 2, 3)), np.ones((4, 2)), np.ones((4, 2)), energy)
    drifts = Drifts.of(space, {"momentum": totals, "energy": totals}, 0.01, 2)
    np.testing.assert_array_equal(drifts.relative["linear"][:, 1], [0, np.inf, np.inf, 0])
    np.testing.assert_allclose(drifts.relative["energy"][:, 1], [0.1, np.inf, np.inf, 0.0])
    assert drifts.diverged == 0.5
    assert drifts.row()["energy"]["high"] is None
    assert drifts.row()["energy"]["median"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nonesuch"], "unknown task"),
        (["nonesuch.xml"], "no such file"),
        (["ant", "--engine", "bullet"], "must be one of spring, positional, generalized, mjx"),
        (["dmc/cheetah_run", "--engine", "spring"], "must be one of mjx"),
        (["ant", "--seeds", "0"], "seeds is 0"),
        (["ant", "--seconds", "-1"], "seconds is -1"),
        (["ant", "--kick", "nan"], "kick is nan"),
        (["ant", "--torque", "0"], "torque is 0"),
    ],
)
def test_mistakes_are_one_line(argv, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["diagnose", *argv]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_file_in_which_nothing_moves_is_refused(capsys, tmp_path):
    file = _file(tmp_path, '<body><geom size=".1"/></body>')
    assert main(["diagnose", str(file), "--engine", "mjx", "--output", str(tmp_path / "out")]) == 2
    assert "no joint" in capsys.readouterr().err


@pytest.mark.full
def test_the_command_writes_table_numbers_and_plot(capsys, tmp_path):
    file, out = _file(tmp_path, ONE_LIMB), tmp_path / "out"
    command = ["diagnose", str(file), "--engine", "mjx", "--seeds", "3", "--seconds", ".1", "--output", str(out)]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "compiling mjx" in said
    assert "mujoco RK4" in said
    facts = json.loads((out / "diagnose.json").read_text())
    assert [system["name"] for system in facts["systems"]] == [
        "mjx",
        *(f"mujoco {name}" for name in MUJOCO_INTEGRATORS),
    ]
    assert facts["protocol"]["seeds"] == 3
    assert len(facts["systems"][0]["sweep"]) > 3
    with (out / "diagnose.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert {row["quantity"] for row in rows} == {"linear", "angular", "energy"}
    assert all(float(row["median"]) < 0.1 for row in rows)
    assert (out / "diagnose.png").stat().st_size > 10_000
    assert main(command) == 2
    assert "add --force" in capsys.readouterr().err


@pytest.mark.full
def test_a_held_body_has_its_energy_measured_only(capsys, tmp_path):
    pole = '<body><joint axis="0 1 0"/><geom size=".1" pos="0 0 .5"/></body>'
    file, out = _file(tmp_path, pole), tmp_path / "out"
    command = ["diagnose", str(file), "--engine", "mjx", "--seeds", "2", "--seconds", ".1", "--no-sweep"]
    assert main([*command, "--output", str(out)]) == 0
    said = capsys.readouterr().out
    assert "momentum: not measured: the root body" in said
    assert "linear" not in said


@pytest.mark.full
@pytest.mark.parametrize("task", ["ant", "halfcheetah", "humanoid", "creatures/strider", "creatures/grazer"])
def test_tasks_start_as_in_mujoco_on_every_engine(task):
    """Engines that simulate the model's own bodies agree with MuJoCo; the others have at least its directions."""
    for backend in engines_of(task):
        subject = subject_of(get_task(task).load_physics(backend), backend)
        space = subject.space
        kick = Protocol(seeds=1).trials(space, 1)["energy"].kick[0]
        ours = jax.jit(lambda qd, e=subject.engine: e.measure(e.reset(qd)))(jnp.asarray(kick, jnp.float32))
        theirs = _mujoco_totals(space, space.start, kick)
        if backend in ("generalized", "mjx"):
            _same(ours, theirs)
        assert np.all(np.isfinite(ours.linear))
