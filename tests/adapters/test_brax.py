"""Interfaces of Brax and Playground: what their training wrappers see, and Brax's PPO that learns from pixels."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from brax.envs.wrappers import training

from pixelbrax.adapters.brax import as_brax
from pixelbrax.adapters.playground import as_playground
from pixelbrax.errors import ConfigError
from tests.probe import CAMERA, short_env

NO_ACTIONS = jnp.zeros((2, 1))


def _wrapper():
    """Playground's, whose import takes seconds: each process of the tests collects all files."""
    from mujoco_playground import wrapper

    return wrapper


@functools.cache
def _brax():
    return as_brax(short_env(), obs_keys=("pixels", "state"))


def _rollout(env, steps, keys=None):
    keys = jax.random.split(jax.random.PRNGKey(0), 2) if keys is None else keys
    states, step = [jax.jit(env.reset)(keys)], jax.jit(env.step)
    for _ in range(steps):
        states.append(step(states[-1], NO_ACTIONS))
    return states


def test_brax_wrappers_time_and_reset_it():
    """The time limit is the wrapper's, not the environment's, and each environment begins as it began first."""
    states = _rollout(training.wrap(_brax(), episode_length=5), 6)
    assert [state.reward[0].item() for state in states] == [0, 1, 2, 3, 4, 5, 1]
    assert [state.done[0].item() for state in states] == [0, 0, 0, 0, 0, 1, 0]
    assert states[5].info["truncation"].tolist() == [1, 1]
    assert states[5].info["episode_metrics"]["sum_reward"].tolist() == [15, 15]
    np.testing.assert_array_equal(states[5].obs["pixels/view_0"], states[0].obs["pixels/view_0"])
    evaluated = _rollout(training.EvalWrapper(training.wrap(_brax(), episode_length=2)), 3)
    assert evaluated[-1].info["eval_metrics"].episode_metrics["reward"].tolist() == [3, 3]


def test_brax_wrappers_count_in_double_precision_where_jax_does():
    """Their sums begin as zeros in JAX's default precision, and a loop cannot carry what changes its type."""
    with jax.enable_x64(True):
        env = training.EvalWrapper(training.wrap(as_brax(short_env(), obs_keys="state"), episode_length=5))
        first = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(0), 2))

        @jax.jit
        def play(state):
            return jax.lax.scan(lambda state, _: (env.step(state, NO_ACTIONS), state.reward), state, length=7)[1]

        assert play(first)[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 1]


def test_brax_sees_floats_channels_last():
    env = _brax()
    state = env.reset(jax.random.key(0))
    assert env.observation_size == {"pixels/view_0": (8, 8, 3), "state": (2,)}
    pixels = state.pipeline_state.obs["pixels"]  # pyright: ignore[reportOptionalMemberAccess]
    np.testing.assert_allclose(state.obs["pixels/view_0"] * 255, pixels, atol=1e-4)
    assert state.obs["pixels/view_0"].dtype == state.done.dtype == jnp.float32
    assert (env.action_size, env.dt, env.backend) == (1, 0.1, "ProbePhysics")
    image = env.render(state, 12, 16)
    assert image.shape == (12, 16, 3)
    for given in (state, state.pipeline_state):  # Brax's own `render` takes the latter
        (same,) = env.render([given], 12, 16)
        np.testing.assert_array_equal(same, image)
        same[:] = 0  # which the caller may draw on
    assert as_brax(short_env(outputs=())).observation_size == 2


def test_termination_is_not_truncation():
    states = _rollout(training.wrap(as_brax(short_env(terminates_at=2)), episode_length=5), 2)
    assert (states[2].done[0], states[2].info["truncation"][0]) == (1, 0)


def test_its_own_time_limit_is_told_on_request():
    states = _rollout(training.VmapWrapper(as_brax(short_env(), time_limit=True)), 3)
    assert [(s.done[0].item(), s.info["time_out"][0].item()) for s in states] == [(0, 0), (0, 0), (0, 0), (1, 1)]


def test_termination_is_no_time_out_either():
    """On which `bootstrap_on_timeout` would count on rewards after it."""
    states = _rollout(training.VmapWrapper(as_brax(short_env(terminates_at=2), time_limit=True)), 2)
    assert [(s.done[0].item(), s.info["time_out"][0].item()) for s in states] == [(0, 0), (0, 0), (1, 0)]


@pytest.mark.parametrize("full_reset", [False, True])
def test_playgrounds_wrapper_times_and_resets_it(full_reset):
    env = _wrapper().wrap_for_brax_training(as_playground(short_env()), episode_length=3, full_reset=full_reset)
    states = _rollout(env, 4)
    assert [state.reward[0].item() for state in states] == [0, 1, 2, 3, 1]
    assert states[3].done.tolist() == [1, 1]
    again = np.array_equal(states[3].obs["pixels/view_0"], states[0].obs["pixels/view_0"])
    assert again is not full_reset  # a fresh start for each episode only then
    one = jax.tree.map(lambda x: x[0], states[1])
    assert env.render(one, 12, 16).shape == (12, 16, 3)
    assert len(env.render([one, one])) == 2
    sizes: Any = env.observation_size
    assert (env.dt, env.action_size, sizes["pixels/view_0"]) == (0.1, 1, (8, 8, 3))


def test_playground_sees_the_model_of_mjx():
    env = as_playground("dmc/cartpole_balance", outputs=())
    assert env.mj_model.nq == env.mjx_model.nq == 2
    assert env.n_substeps * env.sim_dt == pytest.approx(env.dt)
    assert env.xml_path == ""


@pytest.mark.full
@pytest.mark.parametrize("library", ["brax", "playground"])
def test_braxs_ppo_learns_from_pixels(library, monkeypatch):
    """The side of the picture that the ball is on tells which action pays: at random 5 of 10 do."""

    def replicated(tree, devices):  # Brax 0.14.2 calls it, and JAX 0.10 has it no longer
        return jax.tree.map(lambda x: jnp.stack([jnp.asarray(x)] * len(devices)), tree)

    monkeypatch.setattr(jax, "device_put_replicated", replicated, raising=False)
    from brax.training.agents.ppo import networks_vision
    from brax.training.agents.ppo import train as ppo

    make, wrap = {"brax": (as_brax, None), "playground": (as_playground, _wrapper().wrap_for_brax_training)}[library]
    networks = functools.partial(
        networks_vision.make_ppo_networks_vision,
        cnn_output_channels=(8, 16, 16),
        cnn_padding="SAME",
        policy_hidden_layer_sizes=(32,),
        value_hidden_layer_sizes=(32,),
    )
    returns = []
    ppo.train(
        make(short_env(pays_side=True, image_size=16)),
        num_timesteps=15_000,
        max_devices_per_host=1,
        vision=True,
        wrap_env_fn=wrap,
        num_envs=64,
        episode_length=10,
        unroll_length=10,
        batch_size=64,
        num_minibatches=4,
        num_updates_per_batch=4,
        learning_rate=1e-3,
        discounting=0.5,
        network_factory=networks,  # pyright: ignore[reportArgumentType]
        num_evals=2,
        num_eval_envs=32,
        progress_fn=lambda _, metrics: returns.append(metrics["eval/episode_reward"]),
    )
    assert returns[-1] > 9


@pytest.mark.parametrize("make", [as_brax, as_playground])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"env": "halfcheetah", "autoreset": "next_step"}, "autoreset is not a setting here"),
        ({"env": "halfcheetah", "episode_length": 200}, "episode_length is not a setting here: Brax's wrappers"),
        ({"env": "halfcheeta"}, "did you mean halfcheetah"),
        ({"env": short_env(outputs=("pixels", "depth")), "obs_keys": "depth"}, "obs_keys has 'depth'"),
        ({"env": short_env(channels_first=True)}, "channels_first: networks of Brax's"),
        ({"env": short_env(), "time_limit": 3}, "time_limit is 3"),
        ({"env": short_env(), "timelimit": True}, "has no setting 'timelimit': did you mean time_limit"),
    ],
)
def test_mistakes_are_told(make, settings, message):
    with pytest.raises(ConfigError, match=message):
        make(**settings)


def test_the_trainers_own_randomization_is_refused():
    with pytest.raises(ConfigError, match="randomization_fn to as_brax"):
        training.wrap(as_brax(short_env()), randomization_fn=lambda sys: (sys, sys))
    wrapped = _wrapper().BraxDomainRandomizationVmapWrapper(as_playground(short_env()), lambda model: (model, model))
    with pytest.raises(ConfigError, match="randomization_fn to as_playground"):
        wrapped.reset(jax.random.split(jax.random.PRNGKey(0), 2))


def test_what_is_not_there_is_not_an_attribute():
    for env, name in ((as_brax(short_env()), "sys"), (as_playground(short_env()), "_mjx_model")):
        assert not hasattr(env, name)
    with pytest.raises(ConfigError, match=r"Gym wrappers, .*, take pixelbrax.adapters.gymnasium"):
        _brax().sys  # noqa: B018


def test_depth_is_left_out_unless_it_is_asked_for():
    assert set(as_brax(short_env(outputs=("pixels", "depth"))).observation_size) == {"pixels/view_0"}
    both = as_brax(short_env(camera={"near": CAMERA, "far": CAMERA}))
    assert set(both.observation_size) == {"pixels/view_0", "pixels/view_1"}


def test_options_of_mujocos_renderer_are_refused():
    env = as_playground(short_env())
    with pytest.raises(ConfigError, match="no options of MuJoCo's renderer"):
        env.render(env.reset(jax.random.key(0)), 12, 16, "side")
    with pytest.raises(ConfigError, match="render cannot choose camera 'side'"):
        _brax().render([], 12, 16, "side")
