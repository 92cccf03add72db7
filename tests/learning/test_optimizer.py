"""The learning rate."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from pixelbrax.algorithms import PPOConfig
from pixelbrax.learning import means, run_epochs
from pixelbrax.learning.optimizer import adapt_learning_rate, make_optimizer

_CONFIG = PPOConfig(learning_rate=1e-3, final_learning_rate=1e-3, target_kl=0.01, max_grad_norm=10.0)


def test_the_rate_follows_the_divergence_within_bounds(strict):
    state = make_optimizer(_CONFIG, 10, target_kl=0.01).init(jnp.zeros(3))

    def rate_after(*divergences):
        after = state
        for kl in divergences:
            after = adapt_learning_rate(after, jnp.float32(kl), _CONFIG)
        return float(after[-1].learning_rate)  # pyright: ignore[reportIndexIssue]

    assert rate_after(0.01) == pytest.approx(1e-3)
    assert rate_after(0.0201) == pytest.approx(1e-3 / 1.5)
    assert rate_after(0.0049) == pytest.approx(1e-3 * 1.5)
    assert rate_after(*[1.0] * 40) == pytest.approx(1e-5)
    assert rate_after(*[0.0] * 40) == pytest.approx(1e-2)


def test_both_kinds_of_rate_step_alike():
    """The one that follows is Adam's as much as the one that falls; and without a target it falls."""
    params, grads = jnp.zeros(3), jnp.array([1.0, -2.0, 0.5])
    steps = []
    for target_kl in (0.01, 0.0):
        optimizer = make_optimizer(_CONFIG, 10, target_kl)
        steps.append(np.asarray(jax.jit(optimizer.update)(grads, optimizer.init(params), params)[0]))
    np.testing.assert_allclose(*steps, rtol=1e-6)
    adam = optax.adam(1e-3, eps=1e-5)
    np.testing.assert_allclose(steps[0], np.asarray(adam.update(grads, adam.init(params))[0]), rtol=1e-6)
    fixed = make_optimizer(PPOConfig(), 10, PPOConfig().target_kl).init(params)
    assert adapt_learning_rate(fixed, jnp.float32(1.0), PPOConfig()) == fixed


def test_metrics_are_told_pass_by_pass():
    """So the rate follows the divergence of the last one: before the first step there is none."""

    def step(count, indices, key):
        return count + 1, {"kl": count}

    count, metrics = run_epochs(step, jnp.zeros(()), jax.random.key(0), 3, 4, 8)
    assert count == 12
    np.testing.assert_array_equal(metrics["kl"], [1.5, 5.5, 9.5])
    assert means(metrics) == {"kl": 5.5}
