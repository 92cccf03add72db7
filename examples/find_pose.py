"""Recovers the position of a body from one image, by gradient descent through the renderer.

Usage: python examples/find_pose.py
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import mujoco
import optax

from pixelbrax.render import GeomPose, Scene, look_at, render

SIZE, STEPS = 48, 250

model = mujoco.MjModel.from_xml_string(
    """
    <mujoco>
      <worldbody>
        <light pos="1 -2 3" dir="-.3 .6 -1"/>
        <geom type="plane" size="0 0 1" rgba=".3 .4 .5 1"/>
        <geom type="capsule" size=".15 .3" pos="0 0 .7" euler="20 50 0" rgba=".9 .6 .3 1"/>
      </worldbody>
    </mujoco>
    """
)
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
camera = look_at(jnp.array([0.2, -3.0, 1.3]), jnp.array([0.0, 0.0, 0.7]), 50.0)
photo = render(scene, pose, camera, SIZE, SIZE, ("color",)).color  # the image to explain
truth = pose.xpos[1]


def mismatch(position: jax.Array) -> jax.Array:
    """Mean squared difference between the photo and an image with the capsule at `position`."""
    moved = replace(pose, xpos=pose.xpos.at[1].set(position))
    # Soft silhouettes: the pixels of a sharp one have no derivative with respect to its position.
    return jnp.mean((render(scene, moved, camera, SIZE, SIZE, ("color",), soft=1.5).color - photo) ** 2)


optimizer = optax.adam(optax.linear_schedule(0.02, 0.001, STEPS))
position = truth + jnp.array([0.3, 0.0, -0.2])
state = optimizer.init(position)
value_and_grad = jax.jit(jax.value_and_grad(mismatch))
print("compiling ...", flush=True)
for step in range(STEPS):
    loss, gradient = value_and_grad(position)
    if step % 50 == 0:
        print(f"step {step:3d}  mismatch {loss:.5f}  distance {jnp.linalg.norm(position - truth):.3f} m", flush=True)
    updates, state = optimizer.update(gradient, state)
    position = optax.apply_updates(position, updates)
print(f"found at {position}, is at {truth}: {jnp.linalg.norm(position - truth):.3f} m apart")
