"""`pixelbrax report RUN ...`: a page of HTML about a run, or about several side by side."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.parse import check_out, parse
from pixelbrax.errors import check_can_make
from pixelbrax.experiments import (
    add_saliency,
    is_curriculum,
    readable_runs,
    write_comparison,
    write_curriculum_report,
    write_report,
)
from pixelbrax.training import REPORT, Progress

_END = ".html"


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax report`."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs, finished or not, or of several runs at any depth, which are compared; of a curriculum, named
    alone, its stages are shown."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """The HTML file; by default report.html in the folder, or of several folders in the current one."""
    force: bool = False
    """Overwrite --out if it exists; report.html of a folder, or of the current one, is always replaced."""
    saliency: bool = True
    """Compute what a policy looks at, if a single run's folder does not have that yet; takes a minute or so."""


def main(argv: list[str]) -> int:
    """Writes the page."""
    args = parse(Args, argv, "report", "Writes a report: one HTML file that needs no network.")
    if args.out is not None:
        check_out(args.out, args.force, ends=(_END,))
    enable_compilation_cache()
    print(_written(args, Progress()))
    return 0


def _written(args: Args, progress: Progress) -> Path:
    """Writes the page that suits the folders; returns its file."""
    alone = len(args.runs) == 1
    if alone and is_curriculum(args.runs[0]):
        return write_curriculum_report(args.runs[0], args.out)
    runs = readable_runs(args.runs, progress.say)
    if len(runs) > 1:
        return write_comparison(runs, args.out or (args.runs[0] if alone else Path()) / REPORT)
    if args.out is None:
        check_can_make(runs[0].report_file)
    if args.saliency:
        with progress.busy("what the policy looks at"):
            add_saliency(runs[0], progress.say)
    return write_report(runs[0], args.out)
