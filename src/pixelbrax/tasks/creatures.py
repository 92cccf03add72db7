"""Creatures of our own: a running biped, a long-necked quadruped, and a limbless crawler, each with a target."""

import functools
from typing import TYPE_CHECKING, Any

from pixelbrax.tasks.registry import Sizes, Task, register

if TYPE_CHECKING:
    from pixelbrax.physics import Physics


def _load(
    name: str,
    backend: str,
    stage: str = "move",
    reward_weights: Any = None,
    sensors: Any = ("joints", "velocities", "contacts", "imu"),
    min_height: float | None = None,
    min_upright: float | None = None,
    target_distance: Any = None,
) -> "Physics":
    from pixelbrax.creatures import make_creature_physics  # imported on first use

    return make_creature_physics(
        name,
        backend,
        stage=stage,
        reward_weights=reward_weights,
        sensors=sensors,
        min_height=min_height,
        min_upright=min_upright,
        target_distance=target_distance,
    )


def _add(name: str, description: str, sizes: Sizes, backends: tuple[str, ...]) -> None:
    register(Task(f"creatures/{name}", description, backends, functools.partial(_load, name), "side", sizes=sizes))


_ALL = ("spring", "positional", "generalized", "mjx")
_add("strider", "run with a two-legged body with a tail, and strike a target", Sizes(8, 33, 0.05), _ALL)
_add("grazer", "walk with a long-necked four-legged body, and reach food", Sizes(10, 35, 0.05), _ALL)
_add("eel", "crawl with a limbless body, and follow a lantern", Sizes(7, 33, 0.05), _ALL)
