"""Notices a program that waits for something that never comes."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

IDLE_SECONDS = 120.0
_TICK = 1.0  # seconds
_BUSY_SHARE = 0.05  # of one processor: less is idle


@contextlib.contextmanager
def idle_watch(
    what: str, say: Callable[[str], None], seconds: float = IDLE_SECONDS, tick: float = _TICK
) -> Iterator[None]:
    """Says once if this process uses no processor time for so long.

    Args:
      what: what is under way, such as "compiling the first reset".
      say: told the one line, from a thread of its own.
      seconds: without processor time until then.
      tick: seconds between two looks.
    """
    done = threading.Event()

    def watch() -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        active = wall
        while not done.wait(tick):
            now, used = time.perf_counter(), time.process_time()
            if used - cpu > _BUSY_SHARE * (now - wall):
                active = now
            wall, cpu = now, used
            if now - active >= seconds:
                say(
                    f"{what}: no progress, the processor has been idle for {now - active:.0f} s. This process waits "
                    "for another one or for itself; Ctrl-C (twice, if need be) stops it, `py-spy dump` shows where"
                )
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
