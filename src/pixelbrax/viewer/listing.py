"""What the pickers of every page list."""

from typing import Any

from pixelbrax.distractors import get_preset, list_distractors
from pixelbrax.tasks import get_task, task_names
from pixelbrax.viewer.messages import SOURCES, VIEWS

RESOLUTIONS = (32, 48, 64, 84, 100, 128, 256)  # pixels; the field's usual sizes


def catalog() -> dict[str, Any]:
    """Tasks with their engines, distractors, resolutions, views and sources of actions, for `json.dumps`."""
    tasks = [get_task(name) for name in task_names()]
    presets = [get_preset(name) for name in list_distractors()]
    return {
        "tasks": [{"name": x.name, "description": x.description, "engines": x.backends} for x in tasks],
        "distractors": [{"name": x.name, "description": x.description} for x in presets],
        "resolutions": RESOLUTIONS,
        "views": VIEWS,
        "sources": SOURCES,
    }
