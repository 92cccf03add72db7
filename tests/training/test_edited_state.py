"""Settings that were edited, in the state of a checkpoint."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.learning import learning_rates
from pixelbrax.training.edited_state import with_edited_rates
from tests.algorithms.agents import make_agent
from tests.probe import probe_env


@pytest.mark.parametrize(
    ("edited", "rate"),
    [({"num_steps"}, 5e-3), ({"final_learning_rate"}, 5e-3), ({"learning_rate"}, 1e-3), ({"clip"}, 5e-3)],
)
def test_a_rate_that_follows_the_divergence_begins_anew_only_if_it_is_edited_itself(edited, rate):
    agent: Any = make_agent("ppg", probe_env(outputs=()), target_kl=0.01, learning_rate=1e-3, final_learning_rate=1e-4)
    state = agent.init(jax.random.key(0))
    *others, last = state.opt_state["policy"]
    followed = (*others, last._replace(learning_rate=jnp.float32(5e-3)))
    older = {name: x for name, x in state.opt_state.items()} | {"policy": followed}
    after = with_edited_rates(replace(state, opt_state=older), agent, edited)
    np.testing.assert_allclose(learning_rates(after.opt_state["policy"])[0].learning_rate, rate)
