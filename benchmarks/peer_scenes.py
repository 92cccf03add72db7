"""What `peers.py` has all renderers render: a task's model, or a robot of meshes, in random states."""

from dataclasses import replace
from pathlib import Path

import jax
import meshes
import mujoco
import numpy as np

import pixelbrax
from pixelbrax.render import Camera, GeomPose, Scene
from pixelbrax.tasks import Palette, get_task

HAND = "shadow_hand"
_SKYBOX = int(mujoco.mjtTexture.mjTEXTURE_SKYBOX)


def scene_of(name: str) -> Scene:
    """Our scene of a task or robot."""
    return Scene.from_mujoco(_hand_model()) if name == HAND else pixelbrax.make(name).scene


def write_states(name: str, folder: Path, num_envs: int) -> None:
    """Writes the model, and poses and cameras of random states; of a task those that are reached by random actions."""
    if name == HAND:
        model, palette = _hand_model(), Palette()
        _, pose, camera = meshes.hand(num_envs)
    else:
        model, palette = pixelbrax.make(name).physics.mj_model, get_task(name).palette or Palette()
        pose, camera = _reached(name, num_envs)
    states = {"xpos": pose.xpos, "xmat": pose.xmat, "cam_pos": camera.pos, "cam_mat": camera.mat, "fovy": camera.fovy}
    np.savez(folder / "states.npz", allow_pickle=False, **states)
    mujoco.mj_saveModel(model, str(folder / "model.mjb"), None)
    # For renderers that do not read MuJoCo's models. A plane's size bounds its texture; no material repeats it once.
    repeats = np.concatenate([model.mat_texrepeat, np.ones((1, 2))])[model.geom_matid]
    geoms = {"type": model.geom_type, "size": model.geom_size, "rgb": model.geom_rgba[:, :3]}
    geoms["period"] = 2 * model.geom_size[:, :2] / repeats
    sky = np.mean([palette.sky_up, palette.sky_down], axis=0) * np.any(model.tex_type == _SKYBOX)
    checker = (palette.floor, palette.floor[::-1])
    np.savez(folder / "look.npz", to_light=-model.light_dir[0], sky=sky, checker=checker, allow_pickle=False, **geoms)


def _hand_model() -> mujoco.MjModel:
    """MJX's shadow hand with a camera, without which mujoco_warp draws nothing."""
    spec = mujoco.MjSpec.from_file(str(meshes.SHADOW_HAND))
    spec.worldbody.add_camera(name="any")
    return spec.compile()


def _reached(name: str, num_envs: int) -> tuple[GeomPose, Camera]:
    env = pixelbrax.make(name)

    def step(state, key):
        return env.physics.step(state, jax.random.uniform(key, (env.action_size,), minval=-1, maxval=1)), None

    def one(key):
        state = env.reset(key)
        physics, _ = jax.lax.scan(step, state.physics, jax.random.split(key, 20))
        return env.render_inputs(replace(state, physics=physics))[1:]

    return jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), num_envs))
