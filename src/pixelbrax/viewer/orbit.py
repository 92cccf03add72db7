"""The free camera: where it is, as data, and what dragging and the wheel do to it."""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

_NOTCH = 1.1  # distance after one notch of the wheel, relative to that before
_DEGREES = 180.0  # by which a drag of the picture's height turns, as in MuJoCo's viewer
_NEAREST, _FARTHEST = 0.02, 1000.0  # meters
_MAX_OFFSET = 10_000.0  # meters


@dataclass(frozen=True)
class Orbit:
    """A camera that circles a point; see `pixelbrax.render.orbit` for the angles.

    Attributes:
      lookat: meters; relative to the body's position on the ground (x, y) if it follows that.
      distance: meters.
      azimuth, elevation: degrees.
      fovy: vertical field of view, degrees.
      follows: whether the camera moves along with the body.
    """

    lookat: tuple[float, float, float] = (0.0, 0.0, 0.5)
    distance: float = 4.0
    azimuth: float = 90.0
    elevation: float = -15.0
    fovy: float = 45.0
    follows: bool = True

    @classmethod
    def from_camera(
        cls,
        pos: Float[np.ndarray, "3"],
        mat: Float[np.ndarray, "3 3"],
        fovy: float,
        body: Float[np.ndarray, "3"],
        follows: bool = True,
    ) -> "Orbit":
        """The orbit that a camera is on if it circles the point of its line of sight next to the body.

        The picture is the same, but upright. A body behind the camera counts as a meter ahead.

        Args:
          pos: the camera's position, meters.
          mat: its rotation, as in `pixelbrax.render.Camera`.
          fovy: degrees.
          body: the body's position, meters.
          follows: see `Orbit`.
        """
        forward, up = -mat[:, 2], mat[:, 1]
        distance = float(np.dot(body - pos, forward))
        distance = min(max(distance if distance > 0 else 1.0, _NEAREST), _FARTHEST)
        elevation = math.degrees(math.asin(np.clip(forward[2], -1.0, 1.0)))
        heading = forward if abs(forward[2]) < 0.999 else -math.copysign(1.0, forward[2]) * up
        azimuth = math.degrees(math.atan2(heading[1], heading[0]))
        lookat = pos + distance * forward
        if follows:
            lookat = lookat - [body[0], body[1], 0.0]
        return cls(_triple(lookat), distance, azimuth, elevation, float(fovy), follows)

    def turned(self, right: float, down: float) -> "Orbit":
        """After a drag, in units of the picture's height: the scene turns with the pointer."""
        azimuth = (self.azimuth - _DEGREES * right + 180) % 360 - 180
        return replace(self, azimuth=azimuth, elevation=min(max(self.elevation - _DEGREES * down, -90.0), 90.0))

    def panned(self, right: float, down: float) -> "Orbit":
        """After a drag, in units of the picture's height: the point looked at stays under the pointer."""
        across, up = self._axes()
        scale = 2 * self.distance * math.tan(math.radians(self.fovy) / 2)
        moved = np.array(self.lookat) - scale * right * across + scale * down * up
        return replace(self, lookat=_triple(np.clip(moved, -_MAX_OFFSET, _MAX_OFFSET)))

    def zoomed(self, notches: float) -> "Orbit":
        """After notches of the wheel; positive ones move the camera away."""
        return replace(self, distance=min(max(self.distance * _NOTCH**notches, _NEAREST), _FARTHEST))

    def following(self, follows: bool, body: Float[np.ndarray, "3"]) -> "Orbit":
        """The camera at the same place, which moves along with the body or does not."""
        if follows == self.follows:
            return self
        sign = -1.0 if follows else 1.0
        return replace(self, lookat=_triple(self.lookat + sign * np.array([body[0], body[1], 0.0])), follows=follows)

    def _axes(self) -> tuple[np.ndarray, np.ndarray]:
        """The image's right and up."""
        azimuth, elevation = math.radians(self.azimuth), math.radians(self.elevation)
        ca, sa, ce, se = math.cos(azimuth), math.sin(azimuth), math.cos(elevation), math.sin(elevation)
        return np.array([sa, -ca, 0.0]), np.array([-se * ca, -se * sa, ce])


def _triple(values: np.ndarray) -> tuple[float, float, float]:
    x, y, z = np.asarray(values, np.float64).tolist()
    return x, y, z
