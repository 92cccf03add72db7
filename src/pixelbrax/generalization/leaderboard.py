"""Tables of several methods' results in one benchmark."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pixelbrax.errors import ConfigError
from pixelbrax.generalization.benchmark import Benchmark
from pixelbrax.generalization.entry import PLAIN, Entry
from pixelbrax.generalization.method_settings import apart, tuned
from pixelbrax.generalization.published import Published, fingerprints_of, is_leaderboard, placed
from pixelbrax.generalization.scores import MethodResult, ranked
from pixelbrax.training import Center, files_below


@dataclass(frozen=True)
class Leaderboard:
    """Results of several methods, ranked.

    Attributes:
      benchmark: that all of them were evaluated in.
      results: complete ones, best first, then the others.
      published: leaderboards that were made before.
      notes: what a reader must know beside the numbers.
      fingerprints: see `Published`.
    """

    benchmark: Benchmark
    results: tuple[MethodResult, ...]
    published: tuple[Published, ...]
    notes: tuple[str, ...]
    fingerprints: dict[str, str]

    @classmethod
    def of(cls, benchmark: Benchmark, entries: Sequence[Entry], published: Sequence[Published] = ()) -> "Leaderboard":
        """Compares results of `pixelbrax eval --suite`, with each other and with leaderboards that were made before.

        Raises:
          ConfigError: one is of another benchmark, of other rules, models or clips than others, or incomplete; or
            two are of the same method, track, task and seed.
        """
        if not entries and not published:
            raise ConfigError("there are no results: pixelbrax eval RUN --suite ... makes them")
        groups: dict[tuple[str, str], list[Entry]] = {}
        rules = benchmark.rules_digest
        for entry in entries:
            _check(benchmark, rules, entry)
            groups.setdefault((entry.method, entry.track), []).append(entry)
        prints = fingerprints_of(entries, published)
        for group in groups.values():
            _check_seeds(group)
        results = ranked([MethodResult(benchmark, tuple(group)) for group in groups.values()])
        notes = list(dict.fromkeys(_notes(results, entries) + [note for board in published for note in board.notes]))
        if len(published) + bool(entries) > 1:
            notes.append("some rows are of leaderboards made before, perhaps with another version of the code")
        if any(not board.fingerprints for board in published):
            notes.append("a leaderboard made before does not say of which models and clips its rows are")
        return cls(benchmark, tuple(results), tuple(published), tuple(dict.fromkeys(notes)), prints)

    def rows(self) -> list[dict[str, Any]]:
        """One for each method and track, ranked, as JSON has it; `None` where no task shows an axis.

        Raises:
          ConfigError: a leaderboard made before has a method and track that another result is of.
        """
        rows = [row for board in self.published for row in board.rows]
        for result in self.results:
            axes = {axis: _listed(result.axis(axis)) for axis in self.benchmark.axes}
            curves = {axis: [_listed(at) for at in result.curve(axis)] for axis in self.benchmark.axes}
            rows.append(
                {
                    "method": result.method,
                    "track": result.track,
                    "privileged": result.privileged,
                    "lacking": result.lacking,
                    "seeds": result.seeds,
                    "score": _listed(result.overall()),
                    "plain": _listed(result.plain()),
                    "kept": _listed(result.kept()),
                    "axes": axes,
                    "curves": curves,
                }
            )
        return placed(rows)

    def as_json(self) -> str:
        """The file that `Published.read` reads."""
        name, fingerprint = self.benchmark.name, self.benchmark.fingerprint
        board = Published(name, fingerprint, list(self.notes), self.rows(), self.fingerprints)
        return json.dumps(asdict(board), indent=2) + "\n"


def read_results(paths: Iterable[Path], benchmark: Benchmark) -> tuple[list[Entry], list[Published]]:
    """Results in files, or in folders of runs and below; and leaderboards in files.

    Raises:
      ConfigError: there is none, or a file is something else.
    """
    entries, published = [], []
    for file in result_files(paths, benchmark):
        if is_leaderboard(file):
            published.append(Published.read(file, benchmark))
        else:
            entries.append(Entry.read(file))
    return entries, published


def result_files(paths: Iterable[Path], benchmark: Benchmark) -> list[Path]:
    """The files that `read_results` reads, each once, however often it is named.

    Raises:
      ConfigError: a folder has none, or there is no such file.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        if path.is_dir():
            files = [file for file in files_below(path, f"{benchmark.name}.json") if not is_leaderboard(file)]
            if not files:
                raise ConfigError(
                    f"{path} has no results of {benchmark.name}: pixelbrax eval RUN --suite {benchmark.name} makes them"
                )
        elif path.exists():
            files = [path]
        else:
            raise ConfigError(f"cannot read {path}: there is no such file")
        for file in files:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def _check(benchmark: Benchmark, rules: str, entry: Entry) -> None:
    if entry.benchmark != benchmark.name:
        raise ConfigError(f"{entry.title} is of {entry.benchmark}, not of {benchmark.name}: see --suite")
    if entry.fingerprints.get("rules") != rules:
        raise ConfigError(
            f"{entry.title} is of another version of the rules and does not compare: evaluate it with this version"
        )
    if entry.track not in benchmark.tracks:
        raise ConfigError(f"{entry.title} is of the track {entry.track!r}: there are {', '.join(benchmark.tracks)}")
    if lacking := [name for name in ("agent", "network") if not isinstance(entry.settings.get(name), dict)]:
        raise ConfigError(f"{entry.title} is damaged: its settings have no {' and no '.join(lacking)}")
    if missing := entry.missing(benchmark):
        raise ConfigError(
            f"{entry.title} is incomplete, without all severities and {benchmark.episodes} episodes of "
            f"{', '.join(missing)}: give its pixelbrax eval again"
        )
    for axis in (PLAIN, *benchmark.axes_of(entry.task)):
        if not all(np.isfinite(returns).all() for returns in entry.returns[axis].values()):
            raise ConfigError(f"{entry.title} is damaged: its returns of {axis} have some that are not finite")


def _check_seeds(entries: Sequence[Entry]) -> None:
    """Refuses two runs of one method, track, task and seed, and seeds that were trained with different settings."""
    known: dict[tuple[str, int], Entry] = {}
    first: dict[str, Entry] = {}
    for entry in entries:
        what = f"{entry.method}, {entry.track}, {entry.task}"
        if (entry.task, entry.seed) in known:
            raise ConfigError(f"there are two results of {what}, seed {entry.seed}: name them apart by eval --method")
        known[entry.task, entry.seed] = entry
        other = first.setdefault(entry.task, entry)
        if differing := apart(entry.settings, other.settings):
            raise ConfigError(
                f"results of {what} have different settings ({', '.join(differing)}): name them apart by eval --method"
            )


def _notes(results: Sequence[MethodResult], entries: Sequence[Entry]) -> list[str]:
    notes = [f"{r.method}, {r.track}: {r.lacking}" for r in results if r.lacking]
    if len({entry.fingerprints.get("code") for entry in entries}) > 1:
        notes.append("these results are of several versions of the code")
    for result in results:
        if not result.lacking and len(set(result.seeds.values())) > 1:
            counts = ", ".join(f"{task} {count}" for task, count in result.seeds.items())
            which = f"{result.method}, {result.track}"
            notes.append(f"tasks with more seeds count more in the scores of {which} ({counts})")
    several = [f"{r.method}, {r.track}" for r in results if tuned([entry.settings for entry in r.entries])]
    return notes + ([f"settings of the algorithm differ between tasks: {'; '.join(several)}"] if several else [])


def _listed(center: Center | None) -> list[float] | None:
    return None if center is None else [round(x, 4) for x in center]
