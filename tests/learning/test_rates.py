"""Over how many gradient steps each algorithm's learning rates decay, and which of them follows the divergence."""

from typing import Any

import jax.numpy as jnp
import pytest

from pixelbrax.learning import DecayState
from tests.algorithms.agents import make_agent
from tests.probe import probe_env

_PASSES: dict[str, Any] = {
    "policy_epochs": 2,
    "policy_iterations": 4,
    "auxiliary_epochs": 3,
    "auxiliary_minibatches": 8,
}


@pytest.mark.parametrize(
    ("name", "settings", "steps"),
    [
        ("ppg", {"value_epochs": 3}, {"policy": 2 * 4, "value": 3 * 4}),
        ("dcpg", {}, {"policy": 2 * 4}),
        ("dcpg-separate", {}, {"policy": 2 * 4, "value": 2 * 4}),
    ],
)
def test_rates_decay_over_the_gradient_steps_of_a_run(name, settings, steps):
    """Of 14 updates: passes of 4 minibatches in each, and the auxiliary phases of 3 whole phases."""
    agent: Any = make_agent(name, probe_env(outputs=()), 14, num_minibatches=4, **_PASSES, **settings)
    found = {}
    for optimizer, each in agent.optimizers.items():
        state = each.init({"policy": jnp.zeros(1), "target": jnp.zeros(1)})
        found[optimizer] = getattr(state, "inner_state", state)[-1].num_steps
    assert found == {part: 14 * count for part, count in steps.items()} | {"auxiliary": 3 * 3 * 8}


@pytest.mark.parametrize("name", ["ppg", "dcpg-separate"])
def test_only_the_policys_rate_follows_the_divergence(name):
    agent: Any = make_agent(name, probe_env(outputs=()), 14, target_kl=0.01)
    states = {part: each.init({"policy": jnp.zeros(1)}) for part, each in agent.optimizers.items()}
    decays = {part: isinstance(getattr(x, "inner_state", x)[-1], DecayState) for part, x in states.items()}
    assert decays == {"policy": False, "value": True, "auxiliary": True}
