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


def test_an_accelerator_has_none_of_them(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert compiler_options(runs_once=True) == {}
