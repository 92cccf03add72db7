"""What the benchmarks share: rates, lists of numbers on the command line, and where results go."""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, UInt8, UInt32

from pixelbrax.errors import ConfigError, check_can_make, check_number
from pixelbrax.training import provenance

_ROUNDS = 5  # of each measurement; the median counts
_MAX_SECONDS = 3_600.0  # of one measurement


def rate(function: Callable[[], Any], seconds: float) -> float:
    """Calls per second after a warm-up: the median of several rounds that take `seconds` in all."""
    return rates([function], seconds)[0]


def rates(functions: Sequence[Callable[[], Any]], seconds: float) -> list[float]:
    """`rate` of several functions in turn, round by round: what slows the machine for a while slows all of them."""
    for function in functions:
        jax.block_until_ready(function())
    found: list[list[float]] = [[] for _ in functions]
    for _ in range(_ROUNDS):
        for function, each in zip(functions, found, strict=True):
            calls, start = 0, time.perf_counter()
            while (elapsed := time.perf_counter() - start) < seconds / _ROUNDS or not calls:
                jax.block_until_ready(function())
                calls += 1
            each.append(calls / elapsed)
    return [statistics.median(each) for each in found]


def pixel_checksum(pixels: UInt8[Array, "... height width channels"]) -> UInt32[Array, ""]:
    """A sum to which every pixel of a batch of images contributes, so that XLA computes them all.

    On CPUs it is modulo 256 within each column: they add columns of bytes many times as fast as bytes that are widened
    first, whose sum took up to half of what a step takes beyond physics and rendering. On GPUs it is the columns that
    are slow.
    """
    if jax.default_backend() != "cpu":
        return jnp.sum(pixels, dtype=jnp.uint32)
    columns = pixels.reshape(-1, pixels.shape[-3] * pixels.shape[-2])
    return jnp.sum(jnp.sum(columns, axis=0, dtype=jnp.uint8).astype(jnp.uint32))


def numbers(name: str, text: str) -> list[int]:
    """Positive integers from text such as "1,256".

    Raises:
      ConfigError: the text is something else; the message names the flag.
    """
    parts = text.split(",")
    if not all(part.isdecimal() and len(part) < 16 and int(part) > 0 for part in parts):
        raise ConfigError(f"{name} is {text!r}: it must be positive whole numbers separated by commas, such as 1,256")
    return [int(part) for part in parts]


def check_output(seconds: float, json_file: Path | None) -> None:
    """Raises `ConfigError` if `seconds` is out of range, or `json_file` is a folder or cannot be made."""
    check_number("seconds", seconds, above=0, most=_MAX_SECONDS)
    if json_file and json_file.is_dir():
        raise ConfigError(f"{json_file} is a folder: name a file")
    if json_file and not json_file.exists():
        check_can_make(json_file)


def write_rows(json_file: Path | None, rows: list[dict[str, Any]]) -> None:
    """Writes the results so far to `json_file`, if given, with versions and machine."""
    if json_file:
        json_file.write_text(json.dumps({"provenance": provenance(), "rows": rows}, indent=2) + "\n")
