"""DeepMind's interface: its own checks, and discounts that tell termination from the time limit."""

import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from tests.probe import short_env

pytest.importorskip("dm_env")

from dm_env import StepType, test_utils

from pixelbrax.adapters.dm_env import PixelBraxDmEnv


class TestContract(test_utils.EnvironmentTestMixin):
    """dm_env's own checks, through an episode's end."""

    @pytest.fixture(autouse=True)
    def _made(self):
        self.environment_made = PixelBraxDmEnv(short_env(), seed=0, obs_keys=("pixels", "state"))
        self.setUp()
        yield
        self.environment_made.close()

    def setUp(self):
        self.object_under_test = self.make_object_under_test()

    def make_object_under_test(self):
        return self.environment_made

    def assertIs(self, one, other, message=""):
        assert one is other, message

    def assertIsNot(self, one, other, message=""):
        assert one is not other, message

    def assertIsNone(self, value, message=""):
        assert value is None, message

    def assertIsInstance(self, value, kind, message=""):
        assert isinstance(value, kind), message

    def fail(self, message):
        raise AssertionError(message)

    def assertEqual(self, one, other, message=""):
        assert one == other, message


@pytest.mark.parametrize(("settings", "discount"), [({}, 1.0), ({"terminates_at": 3}, 0.0)])
def test_the_discount_tells_why_an_episode_ends(settings, discount):
    env = PixelBraxDmEnv(short_env(**settings), seed=0)
    steps = [env.step(np.zeros(1)) for _ in range(6)]  # the first step begins an episode
    kinds = [StepType.FIRST, StepType.MID, StepType.MID, StepType.LAST, StepType.FIRST, StepType.MID]
    assert [step.step_type for step in steps] == kinds
    assert [step.reward for step in steps] == [None, 1, 2, 3, None, 1]
    assert [step.discount for step in steps] == [None, 1, 1, discount, None, 1]
    assert not np.array_equal(steps[3].observation, steps[4].observation)


def test_seeds_and_specs():
    one, other = (PixelBraxDmEnv(short_env(), seed=5) for _ in range(2))
    for _ in range(2):  # two episodes of the same stream
        np.testing.assert_array_equal(one.reset().observation, other.reset().observation)
    assert one.observation_spec().maximum == 255
    assert (one.action_spec().minimum, one.action_spec().maximum) == (-1, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PixelBraxDmEnv("halfcheetah", autoreset="next_step"), "autoreset is not a setting here"),
        (lambda: PixelBraxDmEnv("halfcheeta"), "did you mean halfcheetah"),
        (lambda: PixelBraxDmEnv(short_env(), obs_keys="depth"), "obs_keys is 'depth'"),
        (lambda: PixelBraxDmEnv(short_env(), seeds=1), "PixelBraxDmEnv has no setting 'seeds': did you mean seed"),
        (lambda: PixelBraxDmEnv(short_env(), seed=-1), "seed is -1"),
        (lambda: PixelBraxDmEnv("halfcheetah", max_episode_steps=0), "max_episode_steps is 0"),
        (lambda: _stepped(np.zeros(2)), r"the action has shape \(2,\): it must be \(1,\)"),
        (lambda: _stepped(0.0), r"the action has shape \(\): it must be \(1,\)"),
    ],
)
def test_mistakes_are_told(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def _stepped(action):
    env = PixelBraxDmEnv(short_env())
    env.reset()
    env.step(action)
