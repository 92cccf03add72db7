# %% [markdown]
# # Differentiable rendering
#
# `pixelbrax.render` has derivatives with respect to every number of a scene: positions, sizes, colors, lights, the
# camera. Here a body is found from one image, by gradient descent through the renderer.

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
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import mujoco
import numpy as np
import optax

from pixelbrax import enable_compilation_cache
from pixelbrax.render import GeomPose, Scene, look_at, render

enable_compilation_cache()
SIZE, STEPS = (12, 3) if SMALL else (48, 250)
XML = """
<mujoco>
  <worldbody>
    <light pos="1 -2 3" dir="-.3 .6 -1"/>
    <geom type="plane" size="0 0 1" rgba=".3 .4 .5 1"/>
    <geom type="capsule" size=".15 .3" pos="0 0 .7" euler="20 50 0" rgba=".9 .6 .3 1"/>
  </worldbody>
</mujoco>
"""
model = mujoco.MjModel.from_xml_string(XML)
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
camera = look_at(jnp.array([0.2, -3.0, 1.3]), jnp.array([0.0, 0.0, 0.7]), 50.0)

# %% [markdown]
# ## Sharp and soft
#
# In a sharp image a pixel shows one geom, and a small shift changes nothing at a silhouette: its derivative is only that of
# the shading inside. `soft=1.5` lets geoms fade over 1.5 pixels, so that the derivative sees the silhouette move.


# %%
def image(position, soft):
    """The image with the capsule at a position: float32 colors in 0..1."""
    moved = replace(pose, xpos=pose.xpos.at[1].set(position))
    return render(scene, moved, camera, SIZE, SIZE, ("color",), soft=soft).color


truth, right = pose.xpos[1], jnp.array([1.0, 0.0, 0.0])
figure, axes = plt.subplots(1, 4, figsize=(12, 3))
for column, (name, soft) in enumerate((("sharp", None), ("soft", 1.5))):
    shown, moves = jax.jit(partial(jax.jvp, partial(image, soft=soft)))((truth,), (right,))
    axes[2 * column].imshow(np.clip(np.asarray(shown), 0, 1))
    axes[2 * column].set_title(name)
    axes[2 * column + 1].imshow(np.asarray(moves.mean(-1)), cmap="RdBu", vmin=-3, vmax=3)
    axes[2 * column + 1].set_title("derivative to the right")
for axis in axes:
    axis.axis("off")

# %% [markdown]
# ## Where is the body?
#
# From one image, and a start that is 36 cm off. The image is sharp; the model's is soft.

# %%
photo = image(truth, None)


@jax.jit
@jax.value_and_grad
def mismatch(position):
    """Mean squared difference from the photo."""
    return jnp.mean((image(position, 1.5) - photo) ** 2)


optimizer = optax.adam(optax.linear_schedule(0.02, 0.001, STEPS))
position = truth + jnp.array([0.3, 0.0, -0.2])
start, state = position, optimizer.init(position)
apart = []
for _ in range(STEPS):
    _, gradient = mismatch(position)
    change, state = optimizer.update(gradient, state)
    position = optax.apply_updates(position, change)
    apart.append(float(jnp.linalg.norm(position - truth)))
print(f"{apart[0]:.3f} m off at first, {apart[-1]:.3f} m at the end")
plt.figure()
plt.plot(apart)
plt.xlabel("steps")
plt.ylabel("distance from the truth, m")

# %%
figure, axes = plt.subplots(1, 3, figsize=(9, 3))
for axis, (name, at) in zip(axes, {"photo": truth, "start": start, "found": position}.items(), strict=True):
    axis.imshow(np.clip(np.asarray(image(at, None)), 0, 1))
    axis.set_title(name)
    axis.axis("off")
