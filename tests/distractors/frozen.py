"""Frames of every setting of a suite, kept: python -m tests.distractors.frozen writes those that are not there."""

from pathlib import Path

import jax
import numpy as np
from PIL import Image

from pixelbrax.distractors import SUITES, Pair, Suite
from pixelbrax.report.motion import recorded_frames

FOLDER = Path(__file__).parent / "frozen"
_STEPS = (0, 7)  # of the frames kept
_ON_ALL = (("gen-v1/dcs-hard@test",), ("new/storm@test",), ("filter/hue@test",))


def settings_of(suite: Suite) -> list[tuple[str, tuple[str, ...]]]:
    """Each set of distractors that a suite has on its first task, and some of them on the others."""
    both = [(pair.task, names) for pair in suite.pairs for names in (pair.train, pair.test)]
    first = suite.pairs[0].task
    return [(env, names) for env, names in dict.fromkeys(both) if env == first or names in _ON_ALL]


def file_of(suite: Suite, env: str, names: tuple[str, ...]) -> Path:
    stem = "+".join(names).replace("/", "-").replace("@", "-") or "plain"
    return FOLDER / suite.name / f"{env}-{stem}.png"


def frames(suite: Suite, env: str, names: tuple[str, ...]) -> np.ndarray:
    """(size, 2 * size, 3) uint8: two moments of one episode, in the task's own colors."""
    keys = jax.random.key(1)[None]
    pixels = np.asarray(recorded_frames(env, _STEPS[-1] + 1, keys, names, image_size=suite.image_size))[0]
    return np.concatenate([pixels[t] for t in _STEPS], axis=1)


def pairs_are_distinct(pairs: tuple[Pair, ...]) -> bool:
    return len({pair.name for pair in pairs}) == len(pairs)


if __name__ == "__main__":
    for suite in SUITES.values():
        for env, names in settings_of(suite):
            path = file_of(suite, env, names)
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                Image.fromarray(frames(suite, env, names)).save(path, optimize=True)
                print(path, flush=True)
