"""An episode in three dimensions, as a page of HTML that needs no network."""

import base64
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import mujoco
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.envs import PixelEnv, State, with_autoreset
from pixelbrax.errors import ConfigError
from pixelbrax.physics import PhysicsState
from pixelbrax.render import Camera, GeomPose, Pattern, Scene, tendon_segments, texel_colors
from pixelbrax.report.markup import Markup, tag
from pixelbrax.report.page import page, resource
from pixelbrax.report.video import MAX_FPS, Actor, end_of, ending_of, num_steps_of, rollout
from pixelbrax.training import replace_text

_KINDS = {
    mujoco.mjtGeom.mjGEOM_PLANE: "plane",
    mujoco.mjtGeom.mjGEOM_SPHERE: "sphere",
    mujoco.mjtGeom.mjGEOM_CAPSULE: "capsule",
    mujoco.mjtGeom.mjGEOM_ELLIPSOID: "ellipsoid",
    mujoco.mjtGeom.mjGEOM_CYLINDER: "cylinder",
    mujoco.mjtGeom.mjGEOM_BOX: "box",
    mujoco.mjtGeom.mjGEOM_MESH: "mesh",
    mujoco.mjtGeom.mjGEOM_HFIELD: "mesh",
}
_STILL = 1e-5  # meters, and sines of angles: what moves less is stored once


@dataclass(frozen=True)
class Replay:
    """The motion of an episode.

    Attributes:
      scene: of its first state.
      pose: world poses of all geoms: leaves have the leading axis (frame,).
      camera: the same of the task's camera.
      light_pos: (frame, light, 3) float32, places of the lights in the world, which may follow a body.
      light_dir: (frame, light, 3) float32, directions in which they shine.
      rewards: (frame,) float32, reward from the frame before up to each; a step's is shared out evenly over its time.
      dt: seconds between two frames, and before the first; before the last it may be less.
      seconds: simulated length, at whose end is the last frame.
      ending: why the episode ended, or empty.
    """

    scene: Scene
    pose: GeomPose
    camera: Camera
    light_pos: Float[np.ndarray, "frame light 3"]
    light_dir: Float[np.ndarray, "frame light 3"]
    rewards: Float[np.ndarray, " frame"]
    dt: float
    seconds: float
    ending: str


def record_replay(
    env: PixelEnv, actor: Actor, key: Array, *, seconds: float | None = None, viewer: PixelEnv | None = None
) -> Replay:
    """The motion of one episode, with the frames that action repeat skips; nothing is rendered for it.

    Distractors that change more of the scene than where lights and camera are stay as they are in the first frame, and
    those that change images are not shown.

    Args:
      env: the environment.
      actor: what acts in it.
      key: for the episode and the actor.
      seconds: simulated seconds after which to stop; by default the whole episode.
      viewer: the same environment with another camera, from which it is shown.
    """
    env = with_autoreset(env, "disabled")
    viewer = viewer or env

    def step(actor: Actor, state: State, key: Array) -> tuple[State, Any]:
        action = actor(state, key)

        def seen(physics: PhysicsState) -> tuple[GeomPose, Camera, tuple[Array, Array]]:
            scene, pose, camera = viewer.render_inputs(replace(state, physics=physics))
            return pose, camera, (scene.light_pos, scene.light_dir)

        shown = jax.vmap(seen)(env.substeps(state, action))
        following = env.step(state, action)
        return following, (shown, following.reward, ending_of(following))

    steps = num_steps_of(env, seconds)
    shown, rewards, ends = rollout(env, step, actor, key, steps)
    terminated, truncated, diverged, length = ends
    last, ending = end_of(terminated, truncated, diverged)
    count, skip = max(1, int(length[last])), max(1, round(1 / env.physics.dt / MAX_FPS))
    starts = np.arange(0, count, skip)
    shown_at = np.minimum(starts + skip, count) - 1  # the episode's last state is always among them
    frames = lambda x: x.reshape(-1, *x.shape[2:])[shown_at]  # noqa: E731
    first = np.arange(0, count, env.action_repeat)  # the last action may have fewer frames
    lasting = np.diff(np.append(first, count))
    shared = np.repeat(rewards[: len(first)] / lasting, lasting)
    sums = np.add.reduceat(shared, starts)
    scene = jax.jit(lambda key: viewer.render_inputs(env.reset(jax.random.split(key)[0]))[0])(key)
    model = env.physics.mj_model
    tendons = len(tendon_segments(model)) if viewer.images.tendons else 0  # left out: their lengths change
    changing = range(model.ngeom + model.nsite, model.ngeom + model.nsite + tendons)
    scene = replace(scene, visible=tuple(i for i in scene.visible if i not in changing))
    pose, camera, lights = jax.tree.map(frames, shown)
    scene, dt = jax.tree.map(np.asarray, scene), env.physics.dt
    return Replay(scene, pose, camera, *lights, rewards=sums, dt=dt * skip, seconds=dt * count, ending=ending)


def write_replay(path: Path, replay: Replay, title: str) -> None:
    """Writes the page.

    Args:
      path: the HTML file.
      replay: the motion.
      title: of the page.

    Raises:
      ConfigError: the scene has more than one environment's leaves.
      OSError: the file cannot be written.
    """
    data = json.dumps(replay_data(replay), separators=(",", ":")).replace("<", "\\u003c")
    body = tag("script", Markup(data), type="application/json", id="replay")
    script = resource("replay.js")
    replace_text(path, page(title, body, Markup(resource("replay.html")), script=script, style="replay.css"))


def replay_data(replay: Replay) -> dict[str, Any]:
    """All that the page draws, for JSON: numbers, and arrays as base64 of little-endian float32."""
    scene = replay.scene
    if scene.geom_size.ndim != 2:
        raise ConfigError("a replay shows one environment: its scene has a leading axis")
    geoms = [_geom(scene, replay.pose, index) for index in scene.visible]
    camera, count = replay.camera, len(replay.rewards)
    return {
        "dt": replay.dt,
        "seconds": replay.seconds,
        "frames": count,
        "ending": replay.ending,
        "rewards": _packed(replay.rewards),
        "camera": {
            "pos": _packed(camera.pos),
            "mat": _packed(camera.mat),
            "fovy": float(np.ravel(camera.fovy)[0]),
        },
        "sky": _listed(scene.sky_rgb) if scene.sky_texture < 0 else [_mean_color(scene, scene.sky_texture)] * 2,
        "ambient": _listed(scene.ambient + scene.headlight_ambient),
        "headlight": {"diffuse": _listed(scene.headlight_diffuse), "specular": _listed(scene.headlight_specular)},
        "lights": [_light(replay, k) for k in range(len(scene.light_kind))],
        "geoms": geoms,
    }


def _geom(scene: Scene, pose: GeomPose, index: int) -> dict[str, Any]:
    xpos, xmat = _moving(np.asarray(pose.xpos)[:, index], np.asarray(pose.xmat)[:, index])
    found: dict[str, Any] = {
        "kind": _KINDS[mujoco.mjtGeom(scene.geom_type[index])],
        "size": _listed(scene.geom_size[index]),
        "rgb": _listed(scene.geom_rgb[index]),
        "alpha": float(scene.geom_alpha[index]) if index in scene.transparent else 1.0,
        "emission": float(scene.geom_emission[index]),
        "specular": float(scene.geom_specular[index]),
        "shininess": float(scene.geom_shininess[index]),
        "pos": _packed(xpos),
        "quat": _packed(_quaternions(xmat)),
    }
    if scene.geom_pattern[index] == Pattern.CHECKER:
        found["checker"] = {
            "rgb": _listed(scene.pattern_rgb[index]),
            "scale": _listed(scene.texture_scale[index][:2]),
            "offset": _listed(scene.texture_offset[index]),
        }
    elif scene.geom_pattern[index] == Pattern.PLAIN:
        found["rgb"] = _listed(scene.geom_rgb[index] * scene.pattern_rgb[index, 0])
    else:  # an image, of which the page has the mean color
        found["rgb"] = _listed(scene.geom_rgb[index] * np.array(_mean_color(scene, scene.geom_texture[index])))
    if index == scene.haze_plane:
        air = scene.air
        found["haze"] = {
            "rgb": _listed(air.haze_rgb),
            "width": float(air.haze_width),
            "distance": float(air.haze_distance),
        }
    if found["kind"] == "mesh":
        mesh = scene.meshes[scene.geom_mesh[index]]
        found["corners"], found["normals"] = _packed(mesh.corners), _packed(mesh.normals)
    return found


def _moving(*values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Of what stays as it is the first frame alone."""
    still = max(np.ptp(value, axis=0).max() for value in values) < _STILL
    return tuple(value[:1] for value in values) if still else values


def _mean_color(scene: Scene, texture: int) -> list[float]:
    """The mean of a texture's finest level."""
    texels, (faces, levels) = scene.textures[texture], scene.texture_shape[texture]
    return _listed(texel_colors(texels[: faces * levels[0][0] * levels[0][1]]).mean(0))


def _light(replay: Replay, k: int) -> dict[str, Any]:
    scene = replay.scene
    pos, direction = _moving(replay.light_pos[:, k], replay.light_dir[:, k])
    edge = float(np.cos(np.deg2rad(scene.light_cutoff[k])))
    return {
        "kind": [int(scene.light_kind[k]), edge, float(scene.light_exponent[k])],
        "attenuation": _listed(scene.light_attenuation[k]),
        "ambient": _listed(scene.light_ambient[k]),
        "pos": _packed(pos),
        "dir": _packed(direction),
        "diffuse": _listed(scene.light_diffuse[k]),
        "specular": _listed(scene.light_specular[k]),
    }


def _quaternions(xmat: np.ndarray) -> Float[np.ndarray, "frame 4"]:
    """Rotations as quaternions (w, x, y, z), each on the side of the one before, so that those between are short."""
    quats = np.zeros((len(xmat), 4))
    for quat, mat in zip(quats, xmat.reshape(-1, 9).astype(np.float64), strict=True):
        mujoco.mju_mat2Quat(quat, mat)
    turns = np.where((quats[1:] * quats[:-1]).sum(-1) < 0, -1.0, 1.0)
    quats[1:] *= np.cumprod(turns)[:, None]
    return quats


def _packed(values: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()


def _listed(values: Any) -> Any:
    return np.asarray(values, np.float64).round(6).tolist()
