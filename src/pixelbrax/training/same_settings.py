"""Whether a run goes on with the settings that its checkpoint was trained with: anybody can edit config.toml."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from pixelbrax.errors import ConfigError
from pixelbrax.training.config import TrainConfig
from pixelbrax.training.run_dir import RunDir

_FIXED = ("algorithm", "task", "backend", "physics", "seed", "num_envs", "unroll_length", "action_repeat")
"""What a run is called by, and what turns its updates into steps and frames: never another within a run."""
_FIXED_OF_ALGORITHMS = (
    *("gradient_steps", "num_epochs", "num_minibatches", "critic_updates", "critic_epochs", "critic_minibatches"),
    *("policy_epochs", "value_epochs", "auxiliary_epochs", "auxiliary_minibatches"),
    *("policy_iterations", "auxiliary_rollouts", "keep_buffer"),
)
"""What turns updates into gradient steps, by which rates decay, and phases; and whether checkpoints have a buffer."""
_FIXED_IN_CURRICULUM = ("distractors", "distractor_strength")
"""Where a curriculum sets the distractors' parameters."""
_FREE = {"num_steps", "start_from", "start_part", "start_updates", "teacher", "teacher_updates"}
"""A run may be prolonged, and other runs may have been moved: it keeps what it needs of them."""


def noted(config: TrainConfig) -> dict[str, Any]:
    """Settings by name, for the notes of a checkpoint."""
    return json.loads(json.dumps(config.flat()))


def check_same(run: RunDir, config: TrainConfig, before: Mapping[str, Any]) -> str:
    """Compares a run's settings with those of its checkpoint.

    Args:
      run: that is resumed.
      config: its settings now.
      before: what `noted` gave when the checkpoint was written; empty for one of an earlier version.

    Returns:
      What has changed of the settings that may, as a sentence; empty if nothing has.

    Raises:
      ConfigError: a setting has changed that must not.
    """
    changes = changed_settings(config, before, _FREE)
    never = (*_FIXED, *_FIXED_OF_ALGORITHMS, *(_FIXED_IN_CURRICULUM if config.curriculum.is_on else ()))
    if fixed := [changes[name] for name in never if name in changes]:
        raise ConfigError(
            f"{run.config_file} was changed: {', '.join(fixed)}, with which the run has been trained so far: put it "
            f"back, or begin another run by `pixelbrax train --config {run.path}`"
        )
    return f"{run.path} goes on with other settings than before: {', '.join(changes.values())}" if changes else ""


def changed_settings(config: TrainConfig, before: Mapping[str, Any], free: Collection[str]) -> dict[str, str]:
    """What two settings differ in, by name, in words; both must have it.

    Args:
      config: the settings now.
      before: what `noted` gave of the others.
      free: names that do not count.
    """
    return {
        name: f"{name} is {value!r:.60} instead of {before[name]!r:.60}"
        for name, value in noted(config).items()
        if name in before and name not in free and value != before[name]
    }
