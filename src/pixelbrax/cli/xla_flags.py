"""Flags of XLA that the command line sets for its own process."""

import os
from importlib.util import find_spec

_GPU_FLAGS = "--xla_backend_extra_options=-nvptx-fma-level=1", "--xla_gpu_ftz=true"


def with_gpu_flags(flags: str) -> str:
    """XLA_FLAGS by which NVIDIA's GPUs compute like CPUs, and faster; what `flags` already say of it is kept.

    Multiplications are fused with additions (FMA), and subnormal numbers, below 1.2e-38, are 0. A file's name, which
    XLA_FLAGS may be too, is kept as it is.

    XLA behavior: on CPUs both is so by default. On NVIDIA's GPUs a * b + c becomes two instructions, each of which
    rounds, and a division or root has three more for the sake of such small numbers. With both flags the
    renderer's kernels, whose speed their instructions bound, have 25 % fewer for HalfCheetah, 30 % for Humanoid.
    Seen with: JAX 0.10.2 and 0.11.2, compiled for an H200 (`benchmarks/cross_compile.py`); on one, with JAX 0.11.2, it
    draws 24 % more images of HalfCheetah (docs/gpu.md).
    Remove when: `cross_compile.py --render humanoid --instructions` gives the same with the flags' opposites.
    """
    if flags.strip() and not flags.strip().startswith("-"):
        return flags
    missing = [flag for flag in _GPU_FLAGS if flag.split("=")[0] not in flags]
    return " ".join([*flags.split(), *missing])


def set_gpu_flags() -> None:
    """Sets XLA_FLAGS so, which XLA reads when JAX first asks for devices, if a plugin for these GPUs is installed."""
    if any(find_spec(f"jax_cuda{version}_plugin") for version in (12, 13)):
        os.environ["XLA_FLAGS"] = with_gpu_flags(os.environ.get("XLA_FLAGS", ""))
