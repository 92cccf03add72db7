"""Training that begins with the policy, the encoder, or all that has been learned, of another run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
from jaxtyping import PyTree

from pixelbrax.errors import ConfigError
from pixelbrax.learning import Agent, AgentState, with_first_learning_rate
from pixelbrax.networks import actor_params
from pixelbrax.training.assembly import check_checkpoint, kept_state, make_agent
from pixelbrax.training.config import TrainConfig
from pixelbrax.training.run_dir import RunDir

_IMAGES = ("image_size", "frame_stack", "grayscale")
_NETWORK = ("encoder", "features", "patch_size", "patch_features", "conv_features", "state_layers", "distribution")
_STATE, _ENCODER, _LEARNER = "state", "encoder", "learner"
# Parameters in which a policy's encoder may be, and "target", a slow copy of it; a critic's own encoder is elsewhere.
_WITH_ENCODER = ("network", "policy", "target")


def starting_policy(config: TrainConfig, agent: Agent) -> Callable[[AgentState], AgentState]:
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
    part = {_ENCODER: _encoder, _LEARNER: _everything}.get(config.start_part, _actor)
    fresh = jax.eval_shape(agent.init, jax.random.key(0))
    wanted = part(fresh.params, config.algorithm)
    run = RunDir.open(Path(config.start_from))
    theirs, what = run.load_config(), f"start_from {run.path}"
    for name in ("obs", *(_IMAGES if config.environment.obs == "pixels" else ())):
        ours, other = getattr(config.environment.resolved(), name), getattr(theirs.environment, name)
        if ours != other:
            raise ConfigError(f"{what}: it has {name}={other}, and this run {ours}: they must be the same")
    if config.start_part == _LEARNER and theirs.algorithm != config.algorithm:
        raise ConfigError(
            f"{what}: its learner is {theirs.algorithm}'s, and this run's {config.algorithm}'s: start_part=policy or "
            "encoder carries over from other algorithms"
        )
    check_checkpoint(run, config.start_updates)
    # A checkpoint has the states of its own environments; one that was given from Python cannot be built again.
    env = agent.env if theirs.environment.facts else theirs.environment.build()
    kept = kept_state(make_agent(theirs, env), run, config.start_updates or None)
    given = part(kept.params, theirs.algorithm)
    same = config.start_part == _ENCODER or theirs.network.distribution == config.network.distribution
    if _shapes(given) != _shapes(wanted) or not same:
        settings = ((name, getattr(theirs.network, name), getattr(config.network, name)) for name in _NETWORK)
        apart = [f"{name}={there} and not {here}" for name, there, here in settings if there != here]
        reason = ", ".join(apart) or "another number of actions, or of what is observed"
        raise ConfigError(f"{what}: its {config.start_part} is another network than this run's: it has {reason}")
    if config.start_part == _LEARNER:
        return _learner(kept, fresh, what)
    given = jax.tree.map(np.asarray, given)
    reads_states = config.environment.obs == _STATE  # a critic's states may be another task's
    states = {_STATE: jax.tree.map(np.asarray, kept.statistics[_STATE])} if reads_states else {}

    def begin(state: AgentState) -> AgentState:
        with_it = _with_encoder if config.start_part == _ENCODER else _with_actor
        return replace(state, params=with_it(state.params, given), statistics=state.statistics | states)

    return begin


def _learner(kept: AgentState, fresh: AgentState, what: str) -> Callable[[AgentState], AgentState]:
    """What gives a fresh state the networks, statistics and optimizers of another, at the first learning rate."""
    for name in ("statistics", "opt_state"):
        if _shapes(getattr(kept, name)) != _shapes(getattr(fresh, name)):
            raise ConfigError(f"{what}: its {name} are of another kind than this run's: start_part=policy leaves them")
    params, statistics, opt_state = jax.tree.map(np.asarray, (kept.params, kept.statistics, kept.opt_state))
    return lambda state: replace(
        state, params=params, statistics=statistics, opt_state=with_first_learning_rate(opt_state, state.opt_state)
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
