"""Trained policies as functions of observations."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jaxtyping import Array, Float, PyTree

from pixelbrax.envs import PixelEnv, State
from pixelbrax.errors import ConfigError
from pixelbrax.networks import ActionDistribution
from pixelbrax.training import RunDir, TrainingRun
from pixelbrax.xla import in_float32

_PLATFORMS = ("cpu", "cuda", "tpu")


class PolicyNetwork:
    """The function that a policy computes; equal only to itself, so that JAX compiles it once.

    Attributes:
      apply: (variables, batch of observations) -> distribution of the actions.
      spec: shape and dtype of each entry of an observation.
      action_size: length of an action.
      channels: what the channels of its pixels are, `channels_of` of its environment; None if that is not known.
    """

    def __init__(
        self,
        apply: Callable[[PyTree, dict[str, Array]], ActionDistribution],
        spec: Mapping[str, jax.ShapeDtypeStruct],
        action_size: int,
        channels: tuple[int, bool, bool] | None = None,
    ):
        self.apply = apply
        self.spec = dict(spec)
        self.action_size = action_size
        self.channels = channels
        self._reads: tuple[str, ...] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> "PolicyNetwork":
        return self  # nothing in it changes, and what it computes cannot be copied

    def reads(self, variables: PyTree) -> tuple[str, ...]:
        """Entries of an observation that actions depend on; a critic may read more."""
        if self._reads is None:
            batch = {name: jax.ShapeDtypeStruct((1, *x.shape), x.dtype) for name, x in self.spec.items()}
            shapes = jax.eval_shape(lambda: variables)
            exported = export.export(jax.jit(functools.partial(_mode, network=self)))(shapes, batch)
            names, count = sorted(self.spec), len(jax.tree.leaves(variables))  # JAX sorts the keys of a dict
            self._reads = tuple(name for i, name in enumerate(names) if count + i in exported.module_kept_var_idx)
        return self._reads


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["variables"], meta_fields=["network", "updates", "source"]
)
@dataclass(frozen=True, eq=False)  # equal only to itself: `jax.jit(policy)` needs a hash, which arrays have not
class Policy:
    """A function of observations: `policy(obs)` is deterministic, `policy(obs, key)` sampled.

    A pytree whose leaves are parameters and statistics: it passes through `jax.jit`, `jax.vmap` and `jax.lax.scan`, as
    an argument and as the function.

    Attributes:
      variables: parameters of the networks, and statistics that normalize observations.
      network: the function that it computes.
      updates: number of updates that trained it.
      source: the run that it comes from, for people.
    """

    variables: PyTree
    network: PolicyNetwork
    updates: int = 0
    source: str = ""

    def __repr__(self) -> str:
        spec = ", ".join(f"{name} {x.dtype}{list(x.shape)}" for name, x in self.network.spec.items())
        origin = f" of {self.source}" if self.source else ""
        return f"Policy({spec} -> action float32[{self.network.action_size}]{origin}, {self.updates:,} updates)"

    @in_float32
    def __call__(self, obs: Any, key: Array | None = None) -> Float[Array, "*batch action_size"]:
        """Actions in [-1, 1] for one observation or a batch of them.

        Args:
          obs: `State.obs` of one environment, or of several with a leading axis; an array instead of the dict if the
            policy reads only that entry.
          key: PRNG key to sample with; by default the policy's mode. For a batch, one key or one per observation.

        Raises:
          ConfigError: an entry is missing, or has another shape or dtype; or the key is none, or does not fit.
        """
        observation, batched = self._checked(obs)
        if key is not None:
            key = _checked_key(key, next(iter(observation.values())).shape[0])
        actions = _act(self.variables, observation, key, self.network)
        return actions if batched else actions[0]

    def distribution(self, obs: Mapping[str, Array]) -> ActionDistribution:
        """Distribution of the actions for a batch of observations."""
        return self.network.apply(self.variables, dict(obs))

    def export(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Writes the deterministic policy as StableHLO for CPU, CUDA and TPU.

        It is loaded with JAX alone: `jax.export.deserialize(Path(path).read_bytes()).call(obs)` takes a dict of the
        entries that the policy reads, each with a leading batch axis of any size, and returns (batch, action_size)
        float32 actions.

        Args:
          path: the file.
          overwrite: replace a file that exists.

        Raises:
          ConfigError: the file exists, or its folder does not.
        """
        path = Path(path)
        if path.is_dir():
            raise ConfigError(f"{path} is a folder: choose another path")
        if path.exists() and not overwrite:
            raise ConfigError(f"{path} exists: choose another path, or overwrite=True")
        if not path.absolute().parent.is_dir():
            raise ConfigError(f"{path}: there is no folder {path.absolute().parent}")
        (size,) = export.symbolic_shape("batch")
        reads = self.network.reads(self.variables)
        spec = {
            name: jax.ShapeDtypeStruct((size, *x.shape), x.dtype)
            for name, x in self.network.spec.items()
            if name in reads
        }
        variables = jax.tree.map(jnp.asarray, jax.device_get(self.variables))  # on one device

        def act(obs: dict[str, Array]) -> Array:
            return _mode(variables, filled(self.network, obs, size), self.network)

        with jax.enable_x64(False):
            exported = export.export(jax.jit(act), platforms=_PLATFORMS)(spec)
        path.write_bytes(exported.serialize())
        return path

    def _checked(self, obs: Any) -> tuple[dict[str, Array], bool]:
        """The observation as a batch, and whether it was one already."""
        spec = self.network.spec
        if isinstance(obs, State):
            raise ConfigError("the observation is a whole State: give the policy state.obs")
        if not isinstance(obs, Mapping):
            reads = self.network.reads(self.variables)
            if len(reads) != 1:
                raise ConfigError(f"the policy reads {' and '.join(reads)}: give it a dict of them, such as state.obs")
            obs = {reads[0]: obs}
        if missing := [name for name in spec if name not in obs]:
            missing = [name for name in self.network.reads(self.variables) if name in missing]
            if missing:
                raise ConfigError(
                    f"the observation has no {missing[0]!r}: the policy reads it; it has {', '.join(obs)}"
                )
        found = self._entries(obs)
        batches = {name: x.shape[: x.ndim - len(spec[name].shape)] for name, x in found.items()}
        if len(set(batches.values())) > 1:
            sizes = ", ".join(f"{name} {x.shape}" for name, x in found.items())
            raise ConfigError(f"the observation's entries differ in batch size: {sizes}")
        batched = bool(next(iter(batches.values())))
        if not batched:
            found = {name: x[None] for name, x in found.items()}
        size = next(iter(found.values())).shape[0]
        if not size:
            raise ConfigError("the observation is a batch of none: give at least one")
        return filled(self.network, found, size), batched

    def _entries(self, obs: Mapping[str, Any]) -> dict[str, Array]:
        """The entries of the policy's observation that are there; those that it does not read only if they fit."""
        found, misfit = {}, None
        for name, spec in self.network.spec.items():
            if name not in obs:
                continue
            try:
                found[name] = _array(name, obs[name], spec)
            except ConfigError as e:
                if name in self.network.reads(self.variables):
                    raise
                misfit = e
        if misfit and not found:  # nothing tells how many observations there are
            raise misfit
        return found


def _checked_key(key: Any, count: int) -> Array:
    """One typed PRNG key, or one for each of some observations; raises ConfigError for anything else."""
    if not jnp.issubdtype(getattr(key, "dtype", np.dtype(object)), jax.dtypes.prng_key):
        if getattr(key, "dtype", None) != np.uint32 or not np.ndim(key):
            raise ConfigError(f"the key is {key!r:.80}: it must be a PRNG key, such as jax.random.key(0)")
        key = jax.random.wrap_key_data(jnp.asarray(key))
    if key.shape not in ((), (count,)):
        raise ConfigError(f"there are keys of shape {key.shape} for {count} observations: give one, or one for each")
    return key


def policy_of(training_run: TrainingRun, run: RunDir, best: bool = False) -> Policy:
    """The policy of a run's last checkpoint, or the one with the best evaluation.

    Raises:
      ConfigError: there is no such checkpoint, or it is damaged.
    """
    if best:
        variables, updates = training_run.restore_best(run)
    else:
        variables, updates = training_run.restore_policy(run)
    env = training_run.env
    network = PolicyNetwork(training_run.policy, env.observation_spec, env.action_size, channels_of(env))
    return Policy(variables, network, updates, str(run.path))


def channels_of(env: PixelEnv) -> tuple[int, bool, bool]:
    """What the channels of an environment's pixels are: three gray frames have as many as one in color."""
    return env.images.frame_stack, env.images.grayscale, env.images.channels_first


def check_fits(policy: Policy, env: PixelEnv) -> None:
    """Refuses an environment that a policy was not made for.

    Raises:
      ConfigError: observations or actions differ; the message says how.
    """
    spec, ours = policy.network.spec, env.observation_spec
    for name in policy.network.reads(policy.variables):
        theirs = spec[name]
        if name not in ours:
            raise ConfigError(f"the policy reads {name!r}, which the environment does not observe")
        if (ours[name].shape, ours[name].dtype) != (theirs.shape, theirs.dtype):
            raise ConfigError(
                f"the policy reads {name} {theirs.dtype}{list(theirs.shape)}, and the environment observes "
                f"{ours[name].dtype}{list(ours[name].shape)}"
            )
        channels = policy.network.channels
        if name.split("/")[0] == "pixels" and channels not in (None, channels_of(env)):
            raise ConfigError(
                f"the policy reads {_told(channels)}, and the environment observes {_told(channels_of(env))}"
            )
    if policy.network.action_size != env.action_size:
        raise ConfigError(
            f"the policy gives {policy.network.action_size} actions, and the environment takes {env.action_size}"
        )


def _told(channels: tuple[int, bool, bool]) -> str:
    frames, gray, first = channels
    return f"{frames} {'gray' if gray else 'color'} frames{', channels first' if first else ''}"


def _array(name: str, value: Any, spec: jax.ShapeDtypeStruct) -> Array:
    """An entry of an observation, of one environment or a batch."""
    value = value if isinstance(value, jax.Array) else np.asarray(value)
    floats = jnp.issubdtype(value.dtype, jnp.floating) and jnp.issubdtype(spec.dtype, jnp.floating)
    extra = value.ndim - len(spec.shape)
    if extra not in (0, 1) or value.shape[extra:] != spec.shape or not (floats or value.dtype == spec.dtype):
        raise ConfigError(
            f"the observation's {name!r} is {value.dtype}{list(value.shape)}: it must be {spec.dtype}"
            f"{list(spec.shape)}, or that with a leading batch axis"
        )
    return jnp.asarray(value, spec.dtype)


def filled(network: PolicyNetwork, obs: Mapping[str, Array], size: Any) -> dict[str, Array]:
    """The observation with zeros for entries that no action depends on."""
    return {
        name: obs[name] if name in obs else jnp.zeros((size, *x.shape), x.dtype) for name, x in network.spec.items()
    }


def _mode(variables: PyTree, observation: dict[str, Array], network: PolicyNetwork) -> Array:
    distribution = network.apply(variables, observation)
    return distribution.action(distribution.mode())


@functools.partial(jax.jit, static_argnames="network")
def _act(variables: PyTree, observation: dict[str, Array], key: Array | None, network: PolicyNetwork) -> Array:
    """Actions of a batch of observations; a row does not depend on the others."""
    distribution = network.apply(variables, observation)
    if key is None:
        return distribution.action(distribution.mode())
    count = jax.tree.leaves(observation)[0].shape[0]
    keys = jax.random.split(key, count) if key.ndim == 0 else key
    raw = jax.vmap(lambda one, key: one.sample(key))(distribution, keys)
    return distribution.action(raw)
