"""Flags of XLA that the command line sets."""

import os
import subprocess
import sys

import pytest

from pixelbrax.cli import xla_flags

FUSED, FLUSHED = "--xla_backend_extra_options=-nvptx-fma-level=1", "--xla_gpu_ftz=true"


@pytest.mark.parametrize(
    ("installed", "before", "after"),
    [
        (True, None, f"{FUSED} {FLUSHED}"),
        (True, "--xla_a=1", f"--xla_a=1 {FUSED} {FLUSHED}"),
        (True, f"{FUSED} {FLUSHED}", f"{FUSED} {FLUSHED}"),
        (True, "--xla_backend_extra_options=-x", f"--xla_backend_extra_options=-x {FLUSHED}"),
        (True, "--xla_gpu_ftz=false", f"--xla_gpu_ftz=false {FUSED}"),
        (True, "/home/me/flags.txt", "/home/me/flags.txt"),
        (False, None, None),
        (False, "--xla_a=1", "--xla_a=1"),
    ],
)
def test_gpus_compute_like_cpus_unless_flags_say_otherwise(installed, before, after, monkeypatch):
    monkeypatch.setattr(xla_flags, "find_spec", lambda name: object() if installed and "cuda13" in name else None)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    if before is not None:
        monkeypatch.setenv("XLA_FLAGS", before)
    xla_flags.set_gpu_flags()
    assert os.environ.get("XLA_FLAGS") == after


def computed(program, flags):
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    return (
        subprocess.run([sys.executable, "-c", f"import jax\n{program}"], env=environment, check=False).returncode == 0
    )


def test_a_cpu_takes_the_flags_too():
    """XLA ends a process for an option that it does not know; a machine with the plugin may compute on its CPU."""
    assert computed("assert jax.jit(lambda a: a * a + 1)(2.0) == 5", xla_flags.with_gpu_flags(""))


def test_a_cpu_does_both_by_itself():
    """So that the flags make GPUs agree with it: products are not rounded before sums, and tiny numbers are 0."""
    program = "x = jax.numpy.linspace(0.1, 1, 99); y = x[::-1]\n"
    program += "assert (jax.jit(lambda x, y, z: x * y - z)(x, y, x * y) != 0).mean() > 0.9\n"
    program += "assert jax.jit(lambda x: x * 0.5)(jax.numpy.float32(1.2e-38)) == 0"
    assert computed(program, "")
