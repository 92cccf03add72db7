"""The functions of each shape agree with each other. A shape that is added to the table is tested here."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.render.rays import pixel_rays, subtract, turn
from pixelbrax.render.shapes import PLANE, SHAPES, Geom, LocalPoint, Shape

SIZE = 48
SEEDS = 8


def _geoms(shape: Shape, bounded: bool = True) -> Geom:
    """(SEEDS, ...) geoms of any orientation in front of the camera; planes show their front."""
    rng = np.random.default_rng(0)
    center = np.concatenate([rng.uniform(-0.4, 0.4, (SEEDS, 2)), np.full((SEEDS, 1), -3.0)], axis=1)
    mat = np.zeros((SEEDS, 9))
    for row in mat:
        mujoco.mju_quat2Mat(row, (quat := rng.normal(size=4)) / np.linalg.norm(quat))
    mat = mat.reshape(SEEDS, 3, 3)
    if shape is PLANE:
        behind = np.einsum("ni,ni->n", center, mat[:, :, 2]) > 0
        mat = np.where(behind[:, None, None], mat * [1, -1, -1], mat)
    size = rng.uniform(0.3, 0.7, (SEEDS, 3)) * bounded
    center, mat, size = (jnp.asarray(x, jnp.float32) for x in (center, mat, size))
    return Geom(center, mat, size)


_CASES = [*((shape, True) for shape in SHAPES.values()), (PLANE, False)]


@pytest.mark.parametrize(("shape", "bounded"), _CASES, ids=lambda x: x.name if isinstance(x, Shape) else None)
def test_rays_shadows_silhouettes_and_textures_see_the_same_shape(shape, bounded):
    @jax.jit
    @jax.vmap
    def see(center, mat, size):
        geom, rays = Geom(center, mat, size, bounded), pixel_rays(SIZE, SIZE, jnp.float32(40.0))
        depth, silhouette = shape.depth(rays, geom), shape.silhouette(rays, geom)
        one = jnp.ones_like(rays.x)
        from_camera = (-center[0] * one, -center[1] * one, -center[2] * one)
        blocked = shape.occludes(from_camera, (rays.x, rays.y, -one), geom, jnp.inf)
        margin = jnp.min(jnp.stack([function(rays.x, rays.y) for function in silhouette.margins]), axis=0)
        local = LocalPoint(turn(mat, subtract(rays.at(depth), center)), tuple(s * one for s in size))
        unit = shape.in_unit_shape(local)
        image = shape.image_point(local, unit)
        return depth, blocked, margin, silhouette.depth, jnp.stack(unit), jnp.stack(image)

    depth, blocked, margin, soft_depth, unit, image = map(np.asarray, see(*_geoms(shape, bounded)[:3]))
    hit = np.isfinite(depth) & (depth > 0)
    assert 0.01 < hit.mean() < 1
    assert (hit == blocked).mean() > 0.998  # rays that graze the silhouette may be rounded to either side
    assert (hit == ((margin > 0) & (soft_depth > 0))).mean() > 0.998
    # Within the rim of a silhouette soft depths differ on purpose.
    assert np.quantile(np.abs(soft_depth / np.where(hit, depth, 1) - 1)[hit], 0.9) < 1e-3
    if shape is not PLANE:
        largest = np.abs(unit).max(axis=1)[hit]
        assert largest.max() < 1 + 1e-3
    u, v, length_u, length_v = (x[hit] for x in np.moveaxis(image, 1, 0))
    assert (np.minimum(length_u, length_v) > 0).all()
    if shape is not PLANE:
        assert (np.minimum(u, v) > -1e-3).all()
        assert (np.maximum(u, v) < 1 + 1e-3).all()


@pytest.mark.parametrize(("shape", "bounded"), _CASES, ids=lambda x: x.name if isinstance(x, Shape) else None)
def test_what_is_behind_a_light_does_not_shade(shape, bounded):
    """Of a light a little nearer than the geom, and of one far behind it."""

    @jax.jit
    @jax.vmap
    def see(center, mat, size):
        geom, rays = Geom(center, mat, size, bounded), pixel_rays(SIZE, SIZE, jnp.float32(40.0))
        depth, one = shape.depth(rays, geom), jnp.ones_like(rays.x)
        place = (-center[0] * one, -center[1] * one, -center[2] * one)
        toward = [tuple(share * x for x in rays.at(jnp.nan_to_num(depth, posinf=1.0))) for share in (0.95, 3.0)]
        return depth, [shape.occludes(place, each, geom, 1.0) for each in toward]

    depth, (before, behind) = see(*_geoms(shape, bounded)[:3])
    hit = np.isfinite(depth) & (depth > 0)
    assert not np.asarray(before)[hit].any()
    assert np.asarray(behind)[hit].mean() > 0.99


def test_the_table_knows_shapes_by_mujocos_names():
    for geom_type, shape in SHAPES.items():
        assert mujoco.mjtGeom(geom_type).name == f"mjGEOM_{shape.name.upper()}"
