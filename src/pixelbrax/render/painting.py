"""Images and clips on geoms and on the sky of a scene, one for all environments or one for each."""

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from pixelbrax.errors import ConfigError, check_number, check_pair
from pixelbrax.render.mip import TextureShape, mip_chain
from pixelbrax.render.scene import Pattern, Scene, SkyMapping
from pixelbrax.render.shade import pack
from pixelbrax.render.shapes import PLANE


class Texture(NamedTuple):
    """Images ready to be painted, by `texture_of`: where a step paints, they are prepared once.

    Attributes:
      shape: see `Scene.texture_shape`.
      texels: see `Scene.textures`.
    """

    shape: TextureShape
    texels: Array

    @property
    def num_bytes(self) -> int:
        """Bytes of all texels."""
        return self.texels.nbytes


# Floats beyond this are bytes in another type; those of images that are learned may be a little above 1.
_BRIGHTEST = 2.0
_CLIP = "(height, width, 3), or (frames, height, width, 3) for a clip"


def paint(scene: Scene, geoms: Sequence[int], images: Any, size: Sequence[float] = (1.0, 1.0)) -> Scene:
    """The scene with an image, or a clip, on some geoms in place of their textures.

    Their colors and light multiply it, as with any texture: see `Scene.geom_rgb`. Call it once to give the scene a
    place for an image; under `jax.vmap` or in a step, `repaint` it or set `texture_frame`.

    Args:
      scene: the scene.
      geoms: their ids.
      images: (height, width, 3), or (frames, height, width, 3) for a clip: uint8, or floats 0..1, which have
        derivatives. Or what `texture_of` made of them.
      size: width and height of the image, in meters on planes, centered; elsewhere in shares of a face, of once
        around, or of a mesh's texture coordinates from 0 to 1 (on a mesh without, in meters along its x and y axes).
        It repeats beyond.

    Raises:
      ConfigError: an argument is invalid.
    """
    geoms = _checked_geoms(scene, geoms)
    width, height = _positive_pair("size", size, "a width and a height")
    scene, texture = _with_texture(scene, images if isinstance(images, Texture) else texture_of(images))
    is_chosen = jnp.array([i in geoms for i in range(len(scene.geom_type))])
    scale = jnp.array([1 / width, 1 / height, 0.0], jnp.float32)
    is_plane = jnp.array([kind == PLANE.geom_type for kind in scene.geom_type])

    def chosen(values: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
        return tuple(value if i in geoms else old for i, old in enumerate(values))

    return replace(
        scene,
        geom_pattern=chosen(scene.geom_pattern, Pattern.IMAGE),
        geom_texture=chosen(scene.geom_texture, texture),
        pattern_rgb=jnp.where(is_chosen[:, None, None], 1.0, scene.pattern_rgb),
        texture_scale=jnp.where(is_chosen[:, None], scale, scene.texture_scale),
        texture_offset=jnp.where(is_chosen[:, None], jnp.where(is_plane, 0.5, 0.0)[:, None], scene.texture_offset),
    )


def texture_of(images: Any) -> Texture:
    """Images of `paint`, with their smaller copies.

    Args:
      images: (height, width, 3), or (frames, height, width, 3) for a clip: uint8, or floats 0..1.

    Raises:
      ConfigError: they have another shape or dtype.
    """
    return _texels(_clip(images)[..., None, :, :, :])


def paint_sky(
    scene: Scene,
    images: Any,
    mapping: SkyMapping = SkyMapping.SPHERE,
    span: Sequence[float] = (360.0, 180.0),
    heading: float = 90.0,
) -> Scene:
    """The scene with an image, or a clip, as its sky; a ray's direction says where it looks.

    Args:
      scene: the scene.
      images: as for `paint`. Of CUBE a square picture is on all six sides, as an observer in its middle should see it;
        or there is an axis of six faces, (6, size, size, 3) or (frames, 6, size, size, 3), as in a file of MuJoCo's
        skybox: right, left, up, down, front, back, each as it is seen from outside. So a clip of exactly six square
        frames needs the axis of faces.
      mapping: how it is laid.
      span: see `Scene.sky_span`. Beyond, mirror images follow.
      heading: see `Scene.sky_heading`.

    Raises:
      ConfigError: an argument is invalid.
    """
    span = _positive_pair("span", span, "degrees, or meters of a plane, across and upwards")
    if not isinstance(heading, jax.Array):
        heading = check_number("heading", np.asarray(heading).tolist())
    if not isinstance(mapping, SkyMapping):
        members = ", ".join(f"SkyMapping.{member.name}" for member in SkyMapping)
        raise ConfigError(f"mapping is {mapping!r}: it must be one of {members}")
    faces = _faces(images) if mapping == SkyMapping.CUBE else _clip(images)[..., None, :, :, :]
    scene, texture = _with_texture(scene, _texels(faces))
    return replace(
        scene,
        sky_texture=texture,
        sky_mapping=mapping,
        sky_span=jnp.array(span, jnp.float32),
        sky_heading=jnp.float32(heading),
    )


def repaint(scene: Scene, texture: int, images: Any) -> Scene:
    """The scene with other texels in one of its textures.

    Args:
      scene: the scene.
      texture: position in `scene.textures`; `paint` and `paint_sky` append theirs, so that -1 is the latest.
      images: of the same height and width as the texture's; with its dtype, and with an axis of faces if it has six.
        The number of frames may differ.

    Raises:
      ConfigError: they do not fit.
    """
    try:
        texture = range(len(scene.textures))[operator.index(texture)]
    except (TypeError, IndexError):
        raise ConfigError(f"there is no texture {texture!r}: the scene has {len(scene.textures)}") from None
    faces, ((height, width), *_) = scene.texture_shape[texture]
    images = _faces(images) if faces == 6 else _clip(images)[..., None, :, :, :]
    if images.shape[-3:-1] != (height, width) or images.shape[-4] != faces:
        raise ConfigError(
            f"images of {images.shape[-3]}x{images.shape[-2]} do not fit texture {texture} of {height}x{width}"
        )
    _, texels = _texels(images)
    if texels.ndim != scene.textures[texture].ndim:
        raise ConfigError(f"images are {images.dtype}, but those of texture {texture} are not: pass the same kind")
    textures = [*scene.textures[:texture], texels, *scene.textures[texture + 1 :]]
    return replace(scene, textures=tuple(textures))


def geom_ids(scene: Scene, geoms: Any) -> tuple[int, ...]:
    """Ids of geoms, which may be of none.

    Raises:
      ConfigError: they are no sequence of whole numbers.
    """
    try:
        return tuple(map(operator.index, geoms))
    except TypeError:
        count = len(scene.geom_type)
        raise ConfigError(f"geoms is {geoms!r}: it must be a sequence of ids, whole numbers below {count}") from None


def _checked_geoms(scene: Scene, geoms: Any) -> tuple[int, ...]:
    ids, count = geom_ids(scene, geoms), len(scene.geom_type)
    if unknown := [i for i in ids if not 0 <= i < count]:
        raise ConfigError(f"the scene has no geom {unknown[0]}: it has {count}")
    return ids


def _positive_pair(name: str, value: Any, what: str) -> tuple[float, float]:
    pair = check_pair(name, value, f"two positive numbers: {what}")
    first, second = (check_number(name, np.asarray(part).tolist(), above=0) for part in pair)
    return first, second


def _array(images: Any) -> Array:
    try:
        array = jnp.asarray(images)
    except (TypeError, ValueError):
        raise ConfigError(f"images are a {type(images).__name__}: they must be an array, {_CLIP}") from None
    if jnp.issubdtype(array.dtype, jnp.floating) and not isinstance(images, jax.core.Tracer):
        brightest = float(np.asarray(images).max(initial=0.0))
        if brightest > _BRIGHTEST:
            raise ConfigError(f"images are floats up to {brightest:g}: they must be uint8, or floats from 0 to 1")
    return array


def _clip(images: Any) -> Array:
    images = _array(images)
    if images.ndim not in (3, 4) or images.shape[-1] != 3 or 0 in images.shape:
        raise ConfigError(f"images have shape {images.shape}: it must be {_CLIP}")
    return images


def _faces(images: Any) -> Array:
    """The six faces of a cube, of each frame; a single image is on all of them."""
    images = _array(images)
    if images.ndim >= 4 and images.shape[-4] == 6:
        if images.ndim <= 5 and images.shape[-1] == 3 and images.shape[-3] == images.shape[-2] > 0:
            return images
    elif images.ndim in (3, 4) and images.shape[-1] == 3 and images.shape[-3] == images.shape[-2] > 0:
        return jnp.repeat(images[..., None, :, ::-1, :], 6, axis=-4)  # a cube's faces are seen mirrored from inside
    raise ConfigError(
        f"images of a cube have shape {images.shape}: it must be (6, size, size, 3), with an axis of frames before it "
        "for a clip, or without that of faces for the same picture on all six"
    )


def _with_texture(scene: Scene, texture: Texture) -> tuple[Scene, int]:
    """The scene with one more texture, and its position."""
    changed = replace(
        scene,
        texture_shape=(*scene.texture_shape, texture.shape),
        textures=(*scene.textures, texture.texels),
        texture_frame=jnp.append(scene.texture_frame, 0.0),
    )
    return changed, len(scene.textures)


def _texels(faces: Array) -> Texture:
    """A texture of (frames, faces, height, width, 3)."""
    if jnp.issubdtype(faces.dtype, jnp.floating):
        shape, texels = mip_chain(faces.astype(jnp.float32), jnp)
        return Texture(shape, texels.reshape(-1, 3))
    if faces.dtype != jnp.uint8:
        raise ConfigError(f"images are {faces.dtype}: they must be uint8, or floats from 0 to 1")
    shape, texels = mip_chain(faces.astype(jnp.float32) / 255, jnp)
    flat = texels.reshape(-1, 3)
    return Texture(shape, pack((flat[:, 0], flat[:, 1], flat[:, 2])))
