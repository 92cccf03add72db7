"""What acts in an environment: a `Policy`, a function of observations, or random actions."""

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal, jaxpr_as_fun
from jaxtyping import Array, Float, PyTree

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError, check_count, check_flag, check_seed
from pixelbrax.experiments.environments import check_env
from pixelbrax.experiments.policies import Policy, PolicyNetwork, check_fits, filled
from pixelbrax.physics import called
from pixelbrax.training import MAX_EPISODES, Evaluation, Evaluator, Progress
from pixelbrax.xla import in_float32

RANDOM = "random"
PolicyLike = Policy | Callable[[dict[str, Array]], Array] | str
"""A `Policy`; a function of one environment's observation that JAX can trace; or "random", uniform actions.

A function is traced at every call of what takes a `PolicyLike`, so it may read what has changed since, such as an
agent's parameters. A program is compiled for each such change; a function that you jit yourself is JAX's to keep.
"""

_FORM = "policy(observation) -> (action_size,) actions"
_SIDE_BY_SIDE = 64  # episodes of an evaluation that run at once


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Chosen:
    """Actions of a function, with the interface of a distribution."""

    actions: Float[Array, "*batch action_size"]

    def mode(self) -> Array:
        return self.actions

    def sample(self, key: Array) -> Array:
        del key
        return self.actions

    def action(self, raw: Array) -> Array:
        return raw


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Uniform(_Chosen):
    """Uniform actions in [-1, 1]."""

    def sample(self, key: Array) -> Array:
        return jax.random.uniform(key, self.actions.shape, minval=-1.0, maxval=1.0)


class _Traced:
    """A function of observations as it is now: two are equal if they compute the same, whatever they are named.

    Attributes:
      checksum: of what it computes, in this version of JAX; None if it calls the host, where anything may happen.
    """

    def __init__(self, function: Callable[[dict[str, Array]], Array], env: PixelEnv):
        """Traces the function.

        Raises:
          ConfigError: it fails, or returns something else than one array.
        """
        called(_FORM, function, env.observation_spec)
        # JAX takes equal functions, such as a bound method of an object that has changed, for unchanged ones.
        traced = jax.jit(lambda observation: function(observation)).trace(env.observation_spec)
        if jax.tree.structure(traced.out_info) != jax.tree.structure(0):
            raise ConfigError(f"the policy returns {traced.out_info!r:.80}: it must return one array of actions")
        self._function = jaxpr_as_fun(traced.jaxpr)
        text = traced.lower().as_text()
        total = hashlib.sha256(text.encode())
        for constant in _constants(traced.jaxpr):  # JAX may leave large ones out of the text
            total.update(np.asarray(constant).tobytes())
        self.checksum = None if "callback" in text else total.hexdigest()
        self._identity: object = self.checksum or object()

    def __call__(self, observation: Mapping[str, Array]) -> Array:
        return self._function(*jax.tree.leaves(dict(observation)))[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Traced) and other._identity == self._identity

    def __hash__(self) -> int:
        return hash(self._identity)


def _constants(program: Any) -> Iterator[Any]:
    """The arrays in a jaxpr, which may be closed, and in those that its equations call."""
    jaxpr = getattr(program, "jaxpr", program)
    read = [*jaxpr.outvars, *(x for equation in jaxpr.eqns for x in equation.invars)]
    found = [*getattr(program, "consts", ()), *(x.val for x in read if isinstance(x, Literal))]
    for x in found:
        yield jax.random.key_data(x) if jax.numpy.issubdtype(jax.numpy.result_type(x), jax.dtypes.prng_key) else x
    for inner in jax.tree.leaves([equation.params for equation in jaxpr.eqns]):
        if hasattr(inner, "eqns"):
            yield from _constants(inner)


def actor(policy: PolicyLike, env: PixelEnv) -> tuple[Any, PyTree]:
    """The policy's function and its variables; policies that compute the same of their variables have equal functions.

    Raises:
      ConfigError: it is not a policy, or it is for other observations or actions.
    """
    check_env(env)
    if isinstance(policy, Policy):
        check_fits(policy, env)
        return policy.network, policy.variables
    if isinstance(policy, str) and policy != RANDOM:
        raise ConfigError(f"the policy is {policy!r}: load one with pixelbrax.load_policy(RUN), or name {RANDOM!r}")
    if not isinstance(policy, str) and not callable(policy):
        raise ConfigError(
            f"the policy is {policy!r:.80}: it must be a Policy, a function of observations, or {RANDOM!r}"
        )
    return policy if isinstance(policy, str) else _Traced(policy, env), ()


def distribution(acts: Any, env: PixelEnv, variables: PyTree, observation: dict[str, Array]) -> Any:
    """The distribution of actions for a batch of observations; `acts` and `variables` are from `actor`."""
    size = observation["state"].shape[0]
    if isinstance(acts, PolicyNetwork):
        return acts.apply(variables, filled(acts, observation, size))
    if acts == RANDOM:
        return _Uniform(jax.numpy.zeros((size, env.action_size)))
    return _Chosen(jax.vmap(acts)(observation))


@in_float32
def evaluate(
    policy: PolicyLike, env: PixelEnv, episodes: int = 32, seed: int = 0, *, deterministic: bool = True
) -> Evaluation:
    """Returns of whole episodes of fresh environments.

    The seed and an episode's index determine it: a larger number of episodes begins with the same ones.

    Args:
      policy: see `PolicyLike`.
      env: the environment, such as `env.with_distractors("dcs/hard@test")`.
      episodes: number of episodes.
      seed: random seed of the episodes and of sampled actions.
      deterministic: take a policy's mode; otherwise sample.

    Raises:
      ConfigError: the policy does not fit the environment, or a number is out of range.
    """
    episodes = check_count("episodes", episodes, most=MAX_EPISODES)
    deterministic = check_flag("deterministic", deterministic)
    acts, variables = actor(policy, env)
    run = _evaluator(env, acts, episodes, deterministic and acts != RANDOM)
    return run(variables, jax.random.key(check_seed(seed)))


@functools.lru_cache(maxsize=8)
def _evaluator(env: PixelEnv, acts: Any, episodes: int, deterministic: bool) -> Evaluator:
    """Compiled once for policies of equal functions in one environment; see `actor`."""
    policy: Any = functools.partial(distribution, acts, env)
    batch = min(episodes, _SIDE_BY_SIDE)
    return Evaluator(env, policy, episodes, deterministic, Progress(quiet=True), batch)
