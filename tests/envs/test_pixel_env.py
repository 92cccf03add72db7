"""Episodes at their boundaries, on an engine whose numbers are known."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.envs import PixelEnv, observe, pixel_env
from pixelbrax.errors import ConfigError
from pixelbrax.physics import is_sound
from pixelbrax.render import look_at
from pixelbrax.tasks import CameraSpec
from tests.probe import CAMERA, ProbePhysics, probe_env

ACTION = jnp.zeros(1)


def _episode(env, key, num_steps, action=ACTION):
    """States 0 to num_steps, stacked."""

    def step(state, _):
        state = env.step(state, action)
        return state, state

    @jax.jit
    def rollout(key):
        first = env.reset(key)
        _, states = jax.lax.scan(step, first, None, length=num_steps)
        return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, states)

    return rollout(key)


def test_specs(strict):
    env = probe_env(image_size=16, frame_stack=2)
    state = env.reset(jax.random.key(0))
    assert {name: (spec.shape, spec.dtype) for name, spec in env.observation_spec.items()} == {
        "pixels": ((16, 16, 6), jnp.uint8),
        "state": ((2,), jnp.float32),
    }
    shapes = jax.tree.map(lambda x: (x.shape, x.dtype), state)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), env.step(state, ACTION)) == shapes


def test_truncation_at_the_exact_step_and_next_step_autoreset(strict):
    env = probe_env(episode_length=4)
    states = _episode(env, jax.random.key(0), 10)
    np.testing.assert_array_equal(states.truncated, [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0])
    assert not states.terminated.any()
    np.testing.assert_array_equal(states.reward, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0])
    np.testing.assert_array_equal(states.metrics["episode_return"], [0, 1, 3, 6, 10, 0, 1, 3, 6, 10, 0])
    np.testing.assert_array_equal(states.metrics["episode_length"], [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0])
    starts = states.obs["state"][np.array([0, 5, 10]), 0]
    assert len(np.unique(starts)) == 3, "each episode starts from a freshly drawn state"
    # The image in which an episode ends is that state's own, not the next episode's.
    one = jax.vmap(lambda s: env.render(s, 16, 16))(states)
    np.testing.assert_array_equal(states.obs["pixels"][..., -3:], one)


def test_termination_is_apart_from_truncation(strict):
    states = _episode(probe_env(terminates_at=3, episode_length=5, outputs=()), jax.random.key(0), 8)
    np.testing.assert_array_equal(states.terminated, [0, 0, 0, 1, 0, 0, 0, 1, 0])
    assert not states.truncated.any()
    # Both at once is a termination.
    states = _episode(probe_env(terminates_at=3, episode_length=3, outputs=()), jax.random.key(0), 3)
    assert bool(states.terminated[-1])
    assert not bool(states.truncated[-1])


def test_every_key_is_used_once(monkeypatch):
    """One to draw an episode's start, one for its model, and one for the next episode, which draws of that likewise."""
    env, key, drawn = probe_env(outputs=()), jax.random.key(0), []
    first = pixel_env.first_state
    monkeypatch.setattr(pixel_env, "first_state", lambda engine, key: drawn.append(key) or first(engine, key))
    monkeypatch.setattr(env._randomizer, "sample", lambda key: drawn.append(key) or {})
    for _ in range(3):
        drawn.append(key)
        key = env._start(key, env.default_params).info["key"]
    assert len({tuple(jax.random.key_data(each).tolist()) for each in drawn}) == 9


def test_frame_stacks_never_mix_episodes(strict):
    env = probe_env(episode_length=4)
    pixels = np.asarray(_episode(env, jax.random.key(1), 9).obs["pixels"])
    frames = pixels[..., -3:]
    for t, oldest in ((0, 0), (1, 0), (2, 0), (3, 1), (4, 2), (5, 5), (6, 5), (7, 5), (8, 6)):
        middle = max(oldest, t - 1)
        np.testing.assert_array_equal(pixels[t], np.concatenate([frames[oldest], frames[middle], frames[t]], -1))
    assert (frames[0] != frames[1]).any(), "the ball moves"


def test_action_repeat_sums_rewards_and_stops_at_the_end(strict):
    states = _episode(probe_env(action_repeat=3, episode_length=7, outputs=()), jax.random.key(0), 4)
    np.testing.assert_array_equal(states.reward, [0, 1 + 2 + 3, 4 + 5 + 6, 7, 0])
    np.testing.assert_array_equal(states.metrics["episode_length"], [0, 3, 6, 7, 0])
    np.testing.assert_array_equal(states.truncated, [0, 0, 0, 1, 0])
    states = _episode(probe_env(terminates_at=5, action_repeat=3, outputs=()), jax.random.key(0), 3)
    np.testing.assert_array_equal(states.reward, [0, 6, 4 + 5, 0])
    np.testing.assert_array_equal(states.terminated, [0, 0, 1, 0])


def test_repeated_actions_equal_single_ones(strict):
    single = _episode(probe_env(episode_length=9), jax.random.key(2), 9)
    triple = _episode(probe_env(episode_length=9, action_repeat=3), jax.random.key(2), 3)
    np.testing.assert_array_equal(triple.obs["state"], single.obs["state"][::3])
    np.testing.assert_array_equal(triple.reward[1:], single.reward[1:].reshape(3, 3).sum(1))
    np.testing.assert_array_equal(triple.obs["pixels"][..., -3:], single.obs["pixels"][::3, ..., -3:])


def test_an_environments_stream_does_not_depend_on_its_batch(strict):
    env = probe_env(episode_length=3)
    keys = jax.random.split(jax.random.key(5), 40)

    def step(state, _):
        state = env.step(state, ACTION)
        return state, state

    def rollout(key):
        return jax.lax.scan(step, env.reset(key), None, length=8)[1]

    batch = jax.jit(jax.vmap(rollout))(keys)
    for i in (0, 39):
        alone = jax.jit(rollout)(keys[i])
        np.testing.assert_array_equal(batch.obs["state"][i], alone.obs["state"])
        np.testing.assert_array_equal(batch.truncated[i], alone.truncated)
        difference = batch.obs["pixels"][i].astype(int) - alone.obs["pixels"].astype(int)
        assert np.abs(difference).max() <= 1


def test_grayscale_is_the_luma_of_the_color_image(strict):
    color = probe_env(frame_stack=1).reset(jax.random.key(0)).obs["pixels"].astype(jnp.float32)
    gray = probe_env(frame_stack=1, grayscale=True).reset(jax.random.key(0)).obs["pixels"]
    assert gray.shape == (16, 16, 1)
    luma = jnp.tensordot(color, jnp.array([0.299, 0.587, 0.114]), axes=1)
    assert jnp.abs(gray[..., 0].astype(jnp.float32) - luma).max() < 1.5


def test_luma_is_rounded_to_the_nearest():
    rgb = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    exact = rgb @ np.array(observe.LUMA) / 256
    assert np.abs(observe._luminance(jnp.asarray(rgb))[..., 0] - exact).max() <= 0.5
    assert np.abs(exact - rgb @ np.array([0.299, 0.587, 0.114])).max() < 0.5


def test_same_step_autoreset_shows_both_episodes(strict):
    same = _episode(probe_env(episode_length=4, autoreset="same_step"), jax.random.key(0), 8)
    later = _episode(probe_env(episode_length=4), jax.random.key(0), 9)
    np.testing.assert_array_equal(same.truncated, [0, 0, 0, 0, 1, 0, 0, 0, 1])
    np.testing.assert_array_equal(same.reward, [0, 1, 2, 3, 4, 1, 2, 3, 4])
    np.testing.assert_array_equal(same.metrics["episode_return"], [0, 1, 3, 6, 10, 1, 3, 6, 10])
    np.testing.assert_array_equal(same.metrics["episode_length"], [0, 1, 2, 3, 4, 1, 2, 3, 4])
    for name in ("pixels", "state"):
        # Next-step autoreset shows the same episodes, with the last and the first state in two steps.
        np.testing.assert_array_equal(same.info["final_obs"][name][4], later.obs[name][4])
        np.testing.assert_array_equal(same.obs[name][4:8], later.obs[name][5:9])


def test_without_autoreset_an_episode_stays_at_its_end(strict):
    states = _episode(probe_env(episode_length=3, autoreset="disabled", outputs=()), jax.random.key(0), 5)
    np.testing.assert_array_equal(states.truncated, [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(states.reward, [0, 1, 2, 3, 0, 0])
    np.testing.assert_array_equal(states.metrics["episode_return"], [0, 1, 3, 6, 6, 6])
    np.testing.assert_array_equal(states.obs["state"][3], states.obs["state"][5])
    states = _episode(probe_env(terminates_at=2, autoreset="disabled", outputs=()), jax.random.key(0), 4)
    np.testing.assert_array_equal(states.terminated, [0, 0, 1, 1, 1])
    np.testing.assert_array_equal(states.reward, [0, 1, 2, 0, 0])


@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
def test_diverged_physics_ends_the_episode_and_poisons_nothing(strict, autoreset):
    states = _episode(probe_env(diverges_at=3, action_repeat=2, autoreset=autoreset), jax.random.key(0), 4)
    # Frame 3, the first of the second action, is dropped.
    np.testing.assert_array_equal(states.reward[:3], [0, 1 + 2, 0])
    np.testing.assert_array_equal(states.terminated[:3], [0, 0, 1])
    assert not states.truncated[:3].any(), "what follows is not worth what a value function expects"
    np.testing.assert_array_equal(states.metrics["diverged"][:3], [0, 0, 1])
    assert int(states.metrics["episode_length"][2]) == 2
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((states.obs, states.metrics, states.reward)))
    later = {"next_step": [0, 3], "same_step": [3, 0], "disabled": [0, 0]}[autoreset]
    np.testing.assert_array_equal(states.reward[3:], later)


@pytest.mark.parametrize(("ends", "terminated"), [({"terminates_at": 4}, True), ({"episode_length": 4}, False)])
def test_what_an_episode_would_become_after_its_end_does_not_count(strict, ends, terminated):
    """The last action would have lasted for two frames more, in the first of which the simulation diverges."""
    states = _episode(probe_env(diverges_at=5, action_repeat=3, outputs=(), **ends), jax.random.key(0), 2)
    np.testing.assert_array_equal(states.reward, [0, 1 + 2 + 3, 4])
    assert not states.metrics["diverged"].any()
    assert (bool(states.terminated[2]), bool(states.truncated[2])) == (terminated, not terminated)


@pytest.mark.parametrize(("size", "sound"), [(1e9, True), (2e10, False), (np.inf, False), (np.nan, False)])
def test_a_simulation_is_sound_up_to_mujocos_bound(size, sound):
    physics = ProbePhysics()
    state = physics.reset(jax.random.key(0))
    assert is_sound(physics, state)
    for grown in (replace(state, obs=state.obs.at[0].set(-size)), replace(state, reward=jnp.float32(size))):
        assert bool(is_sound(physics, grown)) == sound


def test_an_action_that_is_not_a_number_ends_its_own_episode_only(strict):
    env = probe_env(outputs=())
    states = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 3))
    actions = jnp.array([[0.5], [jnp.nan], [jnp.inf]])
    states = jax.vmap(env.step)(states, actions)
    np.testing.assert_array_equal(states.metrics["diverged"], [False, True, True])
    np.testing.assert_array_equal(states.terminated, [False, True, True])
    np.testing.assert_array_equal(states.reward, [1, 0, 0])
    states = jax.vmap(env.step)(states, jnp.zeros((3, 1)))
    assert not states.metrics["diverged"].any()
    np.testing.assert_array_equal(states.metrics["episode_length"], [2, 0, 0])


def test_several_cameras_and_outputs_under_their_own_keys(strict):
    above = look_at(jnp.array([0.0, -1.0, 4.0]), jnp.zeros(3), 60.0)
    settings = {"image_size": (12, 20), "frame_stack": 2, "outputs": ("pixels", "depth", "segmentation")}
    env = probe_env(camera={"side": CAMERA, "above": above}, channels_first=True, **settings)
    state = env.step(env.reset(jax.random.key(0)), ACTION)
    spec = {name: (x.shape, x.dtype) for name, x in env.observation_spec.items()}
    assert spec == {
        **{f"pixels/{name}": ((6, 12, 20), jnp.uint8) for name in ("side", "above")},
        **{f"depth/{name}": ((12, 20), jnp.float32) for name in ("side", "above")},
        **{f"segmentation/{name}": ((12, 20), jnp.int32) for name in ("side", "above")},
        "state": ((2,), jnp.float32),
    }
    alone = probe_env(camera=above, **settings)
    expected = alone.step(alone.reset(jax.random.key(0)), ACTION)
    np.testing.assert_array_equal(jnp.moveaxis(state.obs["pixels/above"], 0, -1), expected.obs["pixels"])
    np.testing.assert_array_equal(state.obs["depth/above"], expected.obs["depth"])
    np.testing.assert_array_equal(state.obs["segmentation/above"], expected.obs["segmentation"])
    assert (state.obs["segmentation/above"] != state.obs["segmentation/side"]).any()


class _CostlyProbe(ProbePhysics):
    cheap_reset = False


def test_resets_drawn_where_they_are_needed_are_the_same(strict):
    keys = jax.random.split(jax.random.key(2), 21)

    def rollout(physics):
        env = PixelEnv(physics, CAMERA, outputs=(), episode_length=3)

        def one(key):
            def step(state, _):
                state = env.step(state, ACTION)
                return state, state.obs["state"]

            # Episodes of different ages, so that some of the batch end in each step.
            state = env.reset(key)
            age = jax.random.randint(key, (), 0, 3)
            return jax.lax.scan(step, replace(state, info=state.info | {"steps": age}), None, length=7)[1]

        return jax.jit(jax.vmap(one))(keys), jax.jit(one)(keys[4])

    cheap, costly = rollout(ProbePhysics()), rollout(_CostlyProbe())
    np.testing.assert_array_equal(costly[0], cheap[0])
    np.testing.assert_array_equal(costly[1], cheap[0][4])


def test_gradients_flow_through_physics(strict):
    env = probe_env(pays_side=True)

    def total_reward(action):
        return env.step(env.reset(jax.random.key(0)), action).physics.engine_state[2] + action[0]

    np.testing.assert_allclose(jax.grad(total_reward)(jnp.ones(1)), [1.0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image_size": 7}, "image_size is 7: it must be at least 8"),
        ({"image_size": (64, 1025)}, "at most 1024"),
        ({"frame_stack": 0}, "frame_stack is 0"),
        ({"outputs": ("rgb",)}, "unknown output 'rgb': an environment gives pixels, depth, segmentation"),
        ({"outputs": (), "distractors": "kage/hue"}, "distractors change images, but outputs is empty"),
        (
            {"outputs": ("depth", "mask"), "distractors": ["kage/hue", "new/latency"]},
            r"kage/hue \+ new/latency changes pixels alone, but outputs is depth, mask: leave it out, or name pixels",
        ),
        ({"autoreset": "never"}, "autoreset is 'never': it must be one of next_step"),
        ({"camera": "track"}, "the model has no camera 'track': it has none"),
        ({"camera": {}}, "camera is empty"),
        ({"camera": CameraSpec((0, -1), 1, 0, 45)}, "no body 'torso' for the camera to follow: it has 'ball'"),
        ({"action_repeat": 0}, "action_repeat is 0"),
        ({"action_repeat": 10**9}, "action_repeat is 1000000000: it must be at least 1 and at most 10$"),
        ({"episode_length": 0}, "episode_length is 0"),
    ],
)
def test_bad_numbers_are_told(settings, message):
    with pytest.raises(ConfigError, match=message):
        probe_env(**settings)


def test_without_images_the_same_episodes_are_seen_as_states_alone():
    plain, seen = probe_env(outputs=(), episode_length=4), probe_env(episode_length=4)
    assert set(plain.observation_spec) == {"state"}
    keys = jax.random.key(0)
    states = [_episode(env, keys, 9) for env in (plain, seen)]
    np.testing.assert_array_equal(*(state.obs["state"] for state in states))
    np.testing.assert_array_equal(*(state.reward for state in states))
    assert plain.render(jax.jit(plain.reset)(keys), 16, 16).std() > 1


def test_the_renderer_knows_the_numbers_of_a_scene_that_nothing_changes(monkeypatch):
    """Of a scene whose numbers are traced it makes a more general program, which is slower."""
    seen = []

    def spy(scene, *args, **kwargs):
        seen.append(any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(scene)))
        return render(scene, *args, **kwargs)

    render = observe.render
    monkeypatch.setattr(observe, "render", spy)
    env = probe_env()
    jax.eval_shape(lambda key: env.step(env.reset(key), jnp.zeros(env.action_size)), jax.random.key(0))
    assert len(seen) == 2
    assert not any(seen)


@pytest.mark.full
def test_images_of_two_sizes_are_those_of_two_environments():
    settings = {"frame_stack": 1, "distractors": ("severity/color-3", "severity/moving-noise-3")}
    both = probe_env(image_size={"actor": 8, "critic": (16, 12)}, **settings)
    for name, size in (("actor", (8, 8)), ("critic", (16, 12))):
        alone = probe_env(image_size=size, **settings)
        assert alone.observation_spec["pixels"].shape == both.observation_spec[f"pixels/{name}"].shape == (*size, 3)
        seen = [env.step(env.reset(jax.random.key(3)), ACTION).obs for env in (both, alone)]
        assert np.array_equal(seen[0][f"pixels/{name}"], seen[1]["pixels"])
    cameras = probe_env(camera={"near": CAMERA, "far": CAMERA}, image_size={"far": 8, "near": 16})
    assert cameras.observation_spec["pixels/far"].shape[:2] == (8, 8)
    assert cameras.images.shape == (16, 16)
    with pytest.raises(ConfigError, match="image_size is of near, and the cameras are near, far: it must be one size"):
        probe_env(camera={"near": CAMERA, "far": CAMERA}, image_size={"near": 8})
