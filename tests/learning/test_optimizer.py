"""The learning rate."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from pixelbrax.algorithms import PPOConfig
from pixelbrax.learning import learning_rates, with_learning_rates
from pixelbrax.learning.optimizer import adapt_learning_rate, delayed, make_optimizer, with_first_learning_rate

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


def _steps(optimizer, state, names, count, first=0):
    """The steps of gradients that are drawn for each step and name, and the last state."""
    update, steps = jax.jit(optimizer.update), []
    for number in range(first, first + count):
        key = jax.random.key(number)
        grads = {name: 1e-3 * jax.random.normal(jax.random.fold_in(key, ord(name)), (5,)) for name in "ab"}
        grads = {name: grad if name in names else jnp.zeros(5) for name, grad in grads.items()}
        step, state = update(grads, state, None)
        steps.append(jax.tree.map(np.asarray, step))
    return steps, state


def test_parameters_that_begin_late_take_the_steps_of_a_fresh_adam():
    """Those of the others are, the steps that they take anyway."""
    config = PPOConfig(learning_rate=1e-3, final_learning_rate=1e-3, max_grad_norm=10.0)
    plain = make_optimizer(config, 1000)
    late, fresh = delayed(plain, ["b"], 300), plain.init({"a": jnp.zeros(5), "b": jnp.zeros(5)})
    waiting, state = _steps(late, fresh, "a", 300)
    assert all((step["b"] == 0).all() for step in waiting)
    learning, _ = _steps(late, state, "ab", 20, 300)
    alone, _ = _steps(plain, fresh, "ab", 20, 300)
    np.testing.assert_allclose([step["b"] for step in learning], [step["b"] for step in alone], rtol=1e-5)
    others, _ = _steps(plain, fresh, "ab", 320)
    np.testing.assert_allclose([s["a"] for s in waiting + learning], [s["a"] for s in others], rtol=1e-5)


def test_moments_of_another_run_wait_as_well():
    """Those who begin late go on as if they had never waited; without waiting themselves, momentum moves them."""
    config = PPOConfig(learning_rate=1e-3, final_learning_rate=1e-3, max_grad_norm=10.0)
    plain = make_optimizer(config, 1000)
    fresh = plain.init({"a": jnp.zeros(5), "b": jnp.zeros(5)})
    taken = with_first_learning_rate(_steps(plain, fresh, "ab", 7)[1], fresh)
    waiting, state = _steps(delayed(plain, ["b"], 9), taken, "a", 9)
    assert all((step["b"] == 0).all() for step in waiting)
    learning, _ = _steps(delayed(plain, ["b"], 9), state, "ab", 5, 7)
    at_once, _ = _steps(plain, taken, "ab", 5, 7)
    np.testing.assert_allclose([step["b"] for step in learning], [step["b"] for step in at_once], rtol=1e-5)


def test_other_learning_rates_leave_a_decay_where_it_stands():
    """Half-way, it goes on from half-way between the new ones; one that adapts begins anew only if it is told to."""
    old, new = (PPOConfig(learning_rate=rate, final_learning_rate=rate / 10) for rate in (1e-3, 1e-4))
    params, grads = {"a": jnp.zeros(3)}, {"a": jnp.ones(3)}
    states = {"falls": make_optimizer(old, 4).init(params), "adapts": make_optimizer(old, 4, 0.01).init(params)}
    for _ in range(2):
        _, states["falls"] = make_optimizer(old, 4).update(grads, states["falls"], params)
    fresh = {"falls": make_optimizer(new, 9).init(params), "adapts": make_optimizer(new, 9, 0.01).init(params)}
    rates = learning_rates(fresh)
    after = with_learning_rates(states, rates, restarts_adaptive=False)
    step: Any = make_optimizer(old, 4).update(grads, after["falls"], params)[0]
    np.testing.assert_allclose(step["a"], -(1e-4 + 1e-5) / 2, rtol=1e-3)
    assert float(after["adapts"][-1].learning_rate) == pytest.approx(1e-3)
    anew = with_learning_rates(states, rates, restarts_adaptive=True)
    assert float(anew["adapts"][-1].learning_rate) == pytest.approx(1e-4)
