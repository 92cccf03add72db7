"""`render`: from a scene, poses and a camera to pixels, alone or batched by `jax.vmap`."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32, UInt8

from pixelbrax.render.camera import Camera
from pixelbrax.render.raycast import nearest_hit, pixel_rays, to_camera_frame
from pixelbrax.render.scene import GeomPose, Scene
from pixelbrax.render.shade import shade

Output = Literal["rgb", "depth", "segmentation"]
OUTPUTS: tuple[Output, ...] = ("rgb", "depth", "segmentation")

# On CPU a batch is rendered this many pixels at a time, so that whole-batch intermediates stay in the cache.
_CPU_CHUNK_PIXELS = 32 * 64 * 64


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Frame:
    """The outputs asked for; the others are None. The first row is the top of the image.

    Attributes:
      rgb: (height, width, 3) uint8.
      depth: (height, width) float32, metres along the viewing axis; inf where there is nothing.
      segmentation: (height, width) int32, MuJoCo geom id; -1 where there is nothing.
    """

    rgb: UInt8[Array, "*batch height width 3"] | None = None
    depth: Float[Array, "*batch height width"] | None = None
    segmentation: Int32[Array, "*batch height width"] | None = None


def render(
    scene: Scene,
    pose: GeomPose,
    camera: Camera,
    height: int,
    width: int,
    outputs: tuple[Output, ...] = ("rgb",),
) -> Frame:
    """Draws the scene as the camera sees it.

    Compose it with `jax.vmap` for batches: the batched program is chunked on CPU and fused on accelerators. Any leaf
    of `scene`, `pose` and `camera` may carry the batch axis.

    Args:
      scene: what is drawn.
      pose: where every geom of the model is.
      camera: from where it is seen.
      height: image height in pixels.
      width: image width in pixels; pixels are square.
      outputs: which fields of the frame to compute.

    Raises:
      ValueError: an output's name is unknown or the image is empty.
    """
    if unknown := [o for o in outputs if o not in OUTPUTS]:
        raise ValueError(f"unknown output {unknown[0]!r}: the renderer gives {', '.join(OUTPUTS)}")
    if height < 1 or width < 1:
        raise ValueError(f"an image of {height}x{width} pixels is empty")
    flat = _flat_renderer(height, width, tuple(outputs))(scene, pose, camera)
    image = {name: value.reshape(height, width) for name, value in flat.items()}
    if "rgb" in image:
        # One bitcast turns packed colors into bytes; stacking three channels would trace every pixel three times.
        image["rgb"] = jax.lax.bitcast_convert_type(image["rgb"], jnp.uint8)[..., :3]
    return Frame(**image)


@functools.cache
def _flat_renderer(height: int, width: int, outputs: tuple[Output, ...]) -> Callable[..., dict[str, Array]]:
    """The renderer of one image as flat arrays, with a batching rule of its own."""

    def trace(scene: Scene, pose: GeomPose, camera: Camera) -> dict[str, Array]:
        rays = pixel_rays(height, width, camera.fovy)
        geoms = to_camera_frame(scene, pose, camera)
        geom_id, depth = nearest_hit(scene, geoms, rays)
        flat = {"depth": depth, "segmentation": geom_id}
        if "rgb" in outputs:
            flat["rgb"] = shade(scene, pose, camera, geoms, rays, geom_id, depth)
        return {name: flat[name] for name in outputs}

    renderer = jax.custom_batching.custom_vmap(trace)

    @renderer.def_vmap
    def batched(axis_size: int, in_batched: tuple, *args):  # pyright: ignore[reportUnusedFunction]
        axes = jax.tree.map(lambda batched: 0 if batched else None, in_batched)
        whole = jax.vmap(trace, in_axes=axes)
        chunk = max(1, _CPU_CHUNK_PIXELS // (height * width))
        if axis_size <= chunk:
            out = whole(*args)
        else:
            chunked = functools.partial(_map_in_chunks, trace, in_batched, chunk)
            out = jax.lax.platform_dependent(*args, cpu=chunked, default=whole)
        return out, jax.tree.map(lambda _: True, out)

    return renderer


def _map_in_chunks(function: Callable, in_batched: tuple, chunk: int, *args):
    """`vmap(function)` over the arguments marked as batched, `chunk` at a time."""
    leaves, structure = jax.tree.flatten(args)
    marks = jax.tree.leaves(in_batched)

    def one(batched_leaves: list[Array]):
        remaining = iter(batched_leaves)
        merged = [next(remaining) if mark else leaf for leaf, mark in zip(leaves, marks, strict=True)]
        return function(*jax.tree.unflatten(structure, merged))

    return jax.lax.map(one, [leaf for leaf, mark in zip(leaves, marks, strict=True) if mark], batch_size=chunk)
