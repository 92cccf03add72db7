"""Analytic policy gradients: the derivative is that of the return, and stays with its environment."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.algorithms import APG
from pixelbrax.envs import PixelEnv, soft_image
from pixelbrax.errors import ConfigError
from pixelbrax.learning import SoftFrames, isolated
from pixelbrax.networks import NetworkConfig, actor_params
from tests.algorithms.agents import CONFIGS, make_agent, train
from tests.probe import CAMERA, ProbePhysics, probe_env


def _pushed(outputs=(), **settings):
    chosen: dict[str, Any] = {"episode_length": 10} | settings
    return probe_env(pushed=True, outputs=outputs, frame_stack=2, **chosen)


def _program(agent):
    return jax.jit(agent.init), jax.jit(agent.update)


@pytest.mark.parametrize(("outputs", "updates"), [((), 60), pytest.param(("pixels",), 100, marks=pytest.mark.full)])
def test_learns_to_push_the_ball_to_the_middle(outputs, updates):
    """From states and from pixels, through which no gradient flows; again to the bit."""
    agent = make_agent("apg", _pushed(outputs), updates)
    program = _program(agent)
    state, history = train(program, updates)
    first, last = (sum(float(e.episode_return) for _, e in part) for part in (history[:10], history[-10:]))
    counts = [sum(int(e.count) for _, e in part) for part in (history[:10], history[-10:])]
    assert last / counts[1] > 0.5 * first / counts[0], "returns are negative: half the cost is left at most"
    assert all(np.isfinite(value) for value in history[-1][0].values())
    one, two = (jax.tree.leaves(train(program, 3)[0].params) for _ in range(2))
    assert all((a == b).all() for a, b in zip(one, two, strict=True))
    mode = agent.policy(state.params, state.statistics, state.envs.obs).mode()[:, 0]
    x = state.envs.obs["state"][:, 0]
    far = jnp.abs(x) > 0.3
    assert (jnp.sign(mode) == -jnp.sign(x))[far].all()


def test_the_gradient_is_that_of_the_return():
    """Against finite differences of the horizon's return, over ends of episodes."""
    agent = make_agent("apg", _pushed(episode_length=5), unroll_length=8, discount=0.9)
    state = jax.jit(agent.init)(jax.random.key(0))
    part = actor_params(state.params["network"])

    @jax.jit
    def objective(bias):
        policy = part["policy"] | {"bias": bias}
        return agent._unroll(state, part | {"policy": policy}, jax.random.key(1))[0]

    bias = part["policy"]["bias"]
    wanted = (objective(bias + 1e-2) - objective(bias - 1e-2)) / 2e-2
    np.testing.assert_allclose(jax.jit(jax.grad(objective))(bias).sum(), wanted, rtol=2e-2)


@pytest.mark.full
def test_the_bonus_is_for_entropy():
    last = []
    for weight in (0.0, 1.0):
        _, history = train(_program(make_agent("apg", _pushed(), 10, entropy_coef=weight)), 10)
        last.append(history[-1][0]["entropy"])
    assert last[1] > last[0] + 0.02


def _value_and_gradient(agent, state):
    part = actor_params(state.params["network"])
    return jax.jit(jax.value_and_grad(lambda part: agent._unroll(state, part, jax.random.key(1))[0]))(part)


def _flat_image(env, state, softness):
    """An image as simple as one can be: its brightness is where the ball is."""
    assert softness == 1.5
    return jnp.full((*env.images.shape, 3), 0.5 + state.physics.obs[0] / 8)


@pytest.mark.full
@pytest.mark.parametrize("drawn", [_flat_image, soft_image])
def test_a_gradient_through_the_picture(drawn, monkeypatch):
    """The policy sees the same images to the bit; the derivative is another."""
    monkeypatch.setattr("pixelbrax.learning.soft_frames.soft_image", drawn)
    env = _pushed(("pixels",), image_size=16, episode_length=5)
    agents = [make_agent("apg", env, unroll_length=8, render_gradient=kind) for kind in ("none", "pixels")]
    state = jax.jit(agents[0].init)(jax.random.key(0))
    (constant, past), (seen, through) = (_value_and_gradient(agent, state) for agent in agents)
    np.testing.assert_allclose(constant, seen, rtol=1e-6)
    assert all(jnp.isfinite(x).all() for x in jax.tree.leaves(through))
    differ = [float(jnp.abs(a - b).max()) for a, b in zip(*map(jax.tree.leaves, (past, through)), strict=True)]
    assert max(differ) > 1e-6


@pytest.mark.full
def test_the_gradient_of_a_stack_is_that_of_its_frames(monkeypatch):
    """Of every frame by its place in the stack, and of no other episode."""
    monkeypatch.setattr("pixelbrax.learning.soft_frames.soft_image", _flat_image)
    env = _pushed(("pixels",), image_size=16, episode_length=3)
    frames = SoftFrames(env, 1.5)
    weights = jax.random.normal(jax.random.key(1), (1, *env.observation_spec["pixels"].shape))

    def loss(actions):
        states = [jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 1))]
        stack = frames.begin(states[0])
        for action in actions:
            states.append(jax.vmap(env.step)(states[-1], action[None, None]))
            stack = frames.add(stack, *states[-2:])
        pixels = frames.observed(states[-1], stack)["pixels"]
        return (pixels * weights).sum() / 255, (pixels == states[-1].obs["pixels"]).all()

    gradient = jax.jit(jax.grad(loss, has_aux=True))
    older, newest = weights[..., :3].sum(), weights[..., 3:].sum()
    found, same = gradient(jnp.array([0.5, -0.3]))  # a push of 0.1 moves the ball in this frame and all later ones
    np.testing.assert_allclose(found, [0.1 / 8 * (older + newest), 0.1 / 8 * newest], rtol=1e-4)
    assert same
    found, same = gradient(jnp.array([0.5, -0.3, 0.2, 0.1]))  # the third ends the episode, the fourth resets
    assert same
    assert (found == 0).all()


def test_a_separate_critic_is_refused():
    with pytest.raises(ConfigError, match="apg has no critic=separate"):
        make_agent("apg", probe_env(pushed=True, outputs=()), critic="separate")


def test_a_gradient_through_black_pictures_is_refused():
    config = replace(CONFIGS["apg"], render_gradient="pixels")
    with pytest.raises(ConfigError, match=r"no effect with black images \(blind\)"):
        APG(probe_env(pushed=True), NetworkConfig(blind=True), config, 1)


def test_minibatches_that_do_not_divide_the_environments():
    with pytest.raises(ConfigError, match="critic_minibatches 4 does not divide num_envs 6: use 4 environments"):
        make_agent("apg", probe_env(pushed=True, outputs=()), num_envs=6)


def test_pixels_without_pixels():
    with pytest.raises(ConfigError, match="render_gradient"):
        make_agent("apg", _pushed(), render_gradient="pixels")


class _OneBlowsUp(ProbePhysics):
    """Pushed; the derivative of the second frame is not finite where the ball began on the left."""

    def __init__(self):
        super().__init__(pushed=True)

    def step(self, state, action):
        after = super().step(state, action)
        key, frames, x = after.engine_state
        bad = (frames == 2) & (x < 0)
        root = jnp.sqrt(jnp.where(bad, 0.0 * x, 1.0 + 0.0 * x))  # its derivative at 0 is infinite, times 0
        return replace(after, reward=after.reward + root - jnp.where(bad, 0.0, 1.0), engine_state=(key, frames, x))


@pytest.mark.full
def test_an_environment_that_blows_up_touches_no_other():
    env = PixelEnv(_OneBlowsUp(), CAMERA, outputs=(), episode_length=10)
    agent = make_agent("apg", env, unroll_length=6)
    state = jax.jit(agent.init)(jax.random.key(0))
    grads = _value_and_gradient(agent, state)[1]
    assert all(jnp.isfinite(x).all() for x in jax.tree.leaves(grads))
    assert any((x != 0).any() for x in jax.tree.leaves(grads))
    after, *_ = jax.jit(agent.update)(state)
    assert all(jnp.isfinite(x).all() for x in jax.tree.leaves(after.params))


def test_isolation():
    """Rows whose gradient is not finite get zeros, all others their own; values and other types pass."""

    def loss(x):
        one = lambda row: (lambda y: jnp.sqrt(y[0]["a"]).sum() + y[1])(isolated(({"a": row}, jnp.int32(3))))  # noqa: E731
        return jax.vmap(one)(x).sum()

    x = jnp.array([[1.0, 4.0], [0.0, 4.0], [9.0, 16.0]])
    assert loss(x) == 1 + 2 + 0 + 2 + 3 + 4 + 9
    np.testing.assert_allclose(jax.grad(loss)(x), [[0.5, 0.25], [0, 0], [1 / 6, 0.125]], rtol=1e-6)
    # The square of 1e25 would be infinite in the norm to which the gradients of all are clipped.
    steep = jax.grad(lambda x: (jax.vmap(isolated)(x) * jnp.array([1.0, 1e25])[:, None]).sum())(x[:2])
    np.testing.assert_array_equal(steep, [[1, 1], [0, 0]])


def test_truncation_bootstraps_and_termination_does_not():
    from tests.algorithms.test_probes import _env, _Fate

    agent = make_agent("apg", _env(_Fate(), episode_length=2, image_size=16, frame_stack=1), 60, discount=0.8)
    state, _ = train(_program(agent), 60)
    value = agent._value(state, state.params["target"], state.envs.obs["state"])
    left, running = state.envs.obs["state"][:, 0] < 0, ~state.envs.done
    assert abs(value[left & running].mean() - 1.0) < 0.4
    assert abs(value[~left].mean() - 1 / (1 - 0.8)) < 0.8


@pytest.mark.parametrize("settings", [{"episode_length": 3}, {"terminates_at": 3}])
def test_the_actors_return_is_that_of_its_definition(settings):
    """Each episode's discounted rewards in the horizon, and the target critic's value where it is cut off."""
    agent: Any = make_agent("apg", _pushed(**settings), num_envs=4, unroll_length=7, discount=0.9)
    state = agent.init(jax.random.key(0))
    found, _, seen = jax.jit(agent._unroll)(state, actor_params(state.params["network"]), jax.random.key(1))
    states = jnp.concatenate([seen.state, seen.envs.obs["state"][None]])
    value, total = agent._value(state, state.params["target"], states), 0.0
    for env in range(4):
        factor = 1.0
        for t in range(7):
            total += factor * seen.reward[t, env]
            factor = 0.9 * factor if seen.valid[t, env] else 1.0
            is_cut = seen.truncated[t, env] or (t == 6 and not seen.terminated[t, env])
            total += factor * value[t + 1, env] if is_cut else 0.0
    np.testing.assert_allclose(found, total / 4 / 7, rtol=1e-4)
