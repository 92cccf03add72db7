"""Creatures of our own: a running biped, a long-necked quadruped, and a limbless crawler, each with a target."""

import functools
from typing import TYPE_CHECKING, Any

from pixelbrax.tasks.registry import Sizes, Task, register

if TYPE_CHECKING:
    from pixelbrax.physics import Physics


def _load(name: str, backend: str, **settings: Any) -> "Physics":
    from pixelbrax.creatures import make_creature_physics  # imported on first use

    return make_creature_physics(name, backend, **settings)


def _add(name: str, description: str, sizes: Sizes, backends: tuple[str, ...]) -> None:
    register(Task(f"creatures/{name}", description, backends, functools.partial(_load, name), "side", sizes=sizes))


_ALL = ("spring", "positional", "generalized", "mjx")
_add("strider", "run with a two-legged body with a tail, and strike a target", Sizes(8, 33, 0.05), _ALL)
_add("grazer", "walk with a long-necked four-legged body, and reach food", Sizes(10, 35, 0.05), _ALL)
_add("eel", "crawl with a limbless body, and follow a lantern", Sizes(7, 33, 0.05), _ALL)
