"""Calls from outside of a compiled program compile once for each environment; inside of one nothing changes."""

import copy
import gc
import pickle
import weakref
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.envs import FINAL_OBS, with_autoreset, without_images
from pixelbrax.render import look_at
from tests.compilations import compilations
from tests.probe import CAMERA, ProbePhysics, probe_env

KEY, ACTION = jax.random.key(0), jnp.zeros(1)


@pytest.fixture
def traced(monkeypatch):
    """How often the engine's step was traced (or run one operation at a time)."""
    calls, step = [], ProbePhysics.step
    monkeypatch.setattr(ProbePhysics, "step", lambda *args: calls.append(1) or step(*args))
    return calls


def test_substeps_compile_once():
    env = probe_env(outputs=(), action_repeat=2)
    state = env.reset(KEY)
    env.substeps(state, ACTION)
    assert compilations(lambda: env.substeps(state, ACTION))[0] == 0


def test_eager_calls_compile_once(traced):
    env = probe_env(image_size=8)
    state = env.reset(KEY)
    first, state = compilations(lambda: env.step(state, ACTION))
    assert first > 0
    traces = len(traced)
    for _ in range(2):
        again, state = compilations(lambda: env.step(state, ACTION))  # noqa: B023
        assert again == 0
    assert len(traced) == traces
    np.testing.assert_array_equal(state.reward, 3)
    assert compilations(lambda: env.reset(KEY))[0] == 0
    env.render(state, 8, 8)
    assert compilations(lambda: env.render(state, 8, 8))[0] == 0


@pytest.mark.parametrize("transform", ["vmap", "grad"])
def test_eager_transformations_compile_once(traced, transform):
    env = probe_env(outputs=(), pays_side=True)
    state = env.reset(KEY)
    if transform == "vmap":
        states = jax.tree.map(lambda x: jnp.stack([x] * 3), state)
        call = lambda: jax.vmap(env.step)(states, jnp.zeros((3, 1))).reward  # noqa: E731
    else:
        call = lambda: jax.grad(lambda action: env.step(state, action).physics.engine_state[2] + action[0])(ACTION)  # noqa: E731
    call()
    traces = len(traced)
    again, _ = compilations(call)
    assert again == 0
    assert len(traced) == traces


def test_inside_of_a_program_it_is_the_same_program():
    env = probe_env(image_size=8)
    state = jax.eval_shape(env.reset, KEY)
    plain = jax.make_jaxpr(type(env)._step.__wrapped__, static_argnums=0)(env, state, ACTION)
    names = [equation.primitive.name for equation in plain.eqns]
    inside = jax.make_jaxpr(env.step)(state, ACTION)
    kept = [equation.primitive.name for equation in inside.eqns]
    assert kept[kept.index(names[0], len(kept) - len(names)) :] == names
    assert (
        jax.jit(env.step).lower(state, ACTION).as_text().split("\n", 1)[1]
        == (
            jax.jit(type(env)._step.__wrapped__, static_argnums=0).lower(env, state, ACTION).as_text().split("\n", 1)[1]
        )
    )


def test_eager_states_are_those_of_a_program():
    env = probe_env(outputs=(), episode_length=2)
    eager = compiled = env.reset(KEY)
    step = jax.jit(env.step)
    for _ in range(4):
        eager, compiled = env.step(eager, ACTION), step(compiled, ACTION)
        a, b = (jax.tree.leaves((s.obs, s.reward, s.done, s.metrics)) for s in (eager, compiled))
        jax.tree.map(np.testing.assert_array_equal, a, b)


@pytest.mark.parametrize("cheap_reset", [True, False])
def test_programs_go_with_their_environment(monkeypatch, cheap_reset):
    monkeypatch.setattr(ProbePhysics, "cheap_reset", cheap_reset)
    env = probe_env(outputs=())
    state = env.step(env.reset(KEY), ACTION)
    kept = weakref.ref(env)
    del env
    gc.collect()
    assert kept() is None
    assert state.reward == 1


def test_what_is_changed_or_copied_is_compiled_anew():
    env = probe_env(outputs=(), episode_length=5)
    state = env.step(env.reset(KEY), ACTION)
    other = copy.copy(env)
    other.action_repeat = 2
    assert env.step(env.reset(KEY), ACTION).reward == 1
    assert other.step(other.reset(KEY), ACTION).reward == 3
    env.action_repeat = 2
    assert env.step(env.reset(KEY), ACTION).reward == 3
    assert state.reward == 1
    vars(env.physics)["backend"] = jax  # a module, which has no copy: Brax's engines have one
    assert copy.deepcopy(env).step(env.reset(KEY), ACTION).reward == 3


@pytest.mark.parametrize("also", [None, "ball"])
def test_pickled_environments_are_the_same(also):
    """Multiprocessing pickles what it sends to a process that it spawns."""
    follows = replace(CAMERA, body="ball", also=also)
    env = probe_env(
        camera={"fixed": look_at(jnp.array([0.0, -3.0, 1.0]), jnp.zeros(3), 45.0), "follows": follows},
        image_size=8,
        frame_stack=1,
    )
    loaded = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(env))))
    expected, obs = env.reset(KEY).obs, loaded.reset(KEY).obs
    assert obs.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(obs[name], expected[name])


def test_what_was_found_once_is_found_anew_for_a_copy_with_other_attributes():
    env = probe_env(image_size=16)
    spec = env.observation_spec
    spec.clear()  # what a caller does to it stays there
    assert env.observation_spec["pixels"].shape[:2] == (16, 16)
    assert env._first_state is env._first_state
    other = with_autoreset(env, "same_step")
    assert FINAL_OBS in other._first_state.info
    assert FINAL_OBS not in env._first_state.info
    assert without_images(env).observation_spec.keys() == {"state"}
