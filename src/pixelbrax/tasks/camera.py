"""Cameras for tasks whose models have no suitable one. Plain data."""

from dataclasses import dataclass
from typing import Any

from pixelbrax.errors import ConfigError, check_number


@dataclass(frozen=True)
class CameraSpec:
    """A camera at a fixed height that can follow a body along x and y.

    If it looks straight down, the world's +y is up in the image; if it looks straight up, -y is.

    Attributes:
      offset: x and y of the camera relative to the followed body (to the world's origin without one), meters.
      height: z of the camera, meters.
      target_height: z of the point it looks at, meters.
      fovy: vertical field of view, degrees, above 0 and below 180.
      body: MJCF name of the followed body, or None.
      target: x and y of the point it looks at, relative to the followed body (or the world's origin), meters.
      also: MJCF name of a second body that stays in view. The camera then follows the midpoint of the two bodies and
        backs off as they separate: half of their distance is added to the half-width of the view.
    """

    offset: tuple[float, float]
    height: float
    target_height: float
    fovy: float
    body: str | None = "torso"
    target: tuple[float, float] = (0.0, 0.0)
    also: str | None = None

    def __post_init__(self):
        """Checks the values.

        Raises:
          ConfigError: a value is not finite or out of range, or the camera is at the point it looks at.
        """
        for name in ("offset", "target"):
            object.__setattr__(self, name, _pair(f"the camera's {name}", getattr(self, name)))
        for name in ("height", "target_height"):
            object.__setattr__(self, name, check_number(f"the camera's {name}", getattr(self, name)))
        object.__setattr__(self, "fovy", check_number("the camera's fovy", self.fovy, above=0))
        if self.fovy >= 180:
            raise ConfigError(f"the camera's fovy is {self.fovy:g}: it must be below 180 degrees")
        if self.body is not None and not isinstance(self.body, str):
            raise ConfigError(f"the camera's body is {self.body!r}: it must be the name of a body, or None")
        if self.also is not None and (self.body is None or not isinstance(self.also, str)):
            raise ConfigError(
                f"the camera's also is {self.also!r}: it must be None, or the name of a second body if body is given"
            )
        if (*self.offset, self.height) == (*self.target, self.target_height):
            raise ConfigError(
                f"the camera is at its own target: offset {self.offset} and height {self.height:g} must differ from "
                "target and target_height"
            )


def _pair(name: str, value: Any) -> tuple[float, float]:
    try:
        x, y = (float(number) for number in value)
    except (TypeError, ValueError):
        raise ConfigError(f"{name} is {value!r}: it must be two numbers, x and y in meters") from None
    return check_number(f"{name}[0]", x), check_number(f"{name}[1]", y)
