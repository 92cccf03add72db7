"""The next environment of a session, built by a thread of its own while the present one is shown."""

import threading
import time
from collections.abc import Callable
from typing import Any

from pixelbrax.errors import ConfigError
from pixelbrax.viewer.messages import Choose
from pixelbrax.viewer.programs import Programs, ViewConfig, Workshop, chosen

# Names of a message's fields as settings of `EnvConfig`.
_SETTINGS = {"engine": "backend", "resolution": "image_size"}


class Construction:
    """Builds the last environment that was chosen; those chosen before it are skipped."""

    def __init__(self, workshop: Workshop, config: ViewConfig, ready: Callable[[], None]):
        """Begins with the first environment.

        Args:
          workshop: what compiles.
          config: the first environment.
          ready: called when there is something to `take`.
        """
        self._workshop, self._ready = workshop, ready
        self._changed = threading.Condition()
        self._wanted = self._shown = config
        self._is_due, self._is_open, self._begun = True, True, time.monotonic()
        self._has_built = False
        self._result: tuple[Programs | None, str] | None = None
        self._thread = threading.Thread(target=self._run, name="construction", daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        """Whether there is something to `take`."""
        return self._result is not None

    @property
    def progress(self) -> dict[str, Any] | None:
        """What is being built, and for how many seconds; None if nothing is."""
        with self._changed:
            if self._begun is None:
                return None
            seconds = round(time.monotonic() - self._begun, 1)
            return {"what": self._wanted.environment.task, "seconds": seconds}

    def choose(self, message: Choose) -> None:
        """Begins to build an environment with other settings than the last that was chosen.

        Raises:
          ConfigError: there is no such task, engine or distractor.
        """
        fields = {name: value for name, value in vars(message).items() if value is not None}
        changes = {_SETTINGS.get(name, name): value for name, value in fields.items()}
        if changes.get("camera") == "":
            changes["camera"] = None
        with self._changed:
            config = chosen(self._wanted, self._workshop.own, **changes)
            if config == self._wanted:
                return
            config.check()
            self._wanted, self._is_due, self._begun = config, True, time.monotonic()
            self._changed.notify_all()

    def take(self) -> tuple[Programs | None, str]:
        """What was built, and why what was chosen before it was not; (None, "") if there is nothing new."""
        with self._changed:
            result, self._result = self._result, None
            return result or (None, "")

    def close(self) -> None:
        """Builds nothing more."""
        with self._changed:
            self._is_open = False
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_due or not self._is_open)
                if not self._is_open:
                    return
                config, self._is_due = self._wanted, False
            result = self._built(config)
            with self._changed:
                if self._is_due:
                    continue
                programs, problem = result
                if programs is None:  # if nothing is shown yet, the first environment is, after all
                    self._is_due = not self._has_built and self._wanted != self._shown
                    self._wanted = self._shown
                self._has_built = self._has_built or programs is not None
                self._shown = self._wanted
                self._begun = time.monotonic() if self._is_due else None
                self._result = programs, problem or (self._result[1] if self._result else "")
            self._ready()

    def _built(self, config: ViewConfig) -> tuple[Programs | None, str]:
        try:
            return self._workshop.build(config), ""
        except ConfigError as e:
            return None, str(e)
        except Exception as e:  # an engine's or the compiler's own
            return None, f"{config.environment.task} could not be built: {type(e).__name__}: {e!s:.300}"
