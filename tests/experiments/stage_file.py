"""A curriculum of three stages in a file, and what is said of it after some replacements."""

import pytest

import pixelbrax
from pixelbrax.errors import ConfigError

SHARED = """
num_steps = 640
log_interval = 2
eval_interval = 2
eval_episodes = 4
checkpoint_interval = 0.0
initial_eval = false

[environment]
task = "probe/sides"
obs = "state"
episode_length = 10

[network]
features = 8
state_layers = [8]

[ppo]
num_envs = 4
unroll_length = 8
num_minibatches = 1
num_epochs = 1
learning_rate = 1e-2
"""
# The gates of the first two open at once; that of the last never does.
STAGES = """
[[stage]]
name = "look"
[stage.gate]
consecutive = 2
at_least = { mean_return = 0.0 }

[[stage]]
name = "learn"
num_steps = 256
carry = "policy"
[stage.ppo]
learning_rate = 5e-3
[stage.gate]
consecutive = 3
at_least = { mean_length = 10 }
at_most = { x = 1.0 }

[[stage]]
name = "never"
num_steps = 128
at_budget = "repeat"
repeats = 1
[stage.gate]
at_least = { mean_return = 11.0 }
"""


def write_file(tmp_path, text=SHARED + STAGES, name="plan.toml"):
    file = tmp_path / name
    file.write_text(text)
    return file


def refusal(tmp_path, *changes, text=SHARED + STAGES):
    """What is said about the file after some replacements; nothing may have been written."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    with pytest.raises(ConfigError) as refused:
        pixelbrax.train_curriculum(write_file(tmp_path, text), runs=tmp_path / "runs", quiet=True)
    assert not (tmp_path / "runs").exists()
    assert "\n" not in str(refused.value)
    return str(refused.value)
