"""What is said of a new run's settings before it begins: what they leave unlearned, and what is known to work."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

from pixelbrax.algorithms import ESConfig
from pixelbrax.envs import PixelEnv
from pixelbrax.errors import listed
from pixelbrax.learning import PhasicConfig
from pixelbrax.training import EnvConfig, RunDir, TrainConfig, load_preset, preset_names


def warnings_of(config: TrainConfig, env: PixelEnv) -> Iterator[str]:
    """What the user may not have meant, one line each."""
    for note in (_without_phase(config), _without_returns(config, env), _from_broken(config)):
        if note:
            yield note


def preset_hint(environment: EnvConfig) -> str:
    """Which presets there are for a task, with this observation and device; empty if there are none."""
    gpu = jax.default_backend() == "gpu"
    found = [name for name in preset_names() if gpu or name.endswith(("demo", "-cpu"))]
    found = [name for name in found if _is_for(environment, load_preset(name))]
    return f"no preset was chosen; for {environment.task} there are: {listed(found)}" if found else ""


def _is_for(environment: EnvConfig, preset: TrainConfig) -> bool:
    """Whether a preset is of this task and observation, and needs nothing else, as a student its teacher."""
    same = (preset.environment.task, preset.environment.obs) == (environment.task, environment.obs)
    return same and getattr(preset.agent, "teacher", None) != ""


def _without_phase(config: TrainConfig) -> str:
    """That the run is too short for an auxiliary phase; empty if it is not, or if its algorithm has none."""
    agent = config.agent
    if not isinstance(agent, PhasicConfig) or config.num_updates >= agent.policy_iterations:
        return ""
    return (
        f"no auxiliary phase will run: the first follows {agent.policy_iterations} updates (policy_iterations), and "
        f"the run has {config.num_updates}: use at least {agent.phase_size:,} num_steps, or fewer policy_iterations"
    )


def _without_returns(config: TrainConfig, env: PixelEnv) -> str:
    """That episodes of evolution strategies are cut before their time limit; empty if they are not."""
    length, most = config.agent.unroll_length, -(-env.episode_length // env.action_repeat)
    if not isinstance(config.agent, ESConfig) or length >= most:
        return ""
    return (
        f"unroll_length is {length:,}: of an episode's {most:,} steps only these count, and returns in metrics.csv are "
        f"those of members whose episodes end by then, if any do; use {most} to see whole ones"
    )


def _from_broken(config: TrainConfig) -> str:
    """That a run with which training begins, or that teaches it, broke down; empty if none did."""
    agent: Any = config.agent
    named = [("start_from", config.start_from, config.start_updates)]
    named += [("the teacher", getattr(agent, "teacher", ""), getattr(agent, "teacher_updates", 0))]
    broken = [each for each in named if each[1] and RunDir(Path(each[1])).failure]
    return "; ".join(f"{role} {path} broke down: its checkpoint of update {k:,} is taken" for role, path, k in broken)
