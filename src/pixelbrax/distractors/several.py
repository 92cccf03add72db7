"""Distractors one after the other, as one."""

from dataclasses import dataclass, replace

import jax
from jaxtyping import Array
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, DistractorState, Picture, Stage, View, no_distractor
from pixelbrax.distractors.contract import checked
from pixelbrax.errors import ConfigError


@dataclass(frozen=True)
class Several(Distractor):
    """Applies distractors in order; each draws of its own part of the key, also if there are two of a kind.

    Its state is the tuple of theirs.

    Attributes:
      distractors: in order.
    """

    distractors: tuple[Distractor, ...] = ()

    def __post_init__(self):
        if not isinstance(self.distractors, tuple):
            raise ConfigError(f"{type(self).__name__}: distractors is {self.distractors!r}: it must be a tuple")
        for i, one in enumerate(self.distractors):
            if not isinstance(one, Distractor):
                raise ConfigError(f"{type(self).__name__}: distractors[{i}] is {no_distractor(one, 'a Distractor')}")

    @property
    @override
    def needs_segmentation(self) -> bool:
        return any(d.needs_segmentation for d in self.distractors)

    @property
    @override
    def needs_shadows(self) -> bool:
        return any(d.needs_shadows for d in self.distractors)

    @property
    @override
    def changes_frames(self) -> bool:
        return any(d.changes_frames for d in self.distractors)

    @property
    @override
    def changes_scenes(self) -> bool:
        return any(d.changes_scenes for d in self.distractors)

    @property
    @override
    def num_bytes(self) -> int:
        return sum(d.num_bytes for d in self.distractors)

    @property
    @override
    def is_identity(self) -> bool:
        return all(d.is_identity for d in self.distractors)

    @override
    def prepare(self, stage: Stage) -> "Several":
        """Those that change nothing are left out."""
        return replace(self, distractors=tuple(checked(d, stage) for d in self.distractors if not d.is_identity))

    @override
    def init(self, key: Array, stage: Stage) -> DistractorState:
        return tuple(d.init(jax.random.fold_in(key, i), stage) for i, d in enumerate(self.distractors))

    @override
    def step(self, state: DistractorState, key: Array, stage: Stage) -> DistractorState:
        members = enumerate(zip(self.distractors, state, strict=True))
        return tuple(d.step(s, jax.random.fold_in(key, i), stage) for i, (d, s) in members)

    @override
    def apply_scene(self, state: DistractorState, view: View, stage: Stage) -> View:
        for distractor, own in zip(self.distractors, state, strict=True):
            view = distractor.apply_scene(own, view, stage)
        return view

    @override
    def apply_frame(self, state: DistractorState, picture: Picture, stage: Stage) -> Picture:
        for distractor, own in zip(self.distractors, state, strict=True):
            picture = distractor.apply_frame(own, picture, stage)
        return picture

    @override
    def remember(self, state: DistractorState, picture: Picture, stage: Stage) -> DistractorState:
        kept = []
        for distractor, own in zip(self.distractors, state, strict=True):
            kept.append(distractor.remember(own, picture, stage))
            picture = distractor.apply_frame(own, picture, stage)
        return tuple(kept)
