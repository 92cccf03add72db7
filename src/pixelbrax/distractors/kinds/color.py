"""Colors of the scene: of materials, of the floor's pattern, of the sky; and one offset for the whole image."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
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
from pixelbrax.errors import check_flag
from pixelbrax.render import Scene, texel_colors

_MOST = 100.0
_APART = 0.1  # between the two colors of a floor
_BODY_MATERIAL = "self"  # in the models of the DeepMind Control Suite


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
      by_material: each material has a color of its own, as in the Distracting Control Suite, even if another has the
        same; geoms without one still share by color.
    """

    roles: tuple[Role, ...] = ALL_ROLES
    by_material: bool = False

    def __post_init__(self):
        super().__post_init__()
        check_roles(self, self.roles)
        check_flag("MaterialColors: by_material", self.by_material)

    @override
    def lacks(self, context: SceneContext) -> str:
        return context.lack(self.roles)

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
        colors = np.asarray(context.scene.geom_rgb, np.float32)
        _, material = np.unique(context.materials if self.by_material else [""] * len(geoms), return_inverse=True)
        keys = np.column_stack([material.reshape(-1), colors])[geoms]
        keys, numbers = np.unique(keys, axis=0, return_inverse=True)
        group = np.zeros(len(geoms), int)
        group[geoms] = numbers.reshape(-1)
        return geoms, keys[:, 1:].astype(np.float32), group


class SettingColors(NamedTuple):
    """Colors of `ColorSettings`: of the floor's first squares, of the body, and of the sky straight up; each (3,)."""

    floor: Float[Array, "3"]
    body: Float[Array, "3"]
    sky: Float[Array, "3"]


@dataclass(frozen=True)
class ColorSettings(Distractor):
    """The three colors that the DMControl Generalization Benchmark changes: of floor, body and sky.

    Each is N(original, std), clipped to 0..1. The floor's second squares are `_APART` brighter than its first; the sky
    keeps its color straight down. The body's color is that of dm_control's material "self", or without it the most
    frequent one of the body's geoms; others stay. Source: the benchmark's files `color_easy.pt` and `color_hard.pt`,
    whose 100 settings have these moments.

    Attributes:
      std: standard deviation before clipping, 0.1 at easy and 0.2 at hard.
      body_only: floor and sky keep their colors.
    """

    std: float = data_field(0.2, most=1.0, strength=True)
    body_only: bool = False

    def __post_init__(self):
        super().__post_init__()
        check_flag("ColorSettings: body_only", self.body_only)

    @property
    @override
    def is_identity(self) -> bool:
        return self.std == 0

    @override
    def lacks(self, context: SceneContext) -> str:
        return "" if not self.body_only or self._body(context).any() else context.lack((Role.BODY,))

    @override
    def init(self, key: Array, context: SceneContext) -> SettingColors:
        original = np.stack(self._original(context))
        changed = jnp.clip(original + self.std * jax.random.normal(key, (3, 3)), 0.0, 1.0)
        return SettingColors(changed[0], changed[1], changed[2])

    @override
    def apply_scene(self, state: SettingColors, view: SceneView, context: SceneContext) -> SceneView:
        scene, body = view.scene, self._body(context)
        offset = state.body - self._original(context).body  # preserves domain randomization
        changed = jnp.where(body[:, None], jnp.clip(scene.geom_rgb + offset[None], 0.0, 1.0), scene.geom_rgb)
        scene = replace(scene, geom_rgb=changed)
        if not self.body_only:
            pattern = jnp.stack([state.floor, jnp.minimum(state.floor + _APART, 1.0)])
            floor = _floor(context)[:, None, None]
            scene = replace(
                scene,
                pattern_rgb=jnp.where(floor, pattern[None], scene.pattern_rgb),
                sky_rgb=jnp.stack([sky_colors(context.scene)[0], state.sky]),
                sky_texture=-1,
            )
        return view._replace(scene=scene)

    def _body(self, context: SceneContext) -> Bool[np.ndarray, " geom"]:
        """The geoms that have the body's color."""
        named = np.array([name == _BODY_MATERIAL for name in context.materials])
        body, colors = context.geoms((Role.BODY,)), np.asarray(context.scene.geom_rgb, np.float32)
        if named.any() or not body.any():
            return named
        distinct, counts = np.unique(colors[body], axis=0, return_counts=True)
        return body & (colors == distinct[counts.argmax()]).all(1)

    def _original(self, context: SceneContext) -> SettingColors:
        scene, floor, body = context.scene, _floor(context), self._body(context)
        first = np.asarray(scene.pattern_rgb, np.float32)[floor.argmax(), 0]
        own = np.asarray(scene.geom_rgb, np.float32)[body.argmax()]
        return SettingColors(first, own, sky_colors(scene)[1])  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True)
class FloorColors(_Colors):
    """The two colors of a checkered floor, or the one of a plain one. Image textures on a floor are only tinted."""

    @override
    def lacks(self, context: SceneContext) -> str:
        return context.lack((Role.FLOOR,))

    @override
    def apply_scene(self, state: Array, view: SceneView, context: SceneContext) -> SceneView:
        scene, floor = view.scene, _floor(context)
        pattern = jnp.where(floor[:, None, None], state, scene.pattern_rgb)
        return view._replace(scene=replace(scene, pattern_rgb=pattern))

    def _original(self, context: SceneContext) -> np.ndarray:
        floor = _floor(context)
        pattern = np.asarray(context.scene.pattern_rgb, np.float32)
        return pattern[floor][0] if floor.any() else np.ones((2, 3), np.float32)


@dataclass(frozen=True)
class SkyColors(_Colors):
    """Both ends of the sky's gradient. A sky with a texture becomes a gradient."""

    @override
    def apply_scene(self, state: Array, view: SceneView, context: SceneContext) -> SceneView:
        return view._replace(scene=replace(view.scene, sky_rgb=state, sky_texture=-1))

    def _original(self, context: SceneContext) -> np.ndarray:
        return sky_colors(context.scene)


def _floor(context: SceneContext) -> Bool[np.ndarray, " geom"]:
    """The floors with the colors of the first that is seen, as a material has them; walls are planes, too.

    `level_floors` tells them apart by where they are.
    """
    floor, pattern = context.geoms((Role.FLOOR,)), np.asarray(context.scene.pattern_rgb, np.float32)
    seen = [geom for geom in context.scene.visible if floor[geom]]
    return floor & (pattern == pattern[seen[0]]).all((1, 2)) if seen else floor


def sky_colors(scene: Scene) -> Float[np.ndarray, "2 3"]:
    """Colors of the sky straight down and straight up; twice the mean of a texture over its faces."""
    if scene.sky_texture < 0:
        return np.asarray(scene.sky_rgb, np.float32)
    faces, _ = scene.texture_shape[scene.sky_texture]
    mean = texel_colors(scene.textures[scene.sky_texture][-faces:]).mean(0)  # the last mip level is one texel a face
    return np.broadcast_to(mean, (2, 3)).astype(np.float32)
