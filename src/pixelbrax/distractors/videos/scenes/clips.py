"""Procedurally generated scenes from seeds; no download. The families of the test clips are in no training clip."""

from collections.abc import Callable

import numpy as np

from pixelbrax.distractors.videos.bank import ClipBank
from pixelbrax.distractors.videos.host_memory import check_drawn
from pixelbrax.distractors.videos.scenes.drawing import View
from pixelbrax.distractors.videos.scenes.heldout_city import city_above
from pixelbrax.distractors.videos.scenes.heldout_depth import mountains, tunnel
from pixelbrax.distractors.videos.scenes.heldout_lights import aquarium, fireworks
from pixelbrax.distractors.videos.scenes.heldout_room import room
from pixelbrax.distractors.videos.scenes.nature import forest, hills, sea
from pixelbrax.distractors.videos.scenes.town import crowd, street

Family = Callable[[np.random.Generator, View], np.ndarray]

# No family is in both splits.
FAMILIES: dict[str, tuple[Family, ...]] = {
    "train": (hills, street, forest, sea, crowd),
    "test": (aquarium, city_above, mountains, room, tunnel, fireworks),
}
# Seed of each split's first clip; the splits share no seed.
FIRST_CLIP = {"train": 0, "test": 1000}
NUM_CLIPS = {"train": 60, "test": 30}
SHORTEST, LONGEST = 40, 56  # frames


def scenes_bank(split: str, height: int, width: int) -> ClipBank:
    """The clips of a split, "train" or "test".

    Args:
      split: which; they share no clip and no family.
      height: of the frames, pixels.
      width: of the frames, pixels.

    Raises:
      ConfigError: they are larger than the host's memory.
    """
    check_drawn(sum(_begun(split, index)[1] for index in range(NUM_CLIPS[split])), height, width)
    return ClipBank.of({name: clip(split, i, height, width) for i, name in enumerate(scene_names(split))})


def scene_names(split: str) -> list[str]:
    """The names of a split's clips, "family-seed"."""
    families = FAMILIES[split]
    return [f"{families[i % len(families)].__name__}-{FIRST_CLIP[split] + i}" for i in range(NUM_CLIPS[split])]


def clip(split: str, index: int, height: int, width: int) -> np.ndarray:
    """(frame, 3, height, width) uint8, one clip of a split."""
    rng, count = _begun(split, index)
    number, family = divmod(index, len(FAMILIES[split]))
    t = np.arange(count) / 25.0  # seconds at 25 frames per second
    frames = FAMILIES[split][family](rng, View(height, width, t, number))
    return np.round(255 * np.clip(frames, 0, 1)).astype(np.uint8)


def _begun(split: str, index: int) -> tuple[np.random.Generator, int]:
    """A clip's random numbers after the first, which is its length in frames."""
    rng = np.random.default_rng([2502, 22, FIRST_CLIP[split] + index])
    return rng, int(rng.integers(SHORTEST, LONGEST + 1))
