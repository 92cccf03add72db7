"""What distinguishes the creatures beside their MJCF: names and sizes. Data only."""

from dataclasses import dataclass
from pathlib import Path

SENSORS = ("joints", "velocities", "contacts", "imu", "height", "target")
"""Parts of the engine's observation vector, in this order; none of them sees through a camera.

joints: angles of the actuated joints, rad. velocities: a tenth of their rates, rad/s, then the root's velocity in the
body frame, m/s. contacts: of each foot, 0 or 1. imu: gravity and angular velocity (a fourth of it, rad/s) in the body
frame, then cosine and sine of the heading. height: of root and head, m. target: from the head to the target, in the
root's horizontal frame, m; the target itself is otherwise seen by cameras only.
"""
DEFAULT_SENSORS = SENSORS[:4]


@dataclass(frozen=True)
class Creature:
    """Names in a creature's MJCF, and the scales of its reward terms.

    Attributes:
      name: of the creature, and of its MJCF file in this folder.
      root: the body that has the free joint, for height, velocity and tilt.
      feet: geoms for contacts.
      gait: two groups of feet (indices) that should stand in turns; None if it has no legs.
      standing: heights of the root, m, between which the term "standing" goes from 0 to 1.
      head: heights of the site "head", m, between which the term "head" goes from 0 to 1.
      speed: m/s beyond which the terms "forward" and "approach" pay no more.
      target: distance from the origin, m, nearest and farthest, and the largest angle to the left or right of the
        heading, rad, of a new target.
      touch_radius: m, from the site "head" to the target's center.
    """

    name: str
    root: str
    feet: tuple[str, ...]
    gait: tuple[tuple[int, ...], tuple[int, ...]] | None
    standing: tuple[float, float]
    head: tuple[float, float]
    speed: float
    target: tuple[float, float, float]
    touch_radius: float

    @property
    def file(self) -> Path:
        """Its MJCF file."""
        return Path(__file__).parent / f"{self.name}.xml"


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
