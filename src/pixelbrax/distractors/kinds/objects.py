"""Solid objects on the ground, which the model does not have."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, SceneContext, check_whole
from pixelbrax.distractors.fields import check_order, data_field
from pixelbrax.distractors.kinds.places import body_center, ground_height, start_across
from pixelbrax.render import GeomPose, Scene, add_geoms, add_poses

_KINDS = ("sphere", "box", "cylinder", "capsule", "ellipsoid")
_REACH = 1.5  # times the camera's distance: where objects enter and leave


class ObjectsState(NamedTuple):
    """Objects on the ground.

    Attributes:
      place: (count, 2) along the body's path and across it, in units of the camera's distance.
      size: (count, 3) likewise.
      turn: (count,) radians about the vertical.
      rgb: (count, 3) colors.
    """

    place: Float[Array, "count 2"]
    size: Float[Array, "count 3"]
    turn: Float[Array, " count"]
    rgb: Float[Array, "count 3"]


@dataclass(frozen=True)
class Objects(Distractor):
    """Solid objects that lie about on the ground, in the world: a body that runs passes them, and others follow.

    They are spheres, boxes, cylinders, capsules and ellipsoids, and touch nothing; in a segmentation they follow the
    model's geoms. Lengths are in units of the (first) camera's distance from the body, so that they look alike in all
    tasks.

    Attributes:
      count: how many, up to 50.
      smallest, largest: half of their size.
      clear: least distance from the body's path, in the direction across it (world y).
    """

    count: int = 8
    smallest: float = data_field(0.03, most=1.0, strength=True)
    largest: float = data_field(0.09, most=1.0, strength=True)
    clear: float = data_field(0.2, most=_REACH)

    def __post_init__(self):
        super().__post_init__()
        check_whole(self, "count", 0, 50)
        check_order("Objects: smallest", self.smallest, "largest", self.largest)

    @override
    def check_params(self, params: PyTree) -> None:
        super().check_params(params)
        check_order("Objects: smallest", params["smallest"], "largest", params["largest"])

    @property
    @override
    def is_identity(self) -> bool:
        return self.count == 0 or self.largest == 0

    @override
    def init(self, key: Array, context: SceneContext) -> ObjectsState:
        along, across, side, size, turn, color = jax.random.split(key, 6)
        n = self.count
        x = jax.random.uniform(along, (n,), minval=-_REACH, maxval=_REACH)
        y = jax.random.uniform(across, (n,), minval=self.clear, maxval=_REACH)
        y *= jax.random.rademacher(side, (n,), jnp.float32)
        sizes = jax.random.uniform(size, (n, 3), minval=self.smallest, maxval=self.largest)
        turns = jax.random.uniform(turn, (n,), maxval=2 * math.pi)
        return ObjectsState(jnp.stack([x, y], axis=1), sizes, turns, jax.random.uniform(color, (n, 3)))

    @override
    def furnish(
        self, state: ObjectsState, scene: Scene, pose: GeomPose, context: SceneContext
    ) -> tuple[Scene, GeomPose]:
        unit = context.world_unit
        size, center, reach = unit * state.size, body_center(pose, context)[None], unit * _REACH
        # Each is at one place of an endless pattern, of which the part around the body is drawn.
        place = unit * state.place + jnp.array([0.0, start_across(context)]) - center
        place = center + jnp.mod(place + reach, 2 * reach) - reach
        kinds = [_KINDS[i % len(_KINDS)] for i in range(self.count)]
        half = jnp.stack([_half_height(kind, size[i]) for i, kind in enumerate(kinds)])
        height = ground_height(pose, context) + half
        scene = add_geoms(scene, kinds, size, state.rgb)
        return scene, add_poses(pose, jnp.concatenate([place, height[:, None]], axis=1), _upright(state.turn))


def _half_height(kind: str, size: Float[Array, "3"]) -> Float[Array, ""]:
    """Of an upright geom of MuJoCo."""
    if kind == "sphere":
        return size[0]
    return {"capsule": size[0] + size[1], "cylinder": size[1]}.get(kind, size[2])


def _upright(turn: Float[Array, " count"]) -> Float[Array, "count 3 3"]:
    cos, sin, zero = jnp.cos(turn), jnp.sin(turn), jnp.zeros_like(turn)
    rows = [jnp.stack(row, axis=-1) for row in ((cos, -sin, zero), (sin, cos, zero), (zero, zero, zero + 1))]
    return jnp.stack(rows, axis=-2)
