"""Laws that hold whatever the engine: environments add nothing to the physics and lose nothing of it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pixelbrax
from pixelbrax.envs import EnvParams, PixelEnv
from pixelbrax.learning.acting import collect
from pixelbrax.learning.returns import gae
from pixelbrax.networks import PolicyValue, TanhNormal
from pixelbrax.physics.brax import brax_envs
from pixelbrax.render import render
from tests.probe import CAMERA, ProbePhysics, probe_env

pytestmark = pytest.mark.filterwarnings("ignore:Brax System")
FULL = pytest.mark.full


def _brax(name, backend):
    return brax_envs.get_environment(name, backend=backend)


def _playground(name):
    from mujoco_playground import dm_control_suite

    return dm_control_suite.load(name, config_overrides={"impl": "jax"})


@pytest.mark.parametrize(
    ("name", "backend", "load"),
    [
        ("inverted_pendulum", "spring", lambda: _brax("inverted_pendulum", "spring")),
        pytest.param("halfcheetah", "spring", lambda: _brax("halfcheetah", "spring"), marks=FULL),
        pytest.param("reacher", "generalized", lambda: _brax("reacher", "generalized"), marks=FULL),
        pytest.param("dmc/pendulum_swingup", "jax", lambda: _playground("PendulumSwingup"), marks=FULL),
    ],
)
def test_states_and_rewards_are_the_engines_own_k_at_a_time(name, backend, load):
    repeat, steps = 3, 4
    env, unwrapped = pixelbrax.make(name, backend, action_repeat=repeat, outputs=()), load()
    key = jax.random.PRNGKey(4)
    actions = jax.random.uniform(jax.random.key(5), (steps, env.action_size), minval=-1, maxval=1)

    @jax.jit
    def ours(key):
        def step(state, action):
            state = env.step(state, action)
            return state, (state.obs["state"], state.reward, state.metrics["episode_return"])

        return jax.lax.scan(step, env.reset(key), actions)[1]

    their_step = jax.jit(unwrapped.step)
    state = jax.jit(unwrapped.reset)(jax.random.split(key)[0])  # an episode is drawn of the first half of its key
    obs, reward, episode_return = ours(key)
    total = 0.0
    for t in range(steps):
        paid = 0.0
        for _ in range(repeat):
            state = their_step(state, actions[t])
            paid += float(state.reward)
        total += paid
        np.testing.assert_allclose(obs[t], state.obs, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(reward[t], paid, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(episode_return[t], total, rtol=1e-3, atol=1e-3)


def test_advantages_equal_returns_summed_by_hand_over_recorded_episodes():
    env = probe_env(terminates_at=7, image_size=8, frame_stack=1)
    lengths = jnp.array([5, 9, 4, 10, 6, 8])  # some episodes are truncated, others terminate before

    def policy(obs):
        mean = obs["pixels"].astype(jnp.float32).mean((1, 2, 3))
        spread = jnp.full((len(mean), env.action_size), 1.0)
        return PolicyValue(TanhNormal(jnp.zeros_like(spread), spread), jnp.sin(mean), mean[:, None])

    @jax.jit
    def record(key):
        reset_key, act_key = jax.random.split(key)
        state = env.with_params(jax.vmap(env.reset)(jax.random.split(reset_key, 6)), EnvParams(episode_length=lengths))
        state, rollout, _ = collect(env, policy, ("pixels",), state, act_key, 30)
        return rollout, policy(state.obs).value

    rollout, last_value = jax.tree.map(np.asarray, record(jax.random.key(0)))
    assert rollout.terminated.any(), "some terminate"
    assert rollout.truncated.any(), "some are truncated"
    discount, trace = 0.9, 0.7
    taken = (rollout.reward, rollout.value, rollout.next_value, rollout.terminated, rollout.truncated)
    advantage, monte_carlo = (_gae(taken, discount, each) for each in (trace, 1.0))
    value = np.concatenate([rollout.value, last_value[None]])
    for row in range(6):
        for t in range(30):
            if not rollout.valid[t, row]:
                continue
            expected = expected_return = 0.0
            for k in range(t, 30):  # to the episode's end, or the recording's
                ended = rollout.terminated[k, row], rollout.truncated[k, row]
                following = 0.0 if ended[0] else value[k + 1, row]
                delta = rollout.reward[k, row] + discount * following - value[k, row]
                expected += (discount * trace) ** (k - t) * delta
                expected_return += discount ** (k - t) * rollout.reward[k, row]
                if any(ended) or k == 29:
                    expected_return += discount ** (k - t + 1) * following
                    break
            np.testing.assert_allclose(advantage[t, row], expected, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(monte_carlo[t, row] + value[t, row], expected_return, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "make",
    [
        lambda **settings: probe_env(distractors=["dcs/camera-hard", "kage/gaussian-noise"], **settings),
        pytest.param(lambda **settings: probe_env(distractors="dcs/hard", **settings), marks=FULL),
        pytest.param(lambda **settings: probe_env(distractors="new/everything", **settings), marks=FULL),
        pytest.param(lambda **settings: pixelbrax.make("inverted_pendulum", "spring", **settings), marks=FULL),
    ],
    ids=["probe", "probe under videos", "probe under everything", "inverted_pendulum"],
)
def test_a_recorded_trajectory_replays_to_the_bit_and_batches_change_nothing(make):
    env = make(image_size=16, frame_stack=2, episode_length=6)
    num_envs, steps = 64, 8  # the reset at the sixth step included
    keys = jax.random.split(jax.random.key(7), num_envs)
    reset, step = jax.jit(jax.vmap(env.reset)), jax.jit(jax.vmap(env.step))

    def play(keys, actions):
        states = [reset(keys)]
        for action in actions:
            states.append(step(states[-1], action))
        return states

    actions = jax.random.uniform(jax.random.key(8), (steps, num_envs, env.action_size), minval=-1, maxval=1)
    first, again = play(keys, actions), play(keys, actions)
    for a, b in zip(first, again, strict=True):
        jax.tree.map(np.testing.assert_array_equal, _numbers(a), _numbers(b))
    alone = play(keys[5:6], actions[:, 5:6])
    for state, batch in zip(alone, first, strict=True):
        np.testing.assert_allclose(state.obs["state"][0], batch.obs["state"][5], rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(state.reward[0], batch.reward[5], rtol=1e-3, atol=1e-3)
        np.testing.assert_array_equal(state.done[0], batch.done[5])
        jax.tree.map(
            np.testing.assert_array_equal,
            *(jax.random.key_data(s.info["key"][i : i + 1]) for s, i in ((state, 0), (batch, 5))),
        )


def _numbers(state):
    return jax.tree.map(lambda x: jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x, state)


@pytest.mark.full  # `make test` has gradients through physics and renderer, below
@pytest.mark.parametrize("backend", ["spring", "positional", "generalized"])
def test_summed_rewards_have_gradients(backend):
    env = pixelbrax.make("reacher", backend, image_size=8, frame_stack=1)
    state = jax.jit(env.reset)(jax.random.key(0))

    @jax.jit
    def total(actions):
        def step(state, action):
            state = env.step(state, action)
            return state, state.reward

        return jax.lax.scan(step, state, actions)[1].sum()

    actions = jnp.full((4, env.action_size), 0.3)
    gradient = np.asarray(jax.jit(jax.grad(total))(actions))
    assert np.isfinite(gradient).all()
    direction = np.ones_like(actions) / np.sqrt(actions.size)
    slope = (total(actions + 0.02 * direction) - total(actions - 0.02 * direction)) / 0.04
    np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=0.05, atol=1e-3)


class _Pushed(ProbePhysics):
    """A ball that its action moves."""

    def step(self, state, action):
        key, frames, x = state.engine_state
        return self._state(key, frames + 1, x + 0.1 * action[0], x)


def _pushed(**settings):
    return PixelEnv(_Pushed(), CAMERA, **settings)


@pytest.mark.parametrize(
    ("make", "by"),
    [
        (_pushed, 0.05),
        pytest.param(lambda **settings: pixelbrax.make("inverted_pendulum", "spring", **settings), 0.004, marks=FULL),
    ],
    ids=["probe", "inverted_pendulum"],
)
def test_a_loss_on_pixels_has_gradients_through_physics_and_renderer(make, by):
    env = make(image_size=24, frame_stack=1, action_repeat=8)
    state = jax.jit(env.reset)(jax.random.key(0))

    @jax.jit
    @jax.value_and_grad
    def loss(action):
        after = env.step(state, action)
        scene, pose, camera = env.render_inputs(after)
        frame = render(scene, pose, camera, 24, 24, ("color",), soft=2.0)
        across = jnp.linspace(-1, 1, 24)[None, :, None]
        return jnp.mean(frame.color * across)

    action = jnp.full((1,), 0.2)
    gradient = float(loss(action)[1][0])
    slope = float(loss(action + by)[0] - loss(action - by)[0]) / (2 * by)
    assert np.isfinite(gradient)
    assert abs(slope) > 1e-6, "the body moves in the image"
    np.testing.assert_allclose(gradient, slope, rtol=0.2)


def _gae(taken, discount, trace):
    reward, value, next_value, terminated, truncated = (jnp.asarray(x) for x in taken)
    return gae(reward, value, next_value, terminated, truncated, discount, trace)
