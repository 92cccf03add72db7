"""Ctrl-C and SIGTERM as requests to stop at the next chance."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class StopRequest:
    """Whether somebody asked to stop."""

    requested = False


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Turns the first Ctrl-C or SIGTERM into a request to stop at the next chance; a second one acts at once."""
    request = StopRequest()
    previous = {}

    def handle(number: int, frame: object) -> None:
        request.requested = True
        for each, handler in previous.items():
            signal.signal(each, handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        previous[number] = signal.signal(number, handle)
    try:
        yield request
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
