"""`pixelbrax COMMAND`: picks the command, and turns a user's mistakes into one line and an exit code."""

import contextlib
import gc
import importlib
import io
import os
import sys
import threading

from pixelbrax.cli.xla_flags import set_gpu_flags
from pixelbrax.errors import ConfigError, TrainingError, nearest
from pixelbrax.plugins import load_plugins
from pixelbrax.signals import interruptible

_INTERRUPTED = 130
_COMMANDS = {
    "train": "train a policy from pixels",
    "sweep": "train policies with different settings, side by side",
    "curriculum": "train through stages with gates",
    "eval": "evaluate trained policies",
    "leaderboard": "rank methods in a benchmark of generalization",
    "collect": "record a dataset of a policy's trajectories",
    "plot": "plot learning curves of several runs",
    "report": "write a report of a run, or of several, as one HTML file",
    "compare": "compare settings: returns, intervals over seeds, odds of improvement",
    "render": "render images or a video of a task or a run",
    "view": "show a task or a run live, on a page in the browser",
    "list": "list tasks or distractors",
    "videos": "video clips for distractors: fetch, build, preview",
    "diagnose": "measure how physics engines conserve momentum and energy",
    "bench": "measure how fast this machine renders, steps and trains",
}


def main(argv: list[str] | None = None) -> int:
    """Runs a command.

    Returns:
      The exit code: 0, 1 if training broke down, 2 for a user error, 3 if a curriculum stopped at a closed gate, 130
      after Ctrl-C, 141 if nobody reads the output any more, as in `pixelbrax list | head -1`.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):  # it has no "±"
            stream.reconfigure(errors="replace")
    try:
        code = _run(argv)
        if sys.stdout is not None:  # None if the shell closed it, as in `pixelbrax list >&-`
            sys.stdout.flush()
        if argv is None:
            if code == _INTERRUPTED:
                _end_if_compiling()
            gc.freeze()  # else Python, as it ends, searches all that JAX and Brax hold for cycles: two seconds
        return code
    except BrokenPipeError:
        # What is still in the buffer would be flushed at exit, and fail again with a message.
        if sys.stdout is not None:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _run(argv: list[str] | None) -> int:
    args = sys.argv[1:] if argv is None else argv
    if not args or args[0] in ("-h", "--help"):
        print(_usage())
        return 0 if args else 2
    if args[0] == "--version":
        import pixelbrax

        print(pixelbrax.__version__)
        return 0
    name, *rest = args
    try:
        if name not in _COMMANDS:
            raise ConfigError(f"unknown command {name!r}: {nearest(name, list(_COMMANDS))}")
        rest = _without_imports(rest)
        set_gpu_flags()
        with interruptible():  # already while the command loads JAX, in whose collector Python would ignore Ctrl-C
            command = importlib.import_module(f"pixelbrax.cli.{name}").main
            if os.environ.get("JAX_ENABLE_X64"):
                from pixelbrax.xla import in_float32  # loads JAX

                command = in_float32(command)
            return command(rest)
    except ConfigError as e:
        print(f"pixelbrax {name}: error: {e}", file=sys.stderr)
        return 2
    except TrainingError as e:
        print(f"pixelbrax {name}: {e}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        raise
    except OSError as e:
        where = f"{e.filename}: " if e.filename else ""
        print(f"pixelbrax {name}: error: {where}{e.strerror or e}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"pixelbrax {name}: stopped", file=sys.stderr)
        return _INTERRUPTED
    except (AssertionError, RuntimeError):
        if not (why := _no_device()):
            raise
        print(f"pixelbrax {name}: error: {why}", file=sys.stderr)
        return 2


def _end_if_compiling() -> None:
    """Ends the process now if a thread compiles, which nothing can interrupt, and for which Python would wait."""
    training = sys.modules.get("pixelbrax.training")  # what has not been imported, which takes seconds, has no threads
    if training and any(thread.name.startswith(training.COMPILER) for thread in threading.enumerate()):
        os._exit(_INTERRUPTED)


def _no_device() -> str:
    """Why JAX has no device, if that is what went wrong."""
    import jax

    try:
        jax.devices()
    except (AssertionError, RuntimeError):
        return (
            f"JAX finds no device of JAX_PLATFORMS={jax.config.jax_platforms}: unset it, or install JAX for "
            "that device as https://docs.jax.dev/en/latest/installation.html says"
        )
    return ""


def _without_imports(args: list[str]) -> list[str]:
    """Loads the modules of `--import MODULE`, which every command takes; returns the other arguments."""
    left, modules = [], []
    rest = iter(args)
    for arg in rest:
        if arg == "--import":
            if (module := next(rest, None)) is None:
                raise ConfigError("--import needs the name of a module")
            modules.append(module)
        elif arg.startswith("--import="):
            modules.append(arg.removeprefix("--import="))
        else:
            left.append(arg)
    if modules:
        load_plugins(*modules)
    return left


def _usage() -> str:
    width = max(map(len, _COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {what}" for name, what in _COMMANDS.items())
    return (
        "usage: pixelbrax COMMAND [options]\n\nContinuous control from pixels, in one compiled JAX program.\n\n"
        f"{commands}\n\n`pixelbrax COMMAND --help` shows a command's options. `--import MODULE` loads a plugin first."
    )
