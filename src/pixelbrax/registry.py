"""Registries of named things: tasks, distractors, and so on."""

from typing import Generic, Protocol, TypeVar

from pixelbrax.errors import ConfigError, nearest
from pixelbrax.plugins import load_installed_plugins, note_registration


class Named(Protocol):
    """Whatever has a name."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        ...


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """Things of one kind, in the order in which they were added."""

    def __init__(self, kind: str, listing: str = ""):
        """An empty registry.

        Args:
          kind: the noun for such a thing in messages.
          listing: the command that shows all of them.
        """
        self._kind = kind
        self._listing = listing
        self._known: dict[str, T] = {}

    def add(self, thing: T) -> None:
        """Registers a thing under its name.

        Raises:
          ConfigError: its name is taken.
        """
        if thing.name in self._known:
            raise ConfigError(f"there is a registered {self._kind} {thing.name!r} already: choose another name")
        self._known[thing.name] = thing
        note_registration(lambda: self._known.pop(thing.name, None))

    def names(self) -> list[str]:
        """All names, in the order of adding, those of plugins included."""
        load_installed_plugins()
        return list(self._known)

    def values(self) -> list[T]:
        """Everything registered so far, without loading plugins."""
        return list(self._known.values())

    def get(self, name: str) -> T:
        """The thing called `name`.

        Raises:
          ConfigError: there is none; the message suggests the nearest names.
        """
        if name not in self._known:
            load_installed_plugins()
        if name not in self._known:
            raise ConfigError(f"unknown {self._kind} {name!r}: {nearest(name, self.names(), self._listing)}")
        return self._known[name]
