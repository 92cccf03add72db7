"""`render`: from a scene, poses and a camera to pixels, alone or batched by `jax.vmap`."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, UInt8, UInt32

from pixelbrax.precision import in_float32
from pixelbrax.render.camera import Camera, check_camera
from pixelbrax.render.known import Known, known
from pixelbrax.render.raycast import (
    CameraGeoms,
    Rays,
    Vector,
    dot,
    nearest_hit,
    pixel_rays,
    read_key,
    to_camera_frame,
)
from pixelbrax.render.scene import GeomPose, Scene
from pixelbrax.render.shade import pack, shade, unpack
from pixelbrax.render.soft import soft_color
from pixelbrax.render.surface import Surface, hit_surface

Output = Literal["rgb", "packed", "color", "depth", "segmentation", "normals"]
OUTPUTS: tuple[Output, ...] = ("rgb", "packed", "color", "depth", "segmentation", "normals")
SAMPLES = (1, 4, 9, 16)

# On CPU a batch is rendered this many pixels at a time, so that whole-batch intermediates stay in the cache.
_CPU_CHUNK_PIXELS = 32 * 64 * 64


_ABSENT: Any = None  # typed so that users need not tell their type checker which outputs they asked for


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Frame:
    """The outputs asked for; the others are None. The first row is the top of the image.

    Attributes:
      rgb: (height, width, 3) uint8.
      packed: (height, width) uint32, the same as R + G * 2**8 + B * 2**16, for further work on all three at once.
      color: (height, width, 3) float32, 0..1: what `rgb` is rounded from, for derivatives.
      depth: (height, width) float32, metres along the viewing axis; inf where there is nothing.
      segmentation: (height, width) int32, MuJoCo geom id; -1 where there is nothing.
      normals: (height, width, 3) float32, unit, outward, world frame; 0 where there is nothing.
    """

    rgb: UInt8[Array, "*batch height width 3"] = _ABSENT
    packed: UInt32[Array, "*batch height width"] = _ABSENT
    color: Float[Array, "*batch height width 3"] = _ABSENT
    depth: Float[Array, "*batch height width"] = _ABSENT
    segmentation: Int32[Array, "*batch height width"] = _ABSENT
    normals: Float[Array, "*batch height width 3"] = _ABSENT


class _Settings(NamedTuple):
    """What a program is compiled for."""

    height: int
    width: int
    outputs: tuple[Output, ...]
    shadows: bool
    samples: int
    soft: float | None
    facts: Known


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
    """Draws the scene as the camera sees it.

    Compose it with `jax.vmap` for batches: the batched program is chunked on CPU and fused on accelerators. Any leaf
    of `scene`, `pose` and `camera` may carry the batch axis.

    The outputs of floating point ("color", "depth", "normals") can be differentiated by every leaf, with `jax.grad`
    and `jax.jvp`. What a derivative cannot see is that outlines move: give `soft` for that.

    Args:
      scene: what is drawn.
      pose: where every geom of the model is.
      camera: from where it is seen.
      height: image height in pixels.
      width: image width in pixels; pixels are square.
      outputs: which fields of the frame to compute.
      shadows: whether lights that cast shadows do; the shadows' edges are hard, and have no derivative.
      samples: rays in each pixel, whose colors are averaged: 1, 4, 9 or 16. The other outputs are always of the ray
        through the pixel's center.
      soft: width in pixels over which geoms fade out around their outlines in "color" and "rgb"; None draws them
        sharp, which is the limit for 0. See `pixelbrax.render.soft` for the formula.

    Raises:
      ValueError: an argument cannot be used; a `ConfigError` if it is the camera.
    """
    check_camera(camera)
    if unknown := [o for o in outputs if o not in OUTPUTS]:
        raise ValueError(f"unknown output {unknown[0]!r}: the renderer gives {', '.join(OUTPUTS)}")
    if height < 1 or width < 1:
        raise ValueError(f"an image of {height}x{width} pixels is empty")
    if samples not in SAMPLES:
        raise ValueError(f"samples is {samples}: it must be one of {', '.join(map(str, SAMPLES))}")
    if soft is not None and not 0 < soft < math.inf:
        raise ValueError(f"soft is {soft}: it must be a positive number of pixels, or None")
    if pose.xpos.shape[-2] != len(scene.geom_type):
        raise ValueError(f"the pose has {pose.xpos.shape[-2]} geoms, the scene {len(scene.geom_type)}")
    drawn: dict[Output, None] = {"packed" if output == "rgb" else output: None for output in outputs}
    settings = _Settings(height, width, tuple(drawn), shadows, samples, soft, known(scene))
    flat = _flat_renderer(settings)(scene, pose, camera)
    image = {name: value.reshape(height, width, *value.shape[1:]) for name, value in flat.items()}
    if "rgb" in outputs:
        image["rgb"] = unpack(image["packed"])
    return Frame(**{name: image[name] for name in outputs})


class _Hits(NamedTuple):
    """What some rays meet.

    Attributes:
      rays: the rays.
      number: (ray,) position among the visible geoms, -1 where there is none.
      depth: (ray,) metres, inf where there is nothing.
      surface: see there.
    """

    rays: Rays
    number: Int32[Array, " ray"]
    depth: Float[Array, " ray"]
    surface: Surface


def _trace(
    settings: _Settings, differentiable: bool, true: Bool[Array, ""], scene: Scene, pose: GeomPose, camera: Camera
) -> dict[str, Array]:
    """One image as flat arrays; colors in whole numbers are packed. For `true` see `_materialize`.

    Unless it is to be differentiated, depth and segmentation stay together in the "key" of `nearest_hit`, which is half
    as much to write.
    """
    geoms = to_camera_frame(scene, pose, camera)
    flat, wanted = {}, set(settings.outputs)

    def cast(samples: int) -> tuple[_Hits, Array]:
        rays = pixel_rays(settings.height, settings.width, camera.fovy, samples)
        key = nearest_hit(scene, settings.facts, geoms, rays)
        if settings.facts.one_by_one:
            key = _materialize(true, key)
        else:  # two kernels that share nothing but the key: rays are cheaper to compute again than to read
            key, fovy = jax.lax.optimization_barrier((key, camera.fovy))
            rays = pixel_rays(settings.height, settings.width, fovy, samples)
        number, depth = read_key(scene, key)
        refined = differentiable or "normals" in settings.outputs  # normals of thin limbs need the dropped digits
        surface = hit_surface(scene, settings.facts, geoms, rays, number, depth, refined)
        if differentiable:
            depth = jnp.where(number < 0, jnp.inf, surface.depth)
        return _Hits(rays, number, depth, surface), key

    colored, geometric = wanted & {"packed", "color"}, wanted - {"packed", "color"}
    hits, key = cast(1 if geometric else settings.samples)
    if geometric:
        flat["key"] = key
        flat["depth"] = hits.depth
        flat["segmentation"] = _geom_id(scene, hits.number)
        flat["normals"] = _world_normals(camera, hits)
    if colored:
        if geometric and settings.samples > 1:
            hits, _ = cast(settings.samples)
        color = _color(settings, scene, pose, camera, geoms, hits)
        flat["packed"] = pack(color)
        flat["color"] = jnp.stack(color, axis=-1)
    in_key = set() if differentiable else wanted & {"depth", "segmentation"}
    return {name: flat[name] for name in sorted(wanted - in_key | ({"key"} if in_key else set()))}


def _unpack_key(settings: _Settings, scene: Scene, flat: dict[str, Array]) -> dict[str, Array]:
    """The outputs asked for, with depth and segmentation read from their key."""
    if "key" in flat:
        number, depth = read_key(scene, flat["key"])
        flat = flat | {"depth": depth, "segmentation": _geom_id(scene, number)}
    return {name: flat[name] for name in settings.outputs}


def _color(
    settings: _Settings, scene: Scene, pose: GeomPose, camera: Camera, geoms: CameraGeoms, hits: _Hits
) -> Vector:
    """Colors of the pixels, each the mean of its rays'."""
    facts, shadows = settings.facts, settings.shadows
    if settings.soft is not None:
        color = soft_color(scene, facts, pose, camera, geoms, hits.rays, shadows, settings.soft)
    else:
        color = shade(scene, facts, pose, camera, geoms, hits.rays, hits.number, hits.surface, shadows)
    red, green, blue = (c.reshape(settings.samples, -1).mean(axis=0) for c in color)
    return red, green, blue


def _geom_id(scene: Scene, number: Int32[Array, " pixel"]) -> Int32[Array, " pixel"]:
    """MuJoCo's id of the geom with this position among the visible ones; -1 stays."""
    skipped = np.array(scene.visible, np.int32) - np.arange(len(scene.visible), dtype=np.int32)
    result = number
    for n, more in enumerate(np.diff(skipped, prepend=0)):
        if more:  # geoms are left out just before this one
            result = result + jnp.where(number >= n, jnp.int32(more), 0)
    return result


def _world_normals(camera: Camera, hits: _Hits) -> Float[Array, "pixel 3"]:
    world = [dot(hits.surface.normal, camera.mat[k]) for k in range(3)]
    return jnp.stack([jnp.where(hits.number < 0, 0.0, w) for w in world], axis=-1)


def _materialize(true: Bool[Array, ""], value: Array) -> Array:
    """The value, written to memory: what comes after is not fused with what came before, nor computes it again."""
    return jax.lax.cond(true, lambda x: x, jnp.zeros_like, value)


@functools.cache
def _flat_renderer(settings: _Settings) -> Callable[..., dict[str, Array]]:
    """The renderer of one image as flat arrays, with a batching rule and derivatives of its own."""

    def one(*args):
        return _trace(settings, False, jnp.array(True), *args)

    batching = jax.custom_batching.custom_vmap(one)

    @batching.def_vmap
    def batched(axis_size: int, in_batched: tuple, *args):  # pyright: ignore[reportUnusedFunction]
        axes = jax.tree.map(lambda batched: 0 if batched else None, in_batched)
        at_once = settings._replace(facts=replace(settings.facts, one_by_one=False))
        whole = jax.vmap(functools.partial(_trace, at_once, False, jnp.array(True)), in_axes=axes)
        chunk = _chunk_size(axis_size, settings.height * settings.width * settings.samples)
        if axis_size == 1:
            out = jax.vmap(one, in_axes=axes)(*args)
        else:
            chunked = functools.partial(_map_in_chunks, functools.partial(_trace, settings, False), in_batched, chunk)
            out = jax.lax.platform_dependent(*args, cpu=chunked, default=whole)
        return out, jax.tree.map(lambda _: True, out)

    # A custom batching rule cannot be transposed; derivatives go around it.
    @jax.custom_jvp
    def renderer(scene: Scene, pose: GeomPose, camera: Camera) -> dict[str, Array]:
        return _unpack_key(settings, scene, batching(scene, pose, camera))

    @renderer.defjvp
    def derivative(primals: tuple, tangents: tuple):  # pyright: ignore[reportUnusedFunction]
        def traced(*args):
            return _unpack_key(settings, args[0], _trace(settings, True, jnp.array(True), *args))

        return jax.jvp(traced, primals, tangents)

    return renderer


def _chunk_size(num_images: int, pixels: int) -> int:
    """How many images to render at a time on CPU."""
    # A small batch is faster in two parts, with fewer intermediates.
    most = max(1, min(_CPU_CHUNK_PIXELS // pixels, num_images // 2))
    # What is left over would be compiled for its own size.
    return next((size for size in range(most, most // 2, -1) if num_images % size == 0), most)


def _map_in_chunks(function: Callable, in_batched: tuple, chunk: int, *args):
    """`vmap(function)` over the arguments marked as batched, `chunk` at a time; `function` is first given a truth.

    XLA would fuse rendering with the write of its result into the whole batch's array, and such a fusion is not spread
    over the CPU's cores. It does not look into a condition; so there is one, which always holds.
    """
    leaves, structure = jax.tree.flatten(args)
    marks = jax.tree.leaves(in_batched)

    def images(true: Array, batched_leaves: list[Array]):
        remaining = iter(batched_leaves)
        merged = [next(remaining) if mark else leaf for leaf, mark in zip(leaves, marks, strict=True)]
        axes = [0 if mark else None for mark in marks]
        return jax.vmap(lambda *x: function(true, *jax.tree.unflatten(structure, x)), in_axes=axes)(*merged)

    def step(index: Array, batched_leaves: list[Array]):
        out = images(index >= 0, batched_leaves)
        return index + 1, jax.tree.map(functools.partial(_materialize, index >= 0), out)

    batched = [leaf for leaf, mark in zip(leaves, marks, strict=True) if mark]
    count, rest = divmod(batched[0].shape[0], chunk)
    whole = [x[: count * chunk].reshape(count, chunk, *x.shape[1:]) for x in batched]
    _, out = jax.lax.scan(step, jnp.int32(0), whole)
    out = jax.tree.map(lambda x: x.reshape(count * chunk, *x.shape[2:]), out)
    if rest:
        last = images(jnp.array(True), [x[count * chunk :] for x in batched])
        out = jax.tree.map(lambda *x: jnp.concatenate(x), out, last)
    return out
