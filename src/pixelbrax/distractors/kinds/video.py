"""Videos behind the body, or over everything."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32, PyTree
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext
from pixelbrax.distractors.fields import Bounds, as_data, data_field, data_fields, is_off
from pixelbrax.distractors.kinds.places import level_floors
from pixelbrax.distractors.videos.bank import ClipBank
from pixelbrax.distractors.videos.sources import SPLITS, Split, file_of_source, load_bank
from pixelbrax.errors import ConfigError, check_choice, check_count, check_flag

_SHARES = ("sky", "floor", "rest")


class VideoState(NamedTuple):
    """What is playing.

    Attributes:
      clip: () int32, its index.
      position: () float32, frames since the clip's beginning, continuing as if the clip were mirrored at its ends.
      direction: () float32, 1 forwards, -1 backwards.
    """

    clip: Int32[Array, ""]
    position: Float[Array, ""]
    direction: Float[Array, ""]


@dataclass(frozen=True)
class Video(Distractor):
    """A clip, played back and forth; clip, first frame and direction are sampled for every episode.

    It is laid over the image, and does not turn with the camera.

    Attributes:
      source: "procedural", "scenes", "davis-2017", or a file that `pixelbrax videos build` wrote.
      split: part of the source; no clip is in both.
      sky, floor, rest: opacity of the video on the sky, on the floor, and on everything else, 0..1.
      clips: number of clips, the split's first; None takes all.
      speed: frames of the clip per observation, at least 0; 0 shows a still.
      ping_pong: play backwards from the end; otherwise the clip starts again.
      from_start: begin with the clip's first frame, forwards.
      bank: the clips themselves, instead of a source.
    """

    source: str = "procedural"
    split: Split = "train"
    sky: float = data_field(1.0, most=1.0, strength=True)
    floor: float = data_field(0.0, most=1.0, strength=True)
    rest: float = data_field(0.0, most=1.0, strength=True)
    clips: int | None = None
    speed: float = data_field(1.0, most=1000.0, optional=True)
    ping_pong: bool = True
    from_start: bool = False
    bank: ClipBank | None = field(default=None, compare=False, repr=False)

    def __post_init__(self):
        super().__post_init__()
        check_flag("Video: ping_pong", self.ping_pong)
        check_flag("Video: from_start", self.from_start)
        check_choice("Video: split", self.split, SPLITS)
        if self.clips is not None:
            check_count("Video: clips", self.clips)
        if not isinstance(self.source, str) or not self.source:
            raise ConfigError(
                f"Video: source is {self.source!r}: it must be procedural, scenes, davis-2017 or a file's name"
            )
        if self.bank is not None and not isinstance(self.bank, ClipBank):
            raise ConfigError(
                f"Video: bank is a {type(self.bank).__name__}: it must be a ClipBank; source names a file"
            )

    @property
    @override
    def needs_segmentation(self) -> bool:
        return not self._is_uniform

    @property
    @override
    def num_bytes(self) -> int:
        return self.bank.num_bytes if self.bank else 0

    @property
    @override
    def is_identity(self) -> bool:
        return self.sky == self.floor == self.rest == 0

    @property
    def _is_uniform(self) -> bool:
        """Whether the shares are one setting, the same everywhere."""
        return _same(self.sky, self.floor) and _same(self.floor, self.rest)

    @property
    @override
    def params(self) -> PyTree:
        """Shares that are equal are one setting: a video that is everywhere needs no segmentation.

        "share", or else "sky", "rest" and, unless it is equal to "rest", "floor"; "speed" unless it is 0; and "clips",
        () int32, the number of clips in use, of those that are loaded.
        """
        values = super().params
        if self._is_uniform:
            values = {"share": values["sky"]} | {name: x for name, x in values.items() if name not in _SHARES}
        elif _same(self.floor, self.rest):
            values.pop("floor")
        return values | {"clips": as_data(len(self._bank().names), _clips_bounds(self._bank()))}

    @override
    def with_params(self, params: PyTree) -> Self:
        values = dict(params)
        if "share" in values:
            values |= dict.fromkeys(_SHARES, values.pop("share"))
        elif "floor" not in values:
            values["floor"] = values["rest"]
        return super().with_params(values)

    @override
    def scaled(self, params: PyTree, strength: Any) -> PyTree:
        strength = jnp.asarray(strength, jnp.float32)
        return {name: x * strength if name in ("share", *_SHARES) else x for name, x in params.items()}

    @override
    def check_params(self, params: PyTree) -> None:
        bounds = data_fields(self)
        bounds |= {"share": bounds["sky"], "clips": _clips_bounds(self._bank())}
        for name, value in params.items():
            bounds[name].check_array(f"Video: {name}", value)

    @override
    def prepare(self, context: SceneContext) -> "Video":
        return self._loaded(context.height, context.width)

    def _loaded(self, height: int, width: int) -> Self:
        """A copy with its clips at this size."""
        bank = self.bank.resized(height, width) if self.bank else load_bank(self.source, self.split, height, width)
        bank = bank.first(self.clips)
        return replace(self, bank=bank, clips=len(bank.names))

    @override
    def init(self, key: Array, context: SceneContext) -> VideoState:
        bank = self._bank()
        which, where, way = jax.random.split(key, 3)
        clip = jax.random.randint(which, (), 0, len(bank.names) if self.clips is None else self.clips)
        if self.from_start:
            return VideoState(clip, jnp.zeros(()), jnp.ones(()))
        position = jnp.floor(jax.random.uniform(where) * jnp.asarray(bank.length)[clip].astype(jnp.float32))
        return VideoState(clip, position, jnp.where(jax.random.bernoulli(way), 1.0, -1.0))

    @override
    def step(self, state: VideoState, key: Array, context: SceneContext) -> VideoState:
        if is_off(self.speed):
            return state
        length = jnp.asarray(self._bank().length)[state.clip].astype(jnp.float32)
        # A mirrored clip is twice as long; the modulo keeps the position exact however long the episode.
        period = jnp.maximum(2 * length - 2, 1.0) if self.ping_pong else length
        return state._replace(position=jnp.mod(state.position + self.speed * state.direction, period))

    @override
    def apply_frame(self, state: VideoState, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        video = self._seen(state, frame, context)
        return frame._replace(rgb=frame.rgb + self._share(frame, context) * (video - frame.rgb))

    def _seen(self, state: VideoState, frame: RenderedFrame, context: SceneContext) -> Float[Array, "3 height width"]:
        """The video, where it is seen in the image."""
        del frame, context
        return jnp.asarray(self._bank().frames)[self._number(state)].astype(jnp.float32) * (1 / 255)

    def _share(self, frame: RenderedFrame, context: SceneContext) -> Any:
        """Opacity of the video in each pixel."""
        if self._is_uniform:
            return self.sky
        assert frame.segmentation is not None, "needs_segmentation asks for it"
        share = jnp.where(context.shows(frame.segmentation, (), sky=True), self.sky, self.rest)
        if not _same(self.floor, self.rest):
            share = jnp.where(context.shows_geoms(frame.segmentation, level_floors(context)), self.floor, share)
        return share[None]

    def _number(self, state: VideoState) -> Int32[Array, ""]:
        """Number of the current frame in the bank."""
        bank = self._bank()
        length = jnp.asarray(bank.length)[state.clip]
        index = jnp.floor(state.position).astype(jnp.int32)
        if self.ping_pong:
            index = jnp.minimum(index, 2 * length - 2 - index)
        index = jnp.clip(index, 0, length - 1)
        return jnp.asarray(bank.start)[state.clip] + index

    def _bank(self) -> ClipBank:
        assert self.bank is not None, "prepare() loads the clips"
        return self.bank


def videos_of_files(distractor: Distractor) -> tuple[Video, ...]:
    """The videos among a distractor's own and those in it whose clips are in a file, which may change."""
    if isinstance(distractor, Video):
        return (distractor,) if file_of_source(distractor.source) is not None else ()
    inner = [x for x in vars(distractor).values() if isinstance(x, tuple | Distractor)]
    several = [one for x in inner for one in (x if isinstance(x, tuple) else (x,)) if isinstance(one, Distractor)]
    return tuple(video for one in several for video in videos_of_files(one))


def _same(one: Any, other: Any) -> bool:
    """Whether two settings are one: the same traced array, or equal numbers."""
    return one is other or not (isinstance(one, jax.Array) or isinstance(other, jax.Array) or one != other)


def _clips_bounds(bank: ClipBank) -> Bounds:
    return Bounds(1, len(bank.names), is_whole=True)
