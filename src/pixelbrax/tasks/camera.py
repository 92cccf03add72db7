"""From where a task is seen, when its model has no camera for it. Plain data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CameraSpec:
    """A camera that keeps its height and, if it follows a body, moves along with that body's x and y.

    Attributes:
      offset: x and y from the body followed (from the world's origin if there is none), metres.
      height: z of the camera, metres.
      target_height: z of the point looked at, metres.
      fovy: vertical field of view, degrees.
      body: MJCF name of the body followed, or None.
      target: x and y of the point looked at, from the body followed (or the world's origin), metres.
    """

    offset: tuple[float, float]
    height: float
    target_height: float
    fovy: float
    body: str | None = "torso"
    target: tuple[float, float] = (0.0, 0.0)
