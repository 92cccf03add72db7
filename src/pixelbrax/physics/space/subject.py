"""What is diagnosed: a task's physics, or an MJCF file, as a system in space on one engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pixelbrax.errors import ConfigError
from pixelbrax.physics.base import Physics
from pixelbrax.physics.brax import BraxPhysics
from pixelbrax.physics.brax_checks import ENGINES
from pixelbrax.physics.brax_loading import load_system
from pixelbrax.physics.mjcf import load_model
from pixelbrax.physics.model_checks import brax_start, check_numbers, reference_start
from pixelbrax.physics.space.brax_engine import BraxInSpace
from pixelbrax.physics.space.engines import SpaceEngine
from pixelbrax.physics.space.mjx_engine import MjxInSpace
from pixelbrax.physics.space.model import Space, in_space
from pixelbrax.xla import in_float32

_INTERVAL = 0.02  # s, between two torques where no task says how long an action lasts


@dataclass(frozen=True)
class Subject:
    """A system in space on one engine.

    Attributes:
      engine: simulates it.
      space: its model.
      timestep: s, the engine's own for the task.
      substeps: time steps between two torques: those of one action.
    """

    engine: SpaceEngine
    space: Space
    timestep: float
    substeps: int

    @property
    def interval(self) -> float:
        """Seconds between two torques."""
        return self.timestep * self.substeps


@in_float32
def subject_of(physics: Physics, backend: str) -> Subject:
    """A task's physics in space.

    Args:
      physics: of Brax, of MuJoCo Playground, or of an MJCF model.
      backend: the name of its engine; what is none of Brax's own is MJX.

    Raises:
      ConfigError: it is simulated by something else.
    """
    model: Any = physics.model
    opt = getattr(model, "opt", None)
    if opt is None:
        raise ConfigError(
            f"{type(physics).__name__} has no MuJoCo model behind it: only tasks of an MJCF file can be put in space"
        )
    of_brax = isinstance(physics, BraxPhysics) and not physics.mj_model.nkey  # Brax does not know of keyframes
    start = np.asarray(model.init_q) if of_brax else reference_start(physics.mj_model)
    space = in_space(physics.mj_model, start)
    engine = BraxInSpace(model, space, backend) if backend in ENGINES else MjxInSpace(space)
    substeps = max(1, round(physics.dt / float(opt.timestep)))
    return Subject(engine, space, physics.dt / substeps, substeps)


def file_engines() -> tuple[str, ...]:
    """Engines on which an MJCF file can be diagnosed."""
    return (*ENGINES, "mjx")


@in_float32
def subject_of_file(file: Path, backend: str) -> Subject:
    """An MJCF file's model in space.

    Args:
      file: the MJCF file.
      backend: one of `file_engines()`.

    Raises:
      ConfigError: the file cannot be compiled, nothing in it moves, or the engine refuses it.
    """
    if backend in ENGINES:
        system = load_system(file, backend)
        model = system.mj_model
        space = in_space(model, brax_start(model))
        engine: SpaceEngine = BraxInSpace(system, space, backend)
    else:
        model = load_model(file)
        check_numbers(model)
        space = in_space(model, brax_start(model))
        engine = MjxInSpace(space)
    timestep = float(model.opt.timestep)
    return Subject(engine, space, timestep, max(1, round(_INTERVAL / timestep)))
