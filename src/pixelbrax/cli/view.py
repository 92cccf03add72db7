"""`pixelbrax view`: a page in the browser that shows a live environment."""

import os
import sys
import threading
import time
import webbrowser
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.parse import parse
from pixelbrax.errors import ConfigError, check_count, check_number, check_seed
from pixelbrax.signals import stop_requests
from pixelbrax.training import EnvConfig, RunDir
from pixelbrax.viewer import Session, ViewConfig, ViewServer, Workshop, catalog, load_run

_POLL = 0.1  # seconds between two looks at whether somebody asked to stop
_MAX_PORT = 65_535


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax view`."""

    task: Annotated[str | None, tyro.conf.Positional] = None
    """Task to begin with; `pixelbrax list` shows them. By default halfcheetah, or the run's."""
    run: Path | None = None
    """Folder of a run, whose trained policy acts."""
    backend: str | None = None
    """Physics engine, one of those that `pixelbrax list` shows; by default the task's own."""
    distractors: tuple[str, ...] | None = None
    """Distractors, such as dcs/hard; for a run, by default those of its training."""
    camera: str | None = None
    """Name or number of one of the model's cameras, from which the agent sees; by default the task's own view."""
    resolution: int | None = None
    """Height and width of what the agent sees, pixels; by default 64, or the run's."""
    width: int = 480
    """Width of the free camera's images, pixels."""
    height: int = 320
    """Height of the free camera's images, pixels."""
    seed: int = 0
    """Random seed of the episodes and the actions."""
    host: str = "127.0.0.1"
    """Address to listen at; by default only this machine can open the page."""
    port: int = 0
    """Port to listen at; 0 takes one that is free."""
    compress: bool = False
    """Compress the images, for a browser behind a slow connection."""
    browser: bool = True
    """Open the page in the browser."""


def main(argv: list[str]) -> int:
    """Serves the page until Ctrl-C or SIGTERM."""
    args = parse(Args, argv, "view", "Shows a task or a run's policy live, on a page in the browser.")
    check_count("port", args.port, least=0, most=_MAX_PORT)
    check_seed(args.seed)
    config, strength = _config(args)
    enable_compilation_cache()
    run = args.run
    workshop = Workshop(None if run is None else lambda: load_run(run))

    def begin() -> Session:
        return Session(workshop, config, seed=args.seed, strength=strength, folder=Path.cwd())

    server = ViewServer(begin, catalog(), host=args.host, port=args.port, compress=args.compress)
    with stop_requests() as stop:
        threading.Thread(target=server.serve_forever, name="server", daemon=True).start()
        print(f"{server.address}\nOpen it in a browser; whoever knows the address can. Ctrl-C ends it.", flush=True)
        if args.browser and _has_display():
            webbrowser.open(server.address)
        while not stop.requested:
            time.sleep(_POLL)
    server.close()
    _leave()
    return 0


def _config(args: Args) -> tuple[ViewConfig, float]:
    """What is shown first, and the strength of its distractors.

    Raises:
      ConfigError: a setting cannot be used, as far as that is known without an engine; a camera is looked up in one.
    """
    if args.run is not None:
        if args.task is not None:
            raise ConfigError("name either a task or --run: the page can change the task")
        environment = RunDir.open(args.run).load_config().environment
        if environment.facts:
            environment.build()  # raises, and says why
    else:
        environment = EnvConfig(task=args.task or "halfcheetah", frame_stack=1)
    given = {
        "backend": args.backend,
        "distractors": args.distractors,
        "camera": args.camera,
        "image_size": args.resolution,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    own = environment.distractor_strength if args.distractors is None else 1.0  # it is that of the run's distractors
    strength = check_number("distractor_strength", own, least=0)
    config = ViewConfig(replace(environment, **changes), args.height, args.width)
    config.check()
    if args.camera is not None:
        config.build()  # only the engine's model knows its cameras
    return config, strength


def _has_display() -> bool:
    """Whether a browser would have a window: others take over the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _leave() -> None:
    """Ends the process at once if something is still being compiled, which cannot be interrupted."""
    if any(thread.name == "construction" for thread in threading.enumerate()):
        sys.stdout.flush()
        os._exit(0)
