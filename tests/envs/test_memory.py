"""Batches that cannot fit are refused with numbers that are true."""

import re

import jax
import pytest

from pixelbrax.envs import check_fits_device, num_bytes
from pixelbrax.envs.device_memory import device_memory
from pixelbrax.errors import ConfigError
from tests.probe import probe_env


def test_bytes_are_those_of_real_states():
    env = probe_env(image_size=64, frame_stack=3)
    state = env.reset(jax.random.PRNGKey(0))
    assert num_bytes(state) == sum(leaf.nbytes for leaf in jax.tree.leaves(state))
    assert env.bytes_per_env >= 2 * 64 * 64 * 9


def test_the_largest_batch_that_fits_does():
    memory = device_memory()
    assert memory is not None
    assert memory > 1e9
    with pytest.raises(ConfigError, match=r"takes at least .* GB \(1,000 KB each\), and the device has .* GB") as e:
        check_fits_device(10**9, 10**6)
    (most,) = re.findall(r"at most (\d+) fit", str(e.value))
    check_fits_device(int(most), 10**6)
    with pytest.raises(ConfigError):
        check_fits_device(int(most) + 1, 10**6)


def test_sizes_that_nearly_agree_are_told_apart_and_networks_count():
    memory = device_memory()
    assert memory is not None
    with pytest.raises(ConfigError, match="Lower num_envs, unroll_length, image_size") as e:
        check_fits_device(1, memory + 1000)
    takes, has = re.findall(r"([\d,.]+) GB", str(e.value))
    assert float(takes.replace(",", "")) > float(has.replace(",", ""))
    with pytest.raises(ConfigError, match=r"and 1,000 MB for the networks\), .* at most (\d+) fit") as e:
        check_fits_device(memory // 10**6, 10**6, beside=10**9)
    assert f"at most {(memory - 10**9) // 10**6} fit" in str(e.value)
