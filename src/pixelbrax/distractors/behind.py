"""Filters that spare what matters: they change the picture around the body and behind it, and nothing on it."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
from jaxtyping import Array
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, DistractorState, Picture, Stage, no_distractor
from pixelbrax.distractors.contract import checked
from pixelbrax.distractors.roles import Role
from pixelbrax.errors import ConfigError

_SPARED = (Role.BODY, Role.OBJECT, Role.TARGET)


@dataclass(frozen=True)
class Behind(Distractor):
    """Another distractor of frames, everywhere but on pixels of the body, of objects and of targets.

    Attributes:
      distractor: which; one that remembers frames remembers its own.
    """

    distractor: Distractor

    def __post_init__(self):
        if not isinstance(self.distractor, Distractor):
            raise ConfigError(f"Behind: distractor is {no_distractor(self.distractor, 'a Distractor')}")
        if self.distractor.changes_scenes:
            raise ConfigError(
                f"Behind: {type(self.distractor).__name__} changes what is drawn, of which nothing can be spared: "
                "only distractors that change frames alone can be behind"
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

    @override
    def prepare(self, stage: Stage) -> "Behind":
        return replace(self, distractor=checked(self.distractor, stage))

    @override
    def init(self, key: Array, stage: Stage) -> DistractorState:
        return self.distractor.init(key, stage)

    @override
    def step(self, state: DistractorState, key: Array, stage: Stage) -> DistractorState:
        return self.distractor.step(state, key, stage)

    @override
    def apply_frame(self, state: DistractorState, picture: Picture, stage: Stage) -> Picture:
        assert picture.segmentation is not None, "needs_segmentation asks for it"
        changed = self.distractor.apply_frame(state, picture, stage).rgb
        spared = stage.shows(picture.segmentation, _SPARED)[None]
        return picture._replace(rgb=jnp.where(spared, picture.rgb, changed))

    @override
    def remember(self, state: DistractorState, picture: Picture, stage: Stage) -> DistractorState:
        return self.distractor.remember(state, picture, stage)
