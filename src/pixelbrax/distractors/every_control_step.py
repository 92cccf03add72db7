"""Distractors that change with every control step, however often an action is repeated."""

from dataclasses import dataclass

import jax
from jaxtyping import Array, PyTree
from typing_extensions import override

from pixelbrax.distractors.base import SceneContext
from pixelbrax.distractors.composed import Composed


@dataclass(frozen=True)
class EveryControlStep(Composed):
    """Steps distractors once a control step, not once an observation.

    The wrappers of the Distracting Control Suite are inside the environment whose action is repeated: what they change
    moves as far in an observation as there are control steps in it.
    """

    @override
    def step(self, state: PyTree, key: Array, context: SceneContext) -> PyTree:
        once = super().step
        if context.action_repeat == 1:
            return once(state, key, context)
        # A loop, as a copy for each of many control steps would take long to compile.
        return jax.lax.fori_loop(
            0, context.action_repeat, lambda i, s: once(s, jax.random.fold_in(key, i), context), state
        )
