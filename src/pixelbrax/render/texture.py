"""Texture sampling: bilinear on the nearest mip level, as in OpenGL."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int32, UInt32

from pixelbrax.render.mip import TextureShape, texels_of
from pixelbrax.render.rays import Pixels, Vector
from pixelbrax.render.scene import Scene
from pixelbrax.render.shot import Shot
from pixelbrax.render.tolerances import MIN_CUBE_COMPONENT
from pixelbrax.xla import materialized

Values = TypeVar("Values")


def sample_image(shot: Shot, texture: int, s: Pixels, t: Pixels, footprint: Pixels, mirrored: bool = False) -> Vector:
    """Colors of a 2D texture that repeats in both directions.

    Args:
      shot: what is rendered.
      texture: position in the scene's `textures`.
      s: (pixel,) coordinate to the right; a repeat has length 1.
      t: (pixel,) coordinate down; a repeat has length 1.
      footprint: (pixel,) texels of level 0 across a pixel.
      mirrored: whether every second repeat is a mirror image, so that there are no seams.
    """
    level = _level(shot.scene.texture_shape[texture], footprint)
    if mirrored:
        s, t = (1.0 - jnp.abs(jnp.mod(x, 2.0) - 1.0) for x in (s, t))
        return _bilinear(shot, texture, level, jnp.int32(0), s, t, _clamp)
    return _bilinear(shot, texture, level, jnp.int32(0), s - jnp.floor(s), t - jnp.floor(t), _wrap)


def sample_cube(shot: Shot, texture: int, direction: Vector, footprint: Pixels) -> Vector:
    """Colors of a cube texture in given directions (OpenGL 2.1 specification, table 3.19).

    Args:
      shot: what is rendered.
      texture: position in the scene's `textures`; its faces are +x, -x, +y, -y, +z, -z.
      direction: three arrays (pixel,), of any length.
      footprint: (pixel,) texels of level 0 across a pixel.
    """
    x, y, z = direction
    ax, ay, az = jnp.abs(x), jnp.abs(y), jnp.abs(z)
    on_x, on_y = (ax >= ay) & (ax >= az), ay >= az
    major = jnp.where(on_x, x, jnp.where(on_y, y, z))
    face = jnp.where(on_x, 0, jnp.where(on_y, 2, 4)) + (major < 0)
    sign = jnp.where(major < 0, -1.0, 1.0)
    s = jnp.where(on_x, -sign * z, jnp.where(on_y, x, sign * x))
    t = jnp.where(~on_x & on_y, sign * z, -y)
    scale = 0.5 / jnp.maximum(jnp.abs(major), MIN_CUBE_COMPONENT)
    level = _level(shot.scene.texture_shape[texture], footprint)
    return _bilinear(shot, texture, level, face, s * scale + 0.5, t * scale + 0.5, _clamp)


def _level(shape: TextureShape, footprint: Pixels) -> tuple[Array, Array, Array]:
    """Start, height and width of each pixel's nearest mip level."""
    faces, levels = shape
    start, (height, width) = 0, levels[0]
    result = [jnp.full(footprint.shape, v, jnp.int32) for v in (start, height, width)]
    footprint = jax.lax.stop_gradient(footprint)
    for i, (height, width) in enumerate(levels[1:], start=1):
        start += faces * levels[i - 1][0] * levels[i - 1][1]
        coarser = footprint >= 2.0 ** (i - 0.5)
        result = [jnp.where(coarser, v, r) for v, r in zip((start, height, width), result, strict=True)]
    return result[0], result[1], result[2]


def _wrap(index: Int32[Array, " pixel"], count: Int32[Array, " pixel"]) -> Int32[Array, " pixel"]:
    """Indices, at most one beyond the edges, from the other side."""
    return jnp.where(index < 0, index + count, jnp.where(index >= count, index - count, index))


def _clamp(index: Int32[Array, " pixel"], count: Int32[Array, " pixel"]) -> Int32[Array, " pixel"]:
    return jnp.clip(index, 0, count - 1)


def _bilinear(
    shot: Shot,
    texture: int,
    level: tuple[Array, Array, Array],
    face: Int32[Array, "*#pixel"],
    s: Pixels,
    t: Pixels,
    outside: Callable[[Array, Array], Array],
) -> Vector:
    """Bilinear interpolation of the four texels around each point; `outside` maps indices beyond the edges."""
    (start, height, width), face, s, t = _written(shot, (level, face, s, t))
    x, y = s * width.astype(s.dtype) - 0.5, t * height.astype(t.dtype) - 0.5
    left, top = jnp.floor(x), jnp.floor(y)
    right_share, bottom_share = x - left, y - top
    column, row = left.astype(jnp.int32), top.astype(jnp.int32)
    base = _first_texel(shot.scene, texture) + start + face * height * width
    rows = [base + outside(row + below, height) * width for below in (0, 1)]
    columns = [outside(column + beside, width) for beside in (0, 1)]
    upper_left, upper_right, lower_left, lower_right = _texels(
        shot, texture, tuple(r + c for r in rows for c in columns)
    )

    def mean(k: int) -> Pixels:
        upper = upper_left[k] + right_share * (upper_right[k] - upper_left[k])
        lower = lower_left[k] + right_share * (lower_right[k] - lower_left[k])
        return upper + bottom_share * (lower - upper)

    return mean(0), mean(1), mean(2)


def _first_texel(scene: Scene, texture: int) -> Int32[Array, ""] | int:
    """The first texel of the frame that a texture shows."""
    size = texels_of(scene.texture_shape[texture])
    frames = scene.textures[texture].shape[0] // size
    if frames == 1:
        return 0
    return size * jnp.mod(jnp.floor(scene.texture_frame[texture]).astype(jnp.int32), frames)


def _texels(shot: Shot, texture: int, indices: tuple[Int32[Array, " pixel"], ...]) -> list[Vector]:
    """Colors 0..1 of some texels of each pixel."""
    texels = shot.scene.textures[texture]
    found = _written(shot, tuple(_take(texels, index) for index in _written(shot, indices)))
    if texels.ndim == 2:
        return [(each[:, 0], each[:, 1], each[:, 2]) for each in found]
    return [(_channel(each, 0), _channel(each, 1), _channel(each, 2)) for each in found]


def _take(texels: Array, index: Array) -> Array:
    """Rows by indices that are in bounds: no code for others."""
    return texels.at[index.astype(jnp.uint32)].get(mode="promise_in_bounds")


def _channel(packed: UInt32[Array, " pixel"], k: int) -> Pixels:
    return (packed >> (8 * k) & 255).astype(jnp.float32) * (1 / 255)


def _written(shot: Shot, values: Values) -> Values:
    """The values, written to memory on CPUs.

    XLA behavior: a fusion with a gather in it is not vectorized on CPUs, and runs once for each channel of each texel.
    Remove when: `pixelbrax bench render` on a CPU is no slower without it for a task whose sky is a texture.
    """
    return jax.tree.map(materialized, values) if shot.unrolled else values
