"""Looks with numbers: what an episode begins with follows from one whole number."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
from jaxtyping import Array, Int32
from typing_extensions import override

from pixelbrax.distractors.base import DistractorState, Picture, Stage, View
from pixelbrax.distractors.several import Several
from pixelbrax.errors import check_count

_SEED = 2502_00021
_NUM_LEVELS = 2**31 - 1  # the number behind the last is an int32 too


class LevelState(NamedTuple):
    """The level's number, and the states of what it is made of."""

    level: Int32[Array, ""]
    members: DistractorState


@dataclass(frozen=True)
class Levels(Several):
    """Distractors whose first draws all come from a level: equal levels begin alike, in every run.

    Every episode takes one of the levels `first`, ..., `first + count - 1`. What walks from there is the episode's own.

    Attributes:
      first: number of the first level.
      count: of levels.
    """

    first: int = 0
    count: int = 1

    def __post_init__(self):
        super().__post_init__()
        first = check_count("Levels: first", self.first, 0, _NUM_LEVELS - 1)
        check_count("Levels: count", self.count, 1, _NUM_LEVELS - first)

    @override
    def init(self, key: Array, stage: Stage) -> LevelState:
        level = jax.random.randint(key, (), self.first, self.first + self.count)
        return LevelState(level, super().init(jax.random.fold_in(jax.random.key(_SEED), level), stage))

    @override
    def step(self, state: LevelState, key: Array, stage: Stage) -> LevelState:
        return state._replace(members=super().step(state.members, key, stage))

    @override
    def apply_scene(self, state: LevelState, view: View, stage: Stage) -> View:
        return super().apply_scene(state.members, view, stage)

    @override
    def apply_frame(self, state: LevelState, picture: Picture, stage: Stage) -> Picture:
        return super().apply_frame(state.members, picture, stage)

    @override
    def remember(self, state: LevelState, picture: Picture, stage: Stage) -> LevelState:
        return state._replace(members=super().remember(state.members, picture, stage))
