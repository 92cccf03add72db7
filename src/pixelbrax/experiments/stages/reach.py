"""Gates that can never open, as a metric or the return has no such values: known of environments that tell bounds."""

import math
from collections.abc import Mapping

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.experiments.stages.gate import Gate

Bounds = Mapping[str, tuple[float, float]]

_RETURNS = ("mean_return", "iqm")


def check_reach(gate: Gate, env: PixelEnv) -> None:
    """Refuses a gate with a threshold that no policy can meet.

    Args:
      gate: of a stage.
      env: of the stage; the `metric_bounds` of its physics, if it has any, say what its metrics can be.

    Raises:
      ConfigError: it has one; the message says what the metric can be.
    """
    bounds: Bounds = getattr(env.physics, "metric_bounds", {})
    known = {**bounds, **dict.fromkeys(_RETURNS, _returns(env, bounds)), "mean_length": (1.0, math.inf)}
    for name in gate.names:
        low, high = known.get(name, (-math.inf, math.inf))
        least, most = gate.at_least.get(name, -math.inf), gate.at_most.get(name, math.inf)
        if least > high:
            raise ConfigError(f"the gate can never open: {name} would be at least {least:g}, and is at most {high:g}")
        if most < low:
            raise ConfigError(f"the gate can never open: {name} would be at most {most:g}, and is at least {low:g}")


def _returns(env: PixelEnv, bounds: Bounds) -> tuple[float, float]:
    """The least and the largest return of an episode, of a reward that is a weighted sum of metrics."""
    weights = env.default_params.reward_weights or {}
    if not weights or not bounds.keys() >= weights.keys():
        return -math.inf, math.inf
    low = high = 0.0
    for name, weight in weights.items():
        ends = [float(weight) * end for end in bounds[name] if weight]
        low, high = low + min(ends, default=0.0), high + max(ends, default=0.0)
    return min(low, low * env.episode_length), max(high, high * env.episode_length)
