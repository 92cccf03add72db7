"""Epochs of minibatches: passes over samples in random order."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int32, PyTree

from pixelbrax.envs import is_sharded
from pixelbrax.learning.acting import Rollout
from pixelbrax.learning.agent import Metrics
from pixelbrax.learning.config import OnPolicyConfig
from pixelbrax.learning.losses import Minibatch, normalized
from pixelbrax.learning.optimizer import adapt_learning_rate
from pixelbrax.learning.sharding import take_samples

Learner = TypeVar("Learner")
Trained = tuple[PyTree, optax.OptState]
"""Parameters and the state of their optimizer."""


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
    """Passes over a rollout, minimizing `loss(params, batch, key)`; `advantage` is not normalized yet."""
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

    (params, optimizer_state), metrics = run_epochs(
        step, trained, key, num_epochs, config.num_minibatches, config.steps_per_update
    )
    if "kl" in metrics:  # of the last pass: before the first step it is 0
        optimizer_state = adapt_learning_rate(optimizer_state, metrics["kl"][-1], config)
    return (params, optimizer_state), means(metrics)
