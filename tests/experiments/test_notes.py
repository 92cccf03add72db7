"""What is told of runs whose settings leave something unlearned or unmeasured."""

import dataclasses

from pixelbrax.algorithms import ESConfig, PPGConfig
from pixelbrax.experiments import notes
from pixelbrax.training import EnvConfig, RunDir, TrainConfig
from tests.probe import probe_env


def test_a_run_too_short_for_an_auxiliary_phase_says_so():
    agent = PPGConfig(num_envs=4, unroll_length=8, policy_iterations=10)
    config = TrainConfig(agent=agent, num_steps=4 * 8 * 9, log_interval=1)
    message = notes._without_phase(config)
    assert "the first follows 10 updates (policy_iterations), and the run has 9: use at least 320 num_steps" in message
    assert notes._without_phase(dataclasses.replace(config, num_steps=320)) == ""
    assert notes._without_phase(TrainConfig(num_steps=1)) == ""


def test_evolution_strategies_that_cut_episodes_say_so():
    """As with a preset's unroll_length of another algorithm: metrics.csv would have no returns, or the shortest."""
    config, env = (
        TrainConfig(agent=ESConfig(unroll_length=16)),
        probe_env(outputs=(), episode_length=99, action_repeat=2),
    )
    assert "of an episode's 50 steps only these count" in notes._without_returns(config, env)
    assert notes._without_returns(dataclasses.replace(config, agent=ESConfig(unroll_length=50)), env) == ""
    assert notes._without_returns(TrainConfig(), env) == ""


def test_a_run_that_begins_with_one_that_broke_down_says_so(tmp_path):
    before = RunDir(tmp_path / "before")
    before.path.mkdir()
    config = TrainConfig(start_from=str(before.path), start_updates=6)
    assert notes._from_broken(config) == notes._from_broken(TrainConfig()) == ""
    before.fail("it broke")
    told = f"start_from {before.path} broke down: its checkpoint of update 6 is taken"
    assert notes._from_broken(config) == told
    assert notes._from_broken(TrainConfig()) == ""


def test_without_a_preset_those_for_the_task_are_named():
    """On CPUs those for CPUs; none that needs a teacher, nor of another observation."""
    said = notes.preset_hint(EnvConfig(task="ant"))
    assert said == "no preset was chosen; for ant there are: ant-cpu, ant-ppo-cpu"
    assert notes.preset_hint(EnvConfig(task="ant", obs="state")).endswith("there are: ant-state-cpu")
    assert "distill" not in notes.preset_hint(EnvConfig(task="halfcheetah"))
    assert notes.preset_hint(EnvConfig(task="grasp")) == ""
