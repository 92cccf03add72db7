"""What reward terms and sensors read of a body, the same from every engine: `Probe` finds it, `Readings` holds it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pixelbrax.errors import ConfigError, nearest
from pixelbrax.rewards._arrays import namespace, turned_back

if TYPE_CHECKING:
    import mujoco

NEAR = 5e-3
"""Meters: a foot whose lowest point is at most that high stands on the ground."""
_SPHERE, _CAPSULE, _ELLIPSOID, _BOX = 2, 3, 4, 6  # MuJoCo's geom types

_OF_JOINT = (0, 1)  # mjtTrn: transmissions to a joint, whose id other transmissions do not have
_SINGLE = (2, 3)  # mjtJoint: slides and hinges


class Readings(NamedTuple):
    """A body at one moment. Arrays are float32 (float64 from MuJoCo) and NumPy's or JAX's; all axes are right-handed.

    The body frame is the root body's: x forward, y left, z up.
    """

    position: Any
    """(3,) m, the root body."""
    velocity: Any
    """(3,) m/s, the root body's, in the world frame."""
    velocity_body: Any
    """(3,) m/s, the same in the body frame."""
    forward: Any
    """(3,) the root's x axis in the world frame."""
    upright: Any
    """() z of the root's up axis: 1 upright, 0 on its side, -1 upside down."""
    gravity: Any
    """(3,) unit vector of gravity in the body frame: (0, 0, -1) upright."""
    angular_velocity: Any
    """(3,) rad/s, in the body frame."""
    joint_pos: Any
    """(joints,) rad, of the actuated joints in the order of their actuators."""
    joint_vel: Any
    """(joints,) rad/s."""
    points: dict[str, Any]
    """(3,) m each: named points, such as the head, the feet and the target."""
    point_velocities: dict[str, Any]
    """(3,) m/s each, in the world frame."""
    foot_heights: Any
    """(feet,) m, of the lowest point of each foot above the ground."""
    contacts: Any
    """(feet,) 1 for feet on the ground, else 0. By height alone, so that all engines agree."""


@dataclass(frozen=True)
class Probe:
    """Where the readings are found in a model: indices and offsets, resolved once from names.

    The ground is the plane z = 0. Make it by `Probe.of`.
    """

    root: int
    qpos: np.ndarray
    """(joints,) positions of the actuated joints in qpos."""
    qvel: np.ndarray
    points: dict[str, tuple[int, np.ndarray]]
    """By name, the body and the (3,) place in its frame, m."""
    feet: tuple[tuple[int, np.ndarray, np.ndarray, int, np.ndarray], ...]
    """Body, place (3,), orientation (3, 3), type and size (3,) of each foot's geom."""

    @classmethod
    def of(cls, model: "mujoco.MjModel", root: str, points: Sequence[str], feet: Sequence[str]) -> "Probe":
        """Resolves names.

        Args:
          model: whose actuators drive hinges.
          root: name of a body.
          points: names of sites.
          feet: names of geoms: spheres, capsules, ellipsoids or boxes.

        Raises:
          ConfigError: the model lacks one of them, a foot has another shape, or an actuator drives something else.
        """
        joints = _actuated(model)
        places = {}
        for name in points:
            site = _id(model, "site", model.nsite, name)
            places[name] = (int(model.site_bodyid[site]), np.asarray(model.site_pos[site], np.float32))
        shapes = []
        for name in feet:
            geom = _id(model, "geom", model.ngeom, name)
            if (kind := int(model.geom_type[geom])) not in (_SPHERE, _CAPSULE, _ELLIPSOID, _BOX):
                raise ConfigError(f"the foot {name!r} must be a sphere, a capsule, an ellipsoid or a box")
            place, size = (np.asarray(x[geom], np.float32) for x in (model.geom_pos, model.geom_size))
            shapes.append((int(model.geom_bodyid[geom]), place, _matrix(model.geom_quat[geom]), kind, size))
        return cls(
            root=_id(model, "body", model.nbody, root),
            qpos=np.asarray(model.jnt_qposadr[joints]),
            qvel=np.asarray(model.jnt_dofadr[joints]),
            points=places,
            feet=tuple(shapes),
        )

    def read_mujoco(self, model: "mujoco.MjModel", data: "mujoco.MjData") -> Readings:
        """From MuJoCo's own data after `mj_forward`, in NumPy and float64: the oracle of the engines."""
        angular = data.cvel[:, :3]
        # `cvel` is the velocity at the tree's center of mass.
        away = data.xpos - data.subtree_com[model.body_rootid]
        linear = data.cvel[:, 3:] + np.cross(angular, away)
        return self.read(data.xpos, data.xmat.reshape(-1, 3, 3), linear, angular, data.qpos, data.qvel)

    def read(self, pos: Any, mat: Any, linear: Any, angular: Any, qpos: Any, qvel: Any) -> Readings:
        """From what an engine knows, in the arrays' own namespace.

        Args:
          pos: (nbody, 3) m, world positions of all bodies, the world first.
          mat: (nbody, 3, 3) their rotation matrices.
          linear: (nbody, 3) m/s, velocities of the bodies' origins in the world frame.
          angular: (nbody, 3) rad/s, in the world frame.
          qpos: (nq,) as MuJoCo's.
          qvel: (nv,) as MuJoCo's.
        """
        xp = namespace(pos)
        root = self.root
        points, velocities = {}, {}
        for name, (body, place) in self.points.items():
            away = xp.sum(mat[body] * place[None, :], -1)
            points[name] = pos[body] + away
            velocities[name] = linear[body] + xp.cross(angular[body], away)
        heights = [
            _lowest(pos[body], mat[body], place, turn, kind, size) for body, place, turn, kind, size in self.feet
        ]
        foot_heights = xp.stack(heights) if heights else xp.zeros(0, dtype=pos.dtype)
        return Readings(
            position=pos[root],
            velocity=linear[root],
            velocity_body=turned_back(mat[root], linear[root]),
            forward=mat[root][:, 0],
            upright=mat[root][2, 2],
            gravity=-mat[root][2],
            angular_velocity=turned_back(mat[root], angular[root]),
            joint_pos=qpos[self.qpos],
            joint_vel=qvel[self.qvel],
            points=points,
            point_velocities=velocities,
            foot_heights=foot_heights,
            contacts=xp.asarray(foot_heights < NEAR, dtype=xp.float32),
        )


def _actuated(model: "mujoco.MjModel") -> np.ndarray:
    """(nu,) the joint of each actuator; raises ConfigError if one has none, or one of several angles."""
    joints = model.actuator_trnid[:, 0]
    for k, joint in enumerate(joints.tolist()):
        if model.actuator_trntype[k] not in _OF_JOINT or model.jnt_type[joint] not in _SINGLE:
            raise ConfigError(
                f"the actuator {model.actuator(k).name or k!r} drives no hinge, and readings have an angle for each "
                "actuator: leave it out of this model, or read its tendon, site or body yourself"
            )
    return joints


def _lowest(pos: Any, mat: Any, place: np.ndarray, turn: np.ndarray, kind: int, size: np.ndarray) -> Any:
    """Z of the lowest point of a geom, m: its center's z minus its support in that direction."""
    xp = namespace(pos)
    center = pos[2] + xp.sum(mat[2] * place)
    if kind == _SPHERE:
        return center - float(size[0])
    down = turned_back(turn, mat[2])  # the world's z axis in the geom's frame
    if kind == _CAPSULE:
        return center - (xp.abs(down[2]) * float(size[1]) + float(size[0]))
    if kind == _ELLIPSOID:
        return center - xp.sqrt(xp.sum((down * size) ** 2))
    return center - xp.sum(xp.abs(down) * size)


def _matrix(quat: Any) -> np.ndarray:
    """The (3, 3) float32 rotation matrix of a quaternion, real part first."""
    w, x, y, z = (float(number) for number in quat)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.array(rows, np.float32)


def _id(model: "mujoco.MjModel", kind: str, count: int, name: str) -> int:
    names = [getattr(model, kind)(i).name for i in range(count)]
    if name not in names:
        raise ConfigError(f"the model has no {kind} {name!r}: {nearest(name, [n for n in names if n])}")
    return names.index(name)
