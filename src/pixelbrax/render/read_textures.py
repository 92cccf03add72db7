"""Reads the textures of a `Scene` from a MuJoCo model.

Conventions are those of MuJoCo's OpenGL renderer (documentation of MJCF's `texture` and `material`; checked against its
images in `tests/golden`): a 2D texture repeats texrepeat times over a plane, over each face of a box or once around
other shapes, or over 2 meters if texuniform or if the plane is unbounded. Repeats are counted from the edge or, where
there is none, from the center; of a plane that is unbounded in any direction, half a repeat further in both. Textures
declared as sRGB are decoded.
"""

from typing import NamedTuple

import mujoco
import numpy as np

from pixelbrax.render.gradient import gradient_share
from pixelbrax.render.mip import TextureShape, mip_chain
from pixelbrax.render.scene import Pattern
from pixelbrax.render.shapes import PLANE, Shape

# A texture (or a cell of it) counts as plain if all but this share of each face's texels have one color, and if those
# are one texel wide, as MJCF's marks: at an agent's image sizes they are far smaller than a pixel, and averaged in. Of
# all places not more than the second share may be the corner of a larger spot, as where random marks meet.
_MARKED_SHARE, _SPOTTED_SHARE = 0.05, 1e-3
# Colors that differ by at most this are equal: within one texture, between two cells of a checker, from a gradient.
_SAME_COLOR, _SAME_CELL, _SAME_GRADIENT = 1 / 255, 2 / 255, 3 / 255


class SurfacePattern(NamedTuple):
    """How a geom's surface is colored; see `Scene`.

    Attributes:
      kind: the pattern.
      texture: position in `Scene.textures`, or -1.
      cells: (2, 3), `Scene.pattern_rgb`.
      scale: (3,), `Scene.texture_scale`.
      offset: (2,), `Scene.texture_offset`.
    """

    kind: Pattern = Pattern.PLAIN
    texture: int = -1
    cells: np.ndarray = np.ones((2, 3))
    scale: np.ndarray = np.ones(3)
    offset: np.ndarray = np.zeros(2)


class TextureReader:
    """Reads textures, and stores those that are sampled texel by texel."""

    def __init__(self, model: mujoco.MjModel):
        self._model = model
        self._position: dict[int, int] = {}  # MuJoCo's texture id -> position in `stored`
        self.stored: list[tuple[TextureShape, np.ndarray]] = []

    def pattern(self, shape: Shape, size: np.ndarray, material: int) -> SurfacePattern:
        """How the surface of a geom with this shape, size and material (-1: none) is colored."""
        half_sizes = np.array(shape.half_sizes(size))
        texture = self._texture(material)
        if isinstance(texture, SurfacePattern):
            return texture
        if self._is_cube(texture):
            return self._cube(texture, half_sizes, material)
        scale, offset = _image_placement(self._model, shape, half_sizes[:2], material)
        cells = _checker(self._faces(texture)[0])
        if cells is not None and shape is PLANE:
            return SurfacePattern(Pattern.CHECKER, -1, cells, scale, offset)
        if shape is PLANE and not half_sizes[:2].all():
            offset = offset + 0.5  # a checker is the same with it and without
        return SurfacePattern(Pattern.IMAGE, self._store(texture), scale=scale, offset=offset)

    def mesh_pattern(self, size: np.ndarray, material: int, own_coordinates: bool) -> SurfacePattern:
        """The same of a mesh or height field, with or without texture coordinates of its own.

        Without them a 2D texture is projected along the z axis; texrepeat times over the geom's size, or over 2 meters
        if texuniform.
        """
        texture = self._texture(material)
        if isinstance(texture, SurfacePattern):
            return texture
        if self._is_cube(texture):
            return self._cube(texture, size, material)
        scale, offset = self._model.mat_texrepeat[material], np.zeros(2)
        if not own_coordinates:
            scale, offset = 0.5 * scale, np.full(2, 0.5)
            if not self._model.mat_texuniform[material]:
                scale = scale / np.where(size[:2] > 0, size[:2], 1.0)
        return SurfacePattern(Pattern.IMAGE, self._store(texture), scale=np.append(scale, 0.0), offset=offset)

    def _texture(self, material: int) -> int | SurfacePattern:
        """A material's texture, or the pattern if there is none or if it has but one color."""
        texture = -1 if material < 0 else self._model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB]
        if texture < 0:
            return SurfacePattern()
        plain = _single_color(self._faces(texture))
        return int(texture) if plain is None else SurfacePattern(cells=np.stack([plain, plain]))

    def _is_cube(self, texture: int) -> bool:
        return self._model.tex_type[texture] != mujoco.mjtTexture.mjTEXTURE_2D

    def _cube(self, texture: int, half_sizes: np.ndarray, material: int) -> SurfacePattern:
        scale = half_sizes if self._model.mat_texuniform[material] else np.ones(3)
        return SurfacePattern(Pattern.CUBE, self._store(texture), scale=scale)

    @property
    def skybox(self) -> int:
        """MuJoCo's id of the sky's texture, or -1."""
        skyboxes = np.flatnonzero(self._model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX)
        return int(skyboxes[0]) if len(skyboxes) else -1

    def sky(self) -> tuple[np.ndarray, int]:
        """(2, 3) colors straight down and up, and the position of the sky's texture (-1: a gradient)."""
        if self.skybox < 0:
            return np.zeros((2, 3)), -1  # black, as in MuJoCo
        faces = self._faces(self.skybox)
        middle = faces.shape[1] // 2
        ends = np.stack([faces[i % len(faces), middle, middle] for i in (3, 2)])  # faces: right, left, up, down, ...
        grid = np.linspace(-1, 1, faces.shape[1])
        x, y = np.meshgrid(grid, -grid)
        length = np.sqrt(1 + x * x + y * y)
        side, up = gradient_share(y / length, np), gradient_share(1 / length, np)
        share = np.stack([side, side, up, 1 - up, side, side])
        channels = zip(np.moveaxis(faces, -1, 0), *ends, strict=True)
        unlike = [np.abs(face - (low + share * (high - low))) > _SAME_GRADIENT for face, low, high in channels]
        if len(faces) == 6 and _are_marks(np.logical_or.reduce(unlike)):
            return ends, -1
        return np.zeros((2, 3)), self._store(self.skybox)

    def _faces(self, texture: int) -> np.ndarray:
        """(faces, height, width, 3), 0..1; one face, or a cube's six."""
        model = self._model
        height, width = model.tex_height[texture], model.tex_width[texture]
        channels = model.tex_nchannel[texture]
        start = model.tex_adr[texture]
        texels = model.tex_data[start : start + height * width * channels].reshape(height, width, channels) / 255.0
        texels = np.broadcast_to(texels[..., :1], (height, width, 3)) if channels < 3 else texels[..., :3]
        if model.tex_colorspace[texture] == mujoco.mjtColorSpace.mjCOLORSPACE_SRGB:
            texels = np.where(texels <= 0.04045, texels / 12.92, ((texels + 0.055) / 1.055) ** 2.4)
        if model.tex_type[texture] == mujoco.mjtTexture.mjTEXTURE_2D:
            return texels[None]
        return texels.reshape(-1, width, width, 3)

    def _store(self, texture: int) -> int:
        if texture not in self._position:
            faces = self._faces(texture)
            if self._model.tex_type[texture] != mujoco.mjtTexture.mjTEXTURE_2D and len(faces) == 1:
                faces = np.repeat(faces, 6, axis=0)  # MuJoCo shows a single square on all sides
            self._position[texture] = len(self.stored)
            self.stored.append(mip_chain(faces))
        return self._position[texture]


def _image_placement(
    model: mujoco.MjModel, shape: Shape, size: np.ndarray, material: int
) -> tuple[np.ndarray, np.ndarray]:
    """`Scene.texture_scale` and `Scene.texture_offset` of a 2D texture."""
    uniform, repeat = bool(model.mat_texuniform[material]), model.mat_texrepeat[material]
    if shape is not PLANE:
        return np.append(repeat * (size if uniform else 1.0), 0.0), np.zeros(2)
    bounded = size > 0
    repeat = repeat * np.where(bounded & uniform, size, 1.0)
    return np.append(repeat / np.where(bounded, 2 * size, 2.0), 0.0), np.where(bounded, repeat / 2, 0.0)


def _single_color(texels: np.ndarray) -> np.ndarray | None:
    """(3,) the mean of the texels if nearly all are equal, else None."""
    flat = texels.reshape(-1, 3)
    unlike = np.any(np.abs(texels - np.median(flat, axis=0)) > _SAME_COLOR, axis=-1)
    return flat.mean(0) if _are_marks(unlike) else None


def _are_marks(unlike: np.ndarray) -> bool:
    """Whether texels, (..., height, width) bool, are as few and as thin as marks, on each face."""
    corners = unlike[..., 1:, 1:] & unlike[..., :-1, 1:] & unlike[..., 1:, :-1] & unlike[..., :-1, :-1]
    few = unlike.mean((-2, -1)).max() <= _MARKED_SHARE
    return bool(few and (corners.size == 0 or corners.mean((-2, -1)).max() <= _SPOTTED_SHARE))


def _checker(texels: np.ndarray) -> np.ndarray | None:
    """(2, 3) colors of the first and the second quadrant if the texture is a checker of 2 x 2 cells, else None."""
    height, width = texels.shape[0] // 2, texels.shape[1] // 2
    if min(height, width) == 0:
        return None
    cells = [_single_color(texels[r : r + height, c : c + width]) for r in (0, height) for c in (0, width)]
    colors = [c for c in cells if c is not None]
    if len(colors) < 4 or not np.allclose(colors[:2], colors[:1:-1], atol=_SAME_CELL):
        return None
    return np.stack(colors[:2])
