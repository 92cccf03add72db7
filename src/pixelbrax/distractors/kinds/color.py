"""Colors of the scene: of materials, of the floor's pattern, of the sky; and one offset for the whole image."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

from pixelbrax.distractors.base import (
    Distractor,
    RenderedFrame,
    SceneContext,
    SceneView,
    check_roles,
    wander,
)
from pixelbrax.distractors.fields import data_field, is_off
from pixelbrax.distractors.roles import ALL_ROLES, Role

_MOST = 100.0


@dataclass(frozen=True)
class ColorOffset(Distractor):
    """One offset on red, green and blue of the whole image, including the body.

    Attributes:
      reset: an episode begins with U(-reset, reset).
      std: every later frame has N(0, std).
    """

    reset: float = data_field(0.3, most=_MOST, strength=True)
    std: float = data_field(0.3, most=_MOST, strength=True)

    @property
    @override
    def is_identity(self) -> bool:
        return self.reset == self.std == 0

    @override
    def init(self, key: Array, context: SceneContext) -> Float[Array, "3"]:
        return jax.random.uniform(key, (3,), minval=-self.reset, maxval=self.reset)

    @override
    def step(self, state: Array, key: Array, context: SceneContext) -> Float[Array, "3"]:
        return self.std * jax.random.normal(key, (3,))

    @override
    def apply_frame(self, state: Array, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        return frame._replace(rgb=frame.rgb + state[:, None, None])


@dataclass(frozen=True)
class _Colors(Distractor):
    """Colors sampled around those of the scene, which may follow a random walk from frame to frame.

    A color is uniform within `amount` of the original (and 0..1); each later frame adds N(0, std) and clips to the
    same range (Stone et al. 2021, with std = 0.03 amount where it is dynamic).

    Attributes:
      amount: largest change from the original, 0..1; 1 allows every color.
      std: standard deviation of each frame's step; 0 keeps the color for the whole episode.
    """

    amount: float = data_field(most=1.0, strength=True)
    std: float = data_field(0.0, most=_MOST, strength=True, optional=True)

    @property
    @override
    def is_identity(self) -> bool:
        return self.amount == 0

    @override
    def init(self, key: Array, context: SceneContext) -> Array:
        low, high = self._range(context)
        return jax.random.uniform(key, low.shape, minval=low, maxval=high)

    @override
    def step(self, state: Array, key: Array, context: SceneContext) -> Array:
        if is_off(self.std):
            return state
        return wander(state, key, self.std, *self._range(context))

    def _range(self, context: SceneContext) -> tuple[Array, Array]:
        """The lowest and the highest colors."""
        original = self._original(context)
        return jnp.clip(original - self.amount, 0.0, 1.0), jnp.clip(original + self.amount, 0.0, 1.0)

    def _original(self, context: SceneContext) -> np.ndarray:
        raise NotImplementedError


@dataclass(frozen=True)
class MaterialColors(_Colors):
    """Colors of geoms. Those that share a color keep sharing one; a texture stays on top.

    Attributes:
      roles: which geoms.
    """

    roles: tuple[Role, ...] = ALL_ROLES

    def __post_init__(self):
        super().__post_init__()
        check_roles(self, self.roles)

    @override
    def apply_scene(self, state: Array, view: SceneView, context: SceneContext) -> SceneView:
        geoms, original, group = self._groups(context)
        if not geoms.any():
            return view
        # An offset preserves domain randomization of the colors.
        offset, rgb = (state - original)[group], view.scene.geom_rgb
        changed = jnp.where(geoms[:, None], jnp.clip(rgb + offset, 0.0, 1.0), rgb)
        return view._replace(scene=replace(view.scene, geom_rgb=changed))

    def _original(self, context: SceneContext) -> np.ndarray:
        return self._groups(context)[1]

    def _groups(self, context: SceneContext) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which geoms change, their distinct colors, and each geom's index among these (0 for the others)."""
        geoms = context.geoms(self.roles)
        colors, numbers = np.unique(np.asarray(context.scene.geom_rgb, np.float32)[geoms], axis=0, return_inverse=True)
        group = np.zeros(len(geoms), int)
        group[geoms] = numbers.reshape(-1)
        return geoms, colors, group


@dataclass(frozen=True)
class FloorColors(_Colors):
    """The two colors of a checkered floor, or the one of a plain one. Image textures on a floor are only tinted."""

    @override
    def apply_scene(self, state: Array, view: SceneView, context: SceneContext) -> SceneView:
        scene, floor = view.scene, context.geoms((Role.FLOOR,))
        pattern = jnp.where(floor[:, None, None], state, scene.pattern_rgb)
        return view._replace(scene=replace(scene, pattern_rgb=pattern))

    def _original(self, context: SceneContext) -> np.ndarray:
        floor = context.geoms((Role.FLOOR,))
        pattern = np.asarray(context.scene.pattern_rgb, np.float32)
        return pattern[floor][0] if floor.any() else np.ones((2, 3), np.float32)


@dataclass(frozen=True)
class SkyColors(_Colors):
    """Both ends of the sky's gradient. A sky with a texture becomes a gradient."""

    @override
    def apply_scene(self, state: Array, view: SceneView, context: SceneContext) -> SceneView:
        return view._replace(scene=replace(view.scene, sky_rgb=state, sky_texture=-1))

    def _original(self, context: SceneContext) -> np.ndarray:
        scene = context.scene
        if scene.sky_texture < 0:
            return np.asarray(scene.sky_rgb, np.float32)
        mean = np.asarray(scene.textures[scene.sky_texture])[-1]  # the last mip level is one texel a face
        return np.broadcast_to(mean, (2, 3)).astype(np.float32)
