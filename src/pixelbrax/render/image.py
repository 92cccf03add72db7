"""One image as flat arrays, and the static settings of its program."""

from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.render.analysis import SceneFacts
from pixelbrax.render.camera import Camera
from pixelbrax.render.mirror import reflection
from pixelbrax.render.raycast import read_key
from pixelbrax.render.rays import Crop, Rays, Vector, dot, pixel_rays
from pixelbrax.render.scene import GeomPose, Scene
from pixelbrax.render.shade import pack, shade
from pixelbrax.render.shot import GeomIndex, Hit, Shot, is_sky, position, take_shot
from pixelbrax.render.sight import RaysOf, first_hit
from pixelbrax.render.soft import soft_color
from pixelbrax.render.transparent import blend_transparent
from pixelbrax.xla import materialized

Output = Literal["rgb", "packed", "color", "depth", "segmentation", "normals"]
OUTPUTS: tuple[Output, ...] = ("rgb", "packed", "color", "depth", "segmentation", "normals")


Shadows = bool | Literal["same_exposure"]
SHADOWS: tuple[Shadows, ...] = (False, True, "same_exposure")


class RenderSettings(NamedTuple):
    """The static settings of a compiled program; see `pixelbrax.render.render`. Of `outputs`, "rgb" is not one."""

    height: int
    width: int
    crop: Crop | None
    outputs: tuple[Output, ...]
    shadows: Shadows
    reflections: bool
    fog: bool
    samples: int
    soft: float | None
    facts: SceneFacts

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of what is rendered."""
        return (self.height, self.width) if self.crop is None else (self.crop.height, self.crop.width)


def trace_image(
    settings: RenderSettings,
    differentiable: bool,
    unrolled: bool,
    scene: Scene,
    pose: GeomPose,
    camera: Camera,
) -> dict[str, Array]:
    """One image as flat arrays; integer colors are packed.

    If it is not differentiated, depth and segmentation stay together in the "key" of `nearest_hit`: half the bytes to
    write.

    Args:
      settings: the program's.
      differentiable: whether derivatives are taken.
      unrolled: see `Shot`.
      scene: see `pixelbrax.render.render`.
      pose: likewise.
      camera: likewise.
    """
    shot = take_shot(
        scene,
        settings.facts,
        pose,
        camera,
        shadows=bool(settings.shadows),
        same_exposure=settings.shadows == "same_exposure",
        fog=settings.fog,
        unrolled=unrolled,
    )
    flat, wanted = {}, set(settings.outputs)
    colored, geometric = wanted & {"packed", "color"}, wanted - {"packed", "color"}
    refined = differentiable or "normals" in wanted  # normals of thin limbs need the digits that the key drops
    hit = None
    if geometric:
        hit, flat["key"] = first_hit(shot, _rays_of(settings, 1), range(len(scene.visible)), refined)
        flat["depth"] = jnp.where(is_sky(hit.geom_index), jnp.inf, hit.depth)
        flat["segmentation"] = _geom_id(scene, hit.geom_index)
        flat["normals"] = _world_normals(shot, hit)
    if colored:
        shared = hit if settings.samples == 1 and not scene.transparent else None
        color = _color(settings, shot, shared, refined)
        flat["packed"] = pack(color)
        flat["color"] = jnp.stack(_written(shot, color), axis=-1)
    in_key = set() if differentiable else wanted & {"depth", "segmentation"}
    return {name: flat[name] for name in sorted(wanted - in_key | ({"key"} if in_key else set()))}


def unpack_key(settings: RenderSettings, scene: Scene, flat: dict[str, Array]) -> dict[str, Array]:
    """The requested outputs, with depth and segmentation read from their key."""
    if "key" in flat:
        geom_index, depth = read_key(scene, flat["key"])
        flat = flat | {"depth": depth, "segmentation": _geom_id(scene, geom_index)}
    return {name: flat[name] for name in settings.outputs}


def _color(settings: RenderSettings, shot: Shot, hit: Hit | None, refined: bool) -> Vector:
    """Colors of the pixels, each the mean over its rays; `hit` is what they meet, if that is known."""
    rays_of = _rays_of(settings, settings.samples)
    if settings.soft is not None:
        color = soft_color(shot, rays_of(shot.camera.fovy), settings.soft)
    else:
        if hit is None:
            hit, _ = first_hit(shot, rays_of, shot.opaque, refined)
        color = shade(shot, hit)
        if settings.reflections:
            mirrored = reflection(shot, hit, rays_of, refined)
            color = tuple(jnp.minimum(c + m, 1.0) for c, m in zip(color, mirrored, strict=True))
        color = blend_transparent(shot, hit, color, refined)  # pyright: ignore[reportArgumentType]
    red, green, blue = (c.reshape(settings.samples, -1).mean(axis=0) for c in color)
    return red, green, blue


def _rays_of(settings: RenderSettings, samples: int) -> RaysOf:
    """The image's rays, by the field of view."""

    def rays(fovy: Array) -> Rays:
        return pixel_rays(settings.height, settings.width, fovy, samples, settings.crop)

    return rays


def _geom_id(scene: Scene, geom_index: GeomIndex) -> Any:
    """MuJoCo's id of the geom at this position among the visible ones; -1 stays."""
    skipped = np.array(scene.visible, np.int32) - np.arange(len(scene.visible), dtype=np.int32)
    result = geom_index = position(geom_index)
    for n, more in enumerate(np.diff(skipped, prepend=0)):
        if more:  # hidden geoms precede this one
            result = result + jnp.where(geom_index >= n, jnp.int32(more), 0)
    return result


def _written(shot: Shot, values: Vector) -> Vector:
    """Three values of each pixel, written before they are stacked.

    XLA behavior: on a CPU a stack along the last axis is fused with all that computes it, in one slow kernel: normals
    of 30 geoms take 30 times as long, colors of 45 ten times (JAX 0.10.2).
    Remove when: `benchmarks/outputs.py` is no slower without it.
    """
    if not shot.unrolled:
        return values
    x, y, z = map(materialized, values)
    return x, y, z


def _world_normals(shot: Shot, hit: Hit) -> Float[Array, "pixel 3"]:
    x, y, z = (dot(hit.normal, shot.camera.mat[k]) for k in range(3))
    sky = is_sky(hit.geom_index)
    return jnp.stack([jnp.where(sky, 0.0, each) for each in _written(shot, (x, y, z))], axis=-1)
