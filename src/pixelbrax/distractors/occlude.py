"""Things that fly between the camera and the body."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, Picture, Stage, check_amounts, check_whole
from pixelbrax.distractors.filters import grid
from pixelbrax.errors import check_number

_MOST = 10.0  # the image's longer side is 2


class OccluderState(NamedTuple):
    """Discs and boxes in the image, whose longer side is 2.

    Attributes:
      position, velocity: (count, 2) x and y; a frame.
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
    """Discs and boxes that cross the image before everything else, and come back from the other side.

    Attributes:
      count: how many, up to 100.
      smallest, largest: radius, where the image's longer side is 2.
      fastest: on each axis, a frame.
    """

    count: int = 4
    smallest: float = 0.12
    largest: float = 0.3
    fastest: float = 0.05

    def __post_init__(self):
        check_whole(self, "count", 0, 100)
        check_number("Occluders: largest", self.largest, most=_MOST, above=0.0)
        check_number("Occluders: smallest", self.smallest, most=self.largest, above=0.0)
        check_amounts(self, most=_MOST, names="fastest")

    @property
    @override
    def is_identity(self) -> bool:
        return self.count == 0

    @override
    def init(self, key: Array, stage: Stage) -> OccluderState:
        place, speed, size, kind, color = jax.random.split(key, 5)
        n = self.count
        return OccluderState(
            jax.random.uniform(place, (n, 2), minval=-1.0, maxval=1.0),
            jax.random.uniform(speed, (n, 2), minval=-self.fastest, maxval=self.fastest),
            jax.random.uniform(size, (n,), minval=self.smallest, maxval=self.largest),
            jax.random.bernoulli(kind, shape=(n,)),
            jax.random.uniform(color, (n, 3)),
        )

    @override
    def step(self, state: OccluderState, key: Array, stage: Stage) -> OccluderState:
        beyond = 1.0 + self.largest
        position = jnp.mod(state.position + state.velocity + beyond, 2 * beyond) - beyond
        return state._replace(position=position)

    @override
    def apply_frame(self, state: OccluderState, picture: Picture, stage: Stage) -> Picture:
        y, x = grid(stage.height, stage.width)
        rgb = picture.rgb
        for i in range(self.count):
            dx, dy = jnp.abs(x - state.position[i, 0]), jnp.abs(y - state.position[i, 1])
            distance = jnp.where(state.box[i], jnp.maximum(dx, dy), jnp.sqrt(dx * dx + dy * dy))
            rgb = jnp.where(distance < state.size[i], state.rgb[i][:, None, None], rgb)
        return picture._replace(rgb=rgb)
