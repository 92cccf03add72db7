"""Training that begins with the policy of another run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
from jaxtyping import PyTree

from pixelbrax.errors import ConfigError
from pixelbrax.learning import Agent, AgentState
from pixelbrax.networks import ACTOR
from pixelbrax.training.assembly import kept_state, make_agent
from pixelbrax.training.config import TrainConfig
from pixelbrax.training.run_dir import RunDir

_SAME = ("obs", "image_size", "frame_stack", "grayscale")  # what both environments must have in common
_STATE = "state"


def starting_policy(config: TrainConfig, agent: Agent) -> Callable[[AgentState], AgentState]:
    """What gives an agent's fresh state the policy of `config.start_from`; its critic stays fresh.

    Args:
      config: all settings.
      agent: the agent that they describe.

    Raises:
      ConfigError: there is no such run or checkpoint, or its policy is another network or reads something else.
    """
    if not config.start_from:
        return lambda state: state
    run = RunDir.open(Path(config.start_from))
    theirs, what = run.load_config(), f"start_from {run.path}"
    for name in _SAME:
        ours, other = getattr(config.environment.resolved(), name), getattr(theirs.environment, name)
        if ours != other:
            raise ConfigError(f"{what}: it has {name}={other}, and this run {ours}: they must be the same")
    kept = kept_state(make_agent(theirs, agent.env), run, config.start_updates or None)
    fresh = jax.eval_shape(agent.init, jax.random.key(0))
    given, wanted = _actor(kept.params, theirs.algorithm), _actor(fresh.params, config.algorithm)
    if _shapes(given) != _shapes(wanted) or theirs.network.distribution != config.network.distribution:
        raise ConfigError(f"{what}: its policy is another network than this run's: give both the same [network]")
    actor = jax.tree.map(np.asarray, given)
    states = {_STATE: jax.tree.map(np.asarray, kept.statistics[_STATE])} if _STATE in kept.statistics else {}

    def begin(state: AgentState) -> AgentState:
        statistics = state.statistics | (states if _STATE in state.statistics else {})
        return replace(state, params=_with_actor(state.params, actor), statistics=statistics)

    return begin


def _actor(params: PyTree, algorithm: str) -> PyTree:
    """The policy's own parameters in those of an actor and critic."""
    network = params.get("network", params)
    if any(name not in network for name in ACTOR):
        raise ConfigError(f"start_from carries over the policy of ppo, distill and apg, not of {algorithm}")
    return {name: network[name] for name in ACTOR}


def _with_actor(params: PyTree, actor: PyTree) -> PyTree:
    return params | ({"network": params["network"] | actor} if "network" in params else actor)


def _shapes(tree: PyTree) -> PyTree:
    return jax.tree.map(lambda x: (tuple(x.shape), np.dtype(x.dtype)), tree)
