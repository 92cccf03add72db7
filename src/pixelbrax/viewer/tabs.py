"""The sessions of all tabs, by name; there are few at once."""

import secrets
import threading
from collections.abc import Callable

from pixelbrax.errors import ConfigError
from pixelbrax.viewer.session import Session

MAX_TABS = 4  # a browser has six connections to a server, and each tab keeps one
_ABANDONED = 60.0  # seconds without a request after which a tab's place may be taken


class Tabs:
    """Opens, finds and closes sessions."""

    def __init__(self, begin: Callable[[], Session], most: int = MAX_TABS):
        """A collection without sessions.

        Args:
          begin: makes one.
          most: sessions at once.
        """
        self._begin, self._most = begin, most
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}

    def open(self) -> str:
        """The name of a new session.

        Raises:
          ConfigError: there are too many.
        """
        with self._lock:
            left = [name for name, session in self._sessions.items() if session.idle_seconds > _ABANDONED]
            if len(self._sessions) >= self._most and not left:
                raise ConfigError(f"{self._most} tabs show an environment already, which is the most: close one first")
            closed = self._sessions.pop(left[0]) if len(self._sessions) >= self._most else None
            name = secrets.token_hex(8)
            self._sessions[name] = self._begin()
        if closed is not None:
            closed.close()
        return name

    def find(self, name: str) -> Session | None:
        """The session of that name, if it is open."""
        with self._lock:
            return self._sessions.get(name)

    def close(self, name: str) -> None:
        """Closes a session, if it is open."""
        with self._lock:
            session = self._sessions.pop(name, None)
        if session is not None:
            session.close()

    def close_all(self) -> None:
        """Closes all sessions."""
        with self._lock:
            names = list(self._sessions)
        for name in names:
            self.close(name)
