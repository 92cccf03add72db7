"""Scenes of more geoms than a program is written out for."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.render import GeomPose, Scene, look_at, render
from tests.render.oracle import cast


def _heap(count: int) -> mujoco.MjModel:
    """Spheres, capsules and boxes in turn above a floor, at random."""
    rng, geoms = np.random.default_rng(0), ""
    for kind in range(count):
        x, y, z = rng.uniform(-1, 1, 3)
        shape = ("sphere", "capsule", "box")[kind % 3]
        geoms += f'<geom type="{shape}" pos="{x} {y} {z + 1.2}" euler="{90 * x} {90 * y} 0" size=".05 .07 .06"/>'
    floor = '<light pos="0 0 4"/><geom type="plane" size="5 5 .1"/>'
    return mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{floor}{geoms}</worldbody></mujoco>")


@pytest.mark.full
def test_a_heap_of_geoms_is_what_mujocos_rays_meet(strict):
    model = _heap(150)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    cameras = [look_at(jnp.array([x, -4.0, 2.5]), jnp.array([0.0, 0.0, 1.0]), 40.0) for x in (0.5, -0.5)]
    frames = jax.jit(jax.vmap(lambda camera: render(scene, pose, camera, 64, 64, ("segmentation", "depth"))))(
        jax.tree.map(lambda *x: jnp.stack(x), *cameras)
    )
    for k, camera in enumerate(cameras):
        truth = cast(model, data, camera, 64, 64)
        assert (frames.segmentation[k] == truth.ids).mean() > 0.998
        seen = np.isfinite(truth.depth) & (frames.segmentation[k] == truth.ids)
        np.testing.assert_allclose(frames.depth[k][seen], truth.depth[seen], rtol=1e-4)
        assert len(np.unique(truth.ids)) > 60
