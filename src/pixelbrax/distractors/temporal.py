"""A camera that is slow: blurred motion, frames that are late or lost."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, UInt8
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, Picture, Stage, check_amounts, check_whole


def _to_bytes(rgb: Array) -> UInt8[Array, "3 height width"]:
    return (jnp.clip(rgb, 0.0, 1.0) * 255.0 + 0.5).astype(jnp.uint8)


def _from_bytes(image: Array) -> Array:
    return image.astype(jnp.float32) * (1 / 255)


class Past(NamedTuple):
    """Earlier frames.

    Attributes:
      frames: (count, 3, height, width) uint8, the newest last.
      known: () bool, whether there are any yet; an episode's first frame stands for all before it.
    """

    frames: UInt8[Array, "count 3 height width"]
    known: Bool[Array, ""]


def _no_past(count: int, stage: Stage) -> Past:
    return Past(jnp.zeros((count, 3, stage.height, stage.width), jnp.uint8), jnp.array(False))


def _pushed(past: Past, rgb: Array) -> Past:
    newest = _to_bytes(rgb)[None]
    frames = jnp.where(past.known, jnp.concatenate([past.frames[1:], newest]), newest)
    return Past(frames, jnp.array(True))


@dataclass(frozen=True)
class MotionBlur(Distractor):
    """Each frame keeps a share of what was seen before it.

    Attributes:
      share: of the past, 0..0.999.
    """

    share: float = 0.5

    def __post_init__(self):
        check_amounts(self, most=0.999, names="share")  # of 1, the first frame would stay

    @property
    @override
    def is_identity(self) -> bool:
        return self.share == 0

    @override
    def init(self, key: Array, stage: Stage) -> Past:
        return _no_past(1, stage)

    @override
    def apply_frame(self, state: Past, picture: Picture, stage: Stage) -> Picture:
        before = _from_bytes(state.frames[0])
        share = jnp.where(state.known, self.share, 0.0)
        return picture._replace(rgb=picture.rgb + share * (before - picture.rgb))

    @override
    def remember(self, state: Past, picture: Picture, stage: Stage) -> Past:
        return _pushed(state, self.apply_frame(state, picture, stage).rgb)


@dataclass(frozen=True)
class Latency(Distractor):
    """Frames arrive late; until the first has come, it is shown.

    Attributes:
      frames: by how many observations.
    """

    frames: int = 1

    def __post_init__(self):
        check_whole(self, "frames", 0, 16)

    @property
    @override
    def is_identity(self) -> bool:
        return self.frames == 0

    @override
    def init(self, key: Array, stage: Stage) -> Past:
        return _no_past(self.frames, stage)

    @override
    def apply_frame(self, state: Past, picture: Picture, stage: Stage) -> Picture:
        return picture._replace(rgb=jnp.where(state.known, _from_bytes(state.frames[0]), picture.rgb))

    @override
    def remember(self, state: Past, picture: Picture, stage: Stage) -> Past:
        return _pushed(state, picture.rgb)


class DropState(NamedTuple):
    """The last frame that came, and whether the present one is lost."""

    past: Past
    lost: Bool[Array, ""]


@dataclass(frozen=True)
class FrameDrop(Distractor):
    """Some frames are lost; the last that came is shown again. An episode's first always comes.

    Attributes:
      probability: that a frame is lost, 0..1.
    """

    probability: float = 0.2

    def __post_init__(self):
        check_amounts(self, most=1.0, names="probability")

    @property
    @override
    def is_identity(self) -> bool:
        return self.probability == 0

    @override
    def init(self, key: Array, stage: Stage) -> DropState:
        return DropState(_no_past(1, stage), jnp.array(False))

    @override
    def step(self, state: DropState, key: Array, stage: Stage) -> DropState:
        return state._replace(lost=jax.random.bernoulli(key, self.probability))

    @override
    def apply_frame(self, state: DropState, picture: Picture, stage: Stage) -> Picture:
        shown = jnp.where(state.lost & state.past.known, _from_bytes(state.past.frames[0]), picture.rgb)
        return picture._replace(rgb=shown)

    @override
    def remember(self, state: DropState, picture: Picture, stage: Stage) -> DropState:
        return state._replace(past=_pushed(state.past, self.apply_frame(state, picture, stage).rgb))
