"""Terms of rewards. Each is a pure function of arrays of one moment, which may be NumPy's or JAX's.

Costs (`energy`, `effort`, `action_rate`) are at least 0: give them negative weights. Positions are in meters,
velocities in meters per second, angles in radians; vectors are of the world unless said otherwise, and its z is up.
Vectors may be sequences of numbers too, such as (1.0, 0.0, 0.0).
"""

from collections.abc import Sequence
from typing import Any

from pixelbrax.rewards._arrays import arrays, length, namespace, unit


def alive(terminated: Any) -> Any:
    """1 while the episode goes on, and 0 at the step that terminates it.

    Args:
      terminated: () bool.
    """
    xp = namespace(terminated)
    return 1.0 - xp.asarray(terminated, dtype=xp.float32)


def forward_velocity(velocity: Any, direction: Any, target_speed: float | None = None) -> Any:
    """V . d, the speed along a direction, at most `target_speed` if that is given; negative backward.

    Args:
      velocity: (3,) m/s.
      direction: (3,) unit vector.
      target_speed: m/s; more speed earns no more.
    """
    xp, velocity, direction = arrays(velocity, direction)
    speed = xp.sum(velocity * direction)
    return speed if target_speed is None else xp.minimum(speed, target_speed)


def energy(action: Any, joint_vel: Any) -> Any:
    """Mean |a_i w_i| over the joints, proportional to mechanical power.

    Args:
      action: (n,) in [-1, 1], of the actuator of each joint.
      joint_vel: (n,) rad/s.
    """
    xp, action, joint_vel = arrays(action, joint_vel)
    return xp.mean(xp.abs(action * joint_vel))


def effort(action: Any) -> Any:
    """Mean a_i^2 over the actuators: 0 at rest, 1 at full strength.

    Args:
      action: (n,) in [-1, 1].
    """
    xp, action = arrays(action)
    return xp.mean(action * action)


def action_rate(action: Any, previous: Any) -> Any:
    """Mean (a_i - b_i)^2, the change since the previous action: 0 for smooth control, at most 4.

    Args:
      action: (n,) in [-1, 1].
      previous: (n,), of the step before.
    """
    xp, action, previous = arrays(action, previous)
    change = action - previous
    return xp.mean(change * change)


def alternation(contacts: Any, first: Sequence[int], second: Sequence[int]) -> Any:
    """|mean of one group of feet - mean of the other|: 1 if exactly one of the groups stands on the ground.

    With the left foot and the right foot it rewards single support, with diagonal pairs a trot.

    Args:
      contacts: (feet,) 1 for feet on the ground, else 0.
      first: indices of the feet of one group.
      second: those of the other.
    """
    xp, contacts = arrays(contacts)
    one, other = (sum(contacts[foot] for foot in group) / len(group) for group in (first, second))
    return xp.abs(one - other)


def upright(up: Any) -> Any:
    """Z of the body's up axis, from 1 (upright) through 0 (on its side); 0 below that too.

    Args:
      up: () cosine of the tilt.
    """
    return namespace(up).clip(up, 0.0, 1.0)


def pose(joint_pos: Any, scale: float = 0.5) -> Any:
    """exp(-mean (q_i / scale)^2): 1 in the reference pose, where all joints are 0.

    Args:
      joint_pos: (n,) rad.
      scale: rad; a deviation of that size in all joints gives 1/e.
    """
    xp, joint_pos = arrays(joint_pos)
    return xp.exp(-xp.mean((joint_pos / scale) ** 2))


def height(z: Any, low: float, high: float) -> Any:
    """(z - low) / (high - low) clipped to [0, 1].

    Args:
      z: () m above the ground.
      low: m, where the term is 0.
      high: m, where it is 1.
    """
    return namespace(z).clip((z - low) / (high - low), 0.0, 1.0)


def closeness(point: Any, target: Any, scale: float = 1.0) -> Any:
    """exp(-|target - point| / scale): 1 at the target, 1/e at a distance of `scale`. Also called reach.

    Args:
      point: (3,) m.
      target: (3,) m.
      scale: m.
    """
    xp, point, target = arrays(point, target)
    return xp.exp(-length(target - point) / scale)


def approach(point: Any, velocity: Any, target: Any, target_speed: float | None = None) -> Any:
    """V . (target - point) / |target - point|, the speed toward a target, at most `target_speed`.

    Args:
      point: (3,) m.
      velocity: (3,) m/s, of the point.
      target: (3,) m.
      target_speed: m/s; more speed earns no more.
    """
    _, point, velocity, target = arrays(point, velocity, target)
    return forward_velocity(velocity, unit(target - point), target_speed)


def facing(direction: Any, point: Any, target: Any) -> Any:
    """Cosine of the horizontal angle between where a body looks and where its target is: -1 to 1.

    Args:
      direction: (3,) where it looks.
      point: (3,) m.
      target: (3,) m.
    """
    xp, direction, point, target = arrays(direction, point, target)
    return xp.sum(unit(direction[:2]) * unit((target - point)[:2]))


def touch(point: Any, target: Any, radius: float) -> Any:
    """1 if the point is within `radius` (m) of the target, else 0.

    Args:
      point: (3,) m.
      target: (3,) m.
      radius: m.
    """
    xp, point, target = arrays(point, target)
    return xp.asarray(length(target - point) < radius, dtype=xp.float32)


def strike(point: Any, velocity: Any, target: Any, radius: float, speed: float) -> Any:
    """Touch times the speed of impact as a share of `speed`, from 0 to 1: 1 for a hit at full speed.

    Args:
      point: (3,) m.
      velocity: (3,) m/s, of the point.
      target: (3,) m.
      radius: m.
      speed: m/s of a full hit.
    """
    xp, point, velocity, target = arrays(point, velocity, target)
    impact = xp.clip(approach(point, velocity, target) / speed, 0.0, 1.0)
    return touch(point, target, radius) * impact
