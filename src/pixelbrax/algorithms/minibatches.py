"""Passes over samples in random order."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int32, PyTree

from pixelbrax.algorithms.agent import Metrics
from pixelbrax.algorithms.losses import Batch
from pixelbrax.algorithms.optimizer import with_rate_for
from pixelbrax.algorithms.rollout import Rollout
from pixelbrax.algorithms.settings import OnPolicyConfig
from pixelbrax.algorithms.sharding import is_sharded, take_samples
from pixelbrax.networks import Observation, random_shift

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
) -> tuple[Learner, Metrics]:
    """Goes over all samples `num_epochs` times, each time shuffled anew and cut into minibatches.

    Args:
      step: learns from the samples of the given indices, with a key.
      learner: what it updates.
      key: for the order, and for the steps.
      num_epochs: passes.
      num_minibatches: steps a pass; must divide `num_samples`.
      num_samples: samples there are.

    Returns:
      The learner at the end, and the metrics' means over all steps.
    """

    def epoch(learner: Learner, key: Array) -> tuple[Learner, Metrics]:
        shuffle_key, steps_key = jax.random.split(key)
        order = jax.random.permutation(shuffle_key, num_samples).reshape(num_minibatches, -1)
        keys = jax.random.split(steps_key, num_minibatches)
        return jax.lax.scan(lambda learner, x: step(learner, *x), learner, (order, keys))

    learner, metrics = jax.lax.scan(epoch, learner, jax.random.split(key, num_epochs))
    return learner, {name: value.mean() for name, value in metrics.items()}


def descend(
    optimizer: optax.GradientTransformation,
    loss: Callable[[PyTree], tuple[Float[Array, ""], Metrics]],
    trained: Trained,
) -> tuple[Trained, Metrics]:
    """One step along the gradient of a loss; its norm joins the metrics."""
    params, optimizer_state = trained
    (_, metrics), grads = jax.value_and_grad(loss, has_aux=True)(params)
    updates, optimizer_state = optimizer.update(grads, optimizer_state, params)
    return (optax.apply_updates(params, updates), optimizer_state), metrics | {"gradient_norm": optax.tree.norm(grads)}


def shifted(observation: Observation, key: Array, amount: int) -> Observation:
    """The same with its images moved at random."""
    if not amount or "pixels" not in observation:
        return observation
    return {**observation, "pixels": random_shift(observation["pixels"], key, amount)}


def learn_from_rollout(
    loss: Callable[[PyTree, Batch, Array], tuple[Float[Array, ""], Metrics]],
    optimizer: optax.GradientTransformation,
    trained: Trained,
    rollout: Rollout,
    advantage: Float[Array, "time env"],
    key: Array,
    config: OnPolicyConfig,
    num_epochs: int,
) -> tuple[Trained, Metrics]:
    """Passes over a rollout, minimising `loss(params, batch, key)`."""
    everything = None
    if jax.default_backend() == "cpu" and not is_sharded():
        # Stacking frames is slow there, so it is done once, for all passes.
        everything = Batch.of(rollout, advantage, *jnp.divmod(jnp.arange(config.batch_size), config.num_envs))

    def take(indices: Int32[Array, " sample"]) -> Batch:
        if everything is not None:
            return jax.tree.map(lambda x: x[indices], everything)
        time, env = jnp.divmod(indices, config.num_envs)
        return take_samples(lambda kept, *at: Batch.of(*kept, *at), (rollout, advantage), time, env)

    def step(trained: Trained, indices: Int32[Array, " sample"], key: Array) -> tuple[Trained, Metrics]:
        shift_key, key = jax.random.split(key)
        batch = take(indices)
        batch = batch._replace(observation=shifted(batch.observation, shift_key, config.shift))
        return descend(optimizer, lambda params: loss(params, batch, key), trained)

    (params, optimizer_state), metrics = run_epochs(
        step, trained, key, num_epochs, config.num_minibatches, config.batch_size
    )
    if "kl" in metrics:
        optimizer_state = with_rate_for(optimizer_state, metrics["kl"], config)
    return (params, optimizer_state), metrics
