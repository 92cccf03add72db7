"""Colors in float32 against a float64 reference of the same equations."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy import ndimage

from pixelbrax.render import GeomPose, Scene, look_at, render
from tests.render.reference import colors

HEIGHT, WIDTH = 48, 64


@functools.partial(jax.jit, static_argnames="shadows")
def _render(scene, pose, camera, shadows):
    return render(scene, pose, camera, HEIGHT, WIDTH, ("color",), shadows=shadows).color


def _vector(rng: np.random.Generator, low: float, high: float, n: int = 3) -> str:
    return " ".join(f"{x:.4f}" for x in rng.uniform(low, high, n))


def _model(rng: np.random.Generator) -> mujoco.MjModel:
    """All primitives, materials and kinds of light, at random."""
    materials = "".join(
        f'<material name="m{i}" rgba="{_vector(rng, 0.2, 1)} 1" emission="{rng.uniform(0, 0.3):.3f}"'
        f' specular="{rng.uniform():.3f}" shininess="{rng.uniform(0.05, 1):.3f}"/>'
        for i in range(5)
    )
    kinds = ("sphere", "capsule", "ellipsoid", "cylinder", "box")
    geoms = "".join(
        f'<geom type="{kind}" size="{_vector(rng, 0.1, 0.3)}" pos="{_vector(rng, -0.7, 0.7, 2)} {rng.uniform(0.4, 1)}"'
        f' euler="{_vector(rng, -90, 90)}" material="m{i}"/>'
        for i, kind in enumerate(kinds)
    )
    look = f'diffuse="{_vector(rng, 0.1, 0.7)}" ambient="{_vector(rng, 0, 0.2)}" specular="{_vector(rng, 0, 0.5)}"'
    fade = f'attenuation="{_vector(rng, 0.2, 0.6)}"'
    return mujoco.MjModel.from_xml_string(f"""
    <mujoco><asset>{materials}
      <texture type="skybox" builtin="gradient" rgb1=".2 .5 .8" rgb2=".9 .8 .7" width="64" height="384"/>
      <texture name="t" type="2d" builtin="checker" rgb1=".9 .8 .7" rgb2=".2 .3 .4" width="64" height="64"/>
      <material name="floor" texture="t" texrepeat="3 4" specular=".2"/></asset>
<worldbody>
      <light directional="true" pos="0 0 3" dir="{_vector(rng, -0.5, 0.5, 2)} -1" {look}/>
      <light pos="{_vector(rng, -1, 1, 2)} 2" dir="0 0 -1" cutoff="40" exponent="{rng.uniform(0, 9):.2f}"
      {look} {fade}/>
      <light pos="{_vector(rng, -1, 1, 2)} 2" dir="0 0 -1" cutoff="180" {look} {fade}/>
      <geom type="plane" size="3 2 .1" material="floor"/>{geoms}
    </worldbody></mujoco>""")


@pytest.mark.parametrize("shadows", [False, True])
def test_colors_follow_the_equations(shadows):
    """The reference's pixels on either side of a silhouette, a shadow's edge or a cone's are left out."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        model = _model(rng)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        camera = look_at(jnp.array([*rng.uniform(-2, 2, 2), rng.uniform(0.5, 2)]), jnp.array([0, 0, 0.6]), 50.0)
        scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
        mine = np.asarray(_render(scene, pose, camera, shadows))
        reference, label = colors(model, data, scene, camera, HEIGHT, WIDTH, shadows)
        inner = ndimage.maximum_filter(label, 3) == ndimage.minimum_filter(label, 3)
        assert inner.mean() > 0.5
        assert np.abs(mine - reference)[inner].max() < 2e-3, seed
