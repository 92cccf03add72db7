"""Leaderboards that were made before, as files: their rows stand beside results of one's own."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dacite

from pixelbrax.errors import ConfigError
from pixelbrax.generalization.benchmark import Benchmark
from pixelbrax.generalization.entry import Entry
from pixelbrax.training import Center

Row = dict[str, Any]
_OF_ROWS = ("method", "track", "privileged", "lacking", "seeds", "score", "plain", "kept", "axes", "curves")
_OF_TASKS = ("model", "dynamics")


@dataclass(frozen=True)
class Published:
    """What `pixelbrax leaderboard` writes beside its picture.

    Attributes:
      benchmark: its name.
      fingerprint: of the benchmark.
      notes: what a reader must know beside the numbers.
      rows: of `Leaderboard.rows`.
      fingerprints: of the clips, and of each task's model and dynamics after "model of " and "dynamics of ", as far as
        the results had them; empty of older leaderboards.
    """

    benchmark: str
    fingerprint: str
    notes: list[str]
    rows: list[Row]
    fingerprints: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path, benchmark: Benchmark) -> "Published":
        """Reads a leaderboard.

        Raises:
          ConfigError: it cannot be read, is of another benchmark, or damaged.
        """
        try:
            board = dacite.from_dict(cls, json.loads(file.read_text(encoding="utf-8")), dacite.Config(strict=True))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError, dacite.DaciteError, TypeError) as e:
            raise ConfigError(f"cannot read the leaderboard {file}: {e!s:.160}") from e
        if board.benchmark != benchmark.name:
            raise ConfigError(f"the leaderboard {file} is of {board.benchmark}, not of {benchmark.name}: see --suite")
        if board.fingerprint != benchmark.fingerprint:
            raise ConfigError(f"the leaderboard {file} is of another version of {benchmark.name} and does not compare")
        if not board.rows:
            raise ConfigError(f"the leaderboard {file} is damaged: it has no rows")
        for row in board.rows:
            if missing := [name for name in _OF_ROWS if name not in row]:
                raise ConfigError(f"the leaderboard {file} has a row without {', '.join(missing)}")
            for name in _OF_ROWS:
                if not _fits(name, row[name], benchmark):
                    raise ConfigError(
                        f"the leaderboard {file} is damaged: the {name} of {row['method']} is {row[name]!r:.160}"
                    )
        return board


def _fits(name: str, value: Any, benchmark: Benchmark) -> bool:
    """Whether a row's entry has the form that `Leaderboard.rows` gives it."""
    if name in ("method", "track", "privileged", "lacking"):
        return isinstance(value, str)
    if name in ("score", "plain", "kept"):
        return _is_center(value) or (name == "kept" and value is None)
    if not isinstance(value, dict):
        return False
    if name == "seeds":
        return all(isinstance(count, int) for count in value.values())
    if set(value) != set(benchmark.axes):
        return False
    if name == "axes":
        return all(center is None or _is_center(center) for center in value.values())
    lengths = (0, 1 + len(benchmark.severities))
    return all(isinstance(at, list) and len(at) in lengths and all(map(_is_center, at)) for at in value.values())


def _is_center(value: Any) -> bool:
    """Whether it is a value and its interval."""
    return (
        isinstance(value, list)
        and len(value) == len(Center._fields)
        and all(isinstance(x, int | float) and math.isfinite(x) for x in value)
    )


def fingerprints_of(entries: Sequence[Entry], boards: Sequence[Published]) -> dict[str, str]:
    """What leaderboards say about the models and clips of these results.

    Raises:
      ConfigError: those of a result or a leaderboard are others, so that it does not compare.
    """
    known: dict[str, str | None] = {}
    for entry in entries:
        for name, digest in _digests(entry).items():
            if known.setdefault(name, digest) != digest:
                raise ConfigError(
                    f"{entry.title} is of another version of the {name} and does not compare: evaluate it with this "
                    "version"
                )
    found = {name: digest for name, digest in known.items() if digest is not None}
    for board in boards:
        for name, digest in board.fingerprints.items():
            if found.setdefault(name, digest) != digest:
                raise ConfigError(
                    f"a leaderboard is of another version of the {name} and does not compare with the other results"
                )
    return found


def _digests(entry: Entry) -> dict[str, str | None]:
    """What must be equal in all results: the clips are the same on every task, models are each task's own."""
    prints = entry.fingerprints
    digests = {"clips": prints.get("clips")} | {f"{name} of {entry.task}": prints.get(name) for name in _OF_TASKS}
    if "dynamics" not in prints:  # as in results of earlier versions
        digests.pop(f"dynamics of {entry.task}")
    return digests


def is_leaderboard(file: Path) -> bool:
    """Whether a file is a leaderboard rather than one run's result; what cannot be read is neither."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        return False
    return isinstance(data, dict) and "rows" in data


def placed(rows: list[Row]) -> list[Row]:
    """Rows ranked: complete ones first, by score, and equal ones at one place; the others have no place.

    Raises:
      ConfigError: two are of one method and track.
    """
    names = [(row["method"], row["track"]) for row in rows]
    if twice := [name for name in names if names.count(name) > 1]:
        method, track = twice[0]
        raise ConfigError(
            f"there are two results of {method}, {track}, one of them in a leaderboard: name them apart by "
            "eval --method"
        )
    ordered = sorted(rows, key=lambda row: (bool(row["lacking"]), -row["score"][0]))
    scores = [row["score"][0] for row in ordered if not row["lacking"]]
    places = ({"place": None if row["lacking"] else 1 + scores.index(row["score"][0])} for row in ordered)
    return [place | row | place for place, row in zip(places, ordered, strict=True)]
