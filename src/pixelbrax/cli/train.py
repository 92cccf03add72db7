"""`pixelbrax train`: trains a policy from pixels, with a curve and a video."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import tyro

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.parse import as_typed, check_only
from pixelbrax.cli.settings import read
from pixelbrax.experiments import Launch, check_name, file_name, name_of, resume, seeds, start
from pixelbrax.training import Processes, TrainConfig, in_shell, process_start


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax train`."""

    preset: str | None = None
    """Settings known to work; flags given here override them."""
    config_file: Annotated[Path | None, tyro.conf.arg(name="config")] = None
    """A TOML file of settings instead, such as a run's config.toml to repeat that run; flags override them."""
    name: str | None = None
    """The run's folder below --runs; by default the preset's or task's name, numbered if it is taken."""
    runs: Path = Path("runs")
    """Folder that holds all runs."""
    algorithm: str | None = None
    """Learning algorithm; by default the preset's, or ppo. Its settings are below."""
    num_seeds: int = 1
    """Agents with consecutive seeds, trained side by side in one program; each is a separate run."""
    resume: Path | None = None
    """A run to resume, or a folder of several, with its own settings; only --quiet, --no-report,
    --no-video and the flags of several processes may accompany it."""
    quiet: bool = False
    """Print only results and errors."""
    report: bool = True
    """Write report.html into the run's folder at the end."""
    video: bool = True
    """Record videos of the trained policy at the end, and what it looks at for the report."""
    coordinator: str | None = None
    """HOST:PORT where the first of several processes that train together waits for the others; the same for all."""
    num_processes: int = 1
    """How many processes train together; each is started with the same flags except --process-id."""
    process_id: int = 0
    """Number of this process, from 0; process 0 writes the run."""
    join_timeout: float = 45.0
    """Seconds within which all processes must have joined."""
    config: TrainConfig = field(default_factory=TrainConfig)

    @property
    def processes(self) -> Processes:
        """The processes that train together."""
        return Processes(self.coordinator, self.num_processes, self.process_id, self.join_timeout, self.quiet)

    @property
    def how(self) -> Launch:
        """How training is started, apart from its settings."""
        return Launch(quiet=self.quiet, processes=self.processes, report=self.report, video=self.video, ahead=True)


def main(argv: list[str]) -> int:
    """Trains, evaluates before and after, and writes a curve and a video."""
    args = read(Args, argv, "train", "Trains a policy from pixels.")
    enable_compilation_cache()
    if args.resume:
        processes = ("coordinator", "num_processes", "process_id", "join_timeout")
        beside = ("resume", "quiet", "report", "video", *processes)
        check_only(argv, beside, "--resume continues with the run's own settings")
        _, finished = resume(args.resume, replace(args.how, began=process_start()))
        return exit_code(finished)
    return launch(args, seeds(args.config, args.num_seeds), as_typed("train", argv))


def launch(args: Args, configs: Mapping[str, TrainConfig], command: str, kind: str = "train") -> int:
    """Trains new agents; returns the exit code."""
    task = file_name(args.config.environment.task)
    name = args.preset or (name_of(args.config_file) if args.config_file else task)
    with_teacher = lambda path: f"{command} --teacher {in_shell(path)}"  # noqa: E731
    how = replace(args.how, command=command, name=kind, began=process_start(), with_teacher=with_teacher)
    how = replace(how, tuned=args.preset is not None or args.config_file is not None)
    name = name if args.name is None else check_name(args.name)
    return exit_code(start(configs, args.runs, name, how, numbered=args.name is None)[1])


def exit_code(finished: bool) -> int:
    """0 at the end of training, 130 after Ctrl-C or SIGTERM."""
    return 0 if finished else 130
