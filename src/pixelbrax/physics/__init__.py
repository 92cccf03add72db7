"""Physics engines behind one protocol, `Physics`. An engine is imported when its name is first accessed."""

import importlib
from typing import TYPE_CHECKING, Any

from pixelbrax.physics._foreign import SETTING, made_from
from pixelbrax.physics._functions import called, qualified_name
from pixelbrax.physics._model_checksums import model_checksums
from pixelbrax.physics.base import (
    THREEFRY,
    Physics,
    PhysicsState,
    as_float32,
    check_default_prng,
    checked_action,
    is_sound,
)
from pixelbrax.physics.contract import check_physics, first_state, next_state
from pixelbrax.physics.randomize import RandomizationFn, Randomizer
from pixelbrax.physics.scales import RANDOMIZED, RandomFactors, random_factors
from pixelbrax.physics.select import select_state, shares_arrays

if TYPE_CHECKING:
    from pixelbrax.physics._link_velocities import link_velocities
    from pixelbrax.physics._mjx import body_motion
    from pixelbrax.physics.brax import BraxPhysics, make_brax_physics, quiet_brax
    from pixelbrax.physics.brax_checks import check_for_brax, ignored_by_brax
    from pixelbrax.physics.brax_loading import load_system
    from pixelbrax.physics.brax_v1 import make_brax_v1_physics
    from pixelbrax.physics.controls import control_scale
    from pixelbrax.physics.first_steps import simulated_suspicions
    from pixelbrax.physics.mjcf import MjcfPhysics, load_model
    from pixelbrax.physics.mjx_checks import ignored_by_mjx
    from pixelbrax.physics.model_checks import brax_start, check_model, reference_start, suspicions
    from pixelbrax.physics.playground import PlaygroundPhysics, make_playground_physics
    from pixelbrax.physics.recorded import RecordedPhysics
    from pixelbrax.physics.space import (
        MUJOCO_INTEGRATORS,
        Space,
        Subject,
        Totals,
        Trial,
        file_engines,
        simulate_in_mujoco,
        space_simulator,
        subject_of,
        subject_of_file,
    )

_LAZY = {
    "link_velocities": "_link_velocities",
    "body_motion": "_mjx",
    "BraxPhysics": "brax",
    "make_brax_physics": "brax",
    "quiet_brax": "brax",
    "make_brax_v1_physics": "brax_v1",
    "MjcfPhysics": "mjcf",
    "load_model": "mjcf",
    "PlaygroundPhysics": "playground",
    "make_playground_physics": "playground",
    "RecordedPhysics": "recorded",
    "check_for_brax": "brax_checks",
    "ignored_by_brax": "brax_checks",
    "ignored_by_mjx": "mjx_checks",
    "load_system": "brax_loading",
    "control_scale": "controls",
    "check_model": "model_checks",
    "brax_start": "model_checks",
    "reference_start": "model_checks",
    "suspicions": "model_checks",
    "simulated_suspicions": "first_steps",
    "MUJOCO_INTEGRATORS": "space",
    "Space": "space",
    "Subject": "space",
    "Totals": "space",
    "Trial": "space",
    "file_engines": "space",
    "simulate_in_mujoco": "space",
    "space_simulator": "space",
    "subject_of": "space",
    "subject_of_file": "space",
}

__all__ = [
    "MUJOCO_INTEGRATORS",
    "RANDOMIZED",
    "SETTING",
    "THREEFRY",
    "BraxPhysics",
    "MjcfPhysics",
    "Physics",
    "PhysicsState",
    "PlaygroundPhysics",
    "RandomFactors",
    "RandomizationFn",
    "Randomizer",
    "RecordedPhysics",
    "Space",
    "Subject",
    "Totals",
    "Trial",
    "as_float32",
    "body_motion",
    "brax_start",
    "called",
    "check_default_prng",
    "check_for_brax",
    "check_model",
    "check_physics",
    "checked_action",
    "control_scale",
    "file_engines",
    "first_state",
    "ignored_by_brax",
    "ignored_by_mjx",
    "is_sound",
    "link_velocities",
    "load_model",
    "load_system",
    "made_from",
    "make_brax_physics",
    "make_brax_v1_physics",
    "make_playground_physics",
    "model_checksums",
    "next_state",
    "qualified_name",
    "quiet_brax",
    "random_factors",
    "reference_start",
    "select_state",
    "shares_arrays",
    "simulate_in_mujoco",
    "simulated_suspicions",
    "space_simulator",
    "subject_of",
    "subject_of_file",
    "suspicions",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return __all__
