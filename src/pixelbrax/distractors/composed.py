"""Several distractors in sequence, as one."""

from dataclasses import dataclass, replace
from typing import Any, Self

import jax
from jaxtyping import Array, PyTree
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext, SceneView, no_distractor
from pixelbrax.distractors.contract import checked
from pixelbrax.errors import ConfigError
from pixelbrax.render import GeomPose, Scene


@dataclass(frozen=True)
class Composed(Distractor):
    """Applies distractors in order; each has its own PRNG key, even if two are equal.

    Its state is the tuple of their states.

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
    def needs_reflections(self) -> bool:
        return any(d.needs_reflections for d in self.distractors)

    @property
    @override
    def changes_frames(self) -> bool:
        return any(d.changes_frames for d in self.distractors)

    @property
    @override
    def remembers_frames(self) -> bool:
        return any(d.remembers_frames for d in self.distractors)

    @property
    @override
    def changes_scenes(self) -> bool:
        return any(d.changes_scenes for d in self.distractors)

    @property
    @override
    def furnishes(self) -> bool:
        return any(d.furnishes for d in self.distractors)

    @property
    @override
    def num_bytes(self) -> int:
        return sum(d.num_bytes for d in self.distractors)

    @property
    @override
    def is_identity(self) -> bool:
        return all(d.is_identity for d in self.distractors)

    @property
    @override
    def params(self) -> PyTree:
        """The tuple of their parameters."""
        return tuple(d.params for d in self.distractors)

    @override
    def with_params(self, params: PyTree) -> Self:
        members = tuple(d.with_params(own) for d, own in zip(self.distractors, params, strict=True))
        return super().with_params({"distractors": members})

    @override
    def scaled(self, params: PyTree, strength: Any) -> PyTree:
        return tuple(d.scaled(own, strength) for d, own in zip(self.distractors, params, strict=True))

    @override
    def check_params(self, params: PyTree) -> None:
        for distractor, own in zip(self.distractors, params, strict=True):
            distractor.check_params(own)

    @override
    def lacks(self, context: SceneContext) -> str:
        """What all of them lack; empty if one of them changes anything."""
        lacking = [d.lacks(context) for d in self.distractors if not d.is_identity]
        return " or ".join(dict.fromkeys(lacking)) if all(lacking) else ""

    @override
    def prepare(self, context: SceneContext) -> "Composed":
        """Prepares each distractor, and leaves out those that change nothing."""
        return replace(self, distractors=tuple(checked(d, context) for d in self.distractors if not d.is_identity))

    @override
    def init(self, key: Array, context: SceneContext) -> PyTree:
        return tuple(d.init(jax.random.fold_in(key, i), context) for i, d in enumerate(self.distractors))

    @override
    def step(self, state: PyTree, key: Array, context: SceneContext) -> PyTree:
        members = enumerate(zip(self.distractors, state, strict=True))
        return tuple(d.step(s, jax.random.fold_in(key, i), context) for i, (d, s) in members)

    @override
    def apply_scene(self, state: PyTree, view: SceneView, context: SceneContext) -> SceneView:
        for distractor, own in zip(self.distractors, state, strict=True):
            view = distractor.apply_scene(own, view, context)
        return view

    @override
    def observe_scene(self, state: PyTree, view: SceneView, context: SceneContext) -> SceneView:
        for distractor, own in zip(self.distractors, state, strict=True):
            view = distractor.observe_scene(own, view, context)
        return view

    @override
    def furnish(self, state: PyTree, scene: Scene, pose: GeomPose, context: SceneContext) -> tuple[Scene, GeomPose]:
        for distractor, own in zip(self.distractors, state, strict=True):
            scene, pose = distractor.furnish(own, scene, pose, context)
        return scene, pose

    @override
    def apply_frame(self, state: PyTree, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        for distractor, own in zip(self.distractors, state, strict=True):
            frame = distractor.apply_frame(own, frame, context)
        return frame

    @override
    def remember(self, state: PyTree, frame: RenderedFrame, context: SceneContext) -> PyTree:
        kept = []
        for distractor, own in zip(self.distractors, state, strict=True):
            kept.append(distractor.remember(own, frame, context))
            frame = distractor.apply_frame(own, frame, context)
        return tuple(kept)
