"""`pixelbrax videos`: fetch DAVIS-2017, build a bank of your own clips, preview a bank."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from pixelbrax.cli.parse import check_out, parse, pick
from pixelbrax.distractors import (
    DAVIS,
    DAVIS_BYTES,
    PROCEDURAL,
    SPLITS,
    ClipBank,
    banks_of_folder,
    fetch_davis,
    load_bank,
    save_banks,
)
from pixelbrax.envs import MAX_IMAGE_SIZE, MIN_IMAGE_SIZE
from pixelbrax.errors import ConfigError, check_choice, check_count
from pixelbrax.report import write_grid
from pixelbrax.training import Progress

_MOMENTS = 8  # columns of a preview
_MOST_ROWS = 200
_BANK = (".npz",)
_PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")


@dataclass(frozen=True)
class FetchArgs:
    """Arguments of `pixelbrax videos fetch`."""

    name: Annotated[str, tyro.conf.Positional] = DAVIS
    """Dataset: davis-2017."""


@dataclass(frozen=True)
class BuildArgs:
    """Arguments of `pixelbrax videos build`."""

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder of videos, or of folders of images. Split by folders `train` and `test`, or 2:1 by name."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("videos.npz")
    """File for the bank (.npz)."""
    size: int = 64
    """Height and width of the frames, pixels; ideally those of the observation."""
    force: bool = False
    """Overwrite --out if it exists."""


@dataclass(frozen=True)
class PreviewArgs:
    """Arguments of `pixelbrax videos preview`."""

    bank: Annotated[str, tyro.conf.Positional] = PROCEDURAL
    """procedural, scenes, davis-2017, or a file that `pixelbrax videos build` wrote."""
    split: str = "train"
    """train or test."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("videos.png")
    """Image file: one row per clip."""
    size: int = 64
    """Height and width of each frame, pixels."""
    clips: int = 12
    """Maximum number of rows, up to 200."""
    force: bool = False
    """Overwrite --out if it exists."""


_COMMANDS = {
    "fetch": "download DAVIS-2017 (833 MB) and check it",
    "build": "build a bank of clips from a folder",
    "preview": "preview a bank's clips in one image",
}


def main(argv: list[str]) -> int:
    """Runs one of the subcommands.

    Raises:
      ConfigError: there is none of that name.
    """
    name, rest = pick(argv, "videos", "command", _COMMANDS)
    return {"fetch": _fetch, "build": _build, "preview": _preview}[name](rest)


def _fetch(argv: list[str]) -> int:
    args = parse(
        FetchArgs, argv, "videos fetch", "Downloads a dataset (an interrupted download resumes) and verifies it."
    )
    if args.name != DAVIS:
        raise ConfigError(f"unknown dataset {args.name!r}: there is {DAVIS}")
    progress = Progress()
    progress.say(f"{DAVIS}: {DAVIS_BYTES / 1e6:,.0f} MB, free for research; see https://davischallenge.org")
    last = [-1]

    def report(have: int, total: int) -> None:
        percent = 100 * have // max(total, 1)
        if percent // 5 != last[0] // 5:
            last[0] = percent
            progress.say(f"{have / 1e6:,.0f} of {total / 1e6:,.0f} MB")

    progress.say(f"{fetch_davis(report)}: complete, SHA-256 verified")
    return 0


def _build(argv: list[str]) -> int:
    args = parse(BuildArgs, argv, "videos build", "Builds a bank of clips from videos and folders of images.")
    _check(args.out, args.size, args.force, _BANK)
    banks = banks_of_folder(args.folder, args.size, args.size)
    save_banks(args.out, banks)
    progress = Progress()
    for split, bank in banks.items():
        progress.say(f"{split}: {_facts(bank)}")
    progress.say(str(args.out))
    return 0


def _preview(argv: list[str]) -> int:
    args = parse(PreviewArgs, argv, "videos preview", "Writes an image of a bank's clips, one row each.")
    check_choice("split", args.split, SPLITS)
    check_count("clips", args.clips, most=_MOST_ROWS)
    _check(args.out, args.size, args.force)
    if args.out.suffix.lower() not in _PICTURES:
        raise ConfigError(f"{args.out}: the name of the image must end in one of {' '.join(_PICTURES)}")
    bank = load_bank(args.bank, args.split, args.size, args.size)
    rows = [
        bank.frames[start + np.linspace(0, length - 1, _MOMENTS).astype(int)]
        for start, length in list(zip(bank.start, bank.length, strict=True))[: args.clips]
    ]
    write_grid(args.out, np.moveaxis(np.stack(rows), 2, -1))
    progress = Progress()
    progress.say(f"{args.bank}, {args.split}: {_facts(bank)}")
    progress.say(str(args.out))
    return 0


def _check(out: Path, size: int, force: bool, ends: Sequence[str] = ()) -> None:
    check_count("size", size, MIN_IMAGE_SIZE, MAX_IMAGE_SIZE)
    check_out(out, force, ends)


def _facts(bank: ClipBank) -> str:
    return f"{len(bank.names)} clips, {len(bank.frames):,} frames, {bank.num_bytes / 1e6:,.1f} MB in memory"
