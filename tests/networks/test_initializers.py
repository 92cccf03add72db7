"""Initial weights: orthogonal, the same for agents side by side, and never a batch of LAPACK calls."""

import os
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.networks import ActorCritic, Dynamics, NetworkConfig
from pixelbrax.networks.initializers import orthogonal

_SPEC = {"pixels": jax.ShapeDtypeStruct((48, 48, 9), jnp.uint8), "state": jax.ShapeDtypeStruct((17,), jnp.float32)}


def test_weights_are_orthogonal_and_do_not_depend_on_the_agents_beside():
    sample = orthogonal(3.0)
    keys = jax.random.split(jax.random.key(0), 2)
    weights = jax.vmap(lambda key: sample(key, (40, 7), jnp.float32))(keys)
    for key, weight in zip(keys, weights, strict=True):
        np.testing.assert_allclose(weight.T @ weight, 9 * np.eye(7), atol=1e-4)
        np.testing.assert_array_equal(weight, sample(key, (40, 7), jnp.float32))


@pytest.mark.parametrize("encoder", ["patch", "nature", "impala", "drq"])
def test_agents_side_by_side_call_lapack_one_matrix_at_a_time(encoder):
    """A batched call is split into tasks for XLA's thread pool, and may wait for them for ever."""
    network, dynamics = ActorCritic(_SPEC, 3, 6, NetworkConfig(encoder=encoder, critic="state")), Dynamics(8, 2)
    keys = jax.random.split(jax.random.key(0), 2)
    program = jax.jit(jax.vmap(lambda key: (network.init(key), dynamics.init(key)))).lower(keys).as_text()
    calls = re.findall(r"custom_call @lapack_\w+\(.*?\) .*?: \((.*?)\) ->", program)
    assert calls
    for operands in calls:
        assert max(len(shape.split("x")) - 1 for shape in re.findall(r"tensor<(.*?)>", operands)) <= 2, operands


_INIT = """
import jax, jax.numpy as jnp
from pixelbrax.networks import ActorCritic, NetworkConfig
spec = {"pixels": jax.ShapeDtypeStruct((48, 48, 9), jnp.uint8)}
network = ActorCritic(spec, 3, 6, NetworkConfig(encoder="impala"))
jax.block_until_ready(jax.jit(jax.vmap(network.init))(jax.random.split(jax.random.key(0), 2)))
print("done")
"""


@pytest.mark.full
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_agents_side_by_side_begin_whatever_the_thread_pools_size(threads):
    """In a fresh process: two agents' networks of many layers hung on two threads every time."""
    environment = os.environ | {"NPROC": str(threads), "XLA_FLAGS": "", "JAX_ENABLE_COMPILATION_CACHE": "false"}
    result = subprocess.run(
        [sys.executable, "-c", _INIT], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.stdout.strip() == "done", result.stderr
