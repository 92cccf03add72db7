"""Distractors in time: motion blur, latency, dropped frames."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, UInt8
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext, check_whole
from pixelbrax.distractors.fields import data_field


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


def _no_past(count: int, context: SceneContext) -> Past:
    return Past(jnp.zeros((count, 3, context.height, context.width), jnp.uint8), jnp.array(False))


def _pushed(past: Past, rgb: Array) -> Past:
    newest = _to_bytes(rgb)[None]
    frames = jnp.where(past.known, jnp.concatenate([past.frames[1:], newest]), newest)
    return Past(frames, jnp.array(True))


@dataclass(frozen=True)
class MotionBlur(Distractor):
    """Each frame keeps a share of the observed frame before it.

    Attributes:
      share: weight of the frame before, 0..0.9. Frames are remembered in bytes, so that of an old one up to
        0.5 / (1 - share) of 255 stay.
    """

    share: float = data_field(0.5, most=0.9, strength=True)

    @property
    @override
    def is_identity(self) -> bool:
        return self.share == 0

    @override
    def init(self, key: Array, context: SceneContext) -> Past:
        return _no_past(1, context)

    @override
    def apply_frame(self, state: Past, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        before = _from_bytes(state.frames[0])
        share = jnp.where(state.known, self.share, 0.0)
        return frame._replace(rgb=frame.rgb + share * (before - frame.rgb))

    @override
    def remember(self, state: Past, frame: RenderedFrame, context: SceneContext) -> Past:
        return _pushed(state, self.apply_frame(state, frame, context).rgb)


@dataclass(frozen=True)
class Latency(Distractor):
    """Frames arrive late; an episode begins with its first frame repeated.

    Attributes:
      frames: delay in observations.
    """

    frames: int = 1

    def __post_init__(self):
        check_whole(self, "frames", 0, 16)

    @property
    @override
    def is_identity(self) -> bool:
        return self.frames == 0

    @override
    def init(self, key: Array, context: SceneContext) -> Past:
        return _no_past(self.frames, context)

    @override
    def apply_frame(self, state: Past, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        return frame._replace(rgb=jnp.where(state.known, _from_bytes(state.frames[0]), frame.rgb))

    @override
    def remember(self, state: Past, frame: RenderedFrame, context: SceneContext) -> Past:
        return _pushed(state, frame.rgb)


class DropState(NamedTuple):
    """The last frame that arrived, and whether the current one is lost."""

    past: Past
    lost: Bool[Array, ""]


@dataclass(frozen=True)
class FrameDrop(Distractor):
    """Some frames are lost; the last that arrived is shown again. An episode's first always arrives.

    Attributes:
      probability: that a frame is lost, 0..1.
    """

    probability: float = data_field(0.2, most=1.0, strength=True)

    @property
    @override
    def is_identity(self) -> bool:
        return self.probability == 0

    @override
    def init(self, key: Array, context: SceneContext) -> DropState:
        return DropState(_no_past(1, context), jnp.array(False))

    @override
    def step(self, state: DropState, key: Array, context: SceneContext) -> DropState:
        return state._replace(lost=jax.random.bernoulli(key, self.probability))

    @override
    def apply_frame(self, state: DropState, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        shown = jnp.where(state.lost & state.past.known, _from_bytes(state.past.frames[0]), frame.rgb)
        return frame._replace(rgb=shown)

    @override
    def remember(self, state: DropState, frame: RenderedFrame, context: SceneContext) -> DropState:
        return state._replace(past=_pushed(state.past, self.apply_frame(state, frame, context).rgb))
