"""What distracts: changes of the scene before it is drawn, or of the frame after. Knows nothing of learning."""

from pixelbrax.distractors import catalog as catalog  # registers the presets
from pixelbrax.distractors.base import Distractor, DistractorState, Picture, Stage, View
from pixelbrax.distractors.compose import Distraction, Look
from pixelbrax.distractors.presets import (
    DistractorLike,
    Preset,
    distractor,
    get_preset,
    preset_names,
    register_preset,
    resolve,
)

__all__ = [
    "Distraction",
    "Distractor",
    "DistractorLike",
    "DistractorState",
    "Look",
    "Picture",
    "Preset",
    "Stage",
    "View",
    "distractor",
    "get_preset",
    "preset_names",
    "register_preset",
    "resolve",
]
