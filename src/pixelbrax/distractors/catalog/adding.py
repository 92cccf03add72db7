"""How a family's file adds its presets."""

from collections.abc import Sequence

from pixelbrax.distractors.base import Distractor
from pixelbrax.distractors.presets import Members, Preset, register_preset


def add(name: str, description: str, members: Members | Sequence[Distractor], **levels: int) -> None:
    """Registers a preset, of distractors that depend on its split, source or task, or of constant ones."""
    constant = None if callable(members) else tuple(members)
    build: Members = members if callable(members) else lambda setting: constant  # pyright: ignore
    register_preset(Preset(name, description, build, **levels))
