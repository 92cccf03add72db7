"""Parameters that are data: nothing compiles again, what each of them changes and from when on, and what is refused."""

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.distractors import (
    Brightness,
    Composed,
    Distraction,
    Latency,
    SceneContext,
    Video,
    list_distractors,
    resolve,
)
from pixelbrax.envs import EnvParams, PixelEnv
from pixelbrax.errors import ConfigError
from tests.compilations import compilations
from tests.probe import CAMERA, ProbePhysics, probe_env

KEYS = jax.random.split(jax.random.key(0), 3)
ZEROS = jnp.zeros((3, 1))


class _Modelled(ProbePhysics):
    """A probe whose observation ends with a number of its model."""

    def __init__(self, gain=2.0):
        super().__init__()
        self.model = {"gain": jnp.float32(gain)}

    def with_model(self, model):
        other = _Modelled()
        other.model = model
        return other

    def reset(self, key):
        return self._shown(super().reset(key))

    def step(self, state, action):
        return self._shown(super().step(state, action))

    def _shown(self, state):
        return replace(state, obs=jnp.append(state.obs[:2], self.model["gain"]))


def _between_3_and_4(model, keys):
    return {"gain": 3 + jax.vmap(jax.random.uniform)(keys)}, {"gain": 0}


ENV = PixelEnv(
    _Modelled(),
    CAMERA,
    image_size=8,
    frame_stack=1,
    episode_length=4,
    randomization_fn=_between_3_and_4,
    distractors=["gen-v1/color_easy", Brightness(0.2)],
)
LEVELS, BRIGHTNESS = ENV.default_params.distractors
with jax.enable_x64(True):
    _WIDE = jnp.int64(2**32 + 5)  # of which a cast makes 5
RESET, STEP = jax.jit(jax.vmap(ENV.reset, in_axes=(0, None))), jax.jit(jax.vmap(ENV.step))


def _reset(params=None):
    return RESET(KEYS, ENV.complete_params(params))


def _play(states, steps):
    """The states and those after each step, stacked."""
    states = [states]
    for _ in range(steps):
        states.append(STEP(states[-1], ZEROS))
    kept = [(s.reward, s.truncated, s.obs, s.info["model"]["gain"], s.info["distractors"]) for s in states]
    numbers = [jax.tree.map(lambda x: x if jnp.issubdtype(x.dtype, jnp.number) else x == 1, k[:4]) for k in kept]
    return jax.tree.map(lambda *x: np.stack(x), *numbers)


SETTINGS = [
    *(EnvParams(episode_length=n) for n in (1, 7, 2**30)),
    *(EnvParams(reward_weights={"frame": weight}) for weight in (0.0, -2.5)),
    *(EnvParams(randomization={"gain": share}) for share in (0.0, 0.5)),
    *(EnvParams(distractors=(LEVELS | {"first": n, "count": 1}, None)) for n in (0, 17)),
    *(EnvParams(distractors=(None, {"amount": amount})) for amount in (0, 0.05)),
]


def test_changing_any_of_them_compiles_nothing_again():
    states = STEP(_reset(), ZEROS)
    settings = [ENV.complete_params(given) for given in SETTINGS] + [ENV.scaled_params(s) for s in (0.0, 0.3)]
    spread = [ENV.with_params(states, given) for given in settings]

    def change():
        for given, changed in zip(settings, spread, strict=True):
            jax.block_until_ready((RESET(KEYS, given), STEP(changed, ZEROS)))

    assert compilations(change)[0] == 0


def test_eager_calls_compile_nothing_again_whatever_is_given():
    env = probe_env(outputs=())
    state = env.step(env.reset(KEYS[0]), ZEROS[0])
    env.with_params(state, EnvParams(episode_length=3))  # small programs of its own
    given = [None, EnvParams(episode_length=5), EnvParams(reward_weights={"frame": 2}), env.default_params]
    assert compilations(lambda: [env.reset(KEYS[0], params) for params in given])[0] == 0
    changed = [env.with_params(state, params) for params in given[1:]]
    assert compilations(lambda: [env.step(s, ZEROS[0]) for s in changed])[0] == 0


def test_episode_length_and_reward_weights_hold_at_once():
    states = _reset(EnvParams(episode_length=3, reward_weights={"frame": 10}))
    reward, truncated, *_ = _play(states, 5)
    np.testing.assert_array_equal(truncated[:, 0], [0, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(reward[:, 0], [0, 10, 20, 30, 0, 10])
    running = STEP(STEP(_reset(), ZEROS), ZEROS)
    reward, truncated, *_ = _play(
        ENV.with_params(running, EnvParams(episode_length=3, reward_weights={"frame": -1})), 3
    )
    np.testing.assert_array_equal(truncated[1:, 0], [1, 0, 0])
    np.testing.assert_array_equal(reward[1:, 0], [-3, 0, -1])
    reward, truncated, *_ = _play(ENV.with_params(running, EnvParams(episode_length=1)), 2)
    np.testing.assert_array_equal(truncated[1:, 0], [1, 0])
    np.testing.assert_array_equal(reward[1:, 0], [0, 0])


def test_ranges_of_randomization_hold_from_the_next_episode_on():
    states = _reset()
    sampled = np.asarray(states.info["model"]["gain"])
    assert ((sampled >= 3) & (sampled <= 4)).all()
    half = _reset(EnvParams(randomization={"gain": 0.5})).info["model"]["gain"]
    np.testing.assert_allclose(half, 2 + 0.5 * (sampled - 2), rtol=1e-6)
    *_, obs, gain = _play(ENV.with_params(states, EnvParams(randomization={"gain": 0})), 6)
    np.testing.assert_array_equal(gain[:, 1], [*[sampled[1]] * 5, 2, 2])
    np.testing.assert_array_equal(obs["state"][..., 2], gain)


def test_levels_and_strengths_of_distractors():
    held = EnvParams(distractors=(LEVELS | {"first": 17, "count": 1}, None))
    states = ENV.with_params(_reset(), held)
    level = lambda s: np.asarray(s.info["distractors"]["camera"].states[0].level)  # noqa: E731
    assert len({*level(states)} - {17}) > 0
    for _ in range(5):
        states = STEP(states, ZEROS)
    np.testing.assert_array_equal(level(states), 17)
    np.testing.assert_array_equal(level(_reset(held)), 17)
    plain = probe_env(image_size=8, frame_stack=1)
    expected = jax.jit(jax.vmap(plain.reset))(KEYS).obs["pixels"]
    shown = RESET(KEYS, ENV.scaled_params(0.0)).obs["pixels"]
    assert np.abs(shown.astype(int) - expected.astype(int)).max() <= 1
    assert np.abs(_reset().obs["pixels"].astype(int) - expected.astype(int)).max() > 10


@pytest.mark.parametrize("strength", [-1.0, float("nan"), "x", None, np.array([1.0, -1.0])])
def test_a_strength_is_a_number_that_is_not_negative(strength):
    with pytest.raises(ConfigError, match=r"strength is .*: it must be"):
        ENV.scaled_params(strength)


def test_each_environment_may_have_its_own():
    params = jax.tree.map(lambda x: jnp.broadcast_to(x, (3, *x.shape)), ENV.complete_params())
    params = replace(params, episode_length=jnp.array([2, 3, 4]))
    states = jax.vmap(ENV.reset, in_axes=(0, 0))(KEYS, params)
    truncated = _play(states, 4)[1]
    np.testing.assert_array_equal(truncated.argmax(0), [2, 3, 4])
    again = ENV.with_params(_reset(), EnvParams(episode_length=np.array([2, 3, 4])))
    jax.tree.map(np.testing.assert_array_equal, again.params, states.params)


def test_defaults_are_what_the_environment_was_made_with():
    default = ENV.default_params
    assert int(default.episode_length) == ENV.episode_length == 4
    assert default.reward_weights == {"frame": 1.0}
    assert default.randomization == {"gain": 1.0}
    assert (int(LEVELS["first"]), int(LEVELS["count"])) == (0, 100)
    assert [*LEVELS["members"][0]] == ["amount"]  # its walk is left out of the program
    assert BRIGHTNESS["amount"] == np.float32(0.2)
    jax.tree.map(np.testing.assert_array_equal, _reset().params, jax.vmap(lambda _: default)(KEYS))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"episode_length": 3}, "params is .*: it must be an EnvParams, such as env.default_params"),
        (KEYS[0], "it must be an EnvParams.*; give the visual key as visual_key="),
        (EnvParams(episode_length=0), "params.episode_length is 0.*: it must be at least 1"),
        (EnvParams(episode_length=2**31), "params.episode_length is .*: it must be at most"),
        (EnvParams(episode_length=_WIDE), "params.episode_length is 4294967301.*: it must be at most"),
        (EnvParams(episode_length=2.5), "params.episode_length is 2.5: it must be a whole number"),
        (EnvParams(episode_length=np.array([3, 4, 5])), r"has shape \(3,\): it must have shape \(\); .* use jax.vmap"),
        (EnvParams(reward_weights={"fame": 1.0}), "params.reward_weights has no setting 'fame': did you mean frame"),
        (EnvParams(reward_weights=2.0), "params.reward_weights is 2.0: it must be a dict"),
        (EnvParams(reward_weights={"frame": np.nan}), r"reward_weights\['frame'\] is nan"),
        (EnvParams(reward_weights={"frame": "1"}), "it must be a number"),
        (EnvParams(randomization={"gain": -1}), r"params.randomization\['gain'\] is -1.*: it must be at least 0"),
        (EnvParams(distractors=(None,)), "params.distractors is .*: it must be a tuple of 2"),
        (EnvParams(distractors=(None, {"amount": -0.1})), "params.distractors: Brightness: amount is -0.1.*at least 0"),
        (EnvParams(distractors=(None, {"std": 0.1})), r"params.distractors\[1\] has no setting 'std'"),
        (EnvParams(distractors=({"count": 0}, None)), "Levels: count is 0"),
        (EnvParams(distractors=({"first": 2**31 - 2, "count": 2}, None)), "Levels: count is 2: it must be at most 1"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_compiles(params, message):
    with pytest.raises(ConfigError, match=message):
        ENV.reset(KEYS[0], params)


def test_each_value_of_a_batch_is_checked():
    with pytest.raises(ConfigError, match=r"params.episode_length is 0.*: it must be at least 1"):
        ENV.with_params(jax.eval_shape(jax.vmap(ENV.reset), KEYS), EnvParams(episode_length=np.array([3, 0, 2])))


def test_states_whose_parameters_are_not_complete_are_refused():
    state = jax.eval_shape(ENV.reset, KEYS[0])
    with pytest.raises(ConfigError, match=r"set them by env.with_params\(state, params\)"):
        ENV.step(replace(state, params=EnvParams(episode_length=3)), ZEROS[0])


def test_settings_that_shape_the_program_are_no_parameters():
    env = probe_env(image_size=8)
    context = SceneContext.of(env.physics.mj_model, env.scene, 8, 8)
    params = Distraction(
        [Latency(1), Video(sky=0.5, floor=0.5, rest=0.5), Video(sky=1.0, clips=3)], context
    ).composed.params
    assert [sorted(p) for p in params] == [[], ["clips", "share", "speed"], ["clips", "rest", "sky", "speed"]]
    assert int(params[2]["clips"]) == 3


@functools.cache
def _context():
    env = probe_env(image_size=8)
    return SceneContext.of(env.physics.mj_model, env.scene, 8, 8)


def _kinds(member) -> tuple[str, ...]:
    if isinstance(member, Composed):
        return sum(map(_kinds, member.distractors), ())
    return (type(member).__name__,)


def _presets():
    """All of them; those of the same kinds as one before are for the full tests."""
    seen = set()
    for name in list_distractors():
        kinds = sum(map(_kinds, resolve(name)), ())
        yield pytest.param(name, marks=[pytest.mark.full] if kinds in seen else [])
        seen.add(kinds)


@pytest.mark.parametrize("name", list(_presets()))
def test_every_preset_has_parameters_that_scale(name):
    composed = Distraction(resolve(name), _context()).composed
    params = composed.params
    assert {x.dtype for x in jax.tree.leaves(params)} <= {np.dtype(np.float32), np.dtype(np.int32)}
    same, none = (composed.scaled(params, strength) for strength in (1.0, 0.0))
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-6), same, params)
    for given in (params, same, none):
        composed.check_params(given)
