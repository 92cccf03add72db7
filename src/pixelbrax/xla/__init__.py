"""Workarounds for XLA and jaxlib, and the cost of what they compile. Imports no other subpackage."""

from pixelbrax.xla.barriers import computed_once, materialized
from pixelbrax.xla.batched_cond import call_where
from pixelbrax.xla.chunks import chunk_size, map_in_chunks
from pixelbrax.xla.componentwise import by_component
from pixelbrax.xla.cost import computations, program_cost, shape_bytes
from pixelbrax.xla.linear import lapack_may_hang, without_lapack
from pixelbrax.xla.options import compiler_options
from pixelbrax.xla.precision import as_float32, check_float32, check_single, exact, in_float32
from pixelbrax.xla.rows import fold_rows, map_rows, select_row, take_rows

__all__ = [
    "as_float32",
    "by_component",
    "call_where",
    "check_float32",
    "check_single",
    "chunk_size",
    "compiler_options",
    "computations",
    "computed_once",
    "exact",
    "fold_rows",
    "in_float32",
    "lapack_may_hang",
    "map_in_chunks",
    "map_rows",
    "materialized",
    "program_cost",
    "select_row",
    "shape_bytes",
    "take_rows",
    "without_lapack",
]
