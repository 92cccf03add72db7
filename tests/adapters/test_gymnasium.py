"""Gymnasium's interface: its own checker, ours, and that no episode loses its last image."""

import copy
import functools
import pickle
import subprocess
import sys

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import pixelbrax
from pixelbrax.adapters.gymnasium import PixelBraxEnv, PixelBraxVectorEnv, check_vector_env
from pixelbrax.adapters.gymnasium_ids import TASKS
from pixelbrax.distractors import Objects
from pixelbrax.errors import ConfigError
from tests.probe import probe_env

pytestmark = pytest.mark.usefixtures("probe_tasks")
MODES = {"next_step": "NextStep", "same_step": "SameStep", "disabled": "Disabled"}


@functools.cache
def _env(autoreset, **settings):
    return probe_env(episode_length=3, autoreset=autoreset, image_size=8, frame_stack=2, **settings)


def _envs(autoreset="next_step", num_envs=3, **settings):
    return PixelBraxVectorEnv(_env(autoreset), num_envs, **settings)


@pytest.mark.parametrize("autoreset", MODES)
@pytest.mark.parametrize("obs_keys", [None, ("pixels", "state")])
def test_the_laws_of_vector_environments_hold(autoreset, obs_keys):
    envs = _envs(autoreset, obs_keys=obs_keys)
    assert envs.metadata["autoreset_mode"] is AutoresetMode(MODES[autoreset])
    check_vector_env(envs)


def test_a_control_step_of_seconds_is_still_a_frame_per_second():
    env = probe_env(episode_length=50, action_repeat=25, image_size=8)
    assert env.dt == pytest.approx(2.5)
    assert PixelBraxVectorEnv(env, 1).metadata["render_fps"] == 1


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("name", ["CartPole-v1", "Blackjack-v1"])
def test_the_laws_are_those_of_gymnasiums_own(name, mode):
    check_vector_env(SyncVectorEnv([functools.partial(gymnasium.make, name)] * 3, autoreset_mode=mode))


class _Wrong(PixelBraxVectorEnv):
    """A vector environment with one mistake."""

    def __init__(self, mistake, autoreset):
        super().__init__(_env(autoreset), 3)
        self.mistake = mistake
        if mistake == "mode":
            self.metadata["autoreset_mode"] = "NextStep"

    def reset(self, *, seed=None, options=None):
        if self.mistake == "seed":
            seed = None
        if self.mistake == "mask" and options:
            options = None
        return super().reset(seed=seed, options=options)

    def step(self, actions):
        obs, reward, terminated, truncated, info = super().step(actions)
        if self.mistake == "dtype":
            terminated = terminated.astype(float)
        if self.mistake == "final_obs":
            info.pop("final_obs", None)
        if self.mistake == "info":
            info.pop("_x")
        if self.mistake == "reward":
            reward = reward + 1
        return obs, reward, terminated, truncated, info


@pytest.mark.parametrize(
    ("mistake", "autoreset", "message"),
    [
        ("mode", "next_step", "must be an AutoresetMode"),
        ("seed", "next_step", "after the same seed and actions differs"),
        ("mask", "next_step", "changed environment 1, which it was not to reset"),
        ("dtype", "next_step", "terminations are float64"),
        ("final_obs", "same_step", "an episode ended, and info has no 'final_obs'"),
        ("info", "disabled", "info has 'x' without its mask"),
        ("reward", "next_step", "the step after an episode's end has a reward"),
    ],
)
def test_the_checker_finds(mistake, autoreset, message):
    with pytest.raises(AssertionError, match=message):
        check_vector_env(_Wrong(mistake, autoreset))


def test_every_mode_shows_every_image_of_the_same_episodes():
    """Against the environment itself, key by key; the last image of each episode included."""
    env = _env("disabled")
    expected = []
    state = env.reset(jax.random.key(5 + 1))
    for _ in range(2):  # two episodes
        for t in range(4):
            state = env.step(state, jax.numpy.zeros(1)) if t else state
            expected.append(np.asarray(state.obs["pixels"]))
        state = env.reset(state.info["key"])
    seen = {}
    for autoreset in MODES:
        envs = _envs(autoreset, 2)
        obs, _ = envs.reset(seed=5)
        shown = [obs[1]]
        for _ in range(20):
            obs, _, _, truncated, info = envs.step(np.zeros((2, 1)))
            if autoreset == "same_step" and truncated[1]:
                shown.append(info["final_obs"][1])
            shown.append(obs[1])
            if autoreset == "disabled" and truncated[1]:
                shown.append(envs.reset(options={"reset_mask": np.array([False, True])})[0][1])
        seen[autoreset] = shown[:8]
    for shown in seen.values():
        np.testing.assert_array_equal(shown, expected)


def test_metrics_where_an_episode_ended_are_the_last_ones():
    """As in Gymnasium's own, whose info is then that of the reset, beside the final one."""
    envs = _envs("same_step", 2)
    envs.reset(seed=0)
    envs.step(np.zeros((2, 1)))
    envs.reset(options={"reset_mask": np.array([False, True])})  # the second ends a step later
    envs.step(np.zeros((2, 1)))
    *_, truncated, info = envs.step(np.zeros((2, 1)))
    assert truncated.tolist() == [True, False]
    assert info["_episode_return"].tolist() == [False, True]
    assert info["episode_return"][1] == 1 + 2
    assert info["final_info"]["_episode_return"].tolist() == info["_final_info"].tolist() == [True, False]
    assert info["final_info"]["episode_return"][0] == 1 + 2 + 3


def test_a_limit_in_steps_is_one_of_as_many_frames_as_they_have():
    assert PixelBraxVectorEnv("probe/sides", outputs=(), max_episode_steps=4).pixel_env.episode_length == 4
    env = PixelBraxEnv("probe/sides", outputs=(), max_episode_steps=4, action_repeat=3)
    env.reset(seed=0)
    assert [env.step(np.zeros(1))[3] for _ in range(4)] == [False, False, False, True]


def test_an_environments_stream_does_not_depend_on_its_batch():
    one, three = _envs(num_envs=1), _envs(num_envs=3)
    np.testing.assert_array_equal(one.reset(seed=2)[0][0], three.reset(seed=0)[0][2])
    np.testing.assert_array_equal(three.reset(seed=[9, 2, None])[0][1], one.reset(seed=[2])[0][0])
    three.reset(seed=np.int64(4))  # pyright: ignore
    assert three.np_random_seed == 4
    three.reset(seed=[9, 2, None])
    copied = copy.deepcopy(three)
    for _ in range(5):  # through an episode's end
        seen = three.step(np.zeros((3, 1)))[0]
        np.testing.assert_array_equal(one.step(np.zeros((1, 1)))[0][0], seen[1])
        np.testing.assert_array_equal(copied.step(np.zeros((3, 1)))[0], seen)


def test_a_pickled_environment_goes_on_where_it_was():
    envs = _envs(num_envs=2)
    envs.reset(seed=0)
    loaded = pickle.loads(pickle.dumps(envs))
    for _ in range(5):  # through an episode's end
        np.testing.assert_array_equal(loaded.step(np.zeros((2, 1)))[0], envs.step(np.zeros((2, 1)))[0])


def test_what_begins_anew_after_a_close_can_be_closed_again():
    envs = _envs(num_envs=2)
    envs.reset(seed=0)
    for _ in range(2):
        envs.close()
        assert envs.closed
        assert envs.states is None
        envs.reset(seed=0)
        assert not envs.closed


def test_arrays_may_stay_on_the_device_and_numpys_are_the_callers():
    envs = _envs(arrays="jax")
    obs, _ = envs.reset(seed=0)
    obs, reward, *_ = envs.step(jax.numpy.zeros((3, 1)))
    assert isinstance(obs, jax.Array)
    assert isinstance(reward, jax.Array)
    envs = _envs()
    before, _ = envs.reset(seed=0)
    kept = before.copy()
    before[:] = 0
    np.testing.assert_array_equal(envs.reset(seed=0)[0], kept)


def test_all_images_are_observed():
    outputs = ("pixels", "depth", "segmentation", "mask")
    envs = PixelBraxVectorEnv(_env("same_step", outputs=outputs), 2)
    assert isinstance(envs.single_observation_space, gymnasium.spaces.Dict)
    assert set(envs.single_observation_space) == set(outputs)
    check_vector_env(envs)
    shown, exact = envs.reset(seed=0)[0]["depth"], np.asarray(_states(envs).obs["depth"])
    visual, extent = envs.pixel_env.physics.mj_model.vis, envs.pixel_env.physics.mj_model.stat.extent
    far = np.float32(visual.map.zfar * extent)  # as in mujoco.Renderer
    assert np.isinf(exact).any()  # the sky
    np.testing.assert_array_equal(shown, np.minimum(exact, far))
    assert envs.single_observation_space["depth"] == gymnasium.spaces.Box(0, far, shown.shape[1:], np.float32)


def _states(envs):
    assert envs.states is not None
    return envs.states


@pytest.mark.full
def test_what_distractors_add_is_in_the_space_of_a_segmentation():
    crowd = Objects(count=4, clear=0.0, smallest=0.2, largest=0.4)
    env = _env("same_step", outputs=("segmentation",), distractors=(crowd,))
    envs = PixelBraxVectorEnv(env, 2)
    seen, _ = envs.reset(seed=0)
    assert seen.max() >= len(env.scene.geom_type)
    assert envs.observation_space.contains(seen)


def test_without_images_the_state_is_observed():
    envs = PixelBraxVectorEnv("probe/sides", 2, outputs=())
    assert envs.reset(seed=0)[0].shape == envs.observation_space.shape == (2, 2)


def test_gymnasiums_wrappers_take_it():
    envs = RecordEpisodeStatistics(_envs())
    envs.reset(seed=0)
    for _ in range(3):
        *_, info = envs.step(np.zeros((3, 1)))
    np.testing.assert_array_equal(info["episode"]["r"], [6, 6, 6])
    np.testing.assert_array_equal(info["episode"]["l"], [3, 3, 3])
    envs = gymnasium.wrappers.vector.JaxToNumpy(_envs(arrays="jax"))
    assert isinstance(envs.reset(seed=0)[0], np.ndarray)


@pytest.mark.filterwarnings("ignore:.*alternative render modes")
def test_a_single_environment_passes_gymnasiums_checker():
    env = PixelBraxEnv(_env("disabled"), render_mode="rgb_array", render_size=np.int64(12))  # pyright: ignore[reportArgumentType]
    check_env(env)
    env.reset(seed=0)
    assert env.render().shape == (12, 12, 3)
    env.close()


def test_ids_make_both():
    assert sorted(TASKS.values()) == sorted(n for n in pixelbrax.list_tasks() if not n.startswith("probe/"))
    settings = {"env": "probe/sides", "image_size": 8, "max_episode_steps": 4, "distractors": "kage/hue"}
    envs = gymnasium.make_vec("PixelBrax/Env-v0", 2, autoreset_mode="SameStep", **settings)
    assert isinstance(envs, VectorEnv)
    assert envs.unwrapped.pixel_env.episode_length == 4  # pyright: ignore[reportAttributeAccessIssue]
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    env = gymnasium.make("PixelBrax/Env-v0", env="probe/sides", image_size=8)
    assert env.observation_space == gymnasium.spaces.Box(0, 255, (8, 8, 9), np.uint8)
    for mode in ("rgb_array", "rgb_array_list"):  # a warning would be an error
        assert gymnasium.make("PixelBrax/Env-v0", env=env.unwrapped.pixel_env, render_mode=mode).render_mode == mode
    assert gymnasium.spec("PixelBrax/HalfCheetah-v0").kwargs == {"env": "halfcheetah"}


def test_unknown_keywords_are_type_errors_as_python_has_them():
    """TorchRL's `GymEnv` offers `frameskip`, and goes without where a `TypeError` names it."""
    for make in (PixelBraxEnv, PixelBraxVectorEnv):
        with pytest.raises(
            TypeError, match=r"__init__\(\) got an unexpected keyword argument 'frameskip': did you mean"
        ):
            make("probe/sides", frameskip=1)


def test_torchrl_takes_single_and_vector_environments():
    torchrl = pytest.importorskip("torchrl.envs")
    kwargs = {"env": "probe/sides", "image_size": 8, "episode_length": 3}
    gymnasium.register("Sides-v0", "pixelbrax.adapters.gymnasium:PixelBraxEnv", kwargs=kwargs)
    assert torchrl.GymEnv("Sides-v0").rollout(5).shape == (3,)
    gymnasium.registry.pop("Sides-v0")
    steps = torchrl.GymWrapper(_envs("disabled")).rollout(4, break_when_any_done=False)
    assert steps["next", "done"][..., 0].tolist() == [[False, False, True, False]] * 3
    with pytest.raises(RuntimeError, match="must be one of SAME_STEP or DISABLED"):
        torchrl.GymWrapper(_envs())


@pytest.mark.parametrize("first", ["import pixelbrax; import gymnasium", "import gymnasium; import pixelbrax"])
def test_importing_registers_in_any_order_and_loads_no_engine(first):
    code = f"{first}; import sys; gymnasium.register_envs(pixelbrax); gymnasium.spec('PixelBrax/Ant-v0')"
    code += "; print([m for m in ('jax', 'mujoco') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: _envs(num_envs=0), "num_envs is 0: it must be at least 1"),
        (lambda: _envs(obs_keys="depth"), "obs_keys is 'depth': it must be one of pixels, state"),
        (lambda: _envs(obs_keys=()), "obs_keys is empty: name some of pixels, state"),
        (lambda: _envs(obs_keys=3), "obs_keys is 3: it must be one name or several of pixels, state"),
        (lambda: _envs(arrays="cupy"), "arrays is 'cupy': it must be one of numpy, jax, torch"),
        (lambda: _envs(autoreset_mode="Never"), "autoreset_mode is 'Never': it must be one of NextStep, SameStep"),
        (lambda: PixelBraxEnv("probe/sides", num_envs=2), "num_envs is not a setting here"),
        (lambda: PixelBraxEnv("probe/sides", autoreset_mode="SameStep"), "autoreset_mode is not a setting here"),
        (lambda: _envs(render_mode="human"), "render_mode is 'human': it must be one of rgb_array"),
        (lambda: _envs(render_size=0), "render_size is 0"),
        (lambda: _envs(image_size=16), "image_size is a setting of pixelbrax.make: this environment is made already"),
        (lambda: PixelBraxVectorEnv("probe/sides", imagesize=8), "'imagesize': did you mean image_size"),
        (lambda: _envs(obs_key="state"), "'obs_key': did you mean obs_keys"),
        (lambda: PixelBraxEnv(_env("disabled"), max_episode_step=3), "'max_episode_step': did you mean max_episode_st"),
        (lambda: PixelBraxVectorEnv("probe/sides", autoreset="disabled"), "autoreset is called autoreset_mode here"),
        (lambda: PixelBraxVectorEnv("halfcheeta"), "did you mean halfcheetah"),
        (lambda: PixelBraxVectorEnv(), "cannot make an environment from None: it must be a task's name"),
        (lambda: _envs().step(np.zeros((3, 1))), "step before reset"),
        (lambda: _envs().reset(options={"reset_mask": np.ones(3, bool)}), "the first reset is one of all environments"),
        (lambda: _envs().reset(seed=[1, 2]), "there are 2 seeds for 3 environments"),
        (lambda: _envs().reset(seed=2**40), "seed is 1099511627776: it must be"),
        (lambda: _envs().reset(options={"mask": 1}), "unknown option 'mask'"),
        (lambda: _envs().reset(options="reset_mask"), "options is 'reset_mask': it must be a dict"),  # pyright: ignore
        (lambda: _envs().reset(options={"reset_mask": [True] * 3}), "must be a NumPy array of .* bool"),
        (lambda: _envs().reset(options={"reset_mask": np.zeros(3, bool)}), "is False everywhere"),
        (lambda: _stepped(np.zeros((3, 2))), "the actions are float64 of shape .3, 2.: they must be floats, .3, 1."),
        (lambda: _stepped(np.zeros(3)), "of shape .3,."),
        (
            lambda: _stepped([[0.0], [0.0, 1.0], [0.0]]),
            "the actions are object of shape ..: they must be floats, .3, 1.",
        ),
    ],
)
def test_mistakes_are_told(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def _stepped(actions):
    envs = _envs()
    envs.reset(seed=0)
    return envs.step(actions)
