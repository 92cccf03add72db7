"""Training that begins with the policy, the encoder, or all that has been learned, of another run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from pixelbrax.errors import ConfigError
from pixelbrax.learning import Agent, AgentState, CurriculumConfig, with_first_learning_rate, without_open_episodes
from pixelbrax.networks import actor_params
from pixelbrax.training.assembly import check_checkpoint, kept_part, make_agent
from pixelbrax.training.config import TrainConfig
from pixelbrax.training.env_config import IMAGE_SETTINGS
from pixelbrax.training.run_dir import RunDir

_SIZES = ("features", "patch_size", "patch_features", "conv_features", "state_layers", "policy_layers")
_NETWORK = ("encoder", *_SIZES, "distribution")
_HEADS = ("state_coef", "dynamics_coef")  # settings of agents: where one is 0, there is no head
_STATE, _ENCODER, _LEARNER = "state", "encoder", "learner"
# Parameters in which a policy's encoder may be, and "target", a slow copy of it; a critic's own encoder is elsewhere.
_WITH_ENCODER = ("network", "policy", "target")


def takeover(config: TrainConfig, agent: Agent) -> Callable[[AgentState], AgentState]:
    """What gives an agent's fresh state what it takes over from `config.start_from`; all else stays fresh.

    Task, engine, distractors and action repeat may be others than that run's; of an encoder, the algorithm too.
    The learner is all networks, statistics and optimizers; its learning rate begins anew.

    Args:
      config: all settings.
      agent: the agent that they describe.

    Raises:
      ConfigError: there is no such run or checkpoint, or what it has is another network or reads something else.
    """
    if not config.start_from:
        return lambda state: state
    run = RunDir.open(Path(config.start_from))
    theirs, what = run.load_config(), f"start_from {run.path}"
    # One that was given from Python cannot be built again; the networks' shapes are found out when they are loaded.
    env = agent.env if theirs.environment.facts else theirs.environment.build()
    other = make_agent(replace(theirs, curriculum=CurriculumConfig()), env)
    check_start(config, agent, theirs, other, what)
    check_checkpoint(run, config.start_updates)
    updates = config.start_updates or None
    if config.start_part == _LEARNER:
        learner = kept_part(other, run, lambda state: (state.params, state.statistics, state.opt_state), updates)
        return _take_learner(*learner)
    part, take = (_encoder, _with_encoder) if config.start_part == _ENCODER else (_actor, _with_actor)
    read = [_STATE] if config.environment.obs == _STATE else []  # a critic's states may be another task's

    def wanted(state: AgentState) -> tuple[PyTree, PyTree]:
        return part(state.params, theirs.algorithm), {name: state.statistics[name] for name in read}

    given, states = kept_part(other, run, wanted, updates)
    return lambda state: replace(state, params=take(state.params, given), statistics=state.statistics | states)


def check_start(config: TrainConfig, agent: Agent, theirs: TrainConfig, other: Agent, what: str) -> None:
    """Refuses to begin training with what another run has learned if it does not fit; compiles and reads nothing.

    Args:
      config: the settings of the run that begins.
      agent: the agent that they describe.
      theirs: the settings of the run with which it begins.
      other: the agent of that run.
      what: names that run, for messages.

    Raises:
      ConfigError: it has another network, or observes something else.
    """
    for name in ("obs", *(IMAGE_SETTINGS if config.environment.obs == "pixels" else ())):
        ours, different = getattr(config.environment.resolved(), name), getattr(theirs.environment, name)
        if ours != different:
            raise ConfigError(f"{what}: it has {name}={different}, and this run {ours}: they must be the same")
    if config.start_part == _LEARNER and theirs.algorithm != config.algorithm:
        raise ConfigError(
            f"{what}: its learner is {theirs.algorithm}'s, and this run's {config.algorithm}'s: start_part=policy or "
            "encoder carries over from other algorithms"
        )
    fresh, given = (jax.eval_shape(each.init, jax.random.key(0)) for each in (agent, other))
    part = {_ENCODER: _encoder, _LEARNER: _everything}.get(config.start_part, _actor)
    fits = _shapes(part(given.params, theirs.algorithm)) == _shapes(part(fresh.params, config.algorithm))
    same = config.start_part == _ENCODER or theirs.network.distribution == config.network.distribution
    if not (fits and same):
        apart = [f"{name}={there} and not {here}" for name, there, here in _settings(config, theirs) if there != here]
        reason = ", ".join(apart) or "another number of actions, or of what is observed"
        raise ConfigError(f"{what}: its {config.start_part} is another network than this run's: it has {reason}")
    given = replace(given, statistics=without_open_episodes(given.statistics, fresh.statistics))
    for name in ("statistics", "opt_state") if config.start_part == _LEARNER else ():
        if _shapes(getattr(given, name)) != _shapes(getattr(fresh, name)):
            raise ConfigError(f"{what}: its {name} are of another kind than this run's: start_part=policy leaves them")


def _settings(config: TrainConfig, theirs: TrainConfig) -> list[tuple[str, Any, Any]]:
    """What shapes the part that is carried over: names of settings, that run's values, this run's."""
    there, here = theirs.network, config.network
    settings = [(name, getattr(there, name), getattr(here, name)) for name in _NETWORK]
    if config.start_part != _LEARNER:
        return settings
    weights = [(name, getattr(theirs.agent, name, 0.0), getattr(config.agent, name, 0.0)) for name in _HEADS]
    heads = [weight for weight in weights if bool(weight[1]) != bool(weight[2])]
    return [*settings, ("critic", there.critic, here.critic), *heads]


def _take_learner(params: PyTree, statistics: PyTree, opt_state: PyTree) -> Callable[[AgentState], AgentState]:
    """What gives a fresh state the networks, statistics and optimizers of another, at the first learning rate."""
    return lambda state: replace(
        state,
        params=params,
        statistics=without_open_episodes(statistics, state.statistics),
        opt_state=with_first_learning_rate(opt_state, state.opt_state),
    )


def _everything(params: PyTree, algorithm: str) -> PyTree:
    del algorithm
    return params


def _actor(params: PyTree, algorithm: str) -> PyTree:
    """The policy's own parameters in those of an actor and critic."""
    network = params.get("network", params)
    if "policy" not in network or _ENCODER not in network:
        raise ConfigError(
            f"start_from carries over the policy of ppo, distill, apg and es, not of {algorithm}: start_part=encoder "
            "carries over the encoder of every algorithm"
        )
    return actor_params(network)


def _encoder(params: PyTree, algorithm: str) -> PyTree:
    """The parameters of the encoder that the policy reads."""
    for network in (params, *(params[name] for name in _WITH_ENCODER if name in params)):
        if _ENCODER in network:
            return network[_ENCODER]
    raise ConfigError(f"start_part=encoder: the networks of {algorithm} have no encoder")


def _with_encoder(params: PyTree, encoder: PyTree) -> PyTree:
    """The parameters with another encoder of the policy."""
    return {
        name: encoder if name == _ENCODER else _with_encoder(part, encoder) if name in _WITH_ENCODER else part
        for name, part in params.items()
    }


def _with_actor(params: PyTree, actor: PyTree) -> PyTree:
    return params | ({"network": params["network"] | actor} if "network" in params else actor)


def _shapes(tree: PyTree) -> PyTree:
    return jax.tree.map(lambda x: (tuple(x.shape), np.dtype(x.dtype)), tree)
