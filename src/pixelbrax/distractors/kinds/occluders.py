"""Shapes that move between the camera and the body."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext, check_whole
from pixelbrax.distractors.fields import check_order, data_field
from pixelbrax.distractors.kinds.filters import corner, grid
from pixelbrax.errors import check_number

_MOST = 10.0  # the image's longer side is 2


class OccluderState(NamedTuple):
    """Discs and boxes in the image, whose longer side is 2.

    Attributes:
      position, velocity: (count, 2) x and y; the velocity per frame.
      size: (count,) radius, or half a side.
      box: (count,) which are boxes.
      rgb: (count, 3) colors.
    """

    position: Float[Array, "count 2"]
    velocity: Float[Array, "count 2"]
    size: Float[Array, " count"]
    box: Bool[Array, " count"]
    rgb: Float[Array, "count 3"]


@dataclass(frozen=True)
class Occluders(Distractor):
    """Discs and boxes that cross the image in front of everything, and re-enter on the opposite side.

    Attributes:
      count: how many, up to 100.
      smallest, largest: radius, where the image's longer side is 2.
      fastest: largest speed on each axis, per frame.
    """

    count: int = 4
    smallest: float = data_field(0.12, most=_MOST, strength=True)
    largest: float = data_field(0.3, most=_MOST, strength=True)
    fastest: float = data_field(0.05, most=_MOST)

    def __post_init__(self):
        super().__post_init__()
        check_whole(self, "count", 0, 100)
        check_number("Occluders: largest", self.largest, above=0.0)
        check_number("Occluders: smallest", self.smallest, above=0.0)
        check_order("Occluders: smallest", self.smallest, "largest", self.largest)

    @override
    def check_params(self, params: PyTree) -> None:
        super().check_params(params)
        check_order("Occluders: smallest", params["smallest"], "largest", params["largest"])

    @property
    @override
    def is_identity(self) -> bool:
        return self.count == 0

    @override
    def init(self, key: Array, context: SceneContext) -> OccluderState:
        place, speed, size, kind, color = jax.random.split(key, 5)
        n, most = self.count, corner(context)
        return OccluderState(
            jax.random.uniform(place, (n, 2), minval=-most, maxval=most),
            jax.random.uniform(speed, (n, 2), minval=-self.fastest, maxval=self.fastest),
            jax.random.uniform(size, (n,), minval=self.smallest, maxval=self.largest),
            jax.random.bernoulli(kind, shape=(n,)),
            jax.random.uniform(color, (n, 3)),
        )

    @override
    def step(self, state: OccluderState, key: Array, context: SceneContext) -> OccluderState:
        beyond = corner(context)[None] + self.largest
        position = jnp.mod(state.position + state.velocity + beyond, 2 * beyond) - beyond
        return state._replace(position=position)

    @override
    def apply_frame(self, state: OccluderState, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        y, x = grid(context.height, context.width)
        rgb = frame.rgb
        for i in range(self.count):
            dx, dy = jnp.abs(x - state.position[i, 0]), jnp.abs(y - state.position[i, 1])
            distance = jnp.where(state.box[i], jnp.maximum(dx, dy), jnp.sqrt(dx * dx + dy * dy))
            rgb = jnp.where(distance < state.size[i], state.rgb[i][:, None, None], rgb)
        return frame._replace(rgb=rgb)
