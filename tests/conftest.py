"""Two CPU devices, quick compilation, arrays checked against their annotations, and strict arithmetic on request."""

import atexit
import gc
import os
import shutil
import tempfile

# Processes of one run share what they compile; the next run starts anew.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="pixelbrax-tests-")
    atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("MPLBACKEND", "agg")

import jax
import pytest

from tests.typecheck import enforce_annotations

# Tracing makes many objects that stay: by Python's own thresholds algorithms/test_agent.py takes a seventh longer.
gc.freeze()
gc.set_threshold(100_000, 20, 20)

# jaxtyping's annotations are enforced, in the tests' own processes.
enforce_annotations("pixelbrax")


def pytest_configure(config):
    """Most of the time goes into compiling programs that run once or twice: make test leaves LLVM's passes out.

    Where XLA still has its older emitters of fusions (JAX 0.10), they compile in less than half the time. XLA's own
    passes, by which programs are fused and sums ordered, are the same; make test-all compiles as users do. Programs
    compile in one piece each, which takes a tenth less than in pieces for threads: the other core has another worker.
    """
    if config.option.markexpr:
        os.environ["XLA_FLAGS"] += " --xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
        if jax.__version_info__ < (0, 11):
            os.environ["XLA_FLAGS"] += " --xla_cpu_use_fusion_emitters=false"


@pytest.fixture(scope="module")
def probe_tasks():
    """Makes the probe's tasks known by their names to the tests of one file, and to no walk over all tasks."""
    from pixelbrax.tasks import registry
    from tests.probe import TASKS

    with pytest.MonkeyPatch.context() as patch:
        for task in TASKS:
            patch.setitem(registry._REGISTRY._known, task.name, task)
        yield


@pytest.fixture
def strict():
    """No silent promotion of dtypes or ranks. Brax does not hold to it, so tests that step Brax cannot use it."""
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield
