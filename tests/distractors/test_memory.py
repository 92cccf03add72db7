"""What remembers frames, alone and within others."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.distractors import (
    BackgroundOnly,
    Brightness,
    Composed,
    Distractor,
    EveryControlStep,
    Hue,
    Latency,
    Levels,
    MotionBlur,
    RenderedFrame,
    Switching,
)
from tests.distractors.frames import context, frame, keys, noise

_BYTE = 0.5 / 255 + 1e-6  # frames are remembered in bytes
_BLACK = np.zeros((3, 16, 16), np.float32)


def _of_sky(rgb: Any) -> RenderedFrame:
    return frame(rgb)._replace(segmentation=jnp.full((16, 16), -1))


def _within(one: Distractor, **state: Any) -> np.ndarray:
    """Black, as it is shown after an episode's first frame, noise."""
    here = context()
    begun: Any = one.init(jax.random.key(0), here)
    after: Any = one.remember(begun._replace(**state) if state else begun, _of_sky(noise()), here)
    return np.asarray(one.apply_frame(after._replace(active=0) if state else after, _of_sky(_BLACK), here).rgb)


@pytest.mark.parametrize(
    "around",
    [BackgroundOnly, lambda one: Levels((one,)), lambda one: Composed((one,)), lambda one: EveryControlStep((one,))],
    ids=["background", "levels", "composed", "control steps"],
)
def test_what_is_around_hands_on_what_is_remembered(around: Callable[[Distractor], Distractor]):
    np.testing.assert_allclose(_within(around(Latency(1))), noise(), atol=_BYTE)


def test_what_comes_behind_others_remembers_what_they_made_of_the_frame():
    shown = _within(Composed((Brightness(0.2, fixed=True), Latency(1))))
    np.testing.assert_allclose(shown, np.minimum(noise() + 0.2, 1), atol=_BYTE)


def test_one_that_is_not_active_remembers_nevertheless():
    np.testing.assert_allclose(_within(Switching((Latency(1), Brightness(0.4))), active=1), noise(), atol=_BYTE)


def test_a_blurred_frame_keeps_its_share_of_the_blurred_one_before():
    here, blur = context(), MotionBlur(0.7)
    rng, state = np.random.default_rng(1), blur.init(jax.random.key(0), here)
    law = None
    for _ in range(6):
        rgb = rng.uniform(0, 1, (3, 16, 16)).astype(np.float32)
        law = rgb if law is None else 0.3 * rgb + 0.7 * law
        np.testing.assert_allclose(blur.apply_frame(state, frame(rgb), here).rgb, law, atol=0.7 / 0.3 * _BYTE)
        state = blur.remember(state, frame(rgb), here)


def test_control_steps_within_an_observation_are_drawn_apart():
    """Sixteen steps of a random walk lead four times as far as one, not sixteen."""
    walk, here = EveryControlStep((Hue(40.0, 0.1),)), replace(context(), action_repeat=16)
    far = jax.vmap(lambda key: walk.step((jnp.zeros(()),), key, here)[0])(keys(2000))
    np.testing.assert_allclose(np.std(far), 0.4, rtol=0.06)
