"""Detects a process that hangs."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

IDLE_SECONDS = 120.0
_TICK = 1.0  # seconds
_BUSY_SHARE = 0.05  # of one processor: less is idle


@contextlib.contextmanager
def idle_watch(
    what: str, say: Callable[[str], None], seconds: float = IDLE_SECONDS, tick: float = _TICK
) -> Iterator[None]:
    """Reports once if this process uses no processor time for `seconds`, nor waits for its turn on a processor.

    Args:
      what: what is under way, such as "compiling the first reset".
      say: called with the message, from a separate thread.
      seconds: how long the process must be idle.
      tick: seconds between two checks.
    """
    active = wall = time.perf_counter()
    cpu = 0.0  # all so far is of the time until the first look

    def look() -> bool:
        nonlocal wall, cpu, active
        now, used = time.perf_counter(), _demand()
        if used - cpu > _BUSY_SHARE * (now - wall):
            active = now
        wall, cpu = now, used
        if now - active < seconds:
            return True
        say(
            f"{what}: no progress, the processor has been idle for {now - active:.0f} s. This process waits "
            "for another process or is deadlocked; Ctrl-C (twice, if needed) stops it, `py-spy dump` shows where"
        )
        return False

    with ticking(tick, look):
        yield


def _demand() -> float:
    """Seconds for which all other threads of this process ran, or (on Linux) waited for a processor."""
    waited, own = 0, str(threading.get_native_id())
    for thread in Path("/proc/self/task").glob("*"):
        if thread.name != own:
            with contextlib.suppress(OSError, ValueError, IndexError):  # it may have ended meanwhile
                waited += int((thread / "schedstat").read_text().split()[1])
    return time.process_time() - time.thread_time() + waited / 1e9


@contextlib.contextmanager
def ticking(seconds: float, tick: Callable[[], bool]) -> Iterator[None]:
    """Calls `tick` every `seconds` while it returns True, from a separate thread: the main thread may be busy."""
    done = threading.Event()

    def run() -> None:
        while not done.wait(seconds) and tick():
            pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
