"""Flags of XLA that the command line sets."""

import os
import subprocess
import sys

import pytest

from pixelbrax.cli import xla_flags


@pytest.mark.parametrize(
    ("installed", "before", "after"),
    [
        (True, None, xla_flags.FUSED),
        (True, "--xla_a=1", f"--xla_a=1 {xla_flags.FUSED}"),
        (True, "--xla_backend_extra_options=-nvptx-fma-level=0", "--xla_backend_extra_options=-nvptx-fma-level=0"),
        (True, xla_flags.FUSED, xla_flags.FUSED),
        (False, None, None),
        (False, "--xla_a=1", "--xla_a=1"),
    ],
)
def test_multiplications_are_fused_where_gpus_may_be_used_unless_flags_say_otherwise(
    installed, before, after, monkeypatch
):
    monkeypatch.setattr(xla_flags, "find_spec", lambda name: object() if installed and "cuda13" in name else None)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    if before is not None:
        monkeypatch.setenv("XLA_FLAGS", before)
    xla_flags.fuse_multiply_add()
    assert os.environ.get("XLA_FLAGS") == after


def test_a_cpu_takes_the_flag_too():
    """XLA ends a process for an option that it does not know; a machine with the plugin may compute on its CPU."""
    program = "import jax; assert jax.jit(lambda a: a * a + 1)(2.0) == 5"
    environment = os.environ | {"XLA_FLAGS": xla_flags.FUSED, "JAX_PLATFORMS": "cpu"}
    assert subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode == 0


def test_a_cpu_fuses_by_itself():
    """So that the flag makes GPUs agree with it: the product is not rounded before the difference."""
    program = (
        "import jax, jax.numpy as jnp; x = jnp.linspace(0.1, 1, 99); y = x[::-1]; "
        "assert (jax.jit(lambda x, y, z: x * y - z)(x, y, x * y) != 0).mean() > 0.9"
    )
    environment = os.environ | {"XLA_FLAGS": "", "JAX_PLATFORMS": "cpu"}  # the tests' own flags optimize less
    assert subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode == 0
