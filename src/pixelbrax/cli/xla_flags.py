"""Flags of XLA that the command line sets for its own process."""

import os
from importlib.util import find_spec

_OPTION = "--xla_backend_extra_options"
FUSED = f"{_OPTION}=-nvptx-fma-level=1"


def fuse_multiply_add() -> None:
    """Has XLA fuse multiplications with additions on NVIDIA's GPUs, as it does on CPUs, and as CUDA's compiler does.

    It sets XLA_FLAGS, which XLA reads when JAX first asks for devices, unless they set other options of the backend, or
    no plugin for these GPUs is installed.

    XLA behavior: on NVIDIA's GPUs a * b + c becomes two instructions, each of which rounds. With them fused the
    renderer's kernels have 11 to 17 % fewer instructions, which bound their speed; that of meshes' triangles a third.
    Seen with: JAX 0.10.2 and 0.11.2, compiled for an H200 (`benchmarks/cross_compile.py`); not timed on a GPU yet.
    Remove when: `cross_compile.py --render humanoid --instructions` gives the same with the flag and without.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    if _OPTION not in flags and any(find_spec(f"jax_cuda{version}_plugin") for version in (12, 13)):
        os.environ["XLA_FLAGS"] = f"{flags} {FUSED}".strip()
