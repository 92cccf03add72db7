"""Filters of the background: they change every pixel but those of the body, of objects and of targets."""

from dataclasses import dataclass, replace
from typing import Any, Self

import jax.numpy as jnp
from jaxtyping import Array, PyTree
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext, no_distractor
from pixelbrax.distractors.contract import checked
from pixelbrax.distractors.roles import Role
from pixelbrax.errors import ConfigError

_SPARED = (Role.BODY, Role.OBJECT, Role.TARGET)


@dataclass(frozen=True)
class BackgroundOnly(Distractor):
    """Applies a distractor of frames to every pixel but those of the body, of objects and of targets.

    Attributes:
      distractor: what to apply; if it remembers frames, it remembers its own unmasked ones.
    """

    distractor: Distractor

    def __post_init__(self):
        if not isinstance(self.distractor, Distractor):
            raise ConfigError(f"BackgroundOnly: distractor is {no_distractor(self.distractor, 'a Distractor')}")
        if self.distractor.changes_scenes:
            raise ConfigError(
                f"BackgroundOnly: {type(self.distractor).__name__} changes the scene: "
                "only a distractor that changes frames alone can spare the pixels of the body"
            )

    @property
    @override
    def needs_segmentation(self) -> bool:
        return True

    @property
    @override
    def is_identity(self) -> bool:
        return self.distractor.is_identity

    @property
    @override
    def num_bytes(self) -> int:
        return self.distractor.num_bytes

    @property
    @override
    def params(self) -> PyTree:
        """The parameters of the wrapped distractor."""
        return self.distractor.params

    @override
    def with_params(self, params: PyTree) -> Self:
        return super().with_params({"distractor": self.distractor.with_params(params)})

    @override
    def scaled(self, params: PyTree, strength: Any) -> PyTree:
        return self.distractor.scaled(params, strength)

    @override
    def check_params(self, params: PyTree) -> None:
        self.distractor.check_params(params)

    @override
    def prepare(self, context: SceneContext) -> "BackgroundOnly":
        return replace(self, distractor=checked(self.distractor, context))

    @override
    def init(self, key: Array, context: SceneContext) -> PyTree:
        return self.distractor.init(key, context)

    @override
    def step(self, state: PyTree, key: Array, context: SceneContext) -> PyTree:
        return self.distractor.step(state, key, context)

    @override
    def apply_frame(self, state: PyTree, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        assert frame.segmentation is not None, "needs_segmentation asks for it"
        changed = self.distractor.apply_frame(state, frame, context).rgb
        spared = context.shows(frame.segmentation, _SPARED)[None]
        return frame._replace(rgb=jnp.where(spared, frame.rgb, changed))

    @override
    def remember(self, state: PyTree, frame: RenderedFrame, context: SceneContext) -> PyTree:
        return self.distractor.remember(state, frame, context)
