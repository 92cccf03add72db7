"""Pictures and videos on the body."""

from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, SceneContext
from pixelbrax.distractors.kinds.video import Video, VideoState
from pixelbrax.distractors.roles import Role
from pixelbrax.render import GeomPose, Scene, Texture, paint, texture_of

_SIDE = 32  # texels: a body part is a few pixels wide


@dataclass(frozen=True)
class BodyVideo(Video):
    """A video on the body in place of its colors, lit as the body is; each geom has all of it.

    It replaces the body's colors, so opacities do not count, and it has no strength.

    Attributes:
      texture: the clips themselves, as `prepare` lays them out.
    """

    texture: Texture | None = field(default=None, compare=False, repr=False)

    @property
    @override
    def is_identity(self) -> bool:
        return False

    @property
    @override
    def needs_segmentation(self) -> bool:
        return False

    @property
    @override
    def changes_frames(self) -> bool:
        return False

    @property
    @override
    def num_bytes(self) -> int:
        return self.texture.num_bytes if self.texture else 0

    @override
    def lacks(self, context: SceneContext) -> str:
        return context.lack((Role.BODY,))

    @override
    def prepare(self, context: SceneContext) -> "BodyVideo":
        loaded = self._loaded(_SIDE, _SIDE)
        frames = np.moveaxis(loaded._bank().frames, 1, -1)
        with jax.ensure_compile_time_eval():
            return replace(loaded, texture=texture_of(frames))

    @override
    def scaled(self, params: PyTree, strength: Any) -> PyTree:
        return params

    apply_frame = Distractor.apply_frame

    @override
    def furnish(self, state: VideoState, scene: Scene, pose: GeomPose, context: SceneContext) -> tuple[Scene, GeomPose]:
        assert self.texture is not None, "prepare() loads the clips"
        body = np.flatnonzero(context.geoms((Role.BODY,)))
        scene = paint(scene, body.tolist(), self.texture)
        number = self._number(state).astype(jnp.float32)
        return replace(
            scene,
            geom_rgb=scene.geom_rgb.at[body].set(1.0),
            texture_frame=scene.texture_frame.at[-1].set(number),
        ), pose
