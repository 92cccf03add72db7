"""Videos that are in the world: on the sky, and on the floor."""

from dataclasses import dataclass, field, replace
from typing import Self

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

from pixelbrax.distractors.base import RenderedFrame, SceneContext, SceneView
from pixelbrax.distractors.fields import data_field
from pixelbrax.distractors.kinds.places import floor_height
from pixelbrax.distractors.kinds.video import Video, VideoState
from pixelbrax.distractors.roles import Role
from pixelbrax.distractors.videos.texels import Texels, check_texels
from pixelbrax.render import Camera

_SKY_DENSITY = 1.5  # texels across a face of the sky, for each pixel of the image's longer side
_FLOOR_LEVELS = 6
_LARGE, _SMALL = 512, 16  # texels, sides of clips
_NEAREST, _FARTHEST = 1e-3, 1e4  # meters to the floor
_LEVEL = 0.15  # meters: PixelBraxGen-v2 keeps its images of floors that are a little below 0


@dataclass(frozen=True)
class _WorldVideo(Video):
    """A video that is looked up wherever in it a pixel falls.

    Attributes:
      texels: the clips themselves, as `prepare` lays them out.
    """

    texels: Texels | None = field(default=None, compare=False, repr=False)

    @property
    @override
    def num_bytes(self) -> int:
        return self.texels.num_bytes if self.texels else 0

    def _laid_out(self, side: int, levels: int) -> Self:
        """A copy with square clips of this side, and their smaller copies.

        Raises:
          ConfigError: they have too many texels.
        """
        if side >= _LARGE:  # a small copy says how many frames there are, before gigabytes are filled with them
            check_texels(len(self._loaded(_SMALL, _SMALL)._bank().frames), side, levels)
        loaded = self._loaded(side, side)
        # The texels stand for the frames; the bank keeps the clips' places among them.
        return replace(loaded, texels=Texels.of(loaded._bank(), levels))

    def _texels(self) -> Texels:
        assert self.texels is not None, "prepare() loads the clips"
        return self.texels


@dataclass(frozen=True)
class SkyVideo(_WorldVideo):
    """A video on the sky, which stays where it is when the camera turns.

    It is on all faces of a cube around the world, as MuJoCo's skybox of one picture: at a field of view of 45 degrees
    its middle 41 % are seen. The floor may let it through, as a transparent one does.
    """

    @override
    def prepare(self, context: SceneContext) -> "SkyVideo":
        return self._laid_out(round(_SKY_DENSITY * max(context.height, context.width)), 1)

    @override
    def _seen(self, state: VideoState, frame: RenderedFrame, context: SceneContext) -> Float[Array, "3 height width"]:
        x, y, z = view_directions(frame.camera, context)
        ax, ay, az = jnp.abs(x), jnp.abs(y), jnp.abs(z)
        on_z, on_x = (az >= ax) & (az >= ay), ax >= ay
        scale = 0.5 / jnp.where(on_z, z, jnp.where(on_x, x, y))  # has the sign of the face
        right = jnp.where(on_z, -x * jnp.abs(scale), jnp.where(on_x, -y, x) * scale)
        down = jnp.where(on_z, -y * scale, -z * jnp.abs(scale))
        return self._texels().at(self._number(state), 0.5 + right, 0.5 + down)


@dataclass(frozen=True)
class FloorVideo(_WorldVideo):
    """A video on the floor's plane, lit as the floor is; it repeats. The floor is taken to be level.

    A floor within 0.15 meters of height 0 is taken to be there.

    It replaces a floor's squares; an image that a floor has of its own stays, and the video tints it. Of its opacities
    only `floor` counts.

    Attributes:
      size: side of the picture, meters.
    """

    sky: float = data_field(0.0, most=1.0, strength=True)
    floor: float = data_field(1.0, most=1.0, strength=True)
    size: float = data_field(1.0, 1e-3, 1e3)

    @property
    @override
    def needs_segmentation(self) -> bool:
        return True  # which shows where the floor is

    @override
    def lacks(self, context: SceneContext) -> str:
        return context.lack((Role.FLOOR,))

    @override
    def prepare(self, context: SceneContext) -> "FloorVideo":
        coarsest = 2 ** (_FLOOR_LEVELS - 1)
        side = max(round(max(context.height, context.width) / coarsest), 1) * coarsest
        return self._laid_out(side, _FLOOR_LEVELS)

    @override
    def observe_scene(self, state: VideoState, view: SceneView, context: SceneContext) -> SceneView:
        """A floor without pattern: what is rendered there is the light on it, by the floor's opacity."""
        scene, floor = view.scene, context.geoms((Role.FLOOR,))
        plain = scene.pattern_rgb + self.floor * (1.0 - scene.pattern_rgb)
        pattern = jnp.where(floor[:, None, None], plain, scene.pattern_rgb)
        return view._replace(scene=replace(scene, pattern_rgb=pattern))

    @override
    def apply_frame(self, state: VideoState, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        assert frame.segmentation is not None, "needs_segmentation asks for it"
        shown = context.shows(frame.segmentation, (Role.FLOOR,))[None]
        factor = 1.0 + self.floor * (self._seen(state, frame, context) - 1.0)
        return frame._replace(rgb=jnp.where(shown, frame.rgb * factor, frame.rgb))

    @override
    def _seen(self, state: VideoState, frame: RenderedFrame, context: SceneContext) -> Float[Array, "3 height width"]:
        x, y, z = view_directions(frame.camera, context)
        above = frame.camera.pos[2] - _floor_height(context)
        distance = jnp.clip(above / jnp.maximum(-z, _NEAREST), _NEAREST, _FARTHEST)
        right = (frame.camera.pos[0] + distance * x) / self.size
        down = -(frame.camera.pos[1] + distance * y) / self.size
        pixel = 2.0 * jnp.tan(jnp.deg2rad(frame.camera.fovy) / 2) / context.height
        # Along the line of sight a pixel covers more floor than across it.
        slant = jnp.sqrt(x * x + y * y + z * z) / jnp.maximum(-z, _NEAREST)
        footprint = pixel * distance * slant / self.size
        return self._texels().at(self._number(state), right - jnp.floor(right), down - jnp.floor(down), footprint)


def _floor_height(context: SceneContext) -> float:
    """Of the floor that the video lies on, meters."""
    height = floor_height(context)
    return height if abs(height) > _LEVEL else 0.0


def view_directions(camera: Camera, context: SceneContext) -> tuple[Array, Array, Array]:
    """Directions (height, width) in the world's frame in which the image's pixels look; 1 along the line of sight."""
    height, width = context.height, context.width
    half = jnp.tan(jnp.deg2rad(camera.fovy) / 2) / height
    right = half * (2 * np.arange(width, dtype=np.float32) + 1 - width)[None, :]
    up = half * (height - 1 - 2 * np.arange(height, dtype=np.float32))[:, None]
    x, y, z = (camera.mat[k, 0] * right + camera.mat[k, 1] * up - camera.mat[k, 2] for k in range(3))
    return x, y, z
