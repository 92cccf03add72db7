"""`render`: images of a scene from poses and a camera; composes with `jax.jit`, `jax.vmap` and `jax.grad`."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, UInt8, UInt32

from pixelbrax.errors import ConfigError
from pixelbrax.render.analysis import SceneFacts, analyze
from pixelbrax.render.camera import Camera, check_camera
from pixelbrax.render.raycast import nearest_hit, read_key
from pixelbrax.render.rays import Pixels, Vector, dot, pixel_rays
from pixelbrax.render.scene import GeomPose, Scene
from pixelbrax.render.shade import pack, shade, unpack
from pixelbrax.render.shot import GeomIndex, Hit, Shot, is_sky, position, take_shot
from pixelbrax.render.soft import soft_color
from pixelbrax.render.surface import hit_surface
from pixelbrax.xla import chunk_size, in_float32, map_in_chunks, materialize_if

Output = Literal["rgb", "packed", "color", "depth", "segmentation", "normals"]
OUTPUTS: tuple[Output, ...] = ("rgb", "packed", "color", "depth", "segmentation", "normals")
SAMPLES = (1, 4, 9, 16)

_ABSENT: Any = None  # typed as Any, so that type checkers do not ask whether an output was requested


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Frame:
    """The requested outputs of one image; the others are None. The first row is the top of the image.

    Attributes:
      rgb: (height, width, 3) uint8.
      packed: (height, width) uint32, `rgb` as R + G * 2**8 + B * 2**16.
      color: (height, width, 3) float32, 0..1: the colors before they are rounded to `rgb`, for derivatives.
      depth: (height, width) float32, meters along the viewing axis; inf where there is nothing.
      segmentation: (height, width) int32, MuJoCo geom id; -1 where there is nothing.
      normals: (height, width, 3) float32, unit, outward, world frame; 0 where there is nothing. On smooth meshes they
        are those that are shaded, between the normals of a triangle's corners.
    """

    rgb: UInt8[Array, "*batch height width 3"] = _ABSENT
    packed: UInt32[Array, "*batch height width"] = _ABSENT
    color: Float[Array, "*batch height width 3"] = _ABSENT
    depth: Float[Array, "*batch height width"] = _ABSENT
    segmentation: Int32[Array, "*batch height width"] = _ABSENT
    normals: Float[Array, "*batch height width 3"] = _ABSENT


class _Settings(NamedTuple):
    """The static settings of a compiled program."""

    height: int
    width: int
    outputs: tuple[Output, ...]
    shadows: bool
    samples: int
    soft: float | None
    facts: SceneFacts


@in_float32
def render(
    scene: Scene,
    pose: GeomPose,
    camera: Camera,
    height: int,
    width: int,
    outputs: tuple[Output, ...] = ("rgb",),
    *,
    shadows: bool = False,
    samples: int = 1,
    soft: float | None = None,
) -> Frame:
    """Renders the scene as the camera sees it.

    Compose it with `jax.vmap` for batches: the batched program runs in chunks on a CPU and is fused on accelerators.
    Any leaf of `scene`, `pose` and `camera` may carry the batch axis.

    The floating-point outputs ("color", "depth", "normals") can be differentiated with respect to every leaf, with
    `jax.grad` and `jax.jvp`. These derivatives ignore the motion of silhouettes; pass `soft` to include it.

    Args:
      scene: geoms, materials, lights and sky.
      pose: world poses of all geoms of the model.
      camera: the camera.
      height: image height in pixels.
      width: image width in pixels; pixels are square.
      outputs: which fields of the frame to compute.
      shadows: whether to render the shadows of lights that cast them; their edges are hard, without a derivative.
      samples: rays per pixel over which colors are averaged: 1, 4, 9 or 16. The other outputs always use the ray
        through the pixel's center.
      soft: width in pixels over which geoms fade out around their silhouettes in "color" and "rgb"; None renders sharp
        silhouettes, the limit for 0. See `pixelbrax.render.soft` for the formula.

    Returns:
      The frame; its arrays are float32, int32, uint8 or uint32, also under `jax_enable_x64`.

    Raises:
      ConfigError: an argument is invalid.
    """
    check_camera(camera)
    if unknown := [o for o in outputs if o not in OUTPUTS]:
        raise ConfigError(f"unknown output {unknown[0]!r}: the renderer has {', '.join(OUTPUTS)}")
    if height < 1 or width < 1:
        raise ConfigError(f"an image of {height}x{width} pixels is empty: height and width must be at least 1")
    if samples not in SAMPLES:
        raise ConfigError(f"samples is {samples}: it must be one of {', '.join(map(str, SAMPLES))}")
    if soft is not None and not 0 < soft < math.inf:
        raise ConfigError(f"soft is {soft}: it must be a positive number of pixels, or None for sharp silhouettes")
    if pose.xpos.shape[-2] != len(scene.geom_type):
        raise ConfigError(
            f"the pose has {pose.xpos.shape[-2]} geoms, but the scene has {len(scene.geom_type)}: read both from one "
            "model, and both with or without sites"
        )
    if soft is not None and any(scene.geom_mesh[i] >= 0 for i in scene.visible):
        raise ConfigError("soft silhouettes of meshes and height fields are not rendered: pass soft=None")
    computed: dict[Output, None] = {"packed" if output == "rgb" else output: None for output in outputs}
    settings = _Settings(height, width, tuple(computed), shadows, samples, soft, analyze(scene))
    flat = _flat_renderer(settings)(scene, pose, camera)
    image = {name: value.reshape(height, width, *value.shape[1:]) for name, value in flat.items()}
    if "rgb" in outputs:
        image["rgb"] = unpack(image["packed"])
    return Frame(**{name: image[name] for name in outputs})


def _trace(
    settings: _Settings,
    differentiable: bool,
    unrolled: bool,
    always: Bool[Array, ""],
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
      always: a scalar that is true, for `materialize_if`.
      scene: see `render`.
      pose: see `render`.
      camera: see `render`.
    """
    shot = take_shot(scene, settings.facts, pose, camera, shadows=settings.shadows, unrolled=unrolled)
    flat, wanted = {}, set(settings.outputs)

    def cast(samples: int) -> tuple[Hit, Pixels, Array]:
        rays = pixel_rays(settings.height, settings.width, camera.fovy, samples)
        key, triangle = nearest_hit(shot, rays)
        if unrolled:
            key = materialize_if(always, key)
        else:  # two kernels that share nothing but the key: rays are cheaper to recompute than to read
            key, triangle, fovy = jax.lax.optimization_barrier((key, triangle, camera.fovy))
            rays = pixel_rays(settings.height, settings.width, fovy, samples)
        geom_index, depth = read_key(scene, key)
        refined = differentiable or "normals" in settings.outputs  # normals of thin limbs need the dropped digits
        hit = hit_surface(shot, rays, geom_index, depth, refined, triangle)
        if differentiable:
            depth = jnp.where(is_sky(geom_index), jnp.inf, hit.depth)
        return hit, depth, key

    colored, geometric = wanted & {"packed", "color"}, wanted - {"packed", "color"}
    hit, depth, key = cast(1 if geometric else settings.samples)
    if geometric:
        flat["key"] = key
        flat["depth"] = depth
        flat["segmentation"] = _geom_id(scene, hit.geom_index)
        flat["normals"] = _world_normals(camera, hit)
    if colored:
        if geometric and settings.samples > 1:
            hit, _, _ = cast(settings.samples)
        color = _color(settings, shot, hit)
        flat["packed"] = pack(color)
        flat["color"] = jnp.stack(color, axis=-1)
    in_key = set() if differentiable else wanted & {"depth", "segmentation"}
    return {name: flat[name] for name in sorted(wanted - in_key | ({"key"} if in_key else set()))}


def _unpack_key(settings: _Settings, scene: Scene, flat: dict[str, Array]) -> dict[str, Array]:
    """The requested outputs, with depth and segmentation read from their key."""
    if "key" in flat:
        geom_index, depth = read_key(scene, flat["key"])
        flat = flat | {"depth": depth, "segmentation": _geom_id(scene, geom_index)}
    return {name: flat[name] for name in settings.outputs}


def _color(settings: _Settings, shot: Shot, hit: Hit) -> Vector:
    """Colors of the pixels, each the mean over its rays."""
    color = shade(shot, hit) if settings.soft is None else soft_color(shot, hit.rays, settings.soft)
    red, green, blue = (c.reshape(settings.samples, -1).mean(axis=0) for c in color)
    return red, green, blue


def _geom_id(scene: Scene, geom_index: GeomIndex) -> Any:
    """MuJoCo's id of the geom at this position among the visible ones; -1 stays."""
    skipped = np.array(scene.visible, np.int32) - np.arange(len(scene.visible), dtype=np.int32)
    result = geom_index = position(geom_index)
    for n, more in enumerate(np.diff(skipped, prepend=0)):
        if more:  # hidden geoms precede this one
            result = result + jnp.where(geom_index >= n, jnp.int32(more), 0)
    return result


def _world_normals(camera: Camera, hit: Hit) -> Float[Array, "pixel 3"]:
    world = [dot(hit.normal, camera.mat[k]) for k in range(3)]
    return jnp.stack([jnp.where(is_sky(hit.geom_index), 0.0, w) for w in world], axis=-1)


@functools.cache
def _flat_renderer(settings: _Settings) -> Callable[..., dict[str, Array]]:
    """The renderer of one image as flat arrays, with custom batching and differentiation rules."""
    unrolled = functools.partial(_trace, settings, False, True)
    by_shape = functools.partial(_trace, settings, False, False)

    def one(*args: Any) -> dict[str, Array]:
        return unrolled(jnp.array(True), *args)

    batching = jax.custom_batching.custom_vmap(one)

    @batching.def_vmap
    def batched(axis_size: int, in_batched: tuple, *args: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        axes = jax.tree.map(lambda batched: 0 if batched else None, in_batched)
        if axis_size == 1:
            out = jax.vmap(one, in_axes=axes)(*args)
        else:
            chunk = chunk_size(axis_size, settings.height * settings.width * settings.samples)
            chunked = functools.partial(map_in_chunks, unrolled, in_batched, chunk)
            whole = jax.vmap(functools.partial(by_shape, jnp.array(True)), in_axes=axes)
            out = jax.lax.platform_dependent(*args, cpu=chunked, default=whole)
        return out, jax.tree.map(lambda _: True, out)

    # A custom batching rule cannot be transposed; derivatives bypass it.
    @jax.custom_jvp
    def renderer(scene: Scene, pose: GeomPose, camera: Camera) -> dict[str, Array]:
        return _unpack_key(settings, scene, batching(scene, pose, camera))

    @renderer.defjvp
    def derivative(primals: tuple, tangents: tuple) -> tuple:  # pyright: ignore[reportUnusedFunction]
        def traced(*args: Any) -> dict[str, Array]:
            return _unpack_key(settings, args[0], _trace(settings, True, True, jnp.array(True), *args))

        return jax.jvp(traced, primals, tangents)

    # Called outside any program, it is compiled once, not run operation by operation; inside one, it is part of that.
    # Soft images are the exception, for they are rendered to be differentiated, and XLA compiles their reverse slowly.
    return renderer if settings.soft is not None else jax.jit(renderer, inline=True)
