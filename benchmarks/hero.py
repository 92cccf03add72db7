"""The picture on top of README and docs: Brax's bodies and ours on one floor, by our renderer."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from PIL import Image

from pixelbrax.creatures import CREATURES
from pixelbrax.render import VISIBLE_GROUPS, GeomPose, Scene, look_at, render

_BRAX = Path(str(files("brax"))) / "envs" / "assets"
_TORTOISE = Path(__file__).parent.parent / "examples" / "animal" / "tortoise.xml"
_FLOOR_GAP = 0.002  # m between the lowest geom and the floor
_STUDIO = """
<mujoco>
  <visual><headlight ambient=".32 .32 .34" diffuse=".18 .18 .18" specular=".1 .1 .1"/><map haze=".25"/></visual>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1=".55 .68 .88" rgb2=".93 .95 .98" width="64" height="384"/>
    <texture name="tiles" type="2d" builtin="checker" rgb1=".20 .26 .36" rgb2=".23 .30 .41" width="128" height="128"/>
    <material name="floor" texture="tiles" texuniform="true" texrepeat="1 1" reflectance=".22"/>
    <material name="body" specular=".5" shininess=".6"/>
  </asset>
  <worldbody>
    <light directional="true" dir=".55 .75 -1" diffuse=".62 .60 .55" specular=".35 .35 .35" castshadow="true"/>
    <light directional="true" dir="-.8 .4 -.9" diffuse=".16 .18 .24" castshadow="false"/>
    <geom name="floor" type="plane" size="0 0 1" material="floor"/>
  </worldbody>
</mujoco>
"""


@dataclass(frozen=True)
class Figure:
    """A body in the picture.

    Attributes:
      model: its MJCF file.
      at: x and y of its root, meters.
      yaw: its turn about the vertical, degrees.
      color: of all its geoms; None keeps the model's own.
      joints: angles of hinges by name, degrees.
      lift: height of its lowest point over the floor, meters.
    """

    model: Path
    at: tuple[float, float]
    yaw: float = 0.0
    color: tuple[float, float, float] | None = None
    joints: Mapping[str, float] = field(default_factory=dict)
    lift: float = 0.0


_ORANGE, _RED, _TEAL = (0.93, 0.55, 0.20), (0.82, 0.31, 0.27), (0.22, 0.60, 0.60)
_VIOLET, _SAND, _GREEN = (0.52, 0.40, 0.72), (0.90, 0.74, 0.46), (0.45, 0.66, 0.36)
_GALLOP = {"bthigh": -25, "bshin": 25, "bfoot": 20, "fthigh": 35, "fshin": -40, "ffoot": -10}
_CRAWL = {f"ankle_{leg}": angle for leg, angle in enumerate((50, -50, -50, 50), start=1)} | {"hip_1": 20, "hip_3": 20}
_STRIDE = {"right_hip_y": -55, "right_knee": -50, "left_hip_y": 15, "left_knee": -35, "left_shoulder1": -30}
_STEP = {"thigh_joint": -45, "leg_joint": -40, "thigh_left_joint": 0, "leg_left_joint": -55, "foot_left_joint": 10}
_JUMP = {"thigh_joint": -25, "leg_joint": -45, "foot_joint": 30}
_RUN = {"hip_l": -40, "knee_l": 30, "ankle_l": -10, "hip_r": 35, "knee_r": 45, "ankle_r": 25, "neck": -15, "tail": 15}
_GRAZE = {"neck": 30, "head": -20, "hip_fl": 25, "knee_fl": -20, "hip_rr": 25, "hip_fr": -15, "hip_rl": -20}
_WIND = {"yaw1": 40, "yaw2": -45, "yaw3": 45, "pitch4": -20}
_FIGURES = (
    Figure(CREATURES["strider"].file, (-0.35, -1.7), 12, None, _RUN, 0.03),
    Figure(CREATURES["grazer"].file, (1.75, -0.9), 160, None, _GRAZE),
    Figure(CREATURES["eel"].file, (0.75, -2.75), 10, None, _WIND),
    Figure(_TORTOISE, (-1.95, -2.65), 25, None, {"hip_fl": 20, "hip_rr": 20}),
    Figure(_BRAX / "half_cheetah.xml", (-2.55, -0.45), 14, _ORANGE, _GALLOP, 0.12),
    Figure(_BRAX / "ant.xml", (2.65, -2.1), 30, _SAND, _CRAWL),
    Figure(_BRAX / "humanoid.xml", (0.55, 0.9), -80, _RED, _STRIDE, 0.02),
    Figure(_BRAX / "walker2d.xml", (-1.0, 0.9), -25, _TEAL, _STEP),
    Figure(_BRAX / "hopper.xml", (3.35, 0.6), -150, _VIOLET, _JUMP, 0.15),
    Figure(_BRAX / "swimmer.xml", (-3.2, -1.35), 40, _GREEN, {"rot2": 60, "rot3": -60}),
)


def write_hero(path: Path, width: int = 1600, height: int = 640, samples: int = 4) -> None:
    """Renders the picture, with shadows and reflections, and writes it: in half a minute.

    Args:
      path: a .png file.
      width: pixels.
      height: pixels.
      samples: rays per pixel.
    """
    spec = mujoco.MjSpec.from_string(_STUDIO)
    for figure in _FIGURES:
        _place(figure, spec)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = look_at(jnp.array([0.1, -8.6, 1.75]), jnp.array([0.1, 0.0, 0.42]), 24.0)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    draw = jax.jit(
        functools.partial(render, height=height, width=width, shadows=True, reflections=True, samples=samples)
    )
    image = Image.fromarray(np.asarray(draw(scene, pose, camera).rgb))
    image.quantize(256, dither=Image.Dither.FLOYDSTEINBERG).save(path, optimize=True)


def _place(figure: Figure, spec: mujoco.MjSpec) -> None:
    """Adds the geoms of a body, in its pose, to the picture's world."""
    model = mujoco.MjModel.from_xml_path(str(figure.model))
    data = mujoco.MjData(model)
    for name, degrees in figure.joints.items():
        data.joint(name).qpos[0] = np.radians(degrees)
    mujoco.mj_forward(model, data)
    shown = [i for i in range(model.ngeom) if _is_body(model, i)]
    turn = np.zeros(4)
    mujoco.mju_axisAngle2Quat(turn, np.array([0.0, 0.0, 1.0]), np.radians(figure.yaw))
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, turn)
    center = data.geom_xpos[shown].mean(0) * [1, 1, 0]
    low = min(_lowest(model, data, i) for i in shown)
    for i in shown:
        quat, turned = np.zeros(4), np.zeros(4)
        mujoco.mju_mat2Quat(quat, data.geom_xmat[i])
        mujoco.mju_mulQuat(turned, turn, quat)
        pos = rotation.reshape(3, 3) @ (data.geom_xpos[i] - center)
        pos += [*figure.at, figure.lift + _FLOOR_GAP - low]
        own = model.geom_rgba[i] if model.geom_matid[i] < 0 else model.mat_rgba[model.geom_matid[i]]
        rgb = own[:3] if figure.color is None else np.array(figure.color) * (1.0 - 0.09 * (model.geom_bodyid[i] % 3))
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom(model.geom_type[i]),
            size=model.geom_size[i],
            pos=pos,
            quat=turned,
            rgba=[*rgb, 1.0],
            material="body",
        )


def _is_body(model: mujoco.MjModel, geom: int) -> bool:
    """Whether a geom is part of the body that acts: no floor, no target, nothing that is not drawn."""
    target = "target" in model.body(model.geom_bodyid[geom]).name
    drawn = model.geom_group[geom] < VISIBLE_GROUPS and model.geom_rgba[geom, 3] > 0
    return bool(model.geom_bodyid[geom]) and drawn and not target


def _lowest(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> float:
    """The height of a geom's lowest point; for those of these models: spheres, capsules, ellipsoids and boxes."""
    size, down = model.geom_size[geom], data.geom_xmat[geom].reshape(3, 3)[2]
    kind = mujoco.mjtGeom(model.geom_type[geom])
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        reach = size[0] + size[1] * abs(down[2])
    elif kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        reach = np.linalg.norm(size * down)
    elif kind == mujoco.mjtGeom.mjGEOM_BOX:
        reach = np.abs(size * down).sum()
    else:
        reach = size[0]
    return float(data.geom_xpos[geom, 2] - reach)
