"""Epochs of minibatches: passes over samples in random order, which may end once the policy has moved too far."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int32, PyTree

from pixelbrax.envs import is_sharded
from pixelbrax.learning.acting import Rollout
from pixelbrax.learning.agent import Metrics
from pixelbrax.learning.config import OnPolicyConfig
from pixelbrax.learning.losses import Minibatch, normalized
from pixelbrax.learning.optimizer import adapt_learning_rate, skip_step
from pixelbrax.learning.sharding import take_samples

Learner = TypeVar("Learner")
Trained = tuple[PyTree, optax.OptState]
"""Parameters and the state of their optimizer."""
Step = Callable[[Trained, Int32[Array, " sample"], Array], tuple[Trained, Metrics]]
"""A gradient step with the samples of the given indices and a key, and its metrics."""


def run_epochs(
    step: Callable[[Learner, Int32[Array, " sample"], Array], tuple[Learner, Metrics]],
    learner: Learner,
    key: Array,
    num_epochs: int,
    num_minibatches: int,
    num_samples: int,
) -> tuple[Learner, dict[str, Float[Array, " epoch"]]]:
    """Passes over all samples `num_epochs` times, each time reshuffled and split into minibatches.

    Args:
      step: updates the learner with the samples of the given indices and a key.
      learner: what it updates.
      key: PRNG key of the order and of the steps.
      num_epochs: passes.
      num_minibatches: steps per pass; must divide `num_samples`.
      num_samples: number of samples.

    Returns:
      The learner at the end, and the metrics' means over the steps of each pass.
    """

    def epoch(learner: Learner, key: Array) -> tuple[Learner, Metrics]:
        shuffle_key, steps_key = jax.random.split(key)
        order = jax.random.permutation(shuffle_key, num_samples).reshape(num_minibatches, -1)
        keys = jax.random.split(steps_key, num_minibatches)
        learner, metrics = jax.lax.scan(lambda learner, x: step(learner, *x), learner, (order, keys))
        return learner, {name: value.mean() for name, value in metrics.items()}

    return jax.lax.scan(epoch, learner, jax.random.split(key, num_epochs))


def means(metrics: Mapping[str, Float[Array, " epoch"]]) -> Metrics:
    """Metrics over all passes."""
    return {name: value.mean() for name, value in metrics.items()}


def descend(
    optimizer: optax.GradientTransformation,
    loss: Callable[[PyTree], tuple[Float[Array, ""], Metrics]],
    trained: Trained,
) -> tuple[Trained, Metrics]:
    """One gradient step; the norm of the gradient joins the metrics."""
    params, optimizer_state = trained
    (_, metrics), grads = jax.value_and_grad(loss, has_aux=True)(params)
    updates, optimizer_state = optimizer.update(grads, optimizer_state, params)
    return (optax.apply_updates(params, updates), optimizer_state), metrics | {"gradient_norm": optax.tree.norm(grads)}


def stop_when_far(
    step: Step, max_kl: float
) -> Callable[[tuple[Trained, Bool[Array, ""]], Int32[Array, " sample"], Array], tuple[Any, Metrics]]:
    """A gradient step that is not taken once the policy is too far from the one that acted.

    The first minibatch whose `kl` is above the limit changes nothing, and nor do those after it, which are not even
    computed, unless agents learn side by side. The decay of the learning rate goes on, so that it ends where the run
    does.

    Args:
      step: a step; without a metric `kl` it is always taken.
      max_kl: the limit.

    Returns:
      A step of `(trained, stopped)`. Its metrics have one more, `taken`, 1 or 0, and are 0 where it was not taken.
    """

    def limited(
        learner: tuple[Trained, Bool[Array, ""]], indices: Int32[Array, " sample"], key: Array
    ) -> tuple[Any, Metrics]:
        (params, optimizer_state), stopped = learner
        still = (params, skip_step(optimizer_state))
        _, shapes = jax.eval_shape(step, learner[0], indices, key)
        if "kl" not in shapes:
            after, metrics = step(learner[0], indices, key)
            return (after, stopped), metrics | {"taken": jnp.float32(1)}

        def take() -> tuple[Any, Metrics]:
            after, metrics = step(learner[0], indices, key)
            far = metrics["kl"] > max_kl
            after = jax.tree.map(lambda old, new: jnp.where(far, old, new), still, after)
            # Not by a product: a minibatch that is too far may have infinite metrics.
            metrics = {name: jnp.where(far, 0.0, value) for name, value in metrics.items()}
            return (after, far), metrics | {"taken": 1.0 - far.astype(jnp.float32)}

        def skip() -> tuple[Any, Metrics]:
            return (still, stopped), {name: jnp.zeros((), jnp.float32) for name in (*shapes, "taken")}

        return jax.lax.cond(stopped, skip, take)

    return limited


def learn_from_rollout(
    loss: Callable[[PyTree, Minibatch, Array], tuple[Float[Array, ""], Metrics]],
    optimizer: optax.GradientTransformation,
    trained: Trained,
    rollout: Rollout,
    advantage: Float[Array, "time env"],
    key: Array,
    config: OnPolicyConfig,
    num_epochs: int,
) -> tuple[Trained, Metrics]:
    """Passes over a rollout, minimizing `loss(params, batch, key)`; `advantage` is not normalized yet.

    With `max_kl`, metrics are means over the steps that were taken, and `skipped` is the share of those that were not.
    """
    everything, target = None, rollout.value + advantage
    if config.normalize_advantage == "rollout":
        advantage = normalized(advantage, rollout.valid)
    if jax.default_backend() == "cpu" and not is_sharded():
        # Stacking frames is slow on CPUs, so it is done once, for all passes.
        indices = jnp.divmod(jnp.arange(config.steps_per_update), config.num_envs)
        everything = Minibatch.of(rollout, advantage, target, *indices)

    def take(indices: Int32[Array, " sample"]) -> Minibatch:
        if everything is not None:
            return jax.tree.map(lambda x: x[indices], everything)
        time, env = jnp.divmod(indices, config.num_envs)
        return take_samples(lambda kept, *at: Minibatch.of(*kept, *at), (rollout, advantage, target), time, env)

    def step(trained: Trained, indices: Int32[Array, " sample"], key: Array) -> tuple[Trained, Metrics]:
        batch = take(indices)
        if config.normalize_advantage == "minibatch":
            batch = batch._replace(advantage=normalized(batch.advantage, batch.valid))
        return descend(optimizer, lambda params: loss(params, batch, key), trained)

    passes = num_epochs, config.num_minibatches, config.steps_per_update
    if config.max_kl:
        limited = stop_when_far(step, config.max_kl)
        (trained, _), metrics = run_epochs(limited, (trained, jnp.bool_(False)), key, *passes)
        taken = metrics.pop("taken")
        steps = jnp.maximum(taken.sum(), 1e-9)  # below what rounding makes of a KL divergence of 0 there may be none
        over_taken = {name: value.sum() / steps for name, value in metrics.items()}
        return trained, over_taken | {"skipped": 1.0 - taken.mean()}
    (params, optimizer_state), metrics = run_epochs(step, trained, key, *passes)
    if "kl" in metrics:  # of the last pass: before the first step it is 0
        optimizer_state = adapt_learning_rate(optimizer_state, metrics["kl"][-1], config)
    return (params, optimizer_state), means(metrics)
