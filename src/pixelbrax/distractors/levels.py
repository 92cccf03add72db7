"""Seeded levels, as in Procgen: the initial state of an episode's distractors follows from one integer."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import jax
from jaxtyping import Array, Int32, PyTree
from typing_extensions import override

from pixelbrax.distractors.base import RenderedFrame, SceneContext, SceneView
from pixelbrax.distractors.composed import Composed
from pixelbrax.distractors.fields import Bounds, as_data, check_order
from pixelbrax.errors import check_count
from pixelbrax.render import GeomPose, Scene

_SEED = 2502_00021
_NUM_LEVELS = 2**31 - 1  # the number after the last level is an int32 too
_BOUNDS = {name: Bounds(least, _NUM_LEVELS - 1, is_whole=True) for name, least in (("first", 0), ("count", 1))}


class LevelState(NamedTuple):
    """The level's number, and the states of its distractors."""

    level: Int32[Array, ""]
    members: PyTree


@dataclass(frozen=True)
class Levels(Composed):
    """Distractors whose initial states are sampled from a level's number: equal levels begin alike, in every run.

    Every episode samples one of the levels `first`, ..., `first + count - 1`. Random walks from there differ between
    episodes.

    Attributes:
      first: number of the first level.
      count: number of levels.
    """

    first: int = 0
    count: int = 1

    def __post_init__(self):
        super().__post_init__()
        first = check_count("Levels: first", self.first, 0, _NUM_LEVELS - 1)
        check_count("Levels: count", self.count, 1, _NUM_LEVELS - first)

    @property
    @override
    def params(self) -> PyTree:
        """The numbers "first" and "count", () int32, and "members", the tuple of the members' parameters."""
        levels = {name: as_data(getattr(self, name), bounds) for name, bounds in _BOUNDS.items()}
        return levels | {"members": super().params}

    @override
    def with_params(self, params: PyTree) -> Self:
        other = super().with_params(params["members"])
        for name in _BOUNDS:
            object.__setattr__(other, name, params[name])
        return other

    @override
    def scaled(self, params: PyTree, strength: Any) -> PyTree:
        return params | {"members": super().scaled(params["members"], strength)}

    @override
    def check_params(self, params: PyTree) -> None:
        for name, bounds in _BOUNDS.items():
            bounds.check_array(f"Levels: {name}", params[name])
        if not isinstance(params["first"], jax.core.Tracer):
            check_order(
                "Levels: count", params["count"], "number of levels from the first on", _NUM_LEVELS - params["first"]
            )
        super().check_params(params["members"])

    @override
    def init(self, key: Array, context: SceneContext) -> LevelState:
        level = jax.random.randint(key, (), self.first, self.first + self.count)
        return LevelState(level, super().init(jax.random.fold_in(jax.random.key(_SEED), level), context))

    @override
    def step(self, state: LevelState, key: Array, context: SceneContext) -> LevelState:
        return state._replace(members=super().step(state.members, key, context))

    @override
    def apply_scene(self, state: LevelState, view: SceneView, context: SceneContext) -> SceneView:
        return super().apply_scene(state.members, view, context)

    @override
    def observe_scene(self, state: LevelState, view: SceneView, context: SceneContext) -> SceneView:
        return super().observe_scene(state.members, view, context)

    @override
    def furnish(self, state: LevelState, scene: Scene, pose: GeomPose, context: SceneContext) -> tuple[Scene, GeomPose]:
        return super().furnish(state.members, scene, pose, context)

    @override
    def apply_frame(self, state: LevelState, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        return super().apply_frame(state.members, frame, context)

    @override
    def remember(self, state: LevelState, frame: RenderedFrame, context: SceneContext) -> LevelState:
        return state._replace(members=super().remember(state.members, frame, context))
