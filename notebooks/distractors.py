# %% [markdown]
# # Distractors
#
# Visual changes that say nothing about the task, sampled for every episode inside the compiled program, with held-out ones
# for tests.

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
from pixelbrax.distractors import get_preset, list_distractors

pixelbrax.enable_compilation_cache()
names = list_distractors()
print(len(names), "presets")
for name in names[:: 1 if not SMALL else 40]:
    print(f"{name:28} {get_preset(name).description}")

# %% [markdown]
# ## The same episodes under several looks
#
# A distractor has a PRNG key of its own, by default derived from `reset`'s. A name that ends in `@test` stands for levels
# and clips that training never shows.

# %%
TASK, SIZE = ("inverted_pendulum", 16) if SMALL else ("halfcheetah", 64)
SHOWN = ["filter/hue", "filter/hue@test"]
if not SMALL:
    SHOWN += ["pixelbrax/video", "dcs/easy", "dcs/easy@test", "dmcgb/color_hard", "new/rain", "new/occluders"]
base = pixelbrax.make(TASK, image_size=SIZE, frame_stack=1)
keys = jax.random.split(jax.random.key(0), 4)
looks = {"none": np.asarray(jax.jit(jax.vmap(base.reset))(keys).obs["pixels"])}
for name in SHOWN:
    env = base.with_distractors(name)
    looks[name] = np.asarray(jax.jit(jax.vmap(env.reset))(keys).obs["pixels"])

figure, axes = plt.subplots(len(looks), 4, figsize=(8, 2 * len(looks)))
for row, (name, images) in zip(axes, looks.items(), strict=True):
    row[0].set_title(name, loc="left")
    for axis, image in zip(row, images, strict=True):
        axis.imshow(image)
        axis.axis("off")

# %% [markdown]
# ## Other looks, same physics
#
# With another visual key the episode is the same and looks different: the state is equal to the bit.

# %%
env = base.with_distractors("filter/hue")
reset = jax.jit(lambda key, visual_key: env.reset(key, visual_key=visual_key))
one, two = (reset(jax.random.key(0), jax.random.key(k)) for k in (1, 2))
print("same state", bool((one.obs["state"] == two.obs["state"]).all()))
print("same image", bool((one.obs["pixels"] == two.obs["pixels"]).all()))

# %% [markdown]
# ## Strength is data
#
# Strengths are arguments of the compiled program: a curriculum changes them and compiles nothing again.

# %%
states = jax.jit(jax.vmap(env.reset, in_axes=(0, None)))
for strength in (0.0, 0.5, 1.0):
    images = np.asarray(states(keys, env.scaled_params(strength)).obs["pixels"], np.float32)
    print(f"strength {strength}: {np.abs(images - looks['none']).mean():.1f} of 255 from the plain image on average")
