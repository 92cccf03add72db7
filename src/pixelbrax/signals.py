"""Ctrl-C and SIGTERM as requests to stop at the next opportunity."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_AGAIN_SECONDS = 0.05


class StopRequest:
    """Whether somebody asked to stop."""

    requested = False


_last_stop = 0


def last_stop() -> int:
    """The signal of the last request to stop; 0 if there was none."""
    return _last_stop


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Turns the first Ctrl-C or SIGTERM into a request to stop at the next opportunity; a second one acts at once.

    Outside the main thread it does nothing.
    """
    global _last_stop
    request = StopRequest()
    previous = {}
    _last_stop = 0
    if threading.current_thread() is not threading.main_thread():  # signals reach the main thread only
        yield request
        return

    def handle(number: int, frame: object) -> None:
        global _last_stop
        request.requested = True
        _last_stop = number
        for each, handler in previous.items():
            signal.signal(each, handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        previous[number] = signal.signal(number, handle)
    try:
        yield request
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def interruptible() -> Iterator[None]:
    """Makes Ctrl-C and SIGTERM raise KeyboardInterrupt, so that what was just begun is cleaned up.

    They do so even while JAX's garbage-collector callback runs: Python ignores exceptions in that callback, and during
    tracing the signal often arrives there. Handlers that somebody has set before stay.
    """
    global _last_stop
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        global _last_stop
        if frame is not None and frame.f_code.co_name == "_xla_gc_callback":
            main = threading.main_thread().ident
            threading.Timer(_AGAIN_SECONDS, signal.pthread_kill, (main, number)).start()
            return
        _last_stop = number
        signal.default_int_handler(number, frame)

    defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    own = {number: default for number, default in defaults.items() if signal.getsignal(number) is default}
    _last_stop = 0
    for number in own:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, default in own.items():
            signal.signal(number, default)
