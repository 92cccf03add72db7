"""What is told of runs whose settings leave something unlearned or unmeasured."""

import dataclasses
import re

from pixelbrax.algorithms import ESConfig, PPGConfig
from pixelbrax.experiments import launch
from pixelbrax.training import RunDir, TrainConfig
from tests.probe import probe_env


def test_a_run_too_short_for_an_auxiliary_phase_says_so():
    agent = PPGConfig(num_envs=4, unroll_length=8, policy_iterations=10)
    config = TrainConfig(agent=agent, num_steps=4 * 8 * 9, log_interval=1)
    message = launch._without_phase(config)
    assert "the first follows 10 updates (policy_iterations), and the run has 9: use at least 320 num_steps" in message
    assert launch._without_phase(dataclasses.replace(config, num_steps=320)) == ""
    assert launch._without_phase(TrainConfig(num_steps=1)) == ""


def test_evolution_strategies_that_cut_episodes_say_so():
    """As with a preset's unroll_length of another algorithm: metrics.csv would have no returns, or the shortest."""
    config, env = (
        TrainConfig(agent=ESConfig(unroll_length=16)),
        probe_env(outputs=(), episode_length=99, action_repeat=2),
    )
    assert "of an episode's 50 steps only these count" in launch._without_returns(config, env)
    assert launch._without_returns(dataclasses.replace(config, agent=ESConfig(unroll_length=50)), env) == ""
    assert launch._without_returns(TrainConfig(), env) == ""


def test_a_run_that_ends_before_its_replay_buffer_is_full_again_says_so():
    said = "nothing more will be learned: updates that are left: 3; updates until the replay buffer, .*: 3. A larger"
    assert re.match(said, launch._unlearned(3, 3))
    assert launch._unlearned(4, 3) == launch._unlearned(0, 3) == launch._unlearned(1, 0) == ""


def test_a_run_that_begins_with_one_that_broke_down_says_so(tmp_path):
    before = RunDir(tmp_path / "before")
    before.path.mkdir()
    config = TrainConfig(start_from=str(before.path), start_updates=6)
    assert launch._from_broken(config) == launch._from_broken(TrainConfig()) == ""
    before.fail("it broke")
    told = f"start_from {before.path} broke down: its checkpoint of update 6 is taken"
    assert launch._from_broken(config) == told
    assert launch._from_broken(TrainConfig()) == ""
