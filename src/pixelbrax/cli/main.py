"""`pixelbrax COMMAND`: picks the command, and turns a user's mistakes into one line and an exit code."""

import importlib
import sys

from pixelbrax.errors import ConfigError, TrainingError

_COMMANDS = {
    "train": "train a policy from pixels",
    "sweep": "train policies of different settings, all at once",
    "eval": "the return of a trained policy",
    "plot": "learning curves of several runs",
    "render": "images or a video of a task",
    "list": "the tasks there are",
    "videos": "clips that distract: fetch, build, look at",
    "bench": "how fast this machine draws",
}


def main(argv: list[str] | None = None) -> int:
    """Runs a command.

    Returns:
      The exit code: 0, 1 if training broke down, 2 for a mistake of the user's, 130 after Ctrl-C.
    """
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
            raise ConfigError(f"unknown command {name!r}: there are {', '.join(_COMMANDS)}")
        return importlib.import_module(f"pixelbrax.cli.{name}").main(rest)
    except ConfigError as e:
        print(f"pixelbrax {name}: error: {e}", file=sys.stderr)
        return 2
    except TrainingError as e:
        print(f"pixelbrax {name}: {e}", file=sys.stderr)
        return 1
    except OSError as e:
        where = f"{e.filename}: " if e.filename else ""
        print(f"pixelbrax {name}: error: {where}{e.strerror or e}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"pixelbrax {name}: stopped", file=sys.stderr)
        return 130


def _usage() -> str:
    width = max(map(len, _COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {what}" for name, what in _COMMANDS.items())
    return (
        "usage: pixelbrax COMMAND [options]\n\nContinuous control from pixels, in one compiled JAX program.\n\n"
        f"{commands}\n\n`pixelbrax COMMAND --help` shows a command's options."
    )
