"""Registers the probe's tasks, for processes of their own."""

from pixelbrax.tasks import register
from tests.probe import TASKS

for task in TASKS:
    register(task)
