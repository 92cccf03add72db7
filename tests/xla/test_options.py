"""Options that the compiler must know: a name that it does not know is an error at the first compilation."""

import jax
import jax.numpy as jnp
import pytest

from pixelbrax.xla import compiler_options


@pytest.mark.parametrize("runs_once", [False, True])
def test_the_compiler_takes_the_options(runs_once):
    options = compiler_options(runs_once=runs_once)
    assert bool(options) == (runs_once or jax.__version_info__ < (0, 11))
    assert jax.jit(lambda x: x + 1, compiler_options=options)(jnp.zeros(())) == 1


@pytest.mark.parametrize("runs_once", [False, True])
def test_gpus_give_the_same_bits_and_tpus_do_anyway(monkeypatch, runs_once):
    """The name is one that XLA knows, also where it compiles for a CPU."""
    monkeypatch.setattr(jax, "default_backend", lambda: "tpu")
    assert compiler_options(runs_once) == {}
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    options = compiler_options(runs_once)
    assert options == {"xla_gpu_exclude_nondeterministic_ops": True}
    assert jax.jit(lambda x: x + 1, compiler_options=options)(jnp.zeros(())) == 1
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_exclude_nondeterministic_ops=false")
    assert compiler_options(runs_once) == {}
