"""An environment of MuJoCo Playground as a pixel environment, with domain randomization of dynamics and colors.

Usage: python examples/wrap_playground.py      (pip install 'pixelbrax[playground]')
"""

import jax
import jax.numpy as jnp
from mujoco_playground import dm_control_suite

import pixelbrax


def randomize(model, keys):
    """As in Playground: one model per key, and the batch axis of each array that differs."""

    @jax.vmap
    def sample(key):
        mass_key, color_key = jax.random.split(key)
        mass = model.body_mass * jax.random.uniform(mass_key, minval=0.8, maxval=1.2)
        return mass, model.geom_rgba.at[:, :3].set(jax.random.uniform(color_key, (model.ngeom, 3)))

    mass, rgba = sample(keys)
    in_axes = jax.tree.map(lambda x: None, model).tree_replace({"body_mass": 0, "geom_rgba": 0})
    return model.tree_replace({"body_mass": mass, "geom_rgba": rgba}), in_axes


task = dm_control_suite.load("PendulumSwingup", config_overrides={"impl": "jax"})  # the default, Warp, needs a GPU
env = pixelbrax.wrap(task, image_size=48, randomization_fn=randomize)

if __name__ == "__main__":
    states = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), 4))
    states = jax.jit(jax.vmap(env.step))(states, jnp.zeros((4, env.action_size)))
    masses = states.info["model"]["body_mass"].sum(-1)
    print(f"rewards {states.reward}, masses {masses} kg, images {states.obs['pixels'].shape}")
