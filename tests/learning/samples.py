"""Noise in the form of what agents learn from."""

import jax.numpy as jnp
import numpy as np

from pixelbrax.learning import Frames, Minibatch, ObservationStore, Rollout


def some_rollout(seed: int = 0, time: int = 3, env: int = 2, stack: int = 2) -> Rollout:
    """A rollout of 8x9 images."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (time + stack, env, 8, 9, 1), dtype=np.uint8)
    frames = Frames(jnp.asarray(images), jnp.asarray(rng.integers(0, stack, (time + 1, env)), jnp.int32))
    numbers = [jnp.asarray(rng.normal(size=(time, env)), jnp.float32) for _ in range(4)]
    action = jnp.asarray(rng.normal(size=(time, env, 1)), jnp.float32)
    flags = [jnp.asarray(rng.integers(0, 2, (time, env)), bool) for _ in range(3)]
    return Rollout(ObservationStore(frames, None), jnp.tanh(action), action, *numbers, *flags)


def some_samples() -> Minibatch:
    """Six samples of states, one of which does not count."""
    rng = np.random.default_rng(0)
    state, (log_prob, value, advantage) = rng.normal(size=(6, 2)), rng.normal(size=(3, 6))
    given = (state, rng.normal(size=(6, 1)), log_prob, value, advantage, value + advantage)
    state, raw, log_prob, value, advantage, target = (jnp.asarray(x, jnp.float32) for x in given)
    valid = jnp.array([1, 1, 0, 1, 1, 1], bool)
    return Minibatch({"state": state}, raw, log_prob, value, advantage, target, valid)
