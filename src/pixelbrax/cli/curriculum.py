"""`pixelbrax curriculum FILE`: training through stages with gates."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.parse import as_typed, check_only, parse
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import (
    CurriculumRun,
    Launch,
    check_name,
    chosen,
    curriculum_names,
    default_name,
    last_folder,
    load_curriculum,
    resume_curriculum,
    start_curriculum,
)
from pixelbrax.training import CURRICULUM, to_resume_curriculum

CLOSED = 3
"""Exit code where a curriculum was stopped by a gate that stayed closed; one that continues at its budget does not."""


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax curriculum`."""

    file: Annotated[str, tyro.conf.Positional]
    """A TOML file of stages, the name of a curriculum of the package, or with --resume a curriculum's folder."""
    stage: str | None = None
    """Number, from 1, or name of the stage to begin with; earlier ones are left out."""
    start_from: Path | None = None
    """Folder of a run with which the first stage begins, as its carry says."""
    resume: bool = False
    """Go on where the folder, or the last one that was started from FILE, was stopped, with its own settings."""
    seed: int | None = None
    """Seed of every random number; by default the file's, or 0."""
    name: str | None = None
    """The folder below --runs; by default the file's name, numbered if it is taken."""
    runs: Path = Path("runs")
    """Folder that holds all runs."""
    quiet: bool = False
    """Print only results and errors."""
    report: bool = True
    """Write report.html of every stage and of all."""
    video: bool = True
    """Record videos of every stage's policy at its end, and what it looks at for the report."""


def main(argv: list[str]) -> int:
    """Trains through all stages; checks all of them first."""
    known = f"Curricula of the package: {', '.join(curriculum_names())}."
    args = parse(Args, argv, "curriculum", f"Trains through stages with gates. {known}")
    enable_compilation_cache()
    command = as_typed("curriculum", argv)
    at_end: Any = {"report": args.report, "video": args.video}
    launch = Launch(command, "curriculum", args.quiet, remedy=to_resume_curriculum, ahead=True, **at_end)
    if args.resume:
        beside = ("resume", "runs", "quiet", "report", "video")
        check_only(argv, beside, "--resume goes on with the folder's own settings")
        path, finished = resume_curriculum(last_folder(args.file, args.runs), launch)
    else:
        if Path(args.file, CURRICULUM).is_file() and str(args.file) not in curriculum_names():
            raise ConfigError(f"{args.file} is a curriculum's folder: add --resume to go on with it")
        begin = None if args.start_from is None else str(args.start_from)
        plan = chosen(load_curriculum(args.file), args.seed, args.stage, begin)
        name = default_name(args.file) if args.name is None else check_name(args.name)
        path, finished = start_curriculum(plan, args.runs, name, launch, numbered=args.name is None)
    if not finished:
        return 130
    return 0 if CurriculumRun(path).passed else CLOSED
