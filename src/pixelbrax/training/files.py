"""Numeric files that a run writes while others read them: metrics.csv and evaluation.json.

A writer may be killed at any time, so the last line may be incomplete: readers skip it. Any other damage raises an
error that names the line.
"""

import contextlib
import csv
import io
import json
import math
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pixelbrax.errors import ConfigError

COLUMNS = ("updates", "steps", "seconds", "return")
"""Columns that every metrics.csv must have; there are others too."""
_PLACES = COLUMNS[:3]  # where a row is: they have a number in each
_TEMPORARY = ".tmp-"
_LONGEST_NAME = 255  # bytes, on most file systems
_RESULTS = ("steps", "mean_return", "iqm")
_EACH = ("returns", "lengths")  # lists: one number for each episode


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Adds the file's name to errors of the operating system while `path` is written.

    Raises:
      OSError: the same error, with the file's name.
    """
    try:
        yield
    except OSError as e:
        raise e if e.filename else OSError(e.errno, e.strerror or str(e), str(path)) from e


@contextlib.contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Replaces a file atomically: readers see the old one or the new one, also where several replace it at once.

    Yields:
      A temporary file beside it of this process and thread, with the same ending, to write.

    Raises:
      OSError: it cannot be written; the message names `file`, and the old one is still there.
    """
    begin = f"{_TEMPORARY}{os.getpid()}-{threading.get_ident()}"
    whole = f"{begin}-{file.name}"
    temporary = file.with_name(whole if len(os.fsencode(whole)) <= _LONGEST_NAME else f"{begin}{file.suffix}")
    try:
        yield temporary
        os.replace(temporary, file)
    except OSError as e:
        raise OSError(e.errno, e.strerror or str(e), str(file)) from e
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def is_temporary(file: Path, name: str) -> bool:
    """Whether a file is one that `replacing` began to write in place of `name`, and its process was killed."""
    return file.name.startswith(_TEMPORARY) and file.name.endswith(f"-{name}")


def replace_text(file: Path, text: str) -> None:
    """Replaces a file atomically: readers see the old text or the new one.

    Surrogates, as in the name of a file that is not UTF-8, become question marks.

    Raises:
      OSError: it cannot be written; the old text is still there.
    """
    with replacing(file) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="", errors="replace")


def append_row(file: Path, row: Mapping[str, Any]) -> None:
    """Adds a row to a table; the first row's keys are the columns.

    A row with other keys (an earlier version wrote the file) widens the table; unknown cells are left empty.

    Raises:
      ConfigError: the table is damaged.
      OSError: it cannot be written.
    """
    header = _header(file)
    if header is not None and set(header) != set(row):
        header, rows = _table(file, needed=())
        columns = [*header, *(name for name in row if name not in header)]
        old = [dict(zip(header, cells, strict=True)) for cells in rows]
        replace_text(file, _text(columns, [[each.get(name, "") for name in columns] for each in old]))
        header = columns
    columns = header or list(row)
    text = _text([] if header else columns, [[str(row.get(name, "")) for name in columns]])
    with writing(file), file.open("a", encoding="utf-8", newline="") as out:
        out.write(text)


def files_below(folder: Path, name: str) -> Iterator[Path]:
    """Files of a name at any depth, without hidden folders; links that lead back are followed once."""
    seen = set()
    for path, inner, names in os.walk(folder, followlinks=True):
        if (real := os.path.realpath(path)) in seen:
            inner.clear()
            continue
        seen.add(real)
        inner[:] = sorted(each for each in inner if not each.startswith("."))
        if name in names:
            yield Path(path, name)


def read_rows(file: Path) -> list[dict[str, float]]:
    """All rows of a table of numbers; an empty cell is NaN. An incomplete last line is skipped.

    Raises:
      ConfigError: the table is damaged; the message names the line.
    """
    header, rows = _table(file)
    return [{name: _number(cell) for name, cell in zip(header, cells, strict=True)} for cells in rows]


def keep_rows(file: Path, updates: int) -> None:
    """Removes the rows of later updates, and an incomplete last line.

    Raises:
      ConfigError: the table is damaged.
      OSError: it cannot be written.
    """
    header, rows = _table(file)
    if not header:
        file.unlink(missing_ok=True)
        return
    column = header.index("updates")
    replace_text(file, _text(header, [row for row in rows if float(row[column]) <= updates]))


def as_json(value: Any) -> str:
    """Indented JSON, with each list of numbers on one line."""
    text = json.dumps(value, indent=2)
    return re.sub(r"\[[^][{}\"]+\]", lambda found: "[" + " ".join(found[0][1:-1].split()) + "]", text) + "\n"


def read_results(file: Path) -> dict[str, dict[str, Any]]:
    """Evaluations by name: tables of numbers, each with at most one nested level, which may also hold text.

    Returns and lengths of episodes are lists of numbers.

    Raises:
      ConfigError: the file is damaged.
    """
    if not file.exists():
        return {}
    try:
        found = json.loads(_read(file))
    except (ValueError, RecursionError) as e:
        raise _damaged(file, getattr(e, "lineno", None), f"it is not JSON ({e})") from e
    if not isinstance(found, dict):
        raise _damaged(file, None, "it is not a table of evaluations")
    for name, result in found.items():
        parts = [result, *(x for x in result.values() if isinstance(x, dict))] if isinstance(result, dict) else []
        if not parts:
            raise _damaged(file, None, f"{name!r} is not an evaluation")
        for part, needed in zip(parts, [_RESULTS, *[_RESULTS[1:]] * len(parts)], strict=False):
            for key in {*needed, *part}:
                value = part.get(key)
                nested = (part is result and isinstance(value, dict)) or (part is not result and isinstance(value, str))
                listed = key in _EACH and isinstance(value, list) and all(map(_is_number, value))
                if not (nested or listed or _is_number(value)):
                    raise _damaged(file, None, f"{key} of {name!r} is {value!r:.60}, but must be a number")
            counts = {len(part[key]) for key in _EACH if key in part}
            if len(counts) > 1 or 0 in counts:
                raise _damaged(file, None, f"{name!r} must have as many lengths as returns, and at least one")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _header(file: Path) -> list[str] | None:
    """The columns; None if there is no file or its first line is incomplete."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            first = lines.readline()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as e:
        raise _damaged(file, 1, "it is not text") from e
    return next(csv.reader([first])) if first.endswith("\n") else None


def _table(file: Path, needed: Sequence[str] = COLUMNS) -> tuple[list[str], list[list[str]]]:
    """The columns and the rows, whose cells are all numbers or empty; nothing if no line is complete."""
    if not file.exists():
        return [], []
    text = _read(file)
    whole = text[: text.rfind("\n") + 1]
    try:
        lines = csv.reader(io.StringIO(whole, newline=""))
        header, *rows = [*lines] or [[]]
    except csv.Error as e:
        raise _damaged(file, None, str(e)) from e
    if not whole:
        return [], []
    if missing := [name for name in needed if name not in header]:
        raise _damaged(file, 1, f"there is no column {', '.join(missing)}")
    if len(set(header)) < len(header):
        raise _damaged(file, 1, "a column appears twice")
    last = -math.inf
    for line, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise _damaged(file, line, f"it has {len(row)} cells, the header has {len(header)}")
        for name, cell in zip(header, row, strict=True):
            try:
                value = _number(cell)
                if name in _PLACES and not math.isfinite(value):
                    raise ValueError
            except ValueError as e:
                raise _damaged(file, line, f"{name} is {cell[:40]!r}, but must be a number") from e
            if name == "updates":
                if not value > last:
                    raise _damaged(file, line, f"updates is {cell} after {last:.0f}, as if two had trained here")
                last = value
    return header, rows


def _number(cell: str) -> float:
    return float(cell) if cell else math.nan


def _read(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", newline="") as text:
            return text.read()
    except UnicodeDecodeError as e:
        raise _damaged(file, None, f"it is not text ({e.reason} at byte {e.start})") from e


def _text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([*([header] if header else []), *rows])
    return out.getvalue()


def _damaged(file: Path, line: int | None, what: str) -> ConfigError:
    where = file if line is None else f"{file}, line {line},"
    return ConfigError(f"{where} is damaged: {what}; repair it, or remove it to continue without it")
