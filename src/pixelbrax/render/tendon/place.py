"""Places a model's spatial tendons: capsules along their paths, and the color that shows a limit."""

from collections.abc import Callable
from dataclasses import replace

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.errors import ConfigError
from pixelbrax.render.concrete import check_model
from pixelbrax.render.read import DEFAULT_RGBA
from pixelbrax.render.scatter import add_poses
from pixelbrax.render.scene import GeomPose, Scene
from pixelbrax.render.tendon.paths import Path, straight_path
from pixelbrax.render.tendon.read_tendons import ARC_SEGMENTS, Leg, Tendon, read_tendons
from pixelbrax.render.tendon.string import hanging_path
from pixelbrax.render.tendon.vectors import length_of
from pixelbrax.render.tendon.wrap import touch
from pixelbrax.render.tolerances import MIN_LENGTH, NO_SIZE
from pixelbrax.xla import as_float32, in_float32

PlaceTendons = Callable[[Scene, GeomPose, Float[Array, "nsite 3"]], tuple[Scene, GeomPose]]


def spatial_tendons(model: mujoco.MjModel) -> PlaceTendons | None:
    """How the spatial tendons of a model are placed; None if it has none.

    As in MuJoCo they run straight between sites and around geoms that they wrap; a slack string hangs as a catenary; a
    tendon at its limit turns to the color of constraints if it has none of its own. The number of capsules never
    changes: those that a taut string, or a tendon that passes its geom by, does not need have no radius to speak of.

    Source: MuJoCo's documentation of `tendon/spatial`, and what `mjv_updateScene` makes of it.

    Returns:
      A function of a scene that was read with `tendons=True`, of its poses without the tendons', and of the world
      positions of all sites, (nsite, 3) meters; it returns the scene with the tendons' sizes, and all poses.

    Raises:
      ConfigError: it is no model.
    """
    check_model(model)
    tendons = read_tendons(model)
    if not tendons:
        return None
    count = sum(tendon.segments for tendon in tendons)
    blushing = [tendon for tendon in tendons if _blushes(model, tendon)]
    gravity = np.asarray(model.opt.gravity)
    up = (-gravity / max(float(np.linalg.norm(gravity)), MIN_LENGTH)).astype(np.float32)

    @in_float32
    def place(scene: Scene, pose: GeomPose, site_xpos: Array) -> tuple[Scene, GeomPose]:
        scene, pose = as_float32((scene, pose))
        first = len(scene.geom_type) - count
        if pose.xpos.shape[-2] != first:
            raise ConfigError(
                f"the pose has {pose.xpos.shape[-2]} geoms, and the scene {first} beside its {count} segments of "
                "tendons: read the scene with tendons=True, the pose without, and both with or without sites"
            )
        site_xpos = jnp.asarray(site_xpos, jnp.float32)
        paths = {tendon.number: _path(tendon, scene, pose, site_xpos) for tendon in tendons}
        segments = [_segments(tendon, paths[tendon.number][0], up) for tendon in tendons]
        start, end, needed = (jnp.concatenate(each) for each in zip(*segments, strict=True))
        length = length_of(end - start)
        radius = jnp.where(needed, scene.geom_size[first:, 0], NO_SIZE)
        size = scene.geom_size.at[first:, :2].set(jnp.stack([radius, 0.5 * length], axis=-1))
        shares = {tendon.number: _limit_share(model, tendon, paths[tendon.number][1]) for tendon in blushing}
        scene = replace(scene, geom_size=size, geom_rgb=_blushed(model, scene, tendons, shares))
        return scene, add_poses(pose, 0.5 * (start + end), _turned_to(end - start, length))

    return place


def _path(tendon: Tendon, scene: Scene, pose: GeomPose, site_xpos: Array) -> tuple[list[Path], Array]:
    """The paths of the legs, and the tendon's length."""
    paths, total = [], jnp.float32(0.0)
    for leg in tendon.legs:
        path, length = _leg(leg, scene, pose, site_xpos)
        paths.append(path)
        total += length / leg.divisor
    return paths, total


def _leg(leg: Leg, scene: Scene, pose: GeomPose, site_xpos: Array) -> tuple[Path, Array]:
    start, end = site_xpos[leg.start], site_xpos[leg.end]
    if leg.around is None:
        return straight_path(start, end, 1), length_of(end - start)
    geom, side = leg.around.geom, leg.around.side
    touched = touch(
        start,
        end,
        pose.xpos[geom],
        pose.xmat[geom],
        scene.geom_size[geom, 0],
        site_xpos[side] if side >= 0 else None,
        sphere=leg.around.sphere,
        inside=leg.around.inside,
        count=ARC_SEGMENTS,
    )
    free = length_of(touched.points[0] - start) + length_of(end - touched.points[-1])
    bent = Path(jnp.stack([start, *touched.points, end]), jnp.ones(ARC_SEGMENTS + 2, bool))
    by = straight_path(start, end, ARC_SEGMENTS + 2)
    path = Path(*(jnp.where(touched.touches, *both) for both in zip(bent, by, strict=True)))
    return path, jnp.where(touched.touches, free + touched.arc, length_of(end - start))


def _segments(tendon: Tendon, legs: list[Path], up: np.ndarray) -> tuple[Array, Array, Array]:
    """The ends of the capsules, (segment, 3) each, and which of them are needed."""
    if tendon.string is not None:
        start, end = legs[0].points
        legs = [hanging_path(start, end, up, tendon.string, tendon.segments)]
    start, end = (jnp.concatenate([leg.points[ends] for leg in legs]) for ends in (slice(-1), slice(1, None)))
    return start, end, jnp.concatenate([leg.needed for leg in legs])


def _blushes(model: mujoco.MjModel, tendon: Tendon) -> bool:
    """Whether a tendon's color shows its limits: not that of one that nothing can pull."""
    number = tendon.number
    off = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    if not model.tendon_limited[number] or model.opt.disableflags & off:
        return False
    bodies = {int(model.site_bodyid[site]) for leg in tendon.legs for site in (leg.start, leg.end)}
    bodies |= {int(model.geom_bodyid[leg.around.geom]) for leg in tendon.legs if leg.around}
    pulled = len({int(model.body_weldid[body]) for body in bodies}) > 1
    return pulled and model.tendon_matid[number] < 0 and np.array_equal(model.tendon_rgba[number], DEFAULT_RGBA)


def _limit_share(model: mujoco.MjModel, tendon: Tendon, length: Array) -> Array:
    """The impedance of a tendon's limit that it has reached, else 0. Source: MuJoCo's documentation of `solimp`."""
    number = tendon.number
    lower, upper = model.tendon_range[number].tolist()
    beyond = model.tendon_margin[number] - jnp.minimum(length - lower, upper - length)
    if tendon.string is not None:
        beyond = jnp.where(length < upper, 0.0, beyond)  # a slack string shows none
    least, greatest, width, middle, power = model.tendon_solimp_lim[number].tolist()
    least, greatest, middle = (min(max(x, mujoco.mjMINIMP), mujoco.mjMAXIMP) for x in (least, greatest, middle))
    x, power = jnp.clip(beyond / max(width, mujoco.mjMINVAL), 0.0, 1.0), max(power, 1.0)
    rising = x**power / middle ** (power - 1)
    falling = 1 - (1 - x) ** power / (1 - middle) ** (power - 1)
    return jnp.where(beyond > 0, least + jnp.where(x <= middle, rising, falling) * (greatest - least), 0.0)


def _blushed(
    model: mujoco.MjModel, scene: Scene, tendons: tuple[Tendon, ...], shares: dict[int, Array]
) -> Float[Array, "ngeom 3"]:
    """The geoms' colors, of the tendons mixed with the constraints'; known ones stay known to the renderer."""
    rgb, at = scene.geom_rgb, len(scene.geom_type) - sum(tendon.segments for tendon in tendons)
    for tendon in tendons:
        rows = slice(at, at + tendon.segments)
        if tendon.number in shares:
            share = shares[tendon.number]
            mixed = (1 - share) * rgb[rows] + share * np.asarray(model.vis.rgba.constraint[:3], np.float32)
            rgb = rgb.at[rows].set(mixed)
        at = rows.stop
    return rgb


def _turned_to(along: Float[Array, "n 3"], length: Float[Array, " n"]) -> Float[Array, "n 3 3"]:
    """The least rotations that turn the z axis to these vectors."""
    upright = np.array([0, 0, 1], np.float32)
    x, y, z = jnp.where(length[:, None] > MIN_LENGTH, along / jnp.maximum(length, MIN_LENGTH)[:, None], upright).T
    # 1 / (1 + z), of which a z near -1 would leave nothing; down itself is a turn about the x axis.
    squared = x * x + y * y
    down = (z < 0) & (squared < MIN_LENGTH)
    factor = jnp.where(z < 0, (1 - z) / jnp.maximum(squared, MIN_LENGTH), 1 / jnp.maximum(1 + z, 1.0))
    xx, xy, yy = (jnp.where(down, other, a * b * factor) for a, b, other in ((x, x, 0.0), (x, y, 0.0), (y, y, 2.0)))
    rows = [[1 - xx, -xy, x], [-xy, 1 - yy, y], [-x, -y, z]]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)
