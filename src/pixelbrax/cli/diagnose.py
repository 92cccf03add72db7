"""`pixelbrax diagnose TASK`: what becomes of a body's momentum and energy in space, engine by engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.parse import parse
from pixelbrax.envs import is_model_file
from pixelbrax.errors import ConfigError, check_can_make
from pixelbrax.experiments import (
    Protocol,
    diagnose,
    diagnosis_facts,
    drift_table,
    engines_of,
    file_name,
    write_diagnosis,
)
from pixelbrax.training import Progress


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax diagnose`."""

    task: Annotated[str, tyro.conf.Positional]
    """Task, of those that `pixelbrax list` shows, or an MJCF file (.xml)."""
    engine: Annotated[str, tyro.conf.arg(aliases=["--backend"])] = "all"
    """Engines, separated by commas: spring, positional, generalized, mjx. MuJoCo itself is always measured."""
    seeds: int = 128
    """Number of random torques and kicks."""
    seconds: float = 1.0
    """Simulated seconds."""
    torque: float = 0.5
    """Random torque on each inner joint, N m."""
    kick: float = 1.0
    """Speed that each body is kicked to, m/s."""
    sweep: bool = True
    """Measure other time steps, too."""
    seed: int = 0
    """Random seed."""
    output: Path | None = None
    """Folder for diagnose.json, diagnose.csv and diagnose.png; by default diagnose-<task>."""
    force: bool = False
    """Replace what an earlier diagnosis wrote there."""


def main(argv: list[str]) -> int:
    """Prints a table, and writes numbers and plot to a folder; what is measured so far is there after an interruption.

    Raises:
      ConfigError: an argument is out of range, there is no such task or engine, no engine simulates the task's model,
        or the folder has an earlier diagnosis.
    """
    about = "Puts a task's body in space, and measures how an engine conserves its momentum and energy."
    args = parse(Args, argv, "diagnose", about)
    protocol = Protocol(args.seeds, args.seconds, args.torque, args.kick, args.seed, args.sweep)
    engines = engines_of(args.task, args.engine)
    output = args.output or Path(
        f"diagnose-{file_name(Path(args.task).stem if is_model_file(args.task) else args.task)}"
    )
    if (output / "diagnose.json").exists() and not args.force:
        raise ConfigError(f"{output} has a diagnosis: choose another --output, or add --force")
    output.mkdir(parents=True, exist_ok=True)
    check_can_make(output / "diagnose.json")
    enable_compilation_cache()
    progress = Progress()
    table = ""
    for diagnosis in diagnose(args.task, engines, protocol, progress):
        facts = diagnosis_facts(diagnosis)
        write_diagnosis(output, facts, diagnosis)
        table = drift_table(facts)
    progress.say(f"\n{table}")
    progress.say(f"\n{output}/diagnose.json, diagnose.csv, diagnose.png")
    return 0
