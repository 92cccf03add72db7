"""Scenes, whose images by MuJoCo's own renderer lie beside this file; `make.py` makes them."""

from dataclasses import dataclass
from pathlib import Path

import brax
import mujoco
import numpy as np

from pixelbrax.physics.brax import quiet_brax
from pixelbrax.render import Scene
from pixelbrax.tasks import get_task

FOLDER = Path(__file__).parent
HEIGHT, WIDTH = 120, 160


@dataclass(frozen=True)
class View:
    """MuJoCo's free camera: meters and degrees."""

    lookat: tuple[float, float, float] = (0.0, 0.0, 0.4)
    distance: float = 3.0
    azimuth: float = 100.0
    elevation: float = -25.0


_FLOOR = '<geom type="plane" size="3 3 .1" rgba=".5 .55 .6 1"/>'
_LAMP = '<light pos="1 -1.5 3" dir="-.3 .5 -1" cutoff="70" exponent="1"/>'


def _solids(rgba: str = "", material: bool = False) -> str:
    look = f'rgba="{rgba}"' if rgba else 'material="m"' if material else ""
    return f"""
        <geom type="box" size=".3 .2 .15" pos=".5 .3 .4" euler="10 20 30" {look}/>
        <geom type="ellipsoid" size=".3 .2 .15" pos="-.6 .3 .5" euler="10 20 30" {look}/>
        <geom type="cylinder" size=".2 .25" pos="-.5 -.5 .5" euler="60 20 30" {look}/>
        <geom type="capsule" size=".12 .25" pos=".5 -.5 .5" euler="60 20 30" {look}/>
        <geom type="sphere" size=".2" pos="0 -.1 .8" {look}/>
    """


_ORANGE = _solids("0.8 0.5 0.2 1")
_GREEN = _solids("0.3 0.6 0.4 1")
_RED = _solids("0.7 0.3 0.3 1")
_GRAY = _solids()
_WITH_MATERIAL = _solids(material=True)
_WHITE = _solids("0.8 0.8 0.8 1")


def _block() -> str:
    """A cube whose sides share no corners, so that they are flat, with a skewed picture on each."""
    axes, vertices, faces = np.eye(3), [], []
    for k in range(6):
        out, right, up = np.roll(axes, k, axis=0) if k < 3 else -np.roll(axes[::-1], k, axis=0)
        faces += [np.array(corners) + len(vertices) for corners in ((0, 1, 2), (0, 2, 3))]
        vertices += [0.2 * (out + x * right + y * up) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    flat, order = (" ".join(f"{x:g}" for x in np.ravel(each)) for each in (vertices, faces))
    return f'<mesh name="block" vertex="{flat}" face="{order}" texcoord="{"0 0 1 .1 1.3 1 -.2 .8 " * 6}"/>'


_HILLS = " ".join(f"{np.sin(0.5 * i) * np.cos(0.4 * j) + 0.05 * i:.3f}" for i in range(24) for j in range(32))
_XML = {
    "solids": f"<worldbody>{_LAMP}{_FLOOR}{_ORANGE}</worldbody>",
    "headlight": f"<worldbody>{_FLOOR}{_GREEN}</worldbody>",
    "sun": f"""
        <asset>
        <texture type="skybox" builtin="gradient" rgb1=".3 .5 .7" rgb2=".9 .7 .5" width="128" height="768"/></asset>
        <worldbody><light directional="true" pos="0 0 4" dir=".4 .5 -1" diffuse=".6 .6 .5"/>{_FLOOR}
        {_RED}</worldbody>""",
    "checker": f"""
        <asset><texture name="t" type="2d" builtin="checker" rgb1=".9 .8 .7" rgb2=".2 .3 .4" width="128" height="128"/>
        <material name="m" texture="t" texrepeat="4 6" specular=".2"/></asset>
        <worldbody>{_LAMP}<geom type="plane" size="3 3 .1" material="m"/>{_GRAY}</worldbody>""",
    "infinite": f"""
        <asset><texture name="t" type="2d" builtin="checker" rgb1=".9 .8 .7" rgb2=".2 .3 .4" width="128" height="128"/>
        <texture type="skybox" builtin="gradient" rgb1=".4 .6 .8" rgb2=".8 .9 1" width="128" height="768"/>
        <material name="m" texture="t" texrepeat="2 2" texuniform="true" specular="0"/></asset>
        <worldbody><light directional="true" pos="0 0 4" dir="-.2 .3 -1"/>
        <geom type="plane" size="0 0 .1" material="m"/>{_GRAY}</worldbody>""",
    # A picture without the symmetry of a checker, on a ground without edges and on a strip with two.
    "unbounded": f"""
        <asset><texture name="t" type="2d" builtin="gradient" rgb1=".9 .8 .3" rgb2=".1 .2 .5" width="128" height="128"/>
        <material name="m" texture="t" texrepeat=".7 1.3"/></asset>
        <worldbody>{_LAMP}<geom type="plane" size="0 0 .1" material="m"/>
        <geom type="plane" size="0 .3 .1" pos="0 1.2 .1" euler="0 0 20" material="m"/>{_GRAY}</worldbody>""",
    "cubes": f"""
        <asset><texture name="t" type="cube" builtin="checker" rgb1=".9 .6 .3" rgb2=".2 .3 .6" width="64" height="64"/>
        <material name="m" texture="t"/></asset>
        <worldbody>{_LAMP}{_FLOOR}{_WITH_MATERIAL}</worldbody>""",
    "gradients": f"""
        <asset>
        <texture name="t" type="cube" builtin="gradient" rgb1=".9 .6 .3" rgb2=".1 .2 .6" width="64" height="384"/>
        <texture name="r" type="2d" builtin="gradient" rgb1=".9 .9 .3" rgb2=".1 .6 .6" width="64" height="64"/>
        <material name="m" texture="t" texuniform="true"/><material name="f" texture="r" texrepeat="3 3"/></asset>
        <worldbody>{_LAMP}<geom type="plane" size="3 3 .1" material="f"/>{_WITH_MATERIAL}</worldbody>""",
    "images": f"""
        <asset><texture name="t" type="2d" builtin="checker" rgb1=".9 .6 .3" rgb2=".2 .3 .6" width="64" height="64"/>
        <material name="m" texture="t" texrepeat="3 2"/></asset>
        <worldbody>{_LAMP}{_FLOOR}{_WITH_MATERIAL}</worldbody>""",
    "uniform": f"""
        <asset><texture name="t" type="2d" builtin="checker" rgb1=".9 .6 .3" rgb2=".2 .3 .6" width="64" height="64"
        colorspace="sRGB"/><material name="m" texture="t" texrepeat="8 5" texuniform="true"/></asset>
        <worldbody>{_LAMP}{_FLOOR}{_WITH_MATERIAL}</worldbody>""",
    "materials": f"""
        <asset><material name="glow" emission=".6" rgba=".3 .6 .3 1"/>
        <material name="gloss" specular="1" shininess=".9" rgba=".3 .3 .7 1"/>
        <material name="dull" specular=".3" shininess=".1" rgba=".7 .4 .4 1"/></asset>
        <worldbody>{_LAMP}{_FLOOR}
        <geom type="sphere" size=".3" pos="-.8 0 .4" material="glow"/>
        <geom type="sphere" size=".3" pos="0 0 .4" material="gloss"/>
        <geom type="sphere" size=".3" pos=".8 0 .4" material="dull"/></worldbody>""",
    "spots": f"""
        <visual><headlight ambient=".2 .2 .2" diffuse="0 0 0" specular="0 0 0"/></visual>
        <worldbody>
        <light pos="-1 0 1.5" dir=".3 0 -1" cutoff="35" exponent="5" diffuse="1 .4 .4" specular="0 0 0"/>
        <light pos="1 0 1.5" dir="-.3 0 -1" cutoff="60" exponent="2" diffuse=".4 .4 1" attenuation=".5 .3 .2"/>
        {_FLOOR}{_WHITE}</worldbody>""",
    # Smooth and flat, with texture coordinates of their own and without, and one that shades itself.
    "meshes": f"""
        <asset><texture name="t" type="2d" builtin="checker" rgb1=".9 .6 .3" rgb2=".2 .3 .6" width="64" height="64"/>
        <texture name="c" type="cube" builtin="gradient" rgb1=".9 .6 .3" rgb2=".1 .2 .6" width="64" height="384"/>
        <material name="m" texture="t" texrepeat="3 2"/><material name="g" texture="c"/>
        <material name="u" texture="t" texrepeat="6 9" texuniform="true"/>
        <material name="p" texture="t" texrepeat="1 2"/>
        <mesh name="torus" builtin="supertorus" params="24 .4 1 1" scale=".35 .35 .35"/>
        <mesh name="cone" builtin="cone" params="32 .3" scale=".25 .25 .3"/>
        <mesh name="ball" builtin="sphere" params="3" scale=".2 .25 .2"/>
        {_block()}</asset>
        <worldbody>{_LAMP}{_FLOOR}
        <geom type="mesh" mesh="torus" pos="0 -.1 .6" euler="30 60 0" rgba=".8 .5 .2 1"/>
        <geom type="mesh" mesh="cone" pos="-.7 .3 .3" euler="10 20 30" material="g"/>
        <geom type="mesh" mesh="ball" pos="-.6 -.5 .4" euler="60 20 30" material="m"/>
        <geom type="mesh" mesh="block" pos=".6 .4 .5" euler="10 20 30" material="p"/>
        <geom type="mesh" mesh="ball" pos=".6 -.5 .4" euler="0 20 30" material="u"/></worldbody>""",
    "terrain": f"""
        <asset><hfield name="h" nrow="24" ncol="32" size="1.2 1 .5 .1" elevation="{_HILLS}"/></asset>
        <worldbody>{_LAMP}{_FLOOR}<geom type="hfield" hfield="h" pos="0 0 .15" euler="0 0 20" rgba=".4 .6 .4 1"/>
        <geom type="sphere" size=".2" pos="0 -.1 1" rgba=".8 .5 .2 1"/></worldbody>""",
    # One behind the other, of every kind, in front of a solid one and of the floor.
    "glass": f"""
        <asset><texture name="t" type="2d" builtin="checker" rgb1=".9 .6 .3" rgb2=".2 .3 .6" width="64" height="64"/>
        <material name="m" texture="t" texrepeat="3 2" rgba="1 1 1 .6"/>
        <mesh name="ball" builtin="sphere" params="3" scale=".2 .25 .2"/></asset>
        <worldbody>{_LAMP}{_FLOOR}
        <geom type="box" size=".1 .8 .3" pos="-.3 .9 .3" rgba=".7 .3 .3 1"/>
        <geom type="sphere" size=".3" pos="0 0 .5" rgba=".2 .5 .8 .4"/>
        <geom type="capsule" size=".12 .5" pos=".1 -.5 .5" euler="0 80 20" rgba=".3 .8 .3 .5"/>
        <geom type="ellipsoid" size=".4 .1 .2" pos="-.5 -.2 .8" euler="10 20 30" material="m"/>
        <geom type="cylinder" size=".2 .25" pos=".6 .3 .4" rgba=".8 .8 .2 .7"/>
        <geom type="box" size=".2 .2 .2" pos=".5 -.3 .9" euler="10 20 30" rgba=".8 .4 .8 .3"/>
        <geom type="mesh" mesh="ball" pos="-.7 -.5 .3" rgba=".3 .9 .9 .5"/>
        <geom type="plane" size=".5 .3 .1" pos="0 -.9 .3" euler="90 0 0" rgba=".9 .9 .9 .3"/></worldbody>""",
    "mirror": f"""
        <asset><texture name="t" type="2d" builtin="checker" rgb1=".5 .4 .4" rgb2=".2 .3 .4" width="128" height="128"/>
        <material name="f" texture="t" texrepeat="6 6" reflectance=".5" specular=".3"/>
        <material name="m" reflectance=".9" rgba=".8 .3 .3 1"/></asset>
        <worldbody>{_LAMP}<geom type="plane" size="3 3 .1" material="f"/>{_WITH_MATERIAL}
        <geom type="sphere" size=".2" pos="-.1 -.8 .2" rgba=".2 .5 .8 .4"/>
        <geom type="box" size=".15 .15 .15" pos=".9 -.2 .1" rgba=".9 .8 .2 1"/></worldbody>""",
    "table": f"""
        <visual><headlight ambient=".2 .2 .2"/></visual>
        <asset><material name="t" reflectance=".7" rgba=".2 .3 .3 1"/></asset>
        <worldbody>{_LAMP}{_FLOOR}<geom type="box" size=".9 .7 .1" pos="0 0 .2" euler="0 5 30" material="t"/>
        {_ORANGE}</worldbody>""",
    "fog": f"""
        <statistic extent="1"/><visual><map fogstart="2.2" fogend="5"/><rgba fog=".6 .7 .8 1"/></visual>
        <asset>
        <texture type="skybox" builtin="gradient" rgb1=".3 .5 .7" rgb2=".9 .7 .5" width="128" height="768"/></asset>
        <worldbody>{_LAMP}{_FLOOR}{_ORANGE}</worldbody>""",
    "haze": f"""
        <statistic extent="1"/><visual><map zfar="14" haze=".4"/><rgba haze=".9 .5 .5 1"/></visual>
        <asset>
        <texture type="skybox" builtin="checker" rgb1=".3 .5 .7" rgb2=".9 .7 .5" width="64" height="384"/></asset>
        <worldbody>{_LAMP}<geom type="plane" size="0 0 .1" rgba=".3 .5 .3 1"/>{_ORANGE}</worldbody>""",
    # A slack string, a taut one at its limit, one around a ball and a rod, and one over a pulley.
    "tendons": f"""
        <asset><material name="rope" rgba=".3 .5 .8 1" specular=".8" shininess=".6"/></asset>
        <worldbody>{_LAMP}{_FLOOR}
        <geom name="ball" size=".25" pos="-.6 0 .4" rgba=".8 .5 .2 1"/>
        <geom name="rod" type="cylinder" size=".15 .4" pos=".1 0 .4" euler="90 0 0" rgba=".3 .6 .4 1"/>
        <site name="a" pos="-1 0 .25" size=".01"/><site name="b" pos="-.3 .1 .15" size=".01"/>
        <site name="c" pos=".5 .15 .1" size=".01"/><site name="s" pos="0 -.1 1.1" size=".01"/>
        <site name="over" pos="-.6 0 .9" size=".01"/><site name="above" pos=".1 0 .8" size=".01"/>
        <site name="p" pos="-.8 -.3 1.2" size=".01"/><site name="q" pos=".7 -.4 1" size=".01"/>
        <site name="r" pos=".9 .3 1.2" size=".01"/>
        <site name="u" pos=".8 -.2 .4" size=".01"/><body pos=".8 .4 .3">
        <joint type="slide"/><geom size=".06" rgba=".9 .8 .2 1"/><site name="t" size=".01"/></body></worldbody>
        <tendon>
        <spatial width=".05"><site site="a"/><geom geom="ball" sidesite="over"/><site site="b"/>
        <geom geom="rod" sidesite="above"/><site site="c"/></spatial>
        <spatial width=".04" limited="true" range="0 2"><site site="p"/><site site="q"/></spatial>
        <spatial width=".06" limited="true" range="0 .8"><site site="u"/><site site="t"/></spatial>
        <spatial width=".05" material="rope"><site site="s"/><site site="r"/><pulley divisor="2"/>
        <site site="r"/><site site="t"/><pulley divisor="2"/><site site="r"/><site site="c"/></spatial></tendon>""",
}
_TASKS = {
    "halfcheetah": View((0.0, 0.0, 0.4), 2.5, 90.0, -10.0),
    "humanoid": View((0.0, 0.0, 1.0), 3.0, 130.0, -10.0),
    "ant": View((0.0, 0.0, 0.4), 4.0, 130.0, -40.0),
}
_ASSETS, _FILES = Path(brax.__file__).parent / "envs" / "assets", {"halfcheetah": "half_cheetah"}
NAMES = (*_XML, *_TASKS)


_VIEWS = {"haze": View((0.0, 0.0, 0.6), 3.0, 100.0, -3.0), "tendons": View((0.0, 0.0, 0.6), 2.2)}
# Scenes whose pictures have more than MuJoCo draws in the others.
REFLECTING, FOGGY = {"mirror", "table"}, {"fog"}


def load(name: str) -> tuple[mujoco.MjModel, mujoco.MjData, View]:
    """A scene in its initial configuration."""
    if name in _TASKS:
        model, view = _of_brax(name), _TASKS[name]
    else:
        model, view = mujoco.MjModel.from_xml_string(f"<mujoco>{_XML[name]}</mujoco>"), _VIEWS.get(name, View())
    model.vis.quality.offsamples = 0  # one sample a pixel, as ours
    model.vis.quality.shadowsize = 4096
    model.vis.quality.numslices, model.vis.quality.numstacks = 96, 48  # round geoms, not facets
    model.vis.map.shadowclip = 4.0 / model.stat.extent
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data, view


def _of_brax(name: str) -> mujoco.MjModel:
    """A task's model, changed where MuJoCo's renderer deviates from its description.

    Brax's textures are 127 and 100 texels wide. Mesa shrinks textures of such sizes wrongly in mipmaps: limbs
    at a distance turn white. A power of two is halved without rest. And MuJoCo's shadow maps begin where the light is,
    which in Brax's humanoid is below its chest, though its light has but a direction.
    """
    with quiet_brax():
        spec = mujoco.MjSpec.from_file(str(_ASSETS / f"{_FILES.get(name, name)}.xml"))
        for texture in spec.textures:
            faces = 6 if texture.height > texture.width else 1
            texture.width, texture.height = 128, 128 * faces
        for light in spec.lights:
            light.pos[2] = 4
        model = spec.compile()
    palette = get_task(name).palette
    assert palette is not None
    palette.apply(model)
    return model


def bodies(scene: Scene, segmentation: np.ndarray) -> np.ndarray:
    """(height, width) bool, where geom ids are those of anything but a plane."""
    planes = np.array(scene.geom_type) == mujoco.mjtGeom.mjGEOM_PLANE
    planes = np.append(planes, True)  # the last is what -1, nothing, finds
    return ~planes[segmentation]


def picture(name: str, shadows: bool) -> Path:
    """Where MuJoCo's picture of a scene is."""
    return FOLDER / f"{name}{'-shadows' if shadows else ''}.png"
