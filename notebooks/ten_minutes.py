# %% [markdown]
# # Ten minutes to a running cheetah
#
# A policy learns to run from 48x48 gray pixels, on two CPU cores in about seven minutes, compiling included. The way is
# that of `make demo`: a teacher learns from the engine's states, then a student that sees only pixels learns from it.

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
import matplotlib.pyplot as plt
import numpy as np

import pixelbrax

pixelbrax.enable_compilation_cache()  # a second run of this notebook compiles less
print(jax.devices())

# %% [markdown]
# ## What the agent sees
#
# `reset` and `step` are pure functions of one environment; `vmap` makes a batch of them and `jit` compiles it. Three frames
# are stacked into one observation, the newest last.

# %%
env = pixelbrax.make("halfcheetah", "spring", image_size=48, grayscale=True)
states = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), 4))
print(states.obs["pixels"].shape, states.obs["pixels"].dtype)

figure, axes = plt.subplots(1, 4, figsize=(12, 3))
for axis, pixels in zip(axes, np.asarray(states.obs["pixels"]), strict=True):
    axis.imshow(pixels[..., -1], cmap="gray", vmin=0, vmax=255)
    axis.axis("off")

# %% [markdown]
# ## Train
#
# The preset `demo` is `pixelbrax train --preset demo` of the command line. A line every few seconds says how far it is.

# %%
budget = {"num_steps": 2_048, "eval_episodes": 2, "quiet": True} if SMALL else {}
if SMALL:  # the tests leave the teacher out
    run = pixelbrax.train("inverted_pendulum", preset="pendulum-cpu", name="cheetah", image_size=16, **budget)
else:
    run = pixelbrax.train(preset="demo", name="cheetah")
run

# %% [markdown]
# ## Look at it

# %%
print("before", run.evaluations["untrained"]["mean_return"])
print("after", run.evaluations["trained"]["mean_return"])
run.video()

# %% [markdown]
# ## The policy is a function
#
# It maps observations to actions, and passes through `jit`, `vmap` and `scan` like any pytree.

# %%
policy = run.policy()
state = jax.jit(run.env.reset)(jax.random.key(1))
print("action", policy(state.obs))

# %% [markdown]
# ## Does it still run when everything looks different?
#
# The same episodes, with a contrast that no training has shown. It has learned without distractors, so expect much less.

# %%
plain = pixelbrax.evaluate(policy, run.env, episodes=2 if SMALL else 16)
other = pixelbrax.evaluate(policy, run.env.with_distractors("filter/contrast@test"), episodes=2 if SMALL else 16)
print(f"as in training: {plain}")
print(f"other contrast: {other}")
