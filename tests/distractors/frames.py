"""Contexts, views and frames made by hand, for distractors without an environment."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pixelbrax.distractors import Distractor, RenderedFrame, SceneContext, SceneView
from pixelbrax.render import Camera, look_at
from tests.probe import probe_env

CAMERA = look_at(jnp.array([0.0, -3.0, 1.0]), jnp.zeros(3), 45.0)


def context(height: int = 16, width: int = 16) -> SceneContext:
    """Of the probe."""
    env = probe_env()
    return SceneContext.of(env.physics.mj_model, env.scene, height, width)


def view(camera: Camera = CAMERA) -> SceneView:
    """Of the probe's scene, three meters from what is looked at."""
    return SceneView(probe_env().scene, camera, jnp.float32(3.0))


def frame(rgb: Any) -> RenderedFrame:
    """An image (3, height, width), 0..1."""
    return RenderedFrame(jnp.asarray(rgb, jnp.float32), None, CAMERA)


def noise(height: int = 16, width: int = 16) -> np.ndarray:
    """An image of independent pixels."""
    return np.random.default_rng(0).uniform(0, 1, (3, height, width)).astype(np.float32)


def keys(count: int) -> jax.Array:
    """PRNG keys."""
    return jax.random.split(jax.random.key(0), count)


def seen(distractor: Distractor, rgb: Any, seed: int = 0, steps: int = 0) -> np.ndarray:
    """The image (3, height, width) as the distractor shows it after some steps of an episode."""
    here = context(*np.shape(rgb)[1:])

    ready = distractor.prepare(here)

    def shown(rgb):
        state = ready.init(jax.random.key(seed), here)
        for t in range(steps):
            state = ready.step(state, jax.random.fold_in(jax.random.key(seed + 1), t), here)
        return ready.apply_frame(state, frame(rgb), here).rgb

    return np.asarray(jax.jit(shown)(rgb))
