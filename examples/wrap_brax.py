"""An environment of Brax, or a class derived from one, as a pixel environment.

Usage: python examples/wrap_brax.py
"""

import jax
from brax import envs

import pixelbrax

env = pixelbrax.wrap(
    envs.get_environment("halfcheetah", backend="spring"),
    camera=pixelbrax.CameraSpec(offset=(0.0, -2.1), height=0.8, target_height=0.6, fovy=55.0),
    image_size=48,
    action_repeat=2,
)

if __name__ == "__main__":
    states = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), 4))
    states = jax.jit(jax.vmap(env.step))(states, jax.numpy.zeros((4, env.action_size)))
    print(f"rewards {states.reward}, images {states.obs['pixels'].shape}")
