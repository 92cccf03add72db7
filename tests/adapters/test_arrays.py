"""Arrays between JAX, NumPy and PyTorch: no copy where none is needed, and a copy where one is."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.adapters.arrays import converted, from_torch, to_torch
from pixelbrax.adapters.functional import StateLeaves
from pixelbrax.adapters.stepping import EnvBatch, one_action
from pixelbrax.envs import with_autoreset
from pixelbrax.errors import ConfigError
from tests.probe import probe_env

TREE = {"image": jnp.arange(12, dtype=jnp.uint8).reshape(2, 2, 3), "flags": jnp.array([True, False])}


def test_numpys_arrays_are_the_callers():
    arrays = converted(TREE, "numpy")
    arrays["image"][:] = 0
    np.testing.assert_array_equal(TREE["image"].ravel(), np.arange(12))
    assert converted(TREE, "jax") is TREE


def test_tensors_share_memory_and_read_what_is_still_being_computed():
    torch = pytest.importorskip("torch")
    tensors = converted(TREE, "torch")
    assert tensors["image"].data_ptr() == TREE["image"].unsafe_buffer_pointer()
    assert tensors["flags"].tolist() == [True, False]
    slow = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda _, y: jnp.tanh(y @ y) + 1.0, x))
    result = slow(jnp.full((500, 500), 1e-3))
    assert torch.equal(to_torch(result).sum(), torch.from_numpy(np.array(result)).sum())


def test_later_changes_to_a_tensor_do_not_reach_jax():
    torch = pytest.importorskip("torch")
    device = jax.devices()[0]
    tensor = torch.ones(4, 3)
    for given in (tensor, tensor[1:, :2], tensor.T, tensor.requires_grad_()):
        array = from_torch(given, device)
        with torch.no_grad():
            given += 1
        np.testing.assert_array_equal(array, given.detach() - 1)


def test_actions_may_be_of_any_kind():
    torch = pytest.importorskip("torch")
    env = probe_env(pushed=True, image_size=8, autoreset="disabled")
    batch = EnvBatch(env, 2)
    values = np.array([[0.5], [-1.0]], np.float32)
    seen = []
    for actions in (values, values.tolist(), jnp.asarray(values), torch.from_numpy(values), values.astype(float)):
        batch.reset(0)
        seen.append(np.asarray(batch.step(actions).obs["state"]))
    for each in seen:
        np.testing.assert_array_equal(each, seen[0])
    assert batch.states is not None
    assert batch.states.reward.committed  # to one device, however they came about: hence one compiled program
    halves = torch.from_numpy(values).bfloat16()
    batch.reset(0)
    np.testing.assert_array_equal(np.asarray(batch.step(halves).obs["state"]), seen[0])
    batch.reset(0)
    ends = np.asarray(batch.step(np.array([[1.0], [-1.0]])).obs["state"])
    far = np.array([[1e300], [-1e300]])  # no infinite numbers, which would end the episode: clipped as others are
    for actions in (far, torch.from_numpy(far)):
        batch.reset(0)
        np.testing.assert_array_equal(np.asarray(batch.step(actions).obs["state"]), ends)
    bad = np.array([[np.inf], [np.nan]])
    for actions in (bad, torch.from_numpy(bad)):
        np.testing.assert_array_equal(batch.checked(actions), bad)
    action = one_action(torch.full((1,), 0.5, requires_grad=True), env)
    assert EnvBatch(env, 1).checked(action).tolist() == [[0.5]]
    with pytest.raises(ConfigError, match=r"the actions are <U1 of shape \(2, 1\): they must be floats"):
        batch.step([["a"], ["b"]])


def test_only_chosen_environments_are_stepped():
    batch = EnvBatch(probe_env(image_size=8, autoreset="disabled"), 3)
    before = batch.reset(0)
    after = batch.step(np.zeros((3, 1)), np.array([True, False, True]))
    np.testing.assert_array_equal(after.reward, [1, 0, 1])
    np.testing.assert_array_equal(after.obs["pixels"][1], before.obs["pixels"][1])
    np.testing.assert_array_equal(batch.step(np.zeros((3, 1))).reward, [2, 1, 2])


def test_later_changes_to_a_mask_do_not_reach_jax():
    """It reads a mask when the states of before have been computed."""
    batch = EnvBatch(probe_env(outputs=(), autoreset="disabled"), 4096)
    work = lambda x: jax.lax.fori_loop(0, 50, lambda _, y: jnp.tanh(y @ y), x).sum()  # noqa: E731
    delayed = jax.jit(lambda states, x: replace(states, reward=states.reward + 0 * work(x)))
    memory = np.zeros(4096 + 64, bool)
    mask = memory[-memory.ctypes.data % 64 :][:4096]  # JAX reads arrays with such addresses where they are
    actions, square = np.zeros((4096, 1), np.float32), jnp.full((500, 500), 1e-3)
    batch.reset(0)
    for _ in range(2):  # the first compiles
        batch.step(actions)
        for call in (lambda: batch.step(actions, mask), lambda: batch.reset(mask=mask)):
            batch.states = delayed(batch.states, square)
            mask[:] = np.arange(4096) == 0
            state = call()
            mask[:] = True
            np.testing.assert_array_equal(state.metrics["episode_length"][1:], 1)
        batch.reset(0)


def test_states_travel_as_plain_arrays_and_come_back():
    env = probe_env(image_size=8, autoreset="disabled", distractors="kage/hue")
    leaves = StateLeaves(env)
    states = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 2))
    plain = leaves.of(states)
    assert {x.dtype.name for x in plain.values()} <= {"float32", "int32", "bool", "uint8"}
    for name, spec in leaves.spec.items():
        assert (plain[name].shape, plain[name].dtype) == ((2, *spec.shape), spec.dtype)
    assert "physics.obs" in leaves.differentiable
    assert "info.key" not in leaves.differentiable
    back = leaves.states(plain)
    assert jax.tree.structure(back) == jax.tree.structure(states)
    for one, other in zip(jax.tree.leaves(back), jax.tree.leaves(states), strict=True):
        assert one.dtype == other.dtype
    for one, other in zip(leaves.of(back).values(), plain.values(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_another_autoreset_leaves_the_environment_as_it_is():
    env = probe_env(image_size=8)
    other = with_autoreset(env, "disabled")
    assert (env.autoreset, other.autoreset) == ("next_step", "disabled")
    assert with_autoreset(other, "disabled") is other
    assert other.physics is env.physics
    with pytest.raises(ConfigError, match="autoreset is 'never'"):
        with_autoreset(env, "never")  # pyright: ignore[reportArgumentType]
