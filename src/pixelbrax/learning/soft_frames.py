"""Observed images that pass a gradient on to the physics which they show."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pixelbrax.envs import PixelEnv, State, check_soft_image, each_env, soft_image
from pixelbrax.networks import Observation


class SoftFrames:
    """Stacks of frames beside those of observations: the same images with soft silhouettes, for their derivatives.

    A stack has the shape of the observation's pixels. Frames from before it was begun, and an episode's first one, do
    not depend on any action and are 0.
    """

    def __init__(self, env: PixelEnv, softness: float):
        """For an environment; `softness` is in pixels (`pixelbrax.envs.soft_image`).

        Raises:
          ConfigError: its images cannot be soft (`pixelbrax.envs.check_soft_image`).
        """
        check_soft_image(env)
        self._env, self._softness = env, softness

    @property
    def bytes_per_env(self) -> int:
        """Bytes of an environment's stack."""
        return 4 * math.prod(self._env.observation_spec["pixels"].shape)

    def begin(self, envs: State) -> Float[Array, "env height width channels"]:
        """A stack without gradient."""
        return jnp.zeros_like(envs.obs["pixels"], jnp.float32)

    def add(
        self, stack: Float[Array, "env height width channels"], envs: State, following: State
    ) -> Float[Array, "env height width channels"]:
        """The stack after a step from `envs` to `following`."""

        def draw(state: State) -> Array:
            return soft_image(self._env, state, self._softness)

        newest = each_env(jax.checkpoint(draw, prevent_cse=False))(following)
        stack = jnp.concatenate([stack[..., newest.shape[-1] :], newest], axis=-1)
        return jnp.where(envs.done[:, None, None, None], 0.0, stack)  # the step after an end is the reset

    def observed(self, envs: State, stack: Float[Array, "env height width channels"]) -> Observation:
        """The observation to the bit, as float32, with the stack's derivatives."""
        pixels = _with_gradient(envs.obs["pixels"].astype(jnp.float32), stack)
        return {**envs.obs, "pixels": pixels}


@jax.custom_vjp
def _with_gradient(shown: Array, soft: Array) -> Array:
    """`shown`, whose levels are 0..255; its gradient goes to `soft`, whose colors are 0..1."""
    del soft
    return shown


def _forward(shown: Array, soft: Array) -> tuple[Array, None]:
    return _with_gradient(shown, soft), None


def _backward(_: None, cotangent: Array) -> tuple[Array, Array]:
    return jnp.zeros_like(cotangent), 255.0 * cotangent


_with_gradient.defvjp(_forward, _backward)
