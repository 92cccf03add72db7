"""Several processes, perhaps on several machines, that train together."""

import atexit
import contextlib
import hashlib
import logging
import os
import re
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

import pixelbrax
from pixelbrax.errors import ConfigError, TrainingError, check_count, check_number
from pixelbrax.training.config import TrainConfig
from pixelbrax.training.link import End, Link
from pixelbrax.training.progress import Progress, plain_console
from pixelbrax.training.rendezvous import meet, parse_address
from pixelbrax.training.run_dir import RunDir
from pixelbrax.training.software import versions
from pixelbrax.training.tunnel import Tunnel

_ANSWER_SECONDS = 50.0  # in which a process answers another that waits for it
_VERDICT_SECONDS = 5.0  # to learn which process ended, after a program failed because of it
_DAY = 24 * 60 * 60
# JAX's settings that change results or programs.
_JAX_SETTINGS = (
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
    "jax_numpy_dtype_promotion",
)
_HARMLESS_FLAGS = ("--xla_dump", "--xla_hlo_profile")


@dataclass(frozen=True)
class Processes:
    """Which processes train together, and which of them this is."""

    coordinator: str | None = None
    num_processes: int = 1
    process_id: int = 0
    join_timeout: float = 45.0
    """Seconds within which all must have joined."""
    quiet: bool = False
    """Process 0 does not say that it waits."""

    def validate(self) -> None:
        """Checks the description.

        Raises:
          ConfigError: it describes neither one process nor several.
        """
        check_count("num_processes", self.num_processes)
        check_number("join_timeout", self.join_timeout, most=_DAY, above=0)
        check_count("process_id", self.process_id, least=0)
        if self.coordinator is not None and not isinstance(self.coordinator, str):
            raise ConfigError(f"coordinator is {self.coordinator!r:.80}: it must be text, HOST:PORT")
        if self.process_id >= self.num_processes:
            raise ConfigError(
                f"process_id is {self.process_id} of {self.num_processes} processes: it must be 0 to num_processes - 1"
            )
        if bool(self.coordinator) != (self.num_processes > 1):
            raise ConfigError(
                "several processes need both --coordinator HOST:PORT and --num-processes, the same for all"
            )
        if self.coordinator:
            parse_address(self.coordinator)


@dataclass
class _Group:
    """The processes that train together at present."""

    link: Link | None = None
    command: str = "train"
    code: int = 0
    remedy: str = ""
    folders: list[Path] = field(default_factory=list)


_group = _Group()


@contextlib.contextmanager
def joined(processes: Processes, facts: Callable[[], Mapping[str, Any]], command: str = "train") -> Iterator[None]:
    """Connects this process with the others that train together; does nothing for a single process.

    If one process ends early, all end: each prints the reason in one line and exits with the same code (2 after a
    loss), even if its main thread waits in a program for a process that is gone. Checkpoints stay intact.

    Args:
      processes: the processes, and which of them this is.
      facts: returns what must be the same in all, by name; a ConfigError that it raises is sent to the others.
      command: of `pixelbrax`, for messages.

    Raises:
      ConfigError: the description is invalid, or the processes do not find each other or differ.
    """
    processes.validate()
    if processes.num_processes == 1:
        yield
        return
    with _among_others(processes, facts, command):
        yield


@contextlib.contextmanager
def _among_others(processes: Processes, facts: Callable[[], Mapping[str, Any]], command: str) -> Iterator[None]:
    assert processes.coordinator is not None
    if processes.process_id == 0:
        waiting = f"process 0 of {processes.num_processes} waits at {processes.coordinator} for the others"
        Progress(quiet=processes.quiet).say(f"{waiting}, at most {processes.join_timeout:g} s ...")
    else:
        logging.getLogger("absl").setLevel(logging.ERROR)  # Orbax warns at each checkpoint except in process 0
    link = meet(
        processes.coordinator, processes.num_processes, processes.process_id, processes.join_timeout, _say_and_exit
    )
    _group.link, _group.command, _group.remedy, _group.code = link, command, "", 0
    try:
        with _departure(link):
            link.agree({**_software(), **facts()}, _ANSWER_SECONDS)
            _connect_jax(link, processes)
            yield
            if not link.left:
                jax.distributed.shutdown()  # waits for the others
                link.leave(None)
    finally:
        link.close()
        _group.link = None
        if jax.distributed.is_initialized():
            # At a regular exit, JAX would wait minutes for the others and then abort.
            atexit.register(_flush_and_exit, _group.code)


def stop_others() -> None:
    """Stops the other processes after a Ctrl-C in this one at a point where they do not check for it."""
    if _group.link:
        _leave(_group.link, KeyboardInterrupt())


def to_go_on(how: str) -> None:
    """Sets how to resume, for the message that this process prints if the end of another ends it."""
    _group.remedy = how


@contextlib.contextmanager
def removed_if_lost(folder: Path) -> Iterator[None]:
    """Removes a folder if the end of another process meanwhile forces this one to exit."""
    _group.folders.append(folder)
    try:
        yield
    finally:
        _group.folders.remove(folder)


@contextlib.contextmanager
def own_folder(path: Path) -> Iterator[Path]:
    """Where this process writes a run: `path` in the first process, a temporary folder in the others."""
    if jax.process_index() == 0:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder, removed_if_lost(Path(folder)):
        yield Path(folder) / "run"


def own_progress(quiet: bool = False) -> Progress:
    """Progress that only the first process prints."""
    return Progress(plain_console(quiet=jax.process_index() > 0), quiet)


def settings_of(configs: Mapping[str, TrainConfig]) -> dict[str, Any]:
    """All settings of the first agent, and those of the others that differ from it, by names for people."""
    first, *others = configs
    plain = {name: config.flat() for name, config in configs.items()}
    facts: dict[str, Any] = {"agents": ", ".join(configs) if others else 1, **plain[first]}
    for name in others:
        facts |= {f"{key} of {name}": value for key, value in plain[name].items() if value != plain[first].get(key)}
    return facts


def agree_on(name: str, value: Callable[[], object]) -> None:
    """Compares one more fact, if there are several processes.

    Raises:
      ConfigError: it differs.
    """
    if _group.link:
        _group.link.agree({name: value()}, _ANSWER_SECONDS)


def of_the_first(value: str) -> str:
    """The value that the first process has, in all of them."""
    return _group.link.give(value, _ANSWER_SECONDS) if _group.link else value


def clips_of(distractor: object) -> str:
    """Checksum of a distractor's images: a folder of the same name may hold other videos on another machine."""
    total = hashlib.sha256()

    def add(part: object) -> None:
        if isinstance(part, np.ndarray | jax.Array):
            total.update(np.ascontiguousarray(part).view(np.uint8).data if part.size else b"")
        elif isinstance(part, tuple):
            for each in part:
                add(each)
        elif is_dataclass(part):
            for each in fields(part):
                add(getattr(part, each.name))

    add(distractor)
    return total.hexdigest()[:12]


def checkpoints_of(runs: Sequence[RunDir]) -> dict[str, str]:
    """Checkpoints of runs, each as the checksum of its files: copies on several machines may differ in age."""
    facts = {}
    for run in runs:
        steps = [p for p in run.checkpoint_dir.glob("*") if p.name.isdecimal()]
        each = [f"after {p.name} updates ({_checksum(p)})" for p in sorted(steps, key=lambda p: int(p.name))]
        facts[f"checkpoints of {run.path.name}"] = (
            ", ".join([*each, *(["broken down"] if run.failure else [])]) or "none"
        )
    return facts


def _software() -> dict[str, str]:
    """Versions, the package's own files, and settings of JAX and XLA."""
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if not flag.startswith(_HARMLESS_FLAGS)]
    return {
        **versions(),
        "files of pixelbrax": _checksum(Path(pixelbrax.__file__).parent),
        **{name: str(getattr(jax.config, name)) for name in _JAX_SETTINGS},
        "XLA_FLAGS": " ".join(sorted(flags)) or "none",
    }


def _checksum(folder: Path) -> str:
    """Short checksum of the names and bytes of all files, without Python's compiled ones."""
    total = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            with file.open("rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
            total.update(f"{file.relative_to(folder).as_posix()} {digest}\n".encode())
    return total.hexdigest()[:12]


def _connect_jax(link: Link, processes: Processes) -> None:
    """Makes JAX's own connections, and initializes its devices."""
    assert processes.coordinator is not None
    host, _ = parse_address(processes.coordinator)
    with contextlib.ExitStack() as stack:
        address = ""
        if processes.process_id == 0:
            reserved = stack.enter_context(_reserved_port())
            address = f"127.0.0.1:{link.give(reserved, _ANSWER_SECONDS)}"
        else:
            address = Tunnel(host, link.give(None, _ANSWER_SECONDS)).address
        late = End(
            f"JAX has not connected the processes after {processes.join_timeout:g} s: they must reach each other at "
            "all ports, and have the same kind of device"
        )
        timer = threading.Timer(processes.join_timeout, link.force, (late,))
        timer.daemon = True
        timer.start()
        with contextlib.suppress(AttributeError):  # it would swallow SIGTERM
            jax.config.update("jax_enable_preemption_service", False)
        try:
            jax.distributed.initialize(
                address,
                processes.num_processes,
                processes.process_id,
                initialization_timeout=int(processes.join_timeout) + 60,  # JAX aborts after its own
                shutdown_timeout_seconds=_DAY,  # the others may be busy; if they are gone, the link notices
            )
            device = jax.devices()[0]  # initializes them, which needs all processes
        except (RuntimeError, ValueError) as e:
            end = link.wait_for_end(_VERDICT_SECONDS)
            raise ConfigError(end.reason if end else f"JAX cannot connect the processes: {_first_line(e)}") from e
        finally:
            timer.cancel()
    facts = {"platform": device.platform, "device": device.device_kind, "devices": jax.local_device_count()}
    link.agree(facts, processes.join_timeout)


@contextlib.contextmanager
def _reserved_port() -> Iterator[int]:
    """A free port, reserved until JAX's coordinator has it: on a busy port the coordinator crashes."""
    both = socket.has_dualstack_ipv6()
    with socket.socket(socket.AF_INET6 if both else socket.AF_INET) as holder:
        if both:
            holder.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        shared = hasattr(socket, "SO_REUSEPORT")
        if shared:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(("", 0))
        port = holder.getsockname()[1]
        if not shared:
            holder.close()
        yield port


@contextlib.contextmanager
def _departure(link: Link) -> Iterator[None]:
    """Turns an exception into the end of all processes, for the reason of the process that caused it."""
    me = f"process {link.process_id}"
    try:
        yield
    except BaseException as e:
        own = isinstance(e, ConfigError | TrainingError | KeyboardInterrupt | OSError)
        # A collective fails as soon as a process is gone, before the reason is known.
        other = None if own else link.wait_for_end(_VERDICT_SECONDS)
        if other and link.leave(other):
            _say_and_exit(other)
        _leave(link, e)
        if re.search("gloo|nccl|rccl", str(e), re.IGNORECASE):
            raise ConfigError(f"{me} lost its connection to the others: {_first_line(e)}") from e
        raise


def _leave(link: Link, error: BaseException) -> None:
    """Tells the other processes of an error in this one."""
    end = _end(f"process {link.process_id}", error)
    _group.code = end.code
    if not link.leave(end):
        threading.Event().wait()  # the other thread is exiting


def _end(me: str, error: BaseException) -> End:
    if isinstance(error, KeyboardInterrupt):
        return End(f"{me} was stopped", 130)
    if isinstance(error, ConfigError):
        return End(f"{me} stopped: {error}")
    if isinstance(error, TrainingError):
        return End(f"{me} stopped: {error}", 1)
    return End(f"{me} failed: {type(error).__name__}: {_first_line(error)}", 2 if isinstance(error, OSError) else 1)


def _say_and_exit(end: End) -> None:
    """Ends this process at once; its main thread may wait forever in a program that needs the others."""
    for folder in list(_group.folders):
        shutil.rmtree(folder, ignore_errors=True)
    what = "" if end.code == 130 else "error: "
    remedy = f". {_group.remedy}" if _group.remedy and end.code != 1 else ""

    def say() -> None:
        if sys.stdout.isatty():
            sys.stdout.write("\x1b[?25h\n")  # a status line hides the cursor
        print(f"pixelbrax {_group.command}: {what}{end.reason}{remedy}", file=sys.stderr)
        _flush()

    saying = threading.Thread(target=say, daemon=True)  # the main thread may hold the streams' locks
    saying.start()
    saying.join(2)
    os._exit(end.code)


def _flush_and_exit(code: int) -> None:
    _flush()
    os._exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
