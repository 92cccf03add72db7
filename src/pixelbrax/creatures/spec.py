"""What distinguishes creatures beside their MJCF: names and sizes. Data only."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pixelbrax.creatures.stages import SETTINGS, STAGES, Stage, default_stages, terms_of
from pixelbrax.errors import ConfigError, check_count, check_keywords, check_number, check_pair, check_path, listed

SENSORS = ("joints", "velocities", "contacts", "imu", "height", "target")
"""Parts of the engine's observation vector, in this order; none of them sees through a camera.

joints: angles of the actuated joints, rad. velocities: a tenth of their rates, rad/s, then the root's velocity in the
body frame, m/s. contacts: of each foot, 0 or 1. imu: gravity and angular velocity (a fourth of it, rad/s) in the body
frame, then cosine and sine of the heading. height: of root and head, m. target: from the head to the target, in the
root's horizontal frame, m, shortened to 4 m; the target itself is otherwise seen by cameras only.
"""
DEFAULT_SENSORS = SENSORS[:4]


@dataclass(frozen=True)
class Creature:
    """Names in a creature's MJCF, and the scales of its reward terms.

    The model has one free joint, that of the root, and servos that drive hinges. Its ground is the plane z = 0. A
    creature with a head has a site "head" at its mouth; one with a target has besides a site "target", in a body with
    two slide joints along x and y, the last of the model; that body is in <worldbody>, at x = y = 0 and not turned.

    Attributes:
      name: of the creature.
      root: the body that has the free joint, for height, velocity and tilt.
      feet: geoms for contacts: spheres, capsules, ellipsoids or boxes.
      gait: two groups of feet (indices) that should stand in turns; None if it has no legs.
      standing: heights of the root, m, between which the term "standing" goes from 0 to 1.
      head: heights of the site "head", m, between which the term "head" goes from 0 to 1; None without a head.
      speed: m/s beyond which the terms "forward" and "approach" pay no more.
      target: distance from the root, m, nearest and farthest, and the largest angle to the left or right of the
        heading, rad, of a new target; at an episode's beginning those of the first pose, which is then turned by up to
        0.1 rad. None without one.
      touch_radius: m, from the site "head" to the target's center.
      mjcf: its MJCF file; None for one of this package.
      stages: by which it learns; if there are none, stages of common weights.
    """

    name: str
    root: str
    feet: tuple[str, ...] = ()
    gait: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    standing: tuple[float, float] = (0.0, 0.5)
    head: tuple[float, float] | None = None
    speed: float = 1.0
    target: tuple[float, float, float] | None = None
    touch_radius: float = 0.25
    mjcf: str | Path | None = None
    stages: tuple[Stage, ...] = ()

    def __post_init__(self):
        """Checks the values, of which terms would else be NaN.

        Raises:
          ConfigError: a value has the wrong form or is out of range; the message names it.
        """
        if not isinstance(self.name, str) or not self.name:
            raise ConfigError(f"a creature's name is {self.name!r}: it must be a non-empty string")
        who = f"the creature {self.name!r}"
        if self.mjcf is not None:
            check_path(f"{who}: mjcf", self.mjcf)
        if isinstance(self.feet, str):
            raise ConfigError(f"{who} has the feet {self.feet!r}: they must be a tuple of geoms, ({self.feet!r},)")
        if not isinstance(self.feet, Sequence):
            raise ConfigError(f"{who} has the feet {self.feet!r:.80}: they must be a tuple of geoms, () for none")
        _check_heights(f"{who}: standing", self.standing)
        if self.head is not None:
            _check_heights(f"{who}: head", self.head)
        if self.gait is not None:
            _check_gait(who, self.gait, len(self.feet))
        check_number(f"{who}: speed", self.speed, above=0)
        check_number(f"{who}: touch_radius", self.touch_radius, above=0)
        if self.target is not None:
            _check_target(f"{who}: target", self.target)
        _check_stages(who, self.stages, self.terms)

    @property
    def file(self) -> Path:
        """Its MJCF file."""
        return Path(__file__).parent / f"{self.name}.xml" if self.mjcf is None else Path(self.mjcf)

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of its reward terms."""
        return terms_of(self.gait is not None, self.head is not None, self.target is not None)

    @property
    def all_stages(self) -> dict[str, Stage]:
        """The stages by name."""
        known = STAGES.get(self.name, ()) if self.mjcf is None else ()
        stages = self.stages or known or default_stages(self.terms, self.standing[0])
        return {stage.name: stage for stage in stages}

    @property
    def sensors(self) -> tuple[str, ...]:
        """The sensors that it has, of `SENSORS`."""
        return tuple(name for name in SENSORS if name != "target" or self.target is not None)


def check_description(thing: Any) -> Creature:
    """The same; raises ConfigError if it is no `Creature`."""
    if not isinstance(thing, Creature):
        raise ConfigError(f"the creature is {thing!r:.80}: it must be a pixelbrax.creatures.Creature")
    return thing


def _check_heights(name: str, value: Any) -> None:
    low, high = check_pair(name, value, "a low and a high height, m, like (0.2, 0.4)")
    check_number(f"{name}[1]", high, above=check_number(f"{name}[0]", low))


def _check_gait(who: str, value: Any, feet: int) -> None:
    rule = "two groups of feet, by their indices, like ((0, 3), (1, 2)), or None"
    for group in check_pair(f"{who}: gait", value, rule):
        if not isinstance(group, Sequence) or isinstance(group, str) or not group:
            raise ConfigError(f"{who}: gait is {value!r}: it must be {rule}")
        for index in group:
            if check_count(f"{who}: an index in gait", index, least=0) >= feet:
                raise ConfigError(f"{who} has {index} in its gait, but only {feet} feet, from 0 on")


def _check_target(name: str, value: Any) -> None:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 3:
        raise ConfigError(f"{name} is {value!r}: it must be nearest and farthest, m, and an angle, rad, or None")
    near, far, angle = value
    check_number(f"{name}[1]", far, check_number(f"{name}[0]", near, above=0))
    check_number(f"{name}[2]", angle, 0, math.pi)


def _check_stages(who: str, stages: Any, terms: tuple[str, ...]) -> None:
    if not isinstance(stages, Sequence) or not all(isinstance(stage, Stage) for stage in stages):
        raise ConfigError(f"{who}: stages is {stages!r:.80}: it must be a tuple of Stage")
    names = [stage.name for stage in stages]
    for stage in stages:
        which = f"the stage {stage.name!r} of {who}"
        if not isinstance(stage.name, str) or names.count(stage.name) > 1:
            raise ConfigError(f"{which}: its name must be a string that no other stage has")
        if not isinstance(stage.reward_weights, Mapping):
            raise ConfigError(f"{which}: reward_weights is {stage.reward_weights!r:.80}: it must be a dict of numbers")
        check_keywords(f"the reward of {which}", stage.reward_weights, terms)
        for term, weight in stage.reward_weights.items():
            check_number(f"{which}: the reward weight {term!r}", weight)
        if missing := [name for name in terms if name not in stage.reward_weights]:
            raise ConfigError(
                f"{which} has no reward weight {listed(missing, 3)}: give each, 0 for what does not count"
            )
        check_keywords(f"the physics of {which}", stage.physics, SETTINGS)


CREATURES = {
    creature.name: creature
    for creature in (
        Creature(
            name="strider",
            root="torso",
            feet=("claw1_l", "claw2_l", "heel_l", "claw1_r", "claw2_r", "heel_r"),
            gait=((0, 1, 2), (3, 4, 5)),
            standing=(0.4, 0.72),
            head=(0.6, 1.05),
            speed=1.5,
            target=(1.8, 3.0, 0.4),
            touch_radius=0.25,
        ),
        Creature(
            name="grazer",
            root="torso",
            feet=("foot_fl", "foot_fr", "foot_rl", "foot_rr"),
            gait=((0, 3), (1, 2)),
            standing=(0.45, 0.82),
            head=(0.9, 1.55),
            speed=1.5,
            target=(2.0, 3.2, 0.4),
            touch_radius=0.25,
        ),
        Creature(
            name="eel",
            root="middle",
            feet=tuple(f"belly{i}" for i in range(1, 9)),
            gait=None,
            standing=(0.0, 0.08),
            head=(0.1, 0.45),
            speed=1.0,
            target=(1.8, 2.8, 0.4),
            touch_radius=0.35,
        ),
    )
}
