"""Connections between processes that train together, with the standard library only.

Over them the processes compare facts, and learn at once when one of them ends. JAX's own connections abort the process
when something is wrong, so these are made first and last as long: one TCP connection from process 0 to each of the
others. Each message is one line of JSON.
"""

import contextlib
import json
import queue
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pixelbrax.errors import ConfigError

Message = dict[str, Any]

_GRACE = 3.0  # seconds in which the main thread may end by itself once another process has ended
_LONGEST = 2**26  # bytes of a message
_SILENT = 30  # seconds after which a machine that does not answer at all is given up


@dataclass(frozen=True)
class End:
    """Why processes that train together stop, and the exit code."""

    reason: str
    code: int = 2


class Channel:
    """A TCP connection that carries messages."""

    def __init__(self, connection: socket.socket):
        """Takes ownership of a connection, which closes with the channel."""
        self.socket = connection
        self.unread: list[Message] = []
        self._sending = threading.Lock()
        self._received = b""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The kernel answers for a process that is busy or suspended, but not for a machine that is gone.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, seconds in {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4}.items():
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * _SILENT)

    def send(self, message: Message) -> None:
        """Sends a message; does nothing if the other side is gone, which the reader notices."""
        with self._sending, contextlib.suppress(OSError):
            self.socket.sendall(json.dumps(message).encode() + b"\n")

    def read(self) -> list[Message] | None:
        """The messages that have arrived, once the socket is readable; None at the end of the connection."""
        try:
            data = self.socket.recv(2**16)
        except OSError:
            return None
        *lines, self._received = (self._received + data).split(b"\n")
        if not data or len(self._received) > _LONGEST:
            return None
        try:
            messages = [json.loads(line) for line in lines]
        except ValueError:
            return None  # not one of our processes
        return messages if all(isinstance(message, dict) for message in messages) else None

    def close(self) -> None:
        """Closes the connection."""
        self.socket.close()


class Link:
    """Connects process 0 to all others, and any other process to process 0."""

    def __init__(self, process_id: int, channels: Mapping[int, Channel], on_end: Callable[[End], None]):
        """Watches the connections from a separate thread.

        Args:
          process_id: number of this process.
          channels: to the other processes, by their numbers.
          on_end: ends this process, whatever its main thread is doing; called from that thread.
        """
        self.process_id = process_id
        self.end: End | None = None
        self._channels = dict(channels)
        self._on_end = on_end
        self._answers: queue.Queue[tuple[int, Message] | None] = queue.Queue()
        self._done: set[int] = set()
        self._owner = ""  # the thread that ends this process: "main" or "watch"
        self._owning = threading.Lock()
        self._left = threading.Event()
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="pixelbrax link", daemon=True)
        self._watcher.start()

    @property
    def left(self) -> bool:
        """Whether this process has left, for whatever reason."""
        return self._left.is_set()

    def agree(self, facts: Mapping[str, Any], timeout: float) -> None:
        """Compares facts with those of the other processes; they must be the same in all.

        Args:
          facts: by name; the error names the first that differs, in this order.
          timeout: seconds to wait for the others.

        Raises:
          ConfigError: a fact differs, or a process has ended, or does not answer.
        """
        own = {name: str(value) for name, value in facts.items()}
        if self.process_id:
            self._channels[0].send({"facts": own})
            self._receive("agreed", 1, timeout)
            return
        for process, message in sorted(self._receive("facts", len(self._channels), timeout).items()):
            if difference := _difference(own, message["facts"], process):
                self.leave(End(difference))  # in the same words everywhere
                raise ConfigError(difference)
        self._tell({"agreed": True})

    def give(self, value: Any, timeout: float) -> Any:
        """Sends a value from process 0 to every process, and returns it.

        Raises:
          ConfigError: a process has ended or does not answer.
        """
        if self.process_id:
            return self._receive("value", 1, timeout)[0]["value"]
        self._tell({"value": value})
        return value

    def leave(self, end: End | None) -> bool:
        """Leaves the others: at the regular end with None; otherwise it sends them the reason.

        Returns:
          Whether it may: False if the end of another process is already ending this one.
        """
        if not self._own("main"):
            return False
        if not self.left:
            self._left.set()
            self._tell({"bye": True} if end is None else {"end": end.reason, "code": end.code})
        return True

    def force(self, end: End) -> None:
        """Ends this process now, from any thread, unless it is already ending; sends the others the reason."""
        if self._own("watch") and not self.left:
            self._left.set()
            self._tell({"end": end.reason, "code": end.code})
            self._on_end(end)

    def wait_for_end(self, timeout: float) -> End | None:
        """The end of another process, or None if none ends within `timeout` seconds."""
        self._ended.wait(timeout)
        return self.end

    def close(self) -> None:
        """Closes the connections, once what was sent has arrived."""
        self._left.set()
        for channel in self._channels.values():
            with contextlib.suppress(OSError):
                channel.socket.shutdown(socket.SHUT_WR)
        self._watcher.join(_GRACE)  # it reads to the end; data left unread would reset the connection
        for channel in self._channels.values():
            channel.close()

    def _own(self, thread: str) -> bool:
        with self._owning:
            self._owner = self._owner or thread
            return self._owner == thread

    def _receive(self, kind: str, count: int, timeout: float) -> dict[int, Message]:
        """One message of a kind from each of `count` processes."""
        found: dict[int, Message] = {}
        deadline = time.monotonic() + timeout
        while len(found) < count:
            try:
                answer = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                missing = min(set(self._channels) - set(found))
                raise ConfigError(f"process {missing} has not answered for {timeout:.0f} s: is it stuck?") from None
            if answer is None:
                assert self.end is not None
                raise ConfigError(self.end.reason)
            process, message = answer
            if kind in message:
                found[process] = message
        return found

    def _tell(self, message: Message, but: int | None = None) -> None:
        for process, channel in self._channels.items():
            if process != but:
                channel.send(message)

    def _watch(self) -> None:
        """Reads messages until every other process has closed its connection."""
        with selectors.DefaultSelector() as selector:
            for process, channel in self._channels.items():
                selector.register(channel.socket, selectors.EVENT_READ, process)
                for message in channel.unread:
                    self._handle(process, message)
            while selector.get_map():
                for key, _ in selector.select():
                    messages = self._channels[key.data].read()
                    for message in messages or ():
                        self._handle(key.data, message)
                    if messages is None:
                        selector.unregister(key.fileobj)
                        if key.data not in self._done:
                            why = "it was killed or crashed, or its machine or network failed"
                            self._finish(key.data, End(f"process {key.data} is gone: {why}"))

    def _handle(self, process: int, message: Message) -> None:
        if "end" in message:
            self._done.add(process)
            self._finish(process, End(str(message["end"]), int(message.get("code", 2))))
        elif "bye" in message:
            self._done.add(process)
        else:
            self._answers.put((process, message))

    def _finish(self, process: int, end: End) -> None:
        """Another process has ended early, so this one must end too."""
        if self.left or self.end is not None:
            return
        if self.process_id == 0:
            self._tell({"end": end.reason, "code": end.code}, but=process)
        self.end = end
        self._ended.set()
        self._answers.put(None)
        threading.Thread(target=self._force, args=(end,), name="pixelbrax end", daemon=True).start()

    def _force(self, end: End) -> None:
        """Ends this process if its main thread has not done so after a while: it may wait in a program forever."""
        if not self._left.wait(_GRACE) and self._own("watch"):
            self._left.set()
            self._on_end(end)


def _difference(own: Mapping[str, str], other: Mapping[str, str], process: int) -> str:
    """The first difference, in words; empty if there is none."""
    for name in [*own, *(name for name in other if name not in own)]:
        ours, theirs = own.get(name, "none"), other.get(name, "none")
        if ours != theirs:
            return (
                f"process {process} has {name} {theirs}, process 0 has {ours}: processes that train together need the "
                "same flags (except --process-id), the same files and the same software"
            )
    return ""
