"""Real time: when the next frame is due."""

_BEHIND = 0.25  # seconds of lag that are made up for; more is forgotten
_WINDOW = 0.8  # weight of the past in the average of the speed


class Pace:
    """Frames that take as long as they simulate.

    Attributes:
      dt: simulated seconds of a frame.
      speed: simulated seconds a second that are asked for.
      achieved: simulated seconds a second, averaged over the last frames; None before there are any.
    """

    def __init__(self, dt: float = 0.02, speed: float = 1.0):
        """Starts when `restart` is called."""
        self.dt, self.speed = dt, speed
        self.achieved: float | None = None
        self._due = 0.0
        self._last: float | None = None

    def restart(self, now: float) -> None:
        """The next frame is due now; time that has passed does not count."""
        self._due, self._last, self.achieved = now, None, None

    def due_in(self, now: float) -> float:
        """Seconds until the next frame is due; at most 0 if it is."""
        return self._due - now

    def stepped(self, now: float) -> None:
        """A frame was shown."""
        self._due = max(self._due + self.dt / self.speed, now - _BEHIND)
        if self._last is not None:
            spent = max(now - self._last, 1e-6) / self.dt
            before = spent if self.achieved is None else 1 / self.achieved
            self.achieved = 1 / (_WINDOW * before + (1 - _WINDOW) * spent)
        self._last = now
