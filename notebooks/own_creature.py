# %% [markdown]
# # A creature of your own
#
# An MJCF model and a reward in JAX are an environment. The guide "Train your own animal" goes further: sensors, reward
# terms, and stages to learn by.

# %%
# On Colab, or wherever PixelBrax is missing. There is no release on PyPI yet: PACKAGE may be a wheel or a clone.
import importlib.util
import os
import subprocess
import sys

PACKAGE = "pixelbrax"
if importlib.util.find_spec("pixelbrax") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", PACKAGE], check=True)
SMALL = bool(os.environ.get("PIXELBRAX_SMALL"))  # the tests run this notebook with small budgets

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import mujoco
import numpy as np

import pixelbrax

pixelbrax.enable_compilation_cache()

# %% [markdown]
# ## A body
#
# An inchworm: a front and a rear, a hinge between them that lifts the middle, and a camera that tracks it. Its friction is
# low at one end, so that bending carries it somewhere.

# %%
XML = """
<mujoco model="inchworm">
  <option timestep="0.005"/>
  <visual><headlight ambient=".4 .4 .4" diffuse=".5 .5 .5"/></visual>
  <asset>
    <texture name="grid" type="2d" builtin="checker" rgb1=".3 .45 .35" rgb2=".25 .38 .3" width="64" height="64"/>
    <material name="grid" texture="grid" texuniform="true" texrepeat="2 2"/>
  </asset>
  <worldbody>
    <light directional="true" pos="0 0 3" dir=".3 .3 -1" diffuse=".6 .6 .6"/>
    <geom name="ground" type="plane" size="0 0 1" material="grid"/>
    <body name="rear" pos="0 0 .12">
      <camera name="side" mode="track" pos="0 -2 .6" xyaxes="1 0 0 0 .3 1"/>
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <joint name="pitch" axis="0 1 0"/>
      <geom type="capsule" fromto="-.3 0 0 0 0 0" size=".1" rgba=".85 .5 .2 1" friction=".3 .01 .001"/>
      <body name="front" pos="0 0 0">
        <joint name="bend" axis="0 1 0" range="-70 20" damping=".5" armature=".02"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".1" rgba=".9 .7 .3 1" friction="1.2 .01 .001"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="bend" gear="20" ctrlrange="-1 1"/></actuator>
</mujoco>
"""
model = mujoco.MjSpec.from_string(XML)
CONTROL_DT = 0.05


def speed(before, action, after):
    """Forward speed in m/s, minus a small cost of the effort."""
    return (after.qpos[0] - before.qpos[0]) / CONTROL_DT - 0.01 * jnp.sum(action**2)


env = pixelbrax.make(
    model,
    reward_fn=speed,
    control_dt=CONTROL_DT,
    camera="side",
    image_size=16 if SMALL else 48,
    grayscale=True,
    episode_length=100,
)
print(env.observation_spec, env.action_size)

# %% [markdown]
# ## A look
#
# Images of any size come from the same renderer as the observations.

# %%
state = jax.jit(env.reset)(jax.random.key(0))
plt.imshow(np.asarray(env.render(state, 32, 48) if SMALL else env.render(state, 240, 360)))
plt.axis("off")

# %% [markdown]
# ## Training
#
# `pixelbrax.train` takes the environment itself.

# %%
run = pixelbrax.train(
    env,
    num_steps=512 if SMALL else 200_000,
    num_envs=8 if SMALL else 64,
    unroll_length=16 if SMALL else 32,
    eval_episodes=2 if SMALL else 16,
    critic="state",
    name="inchworm",
    quiet=SMALL,
)
print({name: run.evaluations[name]["mean_return"] for name in ("untrained", "trained")})

# %%
run.video()
