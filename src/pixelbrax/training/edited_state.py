"""What a checkpoint holds of settings that somebody has edited in config.toml since it was written.

Most settings are read anew when a run is resumed. Learning rates, and what environments have as parameters, are data of
compiled programs, and so in the checkpoint.
"""

from collections.abc import Collection
from dataclasses import replace

import jax
from jaxtyping import Array

from pixelbrax.envs import PixelEnv
from pixelbrax.learning import Agent, AgentState, learning_rates, with_learning_rates

_RATE = "learning_rate"
_OF_ENVS = {
    "episode_length": ("episode_length",),
    "reward_weights": ("reward_weights",),
    "distractors": ("distractors", "distractor_strength"),
}
"""Parameters of environments, and the settings that they follow; the ranges of `randomization` are read anew."""


def with_edited_rates(state: AgentState, agent: Agent, edited: Collection[str]) -> AgentState:
    """A run's state with the learning rates of its settings, if they are among those edited.

    They decay over the gradient steps that were planned when the run began.

    Args:
      state: as a checkpoint has it.
      agent: one with the settings as they are now.
      edited: names of the settings that were edited.
    """
    if not any(name.endswith(_RATE) for name in edited):
        return state

    def fresh(key: Array) -> list:
        return learning_rates(agent.init(key).opt_state)

    rates = jax.jit(fresh)(jax.random.key(0))
    opt_state = with_learning_rates(state.opt_state, rates, restarts_adaptive=_RATE in edited)
    return replace(state, opt_state=opt_state)


def with_edited_params(state: AgentState, env: PixelEnv, edited: Collection[str]) -> AgentState:
    """A run's state whose environments have the parameters of the settings, as far as these were edited.

    Args:
      state: as a checkpoint has it.
      env: one environment with the settings as they are now.
      edited: names of the settings that were edited.
    """
    chosen = {
        name: getattr(env.default_params, name)
        for name, settings in _OF_ENVS.items()
        if not set(settings).isdisjoint(edited)
    }
    if not chosen:
        return state
    return replace(state, envs=env.with_params(state.envs, replace(state.envs.params, **chosen)))
