"""Passes over samples: their metrics, and a limit to how far they move a policy."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.algorithms import PPOConfig
from pixelbrax.errors import ConfigError
from pixelbrax.learning import learn_from_rollout, means, run_epochs
from pixelbrax.learning.optimizer import make_optimizer
from pixelbrax.learning.passes import descend, stop_when_far
from tests.algorithms.agents import make_agent
from tests.learning.samples import some_rollout
from tests.probe import probe_env

_CONFIG = PPOConfig(learning_rate=1e-3, final_learning_rate=0.0)


def test_metrics_are_told_pass_by_pass():
    """Before the first step there is no divergence."""

    def step(count, indices, key):
        return count + 1, {"kl": count}

    count, metrics = run_epochs(step, jnp.zeros(()), jax.random.key(0), 3, 4, 8)
    assert count == 12
    np.testing.assert_array_equal(metrics["kl"], [1.5, 5.5, 9.5])
    assert means(metrics) == {"kl": 5.5}


def test_no_step_is_taken_once_the_policy_is_too_far():
    """The loss falls by 1 for each unit that the parameter moves, and its divergence is how far it has moved."""
    optimizer = make_optimizer(_CONFIG, 12)

    def step(trained, indices, key):
        del indices, key
        return descend(optimizer, lambda x: (-x, {"kl": jnp.abs(x), "loss": -x}), trained)

    start: Any = (jnp.float32(0.0), optimizer.init(jnp.float32(0.0)))
    at: list[float] = []
    taken, count = start, 0
    for _ in range(12):
        at.append(float(taken[0]))
        taken: Any = step(taken, None, None)[0]
        count = int(taken[1][-1].count)
    limit = (at[4] + at[5]) / 2  # the sixth step would begin beyond it
    learner = (start, jnp.bool_(False))
    ((x, state), stopped), metrics = run_epochs(stop_when_far(step, limit), learner, jax.random.key(0), 3, 4, 8)
    assert stopped
    np.testing.assert_allclose(x, at[5], rtol=1e-6)
    assert state[-1].count == count == 12, "the decay goes on"
    assert state[1].count == 5, "Adam's moments stay"
    np.testing.assert_allclose(metrics["taken"], [1.0, 0.25, 0.0])
    np.testing.assert_allclose(metrics["kl"], [sum(at[:4]) / 4, at[4] / 4, 0.0], rtol=1e-5)


def test_what_is_infinite_in_a_step_that_is_not_taken_is_not_told():
    def step(trained, indices, key):
        return (trained[0] + 1, ()), {"kl": trained[0], "loss": 1 / (2 - trained[0])}  # infinite in the third step

    learner = ((jnp.float32(0.0), ()), jnp.bool_(False))
    (((x, _), stopped), metrics) = run_epochs(stop_when_far(step, 1.5), learner, jax.random.key(0), 1, 4, 8)
    assert stopped
    assert x == 2
    np.testing.assert_allclose(metrics["loss"], [(0.5 + 1.0) / 4])


@pytest.mark.full
def test_a_limit_cuts_updates_short_and_changes_no_others():
    env = probe_env(pays_side=True, frame_stack=1, episode_length=20, outputs=())
    agents = {limit: make_agent("ppo", env, 4, max_kl=limit) for limit in (0.0, 1e9, 1e-12)}
    start = jax.jit(agents[0.0].init)(jax.random.key(0))
    after = {limit: jax.jit(agent.update)(start)[:2] for limit, agent in agents.items()}
    (free, told), (wide, told_wide), (short, told_short) = (after[limit] for limit in agents)
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6), free.params, wide.params)
    assert told_wide["skipped"] == 0
    np.testing.assert_allclose(told_wide["kl"], told["kl"], rtol=1e-3)
    config = agents[1e-12].config
    steps = config.num_epochs * config.num_minibatches
    np.testing.assert_allclose(told_short["skipped"], 1 - 1 / steps, rtol=1e-6)
    assert abs(told_short["kl"]) < 1e-6  # of the one step that was taken, from the policy that acted
    assert short.opt_state[-1].count == free.opt_state[-1].count


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_kl": 0.1, "target_kl": 0.01}, "max_kl does not go with target_kl"),
        ({"max_kl": 0.1, "num_epochs": 1, "num_minibatches": 1}, "max_kl needs more than one gradient step"),
        ({"max_kl": -1.0}, "max_kl is -1.0"),
    ],
)
def test_limits_that_cannot_be_are_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        make_agent("ppo", probe_env(), **change)


def test_each_pass_takes_every_sample_once_in_another_order():
    def step(learner, indices, key):
        del key
        place, order = learner
        return (place + 3, jax.lax.dynamic_update_slice(order, indices, (place,))), {"kl": jnp.float32(0)}

    (_, order), _ = run_epochs(step, (jnp.int32(0), jnp.zeros(24, jnp.int32)), jax.random.key(0), 2, 4, 12)
    first, second = np.asarray(order).reshape(2, 12)
    np.testing.assert_array_equal(np.sort([first, second]), [np.arange(12)] * 2)
    for a, b in ((first, second), (first, np.arange(12)), (second, np.arange(12))):
        assert (a != b).any()


_SIZES: dict[str, Any] = {"num_envs": 4, "unroll_length": 6, "num_minibatches": 2}


@pytest.mark.parametrize("over", ["minibatch", "rollout"])
def test_advantages_are_normalized_before_they_are_learned_from(over):
    config = PPOConfig(**_SIZES, num_epochs=1, normalize_advantage=over)
    rollout = replace(some_rollout(time=6, env=4), valid=jnp.ones((6, 4), bool))

    def loss(x, batch, key):
        del key
        mean = batch.advantage.mean()
        return 0 * x, {"square": (batch.advantage**2).mean(), "mean": mean, "off": jnp.abs(mean)}

    optimizer = make_optimizer(config, 2)
    start = jnp.float32(0), optimizer.init(jnp.float32(0))
    _, told = learn_from_rollout(loss, optimizer, start, rollout, 5 + 3 * rollout.value, jax.random.key(0), config, 1)
    np.testing.assert_allclose([told["square"], told["mean"]], [1, 0], atol=1e-5)
    assert (told["off"] < 1e-5) == (over == "minibatch")


def test_the_rate_follows_the_divergence_of_the_last_pass():
    """Here the first is far too great, and the last as wanted."""
    config = PPOConfig(**_SIZES, learning_rate=1e-3, final_learning_rate=1e-3, target_kl=0.01)
    optimizer, rollout = make_optimizer(config, 4, config.target_kl), some_rollout(time=6, env=4)

    def loss(x, batch, key):
        del batch, key
        return -x, {"kl": jnp.where(x < 1.5e-3, 1.0, config.target_kl)}

    start = jnp.float32(0), optimizer.init(jnp.float32(0))
    key = jax.random.key(0)
    trained, _ = learn_from_rollout(loss, optimizer, start, rollout, rollout.value, key, config, 2)
    state: Any = trained[1]
    assert float(state[-1].learning_rate) == pytest.approx(1e-3)
