"""Videos behind the body, or over everything."""

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32
from typing_extensions import override

from pixelbrax.distractors.bank import ClipBank
from pixelbrax.distractors.base import Distractor, Picture, Stage, check_amounts
from pixelbrax.distractors.roles import Role
from pixelbrax.distractors.sources import load_bank
from pixelbrax.errors import ConfigError, check_choice, check_count, check_flag

Split = Literal["train", "test"]
SPLITS: tuple[Split, ...] = ("train", "test")


class VideoState(NamedTuple):
    """What is playing.

    Attributes:
      clip: () int32.
      position: () float32, frames since the clip's beginning, going on as if the clip were mirrored at its ends.
      direction: () float32, 1 forwards, -1 backwards.
    """

    clip: Int32[Array, ""]
    position: Float[Array, ""]
    direction: Float[Array, ""]


@dataclass(frozen=True)
class Video(Distractor):
    """A clip, drawn anew for every episode with its first frame and direction, played to and fro.

    Attributes:
      source: "procedural", "davis-2017", or a file that `pixelbrax videos build` wrote.
      split: which half of the source: no clip is in both.
      sky, floor, rest: share of the video on the sky, on the floor, and on everything else, 0..1.
      clips: only the split's first so many; None takes all.
      speed: frames of the clip to an observation, at least 0; 0 shows a still.
      ping_pong: play backwards from the end; otherwise the clip starts again.
      bank: the clips themselves, instead of a source.
    """

    source: str = "procedural"
    split: Split = "train"
    sky: float = 1.0
    floor: float = 0.0
    rest: float = 0.0
    clips: int | None = None
    speed: float = 1.0
    ping_pong: bool = True
    bank: ClipBank | None = field(default=None, compare=False, repr=False)

    def __post_init__(self):
        check_amounts(self, most=1.0, names="sky floor rest")
        check_amounts(self, most=1000.0, names="speed")
        check_flag("Video: ping_pong", self.ping_pong)
        check_choice("Video: split", self.split, SPLITS)
        if self.clips is not None:
            check_count("Video: clips", self.clips)
        if not isinstance(self.source, str) or not self.source:
            raise ConfigError(f"Video: source is {self.source!r}: it must be procedural, davis-2017 or a file's name")
        if self.bank is not None and not isinstance(self.bank, ClipBank):
            raise ConfigError(
                f"Video: bank is a {type(self.bank).__name__}: it must be a ClipBank; source names a file"
            )

    @property
    @override
    def needs_segmentation(self) -> bool:
        return not self.sky == self.floor == self.rest

    @property
    @override
    def num_bytes(self) -> int:
        return self.bank.num_bytes if self.bank else 0

    @property
    @override
    def is_identity(self) -> bool:
        return self.sky == self.floor == self.rest == 0

    @override
    def prepare(self, stage: Stage) -> "Video":
        bank = self.bank.resized(stage.height, stage.width) if self.bank else None
        bank = bank or load_bank(self.source, self.split, stage.height, stage.width)
        return replace(self, bank=bank.first(self.clips))

    @override
    def init(self, key: Array, stage: Stage) -> VideoState:
        bank = self._bank()
        which, where, way = jax.random.split(key, 3)
        clip = jax.random.randint(which, (), 0, len(bank.names))
        position = jnp.floor(jax.random.uniform(where) * jnp.asarray(bank.length)[clip].astype(jnp.float32))
        return VideoState(clip, position, jnp.where(jax.random.bernoulli(way), 1.0, -1.0))

    @override
    def step(self, state: VideoState, key: Array, stage: Stage) -> VideoState:
        if not self.speed:
            return state
        length = jnp.asarray(self._bank().length)[state.clip].astype(jnp.float32)
        # A mirrored clip is twice as long; kept within that, the number stays exact however long the episode.
        period = jnp.maximum(2 * length - 2, 1.0) if self.ping_pong else length
        return state._replace(position=jnp.mod(state.position + self.speed * state.direction, period))

    @override
    def apply_frame(self, state: VideoState, picture: Picture, stage: Stage) -> Picture:
        video = self._frame(state).astype(jnp.float32) * (1 / 255)
        if self.sky == self.floor == self.rest:
            share = self.sky
        else:
            assert picture.segmentation is not None, "needs_segmentation asks for it"
            share = jnp.where(stage.shows(picture.segmentation, (), sky=True), self.sky, self.rest)
            if self.floor != self.rest:
                share = jnp.where(stage.shows(picture.segmentation, (Role.FLOOR,)), self.floor, share)
            share = share[None]
        return picture._replace(rgb=picture.rgb + share * (video - picture.rgb))

    def _frame(self, state: VideoState) -> Array:
        """(3, height, width) uint8, what is showing."""
        bank = self._bank()
        length = jnp.asarray(bank.length)[state.clip]
        index = jnp.floor(state.position).astype(jnp.int32)
        if self.ping_pong:
            index = jnp.minimum(index, 2 * length - 2 - index)
        index = jnp.clip(index, 0, length - 1)
        return jnp.asarray(bank.frames)[jnp.asarray(bank.start)[state.clip] + index]

    def _bank(self) -> ClipBank:
        assert self.bank is not None, "prepare() loads the clips"
        return self.bank
