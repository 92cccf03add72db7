"""Creatures of our own: a running biped, a long-necked quadruped, and a limbless crawler, each with a target."""

import functools
from typing import TYPE_CHECKING, Any

from pixelbrax.tasks.camera import CameraSpec
from pixelbrax.tasks.registry import Sizes, Task, register

if TYPE_CHECKING:
    from pixelbrax.creatures import Creature
    from pixelbrax.physics import Physics

_ALL = ("spring", "positional", "generalized", "mjx")


def register_creature(
    creature: "Creature",
    description: str = "a creature of its own",
    camera: CameraSpec | str | int = 0,
    backends: tuple[str, ...] = _ALL,
) -> None:
    """Registers a creature of one's own as the task "creatures/NAME".

    Args:
      creature: its description, with the MJCF file.
      description: one line for `pixelbrax list`.
      camera: the default camera; a name or a number is a camera of the model. A model without any has a default one.
      backends: engines on which it runs, of Brax's; the first is the default.

    Raises:
      ConfigError: a task has that name already, or an argument has a wrong type.
    """
    from pixelbrax.creatures import check_description  # imported on first use

    check_description(creature)
    load = functools.partial(_load, creature)
    register(Task(f"creatures/{creature.name}", description, backends, load, camera, is_own=True))


def _load(creature: "str | Creature", backend: str, /, **settings: Any) -> "Physics":
    from pixelbrax.creatures import make_creature_physics  # imported on first use

    return make_creature_physics(creature, backend, **settings)


def _add(name: str, description: str, sizes: Sizes, backends: tuple[str, ...]) -> None:
    register(Task(f"creatures/{name}", description, backends, functools.partial(_load, name), "side", sizes=sizes))


_add("strider", "run with a two-legged body with a tail, and strike a target", Sizes(8, 33, 0.05), _ALL)
_add("grazer", "walk with a long-necked four-legged body, and reach food", Sizes(10, 35, 0.05), _ALL)
_add("eel", "crawl with a limbless body, and follow a lantern", Sizes(7, 33, 0.05), _ALL)
