"""Frames of a suite's settings, kept: python -m tests.generalization.frozen writes those that are not there."""

from pathlib import Path

import jax
import numpy as np
from PIL import Image

from pixelbrax.generalization import GEN_V1, GEN_V2, Benchmark, PairSuite
from pixelbrax.report.motion import recorded_frames

FOLDER = Path(__file__).parent / "frozen"
_STEPS = (0, 7)  # of the frames kept
_ON_ALL = (("gen-v1/dcs-hard@test",), ("new/storm@test",), ("filter/hue@test",))
KEPT = (GEN_V1, GEN_V2)
"""The suites whose frames are kept; PixelBraxGen-v2-lite shows the same in fewer pixels."""

Setting = tuple[str, tuple[str, ...]]


def settings_of(suite: PairSuite | Benchmark) -> list[Setting]:
    """Each set of distractors that a suite has on its first task, and some of them on the others."""
    return _of_benchmark(suite) if isinstance(suite, Benchmark) else _of_pairs(suite)


def _of_pairs(suite: PairSuite) -> list[Setting]:
    both = [(pair.task, names) for pair in suite.pairs for names in (pair.train, pair.test)]
    first = suite.pairs[0].task
    return [(env, names) for env, names in dict.fromkeys(both) if env == first or names in _ON_ALL]


def _of_benchmark(suite: Benchmark) -> list[Setting]:
    """The greatest severity of each axis on the first task, and the training looks; everything at once on the others.

    Lower severities are the same code with other numbers, which the fingerprint has.
    """
    first, *others = suite.task_names
    greatest = [suite.test(axis, suite.severities[-1]) for axis in suite.axes]
    on_first = [(first, names) for names in (*suite.tracks.values(), *greatest)]
    return on_first + [(task, suite.test("combined", suite.severities[0])) for task in others]


def file_of(suite: PairSuite | Benchmark, env: str, names: tuple[str, ...]) -> Path:
    stem = "+".join(names).replace("@", "-").replace(":", "-") or "plain"
    return FOLDER / suite.name / f"{env}-{stem}.png".replace("/", "-")


def frames(suite: PairSuite | Benchmark, env: str, names: tuple[str, ...]) -> np.ndarray:
    """(size, 2 * size, 3) uint8: two moments of one episode, in the task's own colors."""
    keys = jax.random.key(1)[None]
    pixels = np.asarray(recorded_frames(env, _STEPS[-1] + 1, keys, names, image_size=suite.image_size))[0]
    return np.concatenate([pixels[t] for t in _STEPS], axis=1)


if __name__ == "__main__":
    for suite in KEPT:
        for env, names in settings_of(suite):
            path = file_of(suite, env, names)
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                Image.fromarray(frames(suite, env, names)).save(path, optimize=True)
                print(path, flush=True)
