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

# MJX's shadow hand, and the same with vertices that lie in a cell of so many meters merged: 10,000 triangles.
HANDS = {"shadow_hand": 0.0, "shadow_hand_10k": 0.0041}
_SKYBOX = int(mujoco.mjtTexture.mjTEXTURE_SKYBOX)


def scene_of(name: str) -> Scene:
    """Our scene of a task or robot."""
    return Scene.from_mujoco(_hand_model(name)) if name in HANDS else pixelbrax.make(name).scene


def write_states(name: str, folder: Path, num_envs: int) -> None:
    """Writes the model, and poses and cameras of random states; of a task those that are reached by random actions."""
    if name in HANDS:
        model, palette = _hand_model(name), Palette()
        _, pose, camera = meshes.hand(num_envs, model)
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


def _hand_model(name: str) -> mujoco.MjModel:
    """MJX's shadow hand with a camera, without which mujoco_warp draws nothing."""
    spec = mujoco.MjSpec.from_file(str(meshes.SHADOW_HAND))
    spec.worldbody.add_camera(name="any")
    if HANDS[name]:
        model = meshes.hand_model()
        for mesh in spec.meshes:
            vertices, faces = _merged(model, model.mesh(mesh.name).id, HANDS[name])
            mesh.file, mesh.scale, mesh.uservert, mesh.userface = "", np.ones(3), vertices.ravel(), faces.ravel()
    return spec.compile()


def _merged(model: mujoco.MjModel, mesh: int, cell: float) -> tuple[np.ndarray, np.ndarray]:
    """A mesh's vertices, in its file's frame, and faces; vertices in one cell of a grid become their mean."""
    first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.mesh_quat[mesh])
    vertices = model.mesh_vert[first : first + count] @ rotation.reshape(3, 3).T + model.mesh_pos[mesh]
    _, number = np.unique(np.floor(vertices / cell).astype(int), axis=0, return_inverse=True)
    number = number.reshape(-1)
    means = np.stack([np.bincount(number, vertices[:, k]) for k in range(3)], axis=1) / np.bincount(number)[:, None]
    faces = number[model.mesh_face[model.mesh_faceadr[mesh] :][: model.mesh_facenum[mesh]]]
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(1)]
    _, once = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return means, faces[np.sort(once)]


def _reached(name: str, num_envs: int) -> tuple[GeomPose, Camera]:
    env = pixelbrax.make(name)

    def step(state, key):
        return env.physics.step(state, jax.random.uniform(key, (env.action_size,), minval=-1, maxval=1)), None

    def one(key):
        state = env.reset(key)
        physics, _ = jax.lax.scan(step, state.physics, jax.random.split(key, 20))
        return env.render_inputs(replace(state, physics=physics))[1:]

    return jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), num_envs))
