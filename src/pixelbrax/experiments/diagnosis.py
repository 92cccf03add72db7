"""The "astronaut" diagnosis of a physics engine: what becomes of momentum and energy in space.

The protocol is that of Brax's paper (arXiv 2106.13281, section 5.3 and Figure 5) after Erez, Tassa, Todorov,
"Simulation Tools for Model-Based Robotics" (ICRA 2015); docs/physics.md lists the differences.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from pixelbrax.envs import is_model_file
from pixelbrax.errors import ConfigError, check_choice, check_count, check_number, check_seed
from pixelbrax.experiments.drifts import Drifts
from pixelbrax.physics import (
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
from pixelbrax.tasks import get_task
from pixelbrax.training import Progress
from pixelbrax.xla import compiler_options

YARDSTICK = "mujoco"
_SHORTEST, _LONGEST = 0.0005, 0.02  # s, time steps of a sweep
_MAX_SECONDS = 60.0
_MAX_SEEDS = 4096


@dataclass(frozen=True)
class Protocol:
    """What every system is put through.

    Attributes:
      seeds: number of random torques and kicks.
      seconds: simulated.
      torque: N m, of each random torque; its sign changes with each action of the task.
      kick: m/s, of each body.
      seed: of the random numbers.
      sweep: whether other time steps than the task's own are measured.
    """

    seeds: int = 128
    seconds: float = 1.0
    torque: float = 0.5
    kick: float = 1.0
    seed: int = 0
    sweep: bool = True

    def __post_init__(self):
        """Raises ConfigError if a number is out of range."""
        check_count("seeds", self.seeds, most=_MAX_SEEDS)
        check_number("seconds", self.seconds, above=0, most=_MAX_SECONDS)
        check_number("torque", self.torque, above=0)
        check_number("kick", self.kick, above=0)
        check_seed(self.seed)

    def trials(self, system: Space, intervals: int) -> dict[str, Trial]:
        """Trials of "momentum", if that is possible, and of "energy", for all seeds.

        Args:
          system: the system in space.
          intervals: number of torques.
        """
        nv, bodies, limbs = system.model.nv, system.bodies, system.limbs
        torque_key, kick_key = jax.random.split(jax.random.key(self.seed))
        number = jnp.arange(self.seeds)
        signs = jax.vmap(
            lambda i: jax.random.rademacher(jax.random.fold_in(torque_key, i), (intervals, len(limbs)), jnp.float32)
        )(number)
        ways = jax.vmap(lambda i: jax.random.normal(jax.random.fold_in(kick_key, i), (len(bodies), 3)))(number)
        ways = np.asarray(ways, float)
        kicks = system.kicks(self.kick * ways / np.linalg.norm(ways, axis=-1, keepdims=True))
        torques = np.zeros((self.seeds, intervals, nv))
        energy = {"energy": Trial(kicks, torques.copy())}
        if system.why_no_momentum:
            return energy
        torques[:, :, limbs] = self.torque * np.asarray(signs, float)
        return {"momentum": Trial(np.zeros_like(kicks), torques)} | energy


@dataclass
class Result:
    """What was measured of one system.

    Attributes:
      name: the engine's; MuJoCo's integrators are "mujoco Euler" and so on.
      precision: "float32" or "float64".
      own: drifts over time with the engine's own time step for the task.
      sweep: drifts with other time steps, shortest first, the own among them.
      compile_seconds: of the simulation; 0 for MuJoCo.
      run_seconds: of all time steps and seeds together.
    """

    name: str
    precision: str
    own: Drifts
    sweep: list[Drifts] = field(default_factory=list)
    compile_seconds: float = 0.0
    run_seconds: float = 0.0


@dataclass
class Diagnosis:
    """What was measured of a task.

    Attributes:
      task: its name.
      protocol: what its systems were put through.
      system: the model in space, of the first engine.
      results: of the systems so far.
      skipped: reasons by engine.
    """

    task: str
    protocol: Protocol
    system: Space
    results: list[Result]
    skipped: dict[str, str]


def engines_of(task: str, chosen: str = "all") -> list[str]:
    """Names of the engines on which a task or an MJCF file is diagnosed; the yardstick is not among them.

    Args:
      task: a task's name, or an MJCF file.
      chosen: names separated by commas, or "all".

    Raises:
      ConfigError: there is no such task, file or engine.
    """
    if is_model_file(task):
        if not Path(task).is_file():
            raise ConfigError(f"{task}: {'a folder, not an MJCF file' if Path(task).is_dir() else 'no such file'}")
        known = list(file_engines())
    else:
        # MJX's two implementations compute the same; its JAX implementation runs everywhere.
        backends = get_task(task).backends
        known = list(dict.fromkeys("mjx" if name in ("jax", "warp") else name for name in backends))
    if chosen == "all":
        return known
    return [check_choice("engine", name, known) for name in dict.fromkeys(chosen.split(","))]


def diagnose(task: str, engines: Sequence[str], protocol: Protocol, progress: Progress) -> Iterator[Diagnosis]:
    """Diagnoses a task on several engines and in MuJoCo.

    Args:
      task: a task's name, or an MJCF file.
      engines: from `engines_of`. If there are several, those that refuse the model are skipped.
      protocol: what the systems are put through.
      progress: where compilation is reported.

    Yields:
      The diagnosis, again and again: with one more result each time.

    Raises:
      ConfigError: no engine can simulate it.
    """
    subjects, skipped = {}, {}
    for engine in engines:
        try:
            with progress.busy(f"loading {engine}"):
                subjects[engine] = _subject(task, engine)
        except ConfigError as e:
            if len(engines) == 1:
                raise
            skipped[engine] = str(e)
    if not subjects:
        raise ConfigError(f"no engine simulates {task}: {skipped[engines[0]]}")
    first = next(iter(subjects.values()))
    diagnosis = Diagnosis(task, protocol, first.space, [], skipped)
    for engine, subject in subjects.items():
        diagnosis.results.append(_on_engine(engine, subject, protocol, progress))
        yield diagnosis
    for integrator in MUJOCO_INTEGRATORS:
        with progress.busy(f"{YARDSTICK} {integrator}"):
            diagnosis.results.append(_in_mujoco(integrator, first, protocol))
        yield diagnosis


def _subject(task: str, engine: str) -> Subject:
    if is_model_file(task):
        return subject_of_file(Path(task), engine)
    known = get_task(task)
    backend = engine if engine in known.backends else "jax"
    return subject_of(known.load_physics(backend), engine)


Simulate = Callable[[Trial, float, int], Totals]


def _on_engine(name: str, subject: Subject, protocol: Protocol, progress: Progress) -> Result:
    intervals = _intervals(subject.interval, protocol)
    trials = protocol.trials(subject.space, intervals)
    arrays = _single(trials["energy"])
    start = time.perf_counter()
    with progress.busy(f"compiling {name}"):
        program = jax.jit(space_simulator(subject.engine), compiler_options=compiler_options())
        compiled = program.lower(*arrays, jnp.float32(0), jnp.int32(0)).compile()
    compile_seconds = time.perf_counter() - start

    def simulate(trial: Trial, timestep: float, substeps: int) -> Totals:
        return jax.device_get(compiled(*_single(trial), jnp.float32(timestep), jnp.int32(substeps)))

    with progress.busy(f"simulating {name}"):
        result = _measured(name, "float32", subject, subject.substeps, trials, protocol, simulate)
    result.compile_seconds = compile_seconds
    return result


def _in_mujoco(integrator: str, subject: Subject, protocol: Protocol) -> Result:
    trials = protocol.trials(subject.space, _intervals(subject.interval, protocol))
    substeps = max(1, round(subject.interval / subject.space.model.opt.timestep))

    def simulate(trial: Trial, timestep: float, substeps: int) -> Totals:
        return simulate_in_mujoco(subject.space, trial, timestep, substeps, integrator)

    return _measured(f"{YARDSTICK} {integrator}", "float64", subject, substeps, trials, protocol, simulate)


def _measured(
    name: str,
    precision: str,
    subject: Subject,
    own_substeps: int,
    trials: Mapping[str, Trial],
    protocol: Protocol,
    simulate: Simulate,
) -> Result:
    start = time.perf_counter()
    found: dict[int, Drifts] = {}
    for substeps in _ladder(subject.interval, own_substeps, protocol.sweep):
        timestep = subject.interval / substeps
        totals = {test: simulate(trial, timestep, substeps) for test, trial in trials.items()}
        found[substeps] = Drifts.of(subject.space, totals, timestep, substeps)
    sweep = [found[substeps] for substeps in sorted(found, reverse=True)] if protocol.sweep else []
    return Result(name, precision, found[own_substeps], sweep, run_seconds=time.perf_counter() - start)


def _single(trial: Trial) -> tuple[jax.Array, jax.Array]:
    return jnp.asarray(trial.kick, jnp.float32), jnp.asarray(trial.torques, jnp.float32)


def _intervals(interval: float, protocol: Protocol) -> int:
    return max(1, round(protocol.seconds / interval))


def _ladder(interval: float, own: int, sweep: bool) -> list[int]:
    """Numbers of time steps in an interval: the own, and powers of two within a sweep's limits."""
    powers = [2**k for k in range(16) if _SHORTEST <= interval / 2**k <= _LONGEST] if sweep else []
    return sorted({own, *powers})
