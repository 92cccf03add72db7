"""Gradients through TorchRL's interface, against closed forms, JAX and finite differences."""

import functools
import resource

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.render import render
from tests.probe import short_env

torch = pytest.importorskip("torch")
pytest.importorskip("torchrl")

from tensordict.nn import TensorDictModule  # noqa: E402
from torchrl.envs import check_env_specs  # noqa: E402

from pixelbrax.adapters.torchrl import PixelBraxEnv, PixelBraxWrapper  # noqa: E402

pytestmark = pytest.mark.usefixtures("probe_tasks")
_pixel_env = functools.cache(short_env)


@functools.cache
def _pushed(from_pixels=True):
    env = _pixel_env(pushed=True, episode_length=100, outputs=(), image_size=32)
    return PixelBraxWrapper(env, batch_size=(2,), requires_grad=True, from_pixels=from_pixels, soft=3.0)


def _policy(weight):
    return TensorDictModule(lambda obs: torch.tanh(obs[..., :1] * weight), ["observation"], ["action"])


def test_gradients_through_the_physics_are_those_of_the_closed_form():
    """The ball moves by a tenth of tanh(w x) and the reward is -x^2: PyTorch differentiates that by itself."""
    env = _pushed(from_pixels=False)
    env.set_seed(0)
    weight = torch.tensor(0.7, requires_grad=True)
    steps = env.rollout(8, _policy(weight), break_when_any_done=False)
    loss = steps["next", "reward"].sum() + steps["next", "observation"][..., 0].sum()
    loss.backward()
    again = torch.tensor(0.7, requires_grad=True)
    x, expected = steps["observation"][:, 0, 0].detach(), torch.zeros(())
    for _ in range(8):
        x = x + 0.1 * torch.tanh(x * again)
        expected = expected + (x - x**2).sum()
    expected.backward()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(weight.grad, again.grad)


def _ramp_loss(weight):
    """How bright the right half of four images is, and the left half dark."""
    _pushed().set_seed(0)
    steps = _pushed().rollout(4, _policy(weight), break_when_any_done=False)
    return (steps["next", "pixels"] * torch.linspace(-1.0, 1.0, 32)[:, None]).sum()


def _ramp_gradient():
    weight = torch.tensor(0.7, requires_grad=True)
    _ramp_loss(weight).backward()
    return weight.grad


@pytest.mark.full
def test_gradients_through_pixels_are_those_of_finite_differences():
    with torch.no_grad():
        differences = (_ramp_loss(torch.tensor(0.71)) - _ramp_loss(torch.tensor(0.69))) / 0.02
    torch.testing.assert_close(_ramp_gradient(), differences, rtol=2e-3, atol=0.0)


@pytest.mark.full
def test_gradients_through_pixels_are_those_of_jax():
    env = _pushed().pixel_env

    def loss(weight):
        def step(state, _):
            state = env.step(state, jnp.tanh(state.obs["state"][:1] * weight))
            color = render(*env.render_inputs(state), 32, 32, ("color",), soft=3.0).color
            return state, jnp.sum(color * jnp.linspace(-1.0, 1.0, 32)[:, None])

        states = jax.vmap(env.reset)(jnp.array([jax.random.key(0), jax.random.key(1)]))
        return jnp.sum(jax.vmap(lambda state: jax.lax.scan(step, state, None, length=4)[1])(states))

    np.testing.assert_allclose(_ramp_gradient(), jax.jit(jax.grad(loss))(0.7), rtol=1e-4)


def test_gradients_reach_the_first_state_and_stop_at_a_reset():
    env = _pushed(from_pixels=False)
    env.set_seed(0)
    start = env.reset()
    x = start["state", "physics.engine_state.2"].requires_grad_()
    start["action"] = torch.full((2, 1), 0.5, requires_grad=True)
    first = env.step(start)["next"]
    reset = env.reset(first.exclude("reward").set("_reset", torch.tensor([[True], [False]])))
    reset["action"] = torch.zeros(2, 1)
    env.step(reset)["next", "reward"].sum().backward()
    after = first["observation"][1, 0].item()
    torch.testing.assert_close(x.grad, torch.tensor([0.0, -2 * after]))
    torch.testing.assert_close(start["action"].grad, torch.tensor([[0.0], [-0.2 * after]]))


def test_an_environment_that_diverges_leaves_the_gradients_of_others():
    env = PixelBraxWrapper(_pixel_env(pushed=True, diverges_at=2, outputs=()), batch_size=(2,), requires_grad=True)
    env.set_seed(0)
    frames = env.reset()
    frames["state", "physics.engine_state.1"][0] = 1  # the first environment is a frame ahead
    frames["action"] = torch.full((2, 1), 0.5, requires_grad=True)
    after = env.step(frames)["next"]
    assert after["terminated"].flatten().tolist() == [True, False]
    after["reward"].sum().backward()
    expected = -0.2 * after["observation"][1, 0].item()
    torch.testing.assert_close(frames["action"].grad, torch.tensor([[0.0], [expected]]))


@pytest.mark.full
def test_gradients_go_with_other_settings():
    """Images alone, with channels first and a distractor of the scene; a tensordict without states is refused."""
    distracted = _pixel_env(pushed=True, distractors="dcs/camera-easy", channels_first=True)
    env = PixelBraxWrapper(distracted, requires_grad=True, pixels_only=True, pixels_key="image")
    check_env_specs(env)
    start = env.reset()
    assert set(start.keys()) == {"image", "state", "done", "terminated", "truncated"}
    assert start["image"].shape == (3, 8, 8)
    assert PixelBraxEnv("probe/sides", from_pixels=True, requires_grad=True, distractors="dcs/camera-easy") is not None
    start["action"] = torch.zeros(1)
    with pytest.raises(ConfigError, match="steps from the entry 'state'"):
        env.step(start.exclude("state"))


@pytest.mark.full
def test_gradients_through_brax_are_those_of_jax_and_of_finite_differences():
    env = PixelBraxEnv("inverted_pendulum", backend="spring", batch_size=[2], requires_grad=True)
    weight = torch.tensor([0.3, -0.2, 0.5, 0.1], requires_grad=True)

    def loss(weight):
        env.set_seed(3)
        policy = TensorDictModule(lambda obs: torch.tanh(obs @ weight)[:, None], ["observation"], ["action"])
        return env.rollout(5, policy, break_when_any_done=False)["next", "observation"].square().sum()

    loss(weight).backward()
    for i in range(4):
        step = 1e-2 * torch.eye(4)[i]
        with torch.no_grad():
            differences = (loss(weight + step) - loss(weight - step)) / 2e-2
        torch.testing.assert_close(weight.grad[i], differences, rtol=5e-3, atol=1e-3)

    def in_jax(weight):
        def step(state, _):
            state = env.pixel_env.step(state, jnp.tanh(state.obs["state"] @ weight)[None])
            return state, jnp.sum(state.obs["state"] ** 2)

        states = jax.vmap(env.pixel_env.reset)(jnp.array([jax.random.key(3), jax.random.key(4)]))
        return jnp.sum(jax.vmap(lambda state: jax.lax.scan(step, state, None, length=5)[1])(states))

    np.testing.assert_allclose(weight.grad, jax.jit(jax.grad(in_jax))(jnp.array([0.3, -0.2, 0.5, 0.1])), rtol=1e-3)


def test_memory_does_not_grow_with_steps():
    env = _pushed(from_pixels=False)
    weight = torch.tensor(0.7, requires_grad=True)

    def train(steps):
        for _ in range(steps // 10):
            env.rollout(10, _policy(weight), break_when_any_done=False)["next", "reward"].sum().backward()

    train(50)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    train(200)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB
