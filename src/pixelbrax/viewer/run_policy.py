"""The policy of a run, with its value if its algorithm learns one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import Policy, check_fits, load_policy, open_run
from pixelbrax.training import EnvConfig
from pixelbrax.xla import in_float32


@dataclass(frozen=True)
class RunPolicy:
    """What a run's policy does in an environment that it fits.

    Attributes:
      policy: the deterministic policy.
      value: one environment's observation -> () value, or None of one that it was not learned from; None if the
        algorithm has no values.
      environment: the settings that it was trained with.
      name: the run's folder.
    """

    policy: Policy
    value: Callable[[dict[str, Array]], Array | None] | None
    environment: EnvConfig
    name: str

    def misfit(self, env: PixelEnv) -> str:
        """Why it cannot act in the environment; empty if it can."""
        try:
            check_fits(self.policy, env)
        except ConfigError as e:
            return str(e)
        return ""

    def act(self, observation: dict[str, Array]) -> tuple[np.ndarray, float | None]:
        """The action for an observation, and the observation's value."""
        value = None if self.value is None else self.value(observation)
        return np.asarray(self.policy(observation)), None if value is None else float(value)


@in_float32
def load_run(path: Path) -> RunPolicy:
    """The policy of a run's last checkpoint.

    Raises:
      ConfigError: there is no run or no checkpoint, or its environment was made in Python.
    """
    run = open_run(path)
    policy = load_policy(run)
    return RunPolicy(policy, _value_of(run.training_run.agent, policy), run.settings.environment, run.path.name)


def _value_of(agent: Any, policy: Policy) -> Callable[[dict[str, Array]], Array | None] | None:
    """The value, of agents that act and criticize by one function `outputs`.

    A policy may act in a task whose states have another size, which its critic cannot read.
    """
    outputs = getattr(agent, "outputs", None)
    if outputs is None:
        return None
    spec = policy.network.spec

    @jax.jit
    def value(variables: Any, observation: dict[str, Array]) -> Array:
        return outputs(*variables, {name: x[None] for name, x in observation.items()}).value[0]

    def of(observation: dict[str, Array]) -> Array | None:
        known = {name: observation[name] for name in spec if name in observation}
        if any(name not in known or known[name].shape != spec[name].shape for name in spec):
            return None
        return value(policy.variables, known)

    return of
