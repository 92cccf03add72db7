"""Derivatives in reverse mode: of images, and whether a step has one."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pixelbrax.envs.observe import LUMA, rendered_effects
from pixelbrax.envs.pixel_env import PixelEnv
from pixelbrax.envs.state import State
from pixelbrax.errors import ConfigError
from pixelbrax.render import render


def soft_image(env: PixelEnv, state: State, softness: float) -> Float[Array, "_ _ _"]:
    """The newest frame of an observation, with silhouettes that fade, so that derivatives include their motion.

    Without the distractors that change frames instead of the scene.

    Args:
      env: the environment; of several cameras the first is drawn.
      state: one state; use `jax.vmap` for a batch.
      softness: width over which silhouettes fade, pixels.

    Raises:
      ConfigError: see `check_soft_image`.

    Returns:
      Colors, or luma with `grayscale`, in [0, 1], in the order of axes of the environment's frames.
    """
    check_soft_image(env)
    images, inputs = env.images, env.render_inputs(state)
    effects = rendered_effects(images, env.distractors)
    image = render(*inputs, *images.shape, ("color",), soft=softness, **effects).color
    if images.grayscale:
        image = (image @ (jnp.asarray(LUMA, jnp.float32) / sum(LUMA)))[..., None]
    return jnp.moveaxis(image, -1, 0) if images.channels_first else image


def check_soft_image(env: PixelEnv) -> None:
    """Refuses an environment that `soft_image` cannot draw.

    Raises:
      ConfigError: it renders reflections, by itself or for a distractor; soft images have none.
    """
    if env.images.reflections:
        raise ConfigError("soft images have no reflections: make the environment without reflections=True")
    if env.distractors.needs_reflections:
        raise ConfigError("soft images have no reflections: leave out the distractors that make the floor reflect")


def check_reversible(env: PixelEnv) -> None:
    """Refuses an environment whose physics has no derivative in reverse mode; only traces it.

    Raises:
      ConfigError: it has none.
    """

    def total(actions: jax.Array) -> jax.Array:
        def step(envs: State, action: jax.Array) -> tuple[State, None]:
            return jax.vmap(env.step)(envs, action), None

        start = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 2))
        last = jax.lax.scan(step, start, actions)[0]  # over loops and branches, as a batch meets them
        return last.reward.sum() + last.obs["state"].sum()  # a reward may be the same in all states

    try:
        jax.eval_shape(jax.grad(total), jax.ShapeDtypeStruct((2, 2, env.action_size), jnp.float32))
    except ValueError as e:
        if "Reverse-mode" not in str(e):
            raise
        raise ConfigError("the engine has no derivative in reverse mode: take spring, positional or generalized") from e
