"""Several distractors of which one is active at a time, changing within an episode."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int32, PyTree
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext, SceneView
from pixelbrax.distractors.composed import Composed
from pixelbrax.distractors.contract import checked
from pixelbrax.distractors.fields import Bounds, as_data
from pixelbrax.errors import ConfigError, check_flag
from pixelbrax.render import GeomPose, Scene

_PROBABILITY = Bounds(0.0, 1.0)
Tree = TypeVar("Tree")


class SwitchState(NamedTuple):
    """Which distractor is active, their number if none is, and the states of all."""

    active: Int32[Array, ""]
    members: PyTree


@dataclass(frozen=True)
class Switching(Composed):
    """Applies one distractor at a time, chosen by a Markov chain: uniform at first, jumping with a fixed probability.

    All of them are sampled at an episode's first observation and go on while others are active. Those that remember
    frames remember their own results, shown or not. Shadows, reflections and segmentation are rendered if any of them
    needs them, so `Shadows` cannot be switched.

    Attributes:
      distractors: to choose from.
      probability: that an observation has another one than the observation before it; which, is uniform.
      idle: whether no distractor at all is one of the choices.
    """

    probability: float = 0.05
    idle: bool = False

    def __post_init__(self):
        super().__post_init__()
        for one in self.distractors:
            if one.furnishes:
                raise ConfigError(f"Switching: {type(one).__name__} adds to the scene, which cannot be switched")
        _PROBABILITY.check("Switching: probability", self.probability)
        check_flag("Switching: idle", self.idle)

    @property
    def num_choices(self) -> int:
        """The number of distractors, and one more if none is a choice."""
        return len(self.distractors) + self.idle

    @property
    @override
    def params(self) -> PyTree:
        """The number "probability", () float32, and "members", the tuple of the members' parameters."""
        return {"probability": as_data(self.probability, _PROBABILITY), "members": super().params}

    @override
    def with_params(self, params: PyTree) -> Self:
        other = super().with_params(params["members"])
        object.__setattr__(other, "probability", params["probability"])
        return other

    @override
    def scaled(self, params: PyTree, strength: Any) -> PyTree:
        """Multiplies the members' strengths; the probability stays."""
        return params | {"members": super().scaled(params["members"], strength)}

    @override
    def check_params(self, params: PyTree) -> None:
        _PROBABILITY.check_array("Switching: probability", params["probability"])
        super().check_params(params["members"])

    @override
    def prepare(self, context: SceneContext) -> "Switching":
        """Prepares each distractor; one that changes nothing remains a choice."""
        members = (Distractor() if d.is_identity else checked(d, context) for d in self.distractors)
        return replace(self, distractors=tuple(members))

    @override
    def init(self, key: Array, context: SceneContext) -> SwitchState:
        active = jax.random.randint(self._key(key), (), 0, max(self.num_choices, 1))
        return SwitchState(active, super().init(key, context))

    @override
    def step(self, state: SwitchState, key: Array, context: SceneContext) -> SwitchState:
        active, count = state.active, self.num_choices
        if count > 1:
            when, where = jax.random.split(self._key(key))
            other = (active + jax.random.randint(where, (), 1, count)) % count
            active = jnp.where(jax.random.bernoulli(when, self.probability), other, active)
        return SwitchState(active, super().step(state.members, key, context))

    @override
    def apply_scene(self, state: SwitchState, view: SceneView, context: SceneContext) -> SceneView:
        members = zip(self.distractors, state.members, strict=True)
        return self._chosen(state, view, [d.apply_scene(own, view, context) for d, own in members])

    @override
    def observe_scene(self, state: SwitchState, view: SceneView, context: SceneContext) -> SceneView:
        members = zip(self.distractors, state.members, strict=True)
        return self._chosen(state, view, [d.observe_scene(own, view, context) for d, own in members])

    @override
    def furnish(
        self, state: SwitchState, scene: Scene, pose: GeomPose, context: SceneContext
    ) -> tuple[Scene, GeomPose]:
        return scene, pose  # none of its distractors adds anything

    @override
    def apply_frame(self, state: SwitchState, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        members = zip(self.distractors, state.members, strict=True)
        return self._chosen(state, frame, [d.apply_frame(own, frame, context) for d, own in members])

    @override
    def remember(self, state: SwitchState, frame: RenderedFrame, context: SceneContext) -> SwitchState:
        members = zip(self.distractors, state.members, strict=True)
        return state._replace(members=tuple(d.remember(own, frame, context) for d, own in members))

    def _key(self, key: Array) -> Array:
        """The chain's own key; each distractor has the one of its number."""
        return jax.random.fold_in(key, len(self.distractors))

    def _chosen(self, state: SwitchState, original: Tree, results: Sequence[Tree]) -> Tree:
        """The active distractor's result, or the original."""
        chosen = original
        for i, result in enumerate(results):
            if jax.tree.structure(result) != jax.tree.structure(original):
                raise ConfigError(
                    f"Switching: {type(self.distractors[i]).__name__} changes what is static in the scene: only "
                    "numbers can be switched within an episode"
                )

            def select(old: Any, before: Any, after: Any, i: int = i) -> Any:
                # What a distractor hands on untouched needs no selection.
                return old if after is before else jnp.where(state.active == i, after, old)

            chosen = jax.tree.map(select, chosen, original, result)
        return chosen
