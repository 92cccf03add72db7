"""Linear systems solved without LAPACK, where batched LAPACK calls can deadlock.

What jaxlib does: on CPU it splits a large batch of LAPACK calls into tasks for XLA's thread pool, and waits for them on
a thread of that pool. When as many such calls run at once as the pool has threads, they deadlock.

What this does: while an engine is traced, `jax.scipy.linalg`'s functions that Brax and MJX call are replaced by loops
over columns. For the small matrices of a body these are no slower than LAPACK.

Seen with: jaxlib 0.10, with the same solves as MJX's on two CPU devices with two threads. Affected are the versions
from 0.10.0 to, at the latest, the one before 0.11.2 (commit 859992407d of jax-ml/jax reverted the splitting).
Tested by: `tests/xla/test_linear.py`, against LAPACK in float64, and that batched programs call no LAPACK.
Remove when: `jax>=0.11.2` is required (pyproject.toml).
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_FIRST_AFFECTED, _FIRST_MENDED = (0, 10, 0), (0, 11, 2)
_LOCK = threading.RLock()


def lapack_may_hang() -> bool:
    """Whether batched LAPACK calls of this version of JAX can deadlock."""
    version = tuple(int(part) for part in jax.__version_info__[:3])
    return jax.default_backend() == "cpu" and _FIRST_AFFECTED <= version < _FIRST_MENDED


@contextlib.contextmanager
def without_lapack() -> Iterator[None]:
    """Replaces the functions of `jax.scipy.linalg` that Brax and MJX call, while tracing, where LAPACK can hang."""
    if not lapack_may_hang():
        yield
        return
    library = jax.scipy.linalg
    with _LOCK:
        originals = {ours: getattr(library, ours.__name__) for ours in (cho_factor, cho_solve, solve)}
        for ours, original in originals.items():
            setattr(library, ours.__name__, _where_it_fits(ours, original))
        try:
            yield
        finally:
            for ours, original in originals.items():
                setattr(library, ours.__name__, original)


def _where_it_fits(ours: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """`ours` for one real matrix and the arguments it supports; otherwise the original, for a user's own reward."""

    def function(a: Any, *args: Any, **kwargs: Any) -> Any:
        matrix = a[0] if isinstance(a, tuple) else a
        taken = {cho_factor: {"lower"}, cho_solve: set(), solve: {"assume_a"}}[ours]
        known = set(kwargs) <= taken and kwargs.get("assume_a", "pos") == "pos" and len(args) <= 1
        positive = ours is not solve or "assume_a" in kwargs
        arrays = (matrix,) if ours is cho_factor else (matrix, *args)
        fits = jnp.ndim(matrix) == 2 and all(jnp.issubdtype(jnp.result_type(x), jnp.floating) for x in arrays)
        return (ours if known and positive and fits else original)(a, *args, **kwargs)

    return function


def cho_factor(a: Float[Array, "n n"], lower: bool = False) -> tuple[Float[Array, "n n"], bool]:
    """As `jax.scipy.linalg.cho_factor`: the Cholesky factor of a positive definite matrix, NaN for others."""
    size = a.shape[-1]
    rows = jnp.arange(size)

    def column(factor: Array, j: Array) -> tuple[Array, None]:
        rest = a[:, j] - factor @ factor[j]  # the columns from j on are still 0
        return factor.at[:, j].set(jnp.where(rows >= j, rest / jnp.sqrt(rest[j]), 0.0)), None

    factor, _ = jax.lax.scan(column, jnp.zeros_like(a), rows)
    return (factor if lower else factor.T), lower


def cho_solve(factor_and_lower: tuple[Float[Array, "n n"], bool], b: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
    """As `jax.scipy.linalg.cho_solve`: the solution x of a x = b by the Cholesky factor of a."""
    factor, lower = factor_and_lower
    factor = factor if lower else factor.T
    return _substitute(factor.T, _substitute(factor, b), reverse=True)


def _substitute(triangle: Float[Array, "n n"], b: Float[Array, "n *k"], reverse: bool = False) -> Float[Array, "n *k"]:
    """The solution x of triangle x = b by forward substitution, or in reverse by back substitution."""

    def row(carry: tuple[Array, Array], i: Array) -> tuple[tuple[Array, Array], None]:
        rest, x = carry
        value = rest[i] / triangle[i, i]
        column = triangle[:, i].reshape(-1, *[1] * (b.ndim - 1))
        return (rest - column * value[None], x.at[i].set(value)), None

    (_, x), _ = jax.lax.scan(row, (b, jnp.zeros_like(b)), jnp.arange(b.shape[0]), reverse=reverse)
    return x


def solve(a: Float[Array, "n n"], b: Float[Array, "n *k"], *, assume_a: str = "pos") -> Float[Array, "n *k"]:
    """As `jax.scipy.linalg.solve` for positive definite matrices."""
    del assume_a
    return cho_solve(cho_factor(a), b)
