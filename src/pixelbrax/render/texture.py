"""Texture sampling: bilinear on the nearest mip level, as in OpenGL."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from pixelbrax.render.mip import TextureShape, texels_of
from pixelbrax.render.rays import Pixels, Vector
from pixelbrax.render.scene import Scene
from pixelbrax.render.tolerances import MIN_CUBE_COMPONENT


def sample_image(scene: Scene, texture: int, s: Pixels, t: Pixels, footprint: Pixels, mirrored: bool = False) -> Vector:
    """Colors of a 2D texture that repeats in both directions.

    Args:
      scene: holds the texture.
      texture: position in `scene.textures`.
      s: (pixel,) coordinate to the right; a repeat has length 1.
      t: (pixel,) coordinate down; a repeat has length 1.
      footprint: (pixel,) texels of level 0 across a pixel.
      mirrored: whether every second repeat is a mirror image, so that there are no seams.
    """
    level = _level(scene.texture_shape[texture], footprint)
    if mirrored:
        s, t = (1.0 - jnp.abs(jnp.mod(x, 2.0) - 1.0) for x in (s, t))
        return _bilinear(scene, texture, level, 0, s, t, _clamp)
    return _bilinear(scene, texture, level, 0, s - jnp.floor(s), t - jnp.floor(t), _wrap)


def sample_cube(scene: Scene, texture: int, direction: Vector, footprint: Pixels) -> Vector:
    """Colors of a cube texture in given directions (OpenGL 2.1 specification, table 3.19).

    Args:
      scene: holds the texture.
      texture: position in `scene.textures`; its faces are +x, -x, +y, -y, +z, -z.
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
    level = _level(scene.texture_shape[texture], footprint)
    return _bilinear(scene, texture, level, face, s * scale + 0.5, t * scale + 0.5, _clamp)


def _level(shape: TextureShape, footprint: Pixels) -> tuple[Array, Array, Array]:
    """Start, height and width of each pixel's nearest mip level."""
    faces, levels = shape
    lod = jnp.log2(jnp.maximum(jax.lax.stop_gradient(footprint), 1.0)) + 0.5
    start, (height, width) = 0, levels[0]
    result = [jnp.full(footprint.shape, v, jnp.int32) for v in (start, height, width)]
    for i, (height, width) in enumerate(levels[1:], start=1):
        start += faces * levels[i - 1][0] * levels[i - 1][1]
        result = [jnp.where(lod >= i, v, r) for v, r in zip((start, height, width), result, strict=True)]
    return result[0], result[1], result[2]


def _wrap(index: Int32[Array, " pixel"], count: Int32[Array, " pixel"]) -> Int32[Array, " pixel"]:
    return jnp.mod(index, count)


def _clamp(index: Int32[Array, " pixel"], count: Int32[Array, " pixel"]) -> Int32[Array, " pixel"]:
    return jnp.clip(index, 0, count - 1)


def _bilinear(
    scene: Scene,
    texture: int,
    level: tuple[Array, Array, Array],
    face: Int32[Array, " pixel"] | int,
    s: Pixels,
    t: Pixels,
    outside: Callable[[Array, Array], Array],
) -> Vector:
    """Bilinear interpolation of the four texels around each point; `outside` maps indices beyond the edges."""
    start, height, width = level
    x, y = s * width.astype(s.dtype) - 0.5, t * height.astype(t.dtype) - 0.5
    left, top = jnp.floor(x), jnp.floor(y)
    right_share, bottom_share = x - left, y - top
    column, row = left.astype(jnp.int32), top.astype(jnp.int32)
    base = _first_texel(scene, texture) + start + face * height * width
    texels = scene.textures[texture]

    def texel(row: Array, column: Array) -> Float[Array, "pixel 3"]:
        return _unpacked(texels[base + outside(row, height) * width + outside(column, width)])

    def across(row: Array) -> Float[Array, "pixel 3"]:
        one, other = texel(row, column), texel(row, column + 1)
        return one + right_share[:, None] * (other - one)

    upper, lower = across(row), across(row + 1)
    color = upper + bottom_share[:, None] * (lower - upper)
    return color[:, 0], color[:, 1], color[:, 2]


def _first_texel(scene: Scene, texture: int) -> Int32[Array, ""] | int:
    """The first texel of the frame that a texture shows."""
    size = texels_of(scene.texture_shape[texture])
    frames = scene.textures[texture].shape[0] // size
    if frames == 1:
        return 0
    return size * jnp.mod(scene.texture_frame[texture].astype(jnp.int32), frames)


def _unpacked(texels: Array) -> Float[Array, "pixel 3"]:
    """Colors 0..1, of float32 or packed texels."""
    if texels.ndim == 2:
        return texels
    channels = [(texels >> (8 * k) & 255).astype(jnp.float32) for k in range(3)]
    return jnp.stack(channels, axis=-1) * (1 / 255)
