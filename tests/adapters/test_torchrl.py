"""TorchRL's interface: its own checker, no lost image, resets, settings. Gradients have a file of their own."""

import functools
import pickle
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from tests.probe import CAMERA, short_env

torch = pytest.importorskip("torch")
pytest.importorskip("torchrl")

from torchrl.envs import (  # noqa: E402
    CatFrames,
    Compose,
    ParallelEnv,
    SerialEnv,
    StepCounter,
    ToTensorImage,
    TransformedEnv,
    check_env_specs,
)

from pixelbrax.adapters.torchrl import PixelBraxEnv, PixelBraxWrapper  # noqa: E402

NOT_AN_ENV: Any = "halfcheetah"
pytestmark = pytest.mark.usefixtures("probe_tasks")


@functools.cache
def _pixel_env(**settings):
    return short_env(**settings)


@functools.cache
def _made(batch_size=(), **settings):
    """Wrappers are shared by tests: each must begin with a seed and a reset."""
    return PixelBraxWrapper(_pixel_env(), batch_size=batch_size, **settings)


@pytest.mark.parametrize("functional", [False, True])
@pytest.mark.parametrize("batch_size", [(), pytest.param((5,), marks=pytest.mark.full), (5, 4)])
def test_specs_and_rollouts_hold_for_every_batch(batch_size, functional):
    env = _made(batch_size, functional=functional)
    check_env_specs(env, seed=0)
    through = env.rollout(7, break_when_any_done=False)
    assert through.shape == (*batch_size, 7)
    for row in through["next", "reward"].reshape(-1, 7):
        assert row.tolist() == [1, 2, 3, 1, 2, 3, 1]
    assert through["next", "truncated"].reshape(-1, 7)[0].tolist() == [False, False, True, False, False, True, False]
    assert torch.equal(through["next", "done"], through["next", "truncated"])
    assert not through["next", "terminated"].any()
    assert env.rollout(7).shape == (*batch_size, 3)  # stops at the first end
    assert ("state" in through) is functional


def test_termination_is_told_from_the_time_limit():
    env = PixelBraxWrapper(_pixel_env(terminates_at=2))
    steps = env.rollout(2)["next"]
    assert steps["terminated"].flatten().tolist() == steps["done"].flatten().tolist() == [False, True]
    assert not steps["truncated"].any()


def test_every_image_of_every_episode_is_shown():
    """Against the environment itself, key by key; the last image of each episode included."""
    env = _pixel_env()
    expected, state = [], env.reset(jax.random.key(6))
    for _ in range(2):
        for t in range(4):
            state = env.step(state, jnp.zeros(1)) if t else state
            expected.append(np.asarray(state.obs["pixels"]))
        state = env.reset(state.info["key"])
    wrapped = _made((5,))
    wrapped.set_seed(5)
    steps = wrapped.rollout(6, lambda td: td.set("action", torch.zeros(5, 1)), break_when_any_done=False)[1]
    first, following = steps["pixels"].numpy(), steps["next", "pixels"].numpy()
    np.testing.assert_array_equal([first[0], *following[:3], first[3], *following[3:]], expected)


def test_a_partial_reset_leaves_the_others():
    for functional in (False, True):
        env = _made((5,), functional=functional)
        env.set_seed(0)
        steps = env.rollout(2)[:, -1]["next"].exclude("reward")
        mask = torch.tensor([[True], [False], [False], [True], [False]])
        after = env.reset(steps.clone().set("_reset", mask))
        for i, fresh in enumerate(mask[:, 0].tolist()):
            assert torch.equal(after["pixels"][i], steps["pixels"][i]) is not fresh
        assert after["observation"][:, 1].tolist() == [0, 2, 2, 0, 2]  # frames
        after["action"] = torch.zeros(5, 1)
        assert env.step(after)["next", "reward"].flatten().tolist() == [1, 3, 3, 1, 3]


@pytest.mark.parametrize("functional", [False, True])
def test_environments_end_at_their_own_times(functional):
    env = _made((5,), functional=functional)
    env.set_seed(0)
    steps = env.rollout(2, _no_action)[:, -1]["next"].exclude("reward")
    mask = torch.tensor([[True], [False], [False], [True], [False]])
    begun = env.reset(steps.set("_reset", mask))
    rows = env.rollout(5, _no_action, tensordict=begun, auto_reset=False, break_when_any_done=False)
    for row, fresh in zip(rows, mask[:, 0].tolist(), strict=True):
        assert row["next", "reward"].flatten().tolist() == ([1, 2, 3, 1, 2] if fresh else [3, 1, 2, 3, 1])
        end = 2 if fresh else 0
        assert torch.equal(row["next", "pixels"][end + 1][..., 0], row["pixels"][end + 2][..., 0])
        assert not torch.equal(row["next", "pixels"][end], row["pixels"][end + 1])  # the last image, and a first one


def test_environments_left_out_of_a_step_stay():
    env = _made((5,))
    env.set_seed(0)
    start = env.reset()
    start.set("action", torch.zeros(5, 1)).set("_step", torch.tensor([True, False, True, False, False]))
    stepped = env.step(start.clone())["next"]
    assert stepped["reward"].flatten().tolist() == [1, 0, 1, 0, 0]
    assert torch.equal(stepped["observation"][1], start["observation"][1])
    following = stepped.exclude("reward").set("action", torch.zeros(5, 1))
    following.set("_step", torch.tensor([True, True, False, False, False]))
    assert env.step(following)["next", "reward"].flatten().tolist() == [2, 1, 0, 0, 0], "not that of the step before"


def test_seeds_give_rollouts():
    def rollout(env, seed):
        env.set_seed(seed)
        return env.rollout(5, lambda td: td.set("action", torch.zeros(5, 1)), break_when_any_done=False)

    env = _made((5,))
    assert (rollout(env, 3) == rollout(env, 3)).all()
    one, other = rollout(env, 3)["observation"], rollout(env, 4)["observation"]
    assert torch.equal(one[1:], other[:-1])  # environment i of seed s has the seed s + i
    assert env.set_seed(2**32 - 1) is not None  # TorchRL's own seeds of workers are that large
    env.reset()
    with pytest.raises(ConfigError, match="set_seed needs a whole number"):
        env.set_seed(None)
    functional = rollout(_made((5,), functional=True), 3)
    assert torch.equal(functional["pixels"], rollout(env, 3)["pixels"])


def test_a_functional_step_depends_on_its_tensordict_alone():
    env = _made((5,), functional=True)
    start = env.reset()
    start["action"] = torch.zeros(5, 1)
    once = env.step(start.clone())["next"]
    env.rollout(4)
    assert (env.step(start.clone())["next"] == once).all()


@pytest.mark.parametrize("masked", [False, True])
def test_a_functional_reset_of_all_keeps_parameters_and_depends_on_its_tensordict_alone(masked):
    env, weight = _made((5,), functional=True), ("state", "params.reward_weights.frame")
    env.set_seed(0)
    given = env.reset()
    given[weight] = torch.full((5,), 5.0)
    if masked:
        given["_reset"] = torch.ones(5, 1, dtype=torch.bool)
    once = env.reset(given.clone())
    env.rollout(2)
    again = env.reset(given.clone())
    assert (once == again).all()
    assert not torch.equal(once["pixels"], given["pixels"])
    assert env.step(_no_action(once))["next", "reward"].flatten().tolist() == [5.0] * 5
    assert env.rollout(1, _no_action)["next", "reward"].flatten().tolist() == [1.0] * 5  # begun without a tensordict


def test_episodes_that_end_together_keep_their_parameters():
    env, weight = _made((5,), functional=True), ("state", "params.reward_weights.frame")
    given = env.reset()
    given[weight] = torch.full((5,), 5.0)
    rewards = []
    for _ in range(4):
        stepped, given = env.step_and_maybe_reset(_no_action(given))
        rewards.append(stepped["next", "reward"][0].item())
    assert rewards == [5.0, 10.0, 15.0, 5.0]


def test_other_batches_transforms_and_collectors_take_it():
    serial = SerialEnv(2, lambda: PixelBraxWrapper(_pixel_env(), batch_size=(3,)))
    assert serial.rollout(7, break_when_any_done=False).shape == (2, 3, 7)
    stack = CatFrames(3, dim=-3, in_keys=["pixels"])
    transforms = Compose(StepCounter(), ToTensorImage(), stack)  # pyright: ignore[reportCallIssue]
    env = TransformedEnv(PixelBraxWrapper(_pixel_env(), batch_size=(2,)), transforms)
    check_env_specs(env)
    assert env.rollout(3)["pixels"].shape == (2, 3, 9, 8, 8)
    from torchrl.collectors import Collector

    create: Any = lambda: _made((5,))  # noqa: E731
    collector = Collector(create, frames_per_batch=20, total_frames=40)
    assert [batch.shape for batch in collector] == [(5, 4)] * 2
    collector.shutdown()


@pytest.mark.full
def test_workers_are_processes():
    env = PixelBraxEnv("inverted_pendulum", num_workers=2, batch_size=[3], from_pixels=True, image_size=16)
    assert isinstance(env, ParallelEnv)
    try:
        env.set_seed(0)
        steps = env.rollout(4, break_when_any_done=False)
        assert steps["pixels"].shape == (2, 3, 4, 16, 16, 3)
        assert not torch.equal(steps["pixels"][0], steps["pixels"][1])
    finally:
        env.close()


def test_settings_have_torchrls_names():
    env = PixelBraxEnv(
        "probe/sides",
        batch_size=[2],
        from_pixels=True,
        pixels_only=True,
        pixels_key="image",
        frame_skip=2,
        distractors="kage/hue",
        image_size=8,
        categorical_action_encoding=True,
        cache_clear_frequency=1,
        allow_done_after_reset=True,
    )
    check_env_specs(env)
    assert set(env.observation_spec.keys()) == {"image"}
    assert env.observation_spec["image"].shape == (2, 8, 8, 3)
    assert env.pixel_env.action_repeat == env.frame_skip == 2
    assert env.env_name == "probe/sides"
    assert "probe/sides" in list(PixelBraxEnv.available_envs)  # pyright: ignore[reportArgumentType]
    states = PixelBraxEnv("probe/sides")
    assert set(states.observation_spec.keys()) == {"observation"}
    assert states.pixel_env.images.outputs == ()


def test_clearing_the_cache_changes_nothing():
    kept, cleared = (PixelBraxWrapper(_pixel_env(), cache_clear_frequency=n) for n in (None, 2))
    for env in (kept, cleared):
        env.set_seed(1)
    assert (kept.rollout(5, _no_action) == cleared.rollout(5, _no_action)).all()


def _no_action(td):
    return td.set("action", torch.zeros(*td.shape, 1))


def test_all_images_are_shown():
    outputs = ("pixels", "depth", "segmentation", "mask")
    env = PixelBraxWrapper(short_env(outputs=outputs, camera={"near": CAMERA, "far": CAMERA}), batch_size=(2,))
    check_env_specs(env)
    assert set(env.observation_spec.keys(True, True)) == {"observation"} | {
        (o, c) for o in outputs for c in ("near", "far")
    }
    assert env.reset()["depth", "far"].isfinite().all()


@pytest.mark.full
def test_it_is_the_engine_of_brax():
    """Observations and rewards of raw Brax from the same state, with the same actions."""
    import brax.envs

    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of an unmaintained Brax
        raw = brax.envs.get_environment("inverted_pendulum", backend="spring")
    env = PixelBraxEnv("inverted_pendulum", backend="spring", functional=True)
    env.set_seed(0)
    steps = env.rollout(10)
    step = jax.jit(raw.step)
    env.set_seed(0)
    env.reset()
    state = jax.tree.map(lambda x: x[0], env.states.physics.engine_state)
    for obs, reward, action in zip(
        *(steps["next"][k] for k in ("observation", "reward")), steps["action"], strict=True
    ):
        state = step(state, jnp.asarray(action.numpy()))
        np.testing.assert_allclose(state.obs, obs, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(state.reward, reward[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PixelBraxWrapper(), "PixelBraxWrapper needs an environment"),
        (lambda: PixelBraxWrapper(NOT_AN_ENV), "env is 'halfcheetah': it must be a PixelEnv"),
        (lambda: PixelBraxEnv("halfcheetah", autoreset="next_step"), "autoreset is not a setting here"),
        (lambda: PixelBraxEnv("halfcheeta"), "did you mean halfcheetah"),
        (lambda: PixelBraxEnv("probe/sides", imagesize=8), "imagesize"),
        (lambda: PixelBraxEnv("probe/sides", from_pixel=True), "no setting 'from_pixel': did you mean from_pixels"),
        (lambda: PixelBraxEnv("probe/sides", num_worker=2), "no setting 'num_worker': did you mean num_workers"),
        (lambda: PixelBraxWrapper(_pixel_env(), from_pixel=True), "no setting 'from_pixel': did you mean from_pixels"),
        (lambda: PixelBraxEnv("probe/sides", pixels_only=True), "pixels_only without from_pixels"),
        (lambda: PixelBraxEnv("probe/sides", frame_skip=2, action_repeat=2), "frame_skip says it"),
        (lambda: PixelBraxEnv("probe/sides", frame_skip=0), "frame_skip is 0"),
        (lambda: PixelBraxEnv("probe/sides", num_workers=0), "num_workers is 0"),
        pytest.param(
            lambda: PixelBraxEnv("inverted_pendulum", backend="mjx", requires_grad=True),
            "no derivative in reverse mode",
            marks=pytest.mark.full,
        ),
        (lambda: PixelBraxWrapper(_pixel_env(outputs=()), from_pixels=True), "has no images: make it with outputs"),
        (lambda: PixelBraxWrapper(_pixel_env(), requires_grad=True, functional=False), "needs functional=True"),
        (lambda: PixelBraxWrapper(_pixel_env(), soft=0), "soft is 0"),
        (lambda: PixelBraxWrapper(_pixel_env(grayscale=True), requires_grad=True), "without grayscale"),
        (lambda: PixelBraxWrapper(_pixel_env(outputs=("depth",)), requires_grad=True), "leave 'depth' out of outputs"),
        (lambda: PixelBraxWrapper(_pixel_env(reflections=True), requires_grad=True), "soft images have no reflections"),
        (lambda: PixelBraxWrapper(_pixel_env(), batch_size=3), "batch_size is 3: it must be a list of whole numbers"),  # pyright: ignore
        (lambda: PixelBraxWrapper(_pixel_env(), batch_size=[0]), "batch_size is 0: it must be at least 1"),
        (lambda: PixelBraxWrapper(_pixel_env(), frame_skip=2), "frame_skip is not a setting here: give settings"),
        (lambda: PixelBraxWrapper(_pixel_env(), pixels_key="action"), "pixels_key is 'action'"),
        (lambda: PixelBraxWrapper(_pixel_env(outputs=("depth",)), pixels_key="depth"), "pixels_key is 'depth'"),
        (lambda: PixelBraxEnv("probe/sides", outputs=("depth",)), "outputs is not a setting here"),
        (lambda: PixelBraxEnv("probe/sides", camera_id=0, camera=0), "camera is not a setting here"),
        (lambda: PixelBraxWrapper(_pixel_env(), cache_clear_frequency=0), "cache_clear_frequency is 0"),
        (
            lambda: PixelBraxWrapper(_pixel_env(distractors="kage/gaussian-noise"), requires_grad=True),
            "these distractors change frames",
        ),
    ],
)
def test_mistakes_are_told(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_a_step_says_what_its_tensordict_lacks():
    env = _made((5,), functional=True)
    start = env.reset()
    with pytest.raises(ConfigError, match="the tensordict lacks the entry 'action'"):
        env.step(start.clone())
    _no_action(start)["state"].pop("reward")
    with pytest.raises(ConfigError, match="the entry 'state' lacks 'reward': give that of a reset or a step"):
        env.step(start)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("reward", torch.zeros(5, 1), "has 'reward' as torch.float32 .5, 1., and not torch.float32 .5,."),
        ("physics.obs", torch.zeros(5, 3), "has 'physics.obs' as torch.float32 .5, 3., and not torch.float32 .5, 2."),
        ("info.key", torch.zeros(5, 2), "has 'info.key' as torch.float32 .5, 2., and not torch.int32 .5, 2."),
        (None, torch.zeros(5), "the entry 'state' is a Tensor: give that of a reset or a step of this environment"),
    ],
)
def test_a_state_that_is_not_its_own_is_refused(name, value, message):
    env = _made((5,), functional=True)
    start = _no_action(env.reset())
    start.set("state" if name is None else ("state", name), value)
    with pytest.raises(ConfigError, match=message):
        env.step(start)


@pytest.mark.parametrize("functional", [False, True])
def test_a_pickled_environment_goes_on_where_it_was(functional):
    env = PixelBraxWrapper(_pixel_env(), batch_size=[5], functional=functional)
    start = env.reset()
    loaded = pickle.loads(pickle.dumps(env))
    assert (loaded.step(_no_action(start.clone())) == env.step(_no_action(start))).all()
