"""The DeepMind Control Suite's own simulation settings, where those of MuJoCo Playground's port differ.

For speed, Playground uses fewer solver iterations, leaves out implicit damping (MuJoCo's `eulerdamp`), uses other
integrators or timesteps for some models, has MJX leave contacts out beyond a number, and gives the fish another torso.
The settings here are those of dm_control 1.0.50 (`benchmarks/suite_physics.py` compares both with it).
"""

from dataclasses import dataclass
from typing import Any

import mujoco

from pixelbrax.errors import ConfigError
from pixelbrax.physics._mjx import mjx

_INTEGRATORS = {"Euler": mujoco.mjtIntegrator.mjINT_EULER, "RK4": mujoco.mjtIntegrator.mjINT_RK4}
_CONES = {"pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL, "elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC}
_LS_ITERATIONS = 50
_LIMITS = ("max_contact_points", "max_geom_pairs")  # of MJX, as custom numbers of a model; -1 is none


@dataclass(frozen=True)
class SuiteOptions:
    """Simulation settings of one model. Solver (Newton), tolerances and damping are MuJoCo's defaults everywhere.

    Attributes:
      timestep: seconds.
      integrator: "Euler" or "RK4".
      iterations: maximum number of solver iterations.
      cone: friction cone, "pyramidal" or "elliptic".
      mass: (body, kg) for each body whose mass differs in Playground.
      inertia: (body, principal moments in kg m^2) likewise.
    """

    timestep: float
    integrator: str = "Euler"
    iterations: int = 100
    cone: str = "pyramidal"
    mass: tuple[tuple[str, float], ...] = ()
    inertia: tuple[tuple[str, tuple[float, float, float]], ...] = ()


# By the first word of Playground's task names.
_OPTIONS = {
    "Acrobot": SuiteOptions(0.01, "RK4"),
    "Ball": SuiteOptions(0.002),
    "Cartpole": SuiteOptions(0.01, "RK4"),
    "Cheetah": SuiteOptions(0.01),
    "Finger": SuiteOptions(0.01, iterations=200, cone="elliptic"),
    "Fish": SuiteOptions(0.004, mass=(("torso", 0.0288),), inertia=(("torso", (4.32e-5, 8.6784e-6, 3.45984e-5)),)),
    "Hopper": SuiteOptions(0.005),
    "Humanoid": SuiteOptions(0.005),
    "Pendulum": SuiteOptions(0.02),
    "Point": SuiteOptions(0.02),
    "Reacher": SuiteOptions(0.02),
    "Swimmer": SuiteOptions(0.002),
    "Walker": SuiteOptions(0.0025),
}


def suite_options(name: str) -> SuiteOptions:
    """The settings for a task by Playground's name, such as "CheetahRun"."""
    return by_name(_OPTIONS, name)


def by_name(table: dict[str, Any], name: str) -> Any:
    """The entry for a task, of a table by the first words of Playground's names; None if there is none."""
    return next((entry for words, entry in table.items() if name.startswith(words)), None)


def set_masses(model: mujoco.MjModel, options: SuiteOptions) -> None:
    """Gives bodies the suite's masses and inertias; `mj_setConst` is to follow."""
    for name, mass in options.mass:
        model.body_mass[model.body(name).id] = mass
    for name, inertia in options.inertia:
        model.body_inertia[model.body(name).id] = inertia


def use_suite_options(env: Any, options: SuiteOptions) -> None:
    """Applies the settings to an `MjxEnv` that was made with their timestep as `sim_dt`.

    Raises:
      ConfigError: MJX cannot simulate the model with them.
    """
    model: mujoco.MjModel = env.mj_model
    model.opt.integrator = _INTEGRATORS[options.integrator]
    model.opt.cone = _CONES[options.cone]
    model.opt.iterations, model.opt.ls_iterations = options.iterations, _LS_ITERATIONS
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    for i in range(model.nnumeric):
        if (limit := model.numeric(i)).name in _LIMITS:
            limit.data[:] = -1
    set_masses(model, options)
    if options.mass:
        mujoco.mj_setConst(model, mujoco.MjData(model))
    try:
        env._mjx_model = mjx.put_model(model, impl=env.mjx_model.impl.value)
    except NotImplementedError as e:
        raise ConfigError(f"MJX cannot simulate this task as the suite does ({e}): leave out physics='suite'") from e
