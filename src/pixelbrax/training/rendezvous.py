"""How processes that train together find each other: process 0 listens, the others connect."""

import contextlib
import os
import selectors
import socket
import time
from collections.abc import Callable, Iterator

from pixelbrax.errors import ConfigError
from pixelbrax.training.link import Channel, End, Link

_ANSWER_SECONDS = 5.0  # in which process 0 answers whoever connects
_RETRY_SECONDS = 0.3
_PROTOCOL = 1


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of HOST:PORT; an IPv6 address stands in brackets.

    Raises:
      ConfigError: it is something else.
    """
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    bracketed = host != bare
    if not bare or (":" in bare) != bracketed or not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 65536:
        raise ConfigError(
            f"coordinator is {text!r}: it must be HOST:PORT of process 0 with a port of 1 to 65535, such as "
            "10.0.0.1:1234 or [fd00::1]:1234"
        )
    return bare, int(port)


def meet(coordinator: str, num_processes: int, process_id: int, timeout: float, on_end: Callable[[End], None]) -> Link:
    """Connects the processes; returns in all of them once all are there.

    Args:
      coordinator: HOST:PORT at which process 0 listens and the others find it.
      num_processes: how many there are, at least 2.
      process_id: which this is, from 0.
      timeout: seconds within which all must have joined.
      on_end: see `Link`.

    Raises:
      ConfigError: the address cannot be used or is in use; a process does not join, or ends; two disagree.
    """
    host, port = parse_address(coordinator)
    if process_id:
        return Link(process_id, {0: _join(host, port, num_processes, process_id, timeout)}, on_end)
    with _listen(port) as server:
        meeting = _Meeting(server, num_processes)
        try:
            problem = meeting.gather(coordinator, timeout)
        except BaseException:
            meeting.close()
            raise
    if problem:
        meeting.tell({"end": problem})
        meeting.close()
        raise ConfigError(problem)
    meeting.tell({"welcome": True})
    return Link(0, meeting.channels, on_end)


class _Meeting:
    """The processes that have joined process 0 so far."""

    def __init__(self, server: socket.socket, num_processes: int):
        self.channels: dict[int, Channel] = {}
        self._server = server
        self._count = num_processes
        self._strangers: set[Channel] = set()  # connections that have sent nothing yet

    def tell(self, message: dict) -> None:
        for channel in self.channels.values():
            channel.send(message)

    def close(self) -> None:
        for channel in [*self.channels.values(), *self._strangers]:
            channel.close()

    def gather(self, coordinator: str, timeout: float) -> str:
        """Waits for all; returns what is wrong, or nothing."""
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self._server, selectors.EVENT_READ)
            while len(self.channels) < self._count - 1:
                left = deadline - time.monotonic()
                if left <= 0:
                    missing = sorted(set(range(1, self._count)) - set(self.channels))
                    who = f"process {missing[0]}" if len(missing) == 1 else f"{len(missing)} processes, {missing},"
                    return (
                        f"{who} of {self._count} did not connect to {coordinator} within {timeout:g} s: start all with "
                        "the same flags except --process-id; --join-timeout gives them more time"
                    )
                for key, _ in selector.select(min(left, 1.0)):
                    if key.fileobj is self._server:
                        connection, _ = self._server.accept()
                        connection.settimeout(_ANSWER_SECONDS)
                        channel = Channel(connection)
                        self._strangers.add(channel)
                        selector.register(connection, selectors.EVENT_READ, channel)
                    elif problem := self._hear(key.data, selector):
                        return problem
            for channel in self._strangers:
                channel.close()
            self._strangers.clear()
        return ""

    def _hear(self, channel: Channel, selector: selectors.BaseSelector) -> str:
        """Handles messages or the end of a connection; returns what is wrong, or nothing."""
        known = {other: process for process, other in self.channels.items()}
        messages = channel.read()
        if channel in known and messages is None:
            return f"process {known[channel]} ended before all had joined"
        if channel in known or messages == []:
            return ""
        hello = messages[0] if messages else {}
        process, count = hello.get("process"), hello.get("of")
        if not isinstance(process, int) or not isinstance(count, int) or hello.get("pixelbrax") != _PROTOCOL:
            # Port scanners and health checks connect too.
            selector.unregister(channel.socket)
            self._strangers.discard(channel)
            channel.close()
            return ""
        self._strangers.discard(channel)
        problem = ""
        if count != self._count:
            problem = f"process {process} has num_processes {count}, process 0 has {self._count}"
        elif not 0 < process < count or process in self.channels:
            problem = f"two processes have process_id {process}: each needs its own, 0 to {count - 1}"
        if problem:
            channel.send({"end": problem})
            channel.close()
            return problem
        channel.socket.settimeout(None)
        self.channels[process] = channel
        channel.send({"heard": True})
        return ""


@contextlib.contextmanager
def _listen(port: int) -> Iterator[socket.socket]:
    """The server of process 0, on all of its interfaces."""
    both = socket.has_dualstack_ipv6()
    try:
        family = socket.AF_INET6 if both else socket.AF_INET
        server = socket.create_server(("", port), family=family, dualstack_ipv6=both, backlog=128)
    except OSError as e:
        raise ConfigError(
            f"process 0 cannot listen on port {port}: {os.strerror(e.errno or 0)}; end what uses it, perhaps an "
            "earlier run, or give all processes another port in --coordinator"
        ) from e
    with server:
        yield server


def _join(host: str, port: int, num_processes: int, process_id: int, timeout: float) -> Channel:
    """The channel to process 0, once all processes have joined."""
    deadline = time.monotonic() + timeout
    problem = ""
    while (left := deadline - time.monotonic()) > 0:
        try:
            connection = socket.create_connection((host, port), timeout=min(left, _ANSWER_SECONDS))
        except OSError as e:
            problem = e.strerror or str(e)
        else:
            with contextlib.ExitStack() as otherwise:
                otherwise.enter_context(connection)
                channel = Channel(connection)
                if connection.getsockname() != connection.getpeername():  # a port can be connected to itself
                    channel.send({"pixelbrax": _PROTOCOL, "process": process_id, "of": num_processes})
                    if _admitted(channel):
                        otherwise.pop_all()
                        return channel
            problem = "what answers there is not process 0 of pixelbrax"
        time.sleep(min(_RETRY_SECONDS, max(left, 0.0)))
    raise ConfigError(
        f"process {process_id} did not reach process 0 at {host}:{port} within {timeout:g} s ({problem}): start all "
        "with the same flags except --process-id; --join-timeout gives them more time"
    )


def _admitted(channel: Channel) -> bool:
    """Waits until process 0 has heard this process, and then until all have joined.

    Raises:
      ConfigError: process 0 says what is wrong, or ends.
    """
    heard = False
    while True:
        messages = channel.read()
        for k, message in enumerate(messages or ()):
            if "end" in message:
                raise ConfigError(str(message["end"]))
            if "welcome" in message and heard:
                channel.unread = (messages or [])[k + 1 :]
                return True
            if "heard" in message:
                heard = True
                channel.socket.settimeout(None)
        if messages is None:
            if heard:
                raise ConfigError("process 0 ended before all had joined")
            return False
