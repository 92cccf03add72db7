"""Two CPU devices, a compilation cache of the tests' own, and strict arithmetic on request."""

import atexit
import os
import shutil
import tempfile

# Processes of one run share what they compile; the next run starts anew.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="pixelbrax-tests-")
    atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("MPLBACKEND", "agg")

import jax
import pytest


@pytest.fixture
def strict():
    """No silent promotion of dtypes or ranks. Brax does not hold to it, so tests that step Brax cannot use it."""
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield
