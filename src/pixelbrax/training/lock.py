"""One process at a time in a directory that it writes, by a lock that is released however its process ends.

The lock is the operating system's (`flock`), on a file that stays in the directory. Over NFS it also holds between
machines; if a file system has no locks, a message says so. The file says who holds the lock, for
messages, and for a refusal where there are no locks.
"""

import contextlib
import errno
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pixelbrax.errors import ConfigError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_FILE = ".lock"
_HELD = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}
_held: dict[str, tuple[int, int]] = {}  # folders that this process holds: by which thread, and how often


@contextlib.contextmanager
def locked(
    folders: Sequence[Path], note: Callable[[str], None] = lambda text: None, use: str = "trained"
) -> Iterator[None]:
    """Locks folders, so that nobody else trains or writes in them. A thread may lock the same folders again.

    Args:
      folders: folders of runs or datasets, which must exist.
      note: called with a message if the file system has no locks.
      use: what is done in them, for messages: a run is "trained", a dataset "written".

    Raises:
      ConfigError: another process or thread uses one of them; the message says which.
    """
    with contextlib.ExitStack() as stack:
        for folder in folders:
            stack.enter_context(_locked(folder, note, use))
        yield


@contextlib.contextmanager
def _locked(folder: Path, note: Callable[[str], None], use: str) -> Iterator[None]:
    name, thread = os.path.realpath(folder), threading.get_ident()
    holder, count = _held.get(name, (thread, 0))
    if holder != thread:
        raise ConfigError(f"{folder} is being {use} by another thread of this process: wait until it ends")
    if not count:
        descriptor = _opened(folder)
        try:
            _take(descriptor, folder, note, use)
        except BaseException:
            os.close(descriptor)
            raise
    else:
        descriptor = None
    _held[name] = (thread, count + 1)
    try:
        yield
    finally:
        if count:
            _held[name] = (thread, count)
        else:
            del _held[name]
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
            os.close(descriptor)


def _opened(folder: Path) -> int:
    """Opens the lock's file; if this process has too many files open, raises its limit to the system's."""
    for again in (True, False):
        try:
            return os.open(folder / _FILE, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        except OSError as e:
            if e.errno != errno.EMFILE or not again or not _allow_more_files():
                raise
    raise AssertionError("the second time returns or raises")


def _allow_more_files() -> bool:
    try:
        import resource
    except ImportError:
        return False
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return soft != hard


def _take(descriptor: int, folder: Path, note: Callable[[str], None], use: str) -> None:
    try:
        if fcntl is None:
            raise OSError(errno.ENOLCK, "no locks")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e:
        if e.errno in _HELD:
            raise _refusal(folder, _holder(folder), use) from None
        _without_locks(folder, note, use)
    facts = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S %z")}
    with contextlib.suppress(OSError):  # a full disk; the lock holds anyway
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(facts).encode(), 0)


def _without_locks(folder: Path, note: Callable[[str], None], use: str) -> None:
    """Without file locks, the file's contents must suffice: a holder on this machine is alive or not."""
    holder = _holder(folder)
    if holder.get("host") == socket.gethostname() and _is_alive(holder.get("pid")):
        raise _refusal(folder, holder, use)
    elsewhere = f"; the last was {_described(holder)}" if holder else ""
    note(f"{folder}: this file system has no locks, so nothing keeps a second process out of it{elsewhere}")


def _holder(folder: Path) -> dict[str, object]:
    """The holder named in the lock's file; empty if it cannot be read."""
    try:
        facts = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _is_alive(pid: object) -> bool:
    if not isinstance(pid, int) or pid <= 0 or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _described(holder: dict[str, object]) -> str:
    facts = [
        f"{what} {holder[key]}"
        for key, what in (("pid", "process"), ("host", "on"), ("since", "since"))
        if key in holder
    ]
    return " ".join(facts) or "another process"


def _refusal(folder: Path, holder: dict[str, object], use: str) -> ConfigError:
    return ConfigError(
        f"{folder} is being {use} by {_described(holder)}: wait until it ends, or stop it; one process at a time can "
        "write it"
    )
