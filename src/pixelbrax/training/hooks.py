"""Callbacks of training: loggers (TensorBoard, Weights & Biases), and hooks that act on the agent."""

import importlib
import inspect
import math
import os
import uuid
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from pixelbrax.errors import ConfigError, nearest, warn_caller
from pixelbrax.registry import Registry
from pixelbrax.training.config import read_toml_file
from pixelbrax.training.evaluation import Evaluation
from pixelbrax.training.run_dir import RunDir


class Hook:
    """Callbacks for training events. Override what you need; an exception ends training.

    One hook serves all runs of a `Trainer`. Of several processes that train together, only the first calls these.
    """

    def on_start(self, run: RunDir) -> None:
        """Training begins or is resumed."""

    def on_update(self, run: RunDir, row: dict[str, float]) -> None:
        """A row was added to the run's metrics.csv."""

    def on_evaluation(self, run: RunDir, name: str, steps: int, result: Evaluation) -> None:
        """A policy was evaluated: "untrained", "update 1,000" or "trained"; there may be a `result.held_out`."""

    def on_end(self, run: RunDir) -> None:
        """Training has ended or was stopped."""


_CALLBACKS = {
    "on_start": ("run",),
    "on_update": ("run", "row"),
    "on_evaluation": ("run", "name", "steps", "result"),
    "on_end": ("run",),
    "act": ("interval",),  # this and the following of acting hooks
    "reason_to_stop": ("run",),
    "state_of": ("run",),
    "set_state_of": ("run", "state"),
}
"""What training calls, and with which arguments."""


def check_hook(hook: Hook) -> Hook:
    """The same; the first callback of some is called only after everything was compiled.

    Warns of methods whose names look like callbacks, and that nobody calls.

    Raises:
      ConfigError: a callback takes other arguments than it is called with.
    """
    kind = type(hook).__name__
    for name, arguments in _CALLBACKS.items():
        if (method := getattr(hook, name, None)) is None:
            continue
        try:
            signature = inspect.signature(method)
        except (TypeError, ValueError):  # methods that are not written in Python have none
            continue
        try:
            signature.bind(*arguments)
        except TypeError:
            call = f"{name}({', '.join(arguments)})"
            raise ConfigError(f"the hook {kind}: {name} takes {signature}, and is called as {call}") from None
    for name in dir(type(hook)):
        if name.startswith("on_") and name not in _CALLBACKS:
            known = [callback for callback in _CALLBACKS if callback.startswith("on_")]
            warn_caller(f"the hook {kind} has {name}, which training never calls: {nearest(name, known)}")
    return hook


class TensorBoard(Hook):
    """Writes event files to `tensorboard/` in the run."""

    def __init__(self):
        """Raises ConfigError where tensorboardX is not installed."""
        self._library = _imported("tensorboardX", "tensorboard")
        self._writers: dict[RunDir, Any] = {}

    def on_start(self, run: RunDir) -> None:
        """Opens an event file; TensorBoard discards earlier points that a resumed run writes again.

        That of the evaluation before training is not among them.
        """
        rows = run.read_metrics()
        again = 1 + (int(rows[-1]["steps"]) if rows else 0)
        folder = str(run.path / "tensorboard")
        self._writers[run] = self._library.SummaryWriter(folder, purge_step=again, flush_secs=5)

    def on_update(self, run: RunDir, row: dict[str, float]) -> None:
        """Adds a point to every curve."""
        for name, value in _finite(row).items():
            self._writers[run].add_scalar(f"train/{name}", value, int(row["steps"]))

    def on_evaluation(self, run: RunDir, name: str, steps: int, result: Evaluation) -> None:
        """Adds a point to the evaluation's curves."""
        for name, value in _curves(result).items():
            self._writers[run].add_scalar(name, value, steps)

    def on_end(self, run: RunDir) -> None:
        """Closes the file."""
        self._writers.pop(run).close()


class WandB(Hook):
    """Sends metrics to Weights & Biases, to the project WANDB_PROJECT; WANDB_MODE=offline keeps them in the run."""

    def __init__(self):
        """Raises ConfigError where wandb is not installed."""
        self._library = _imported("wandb", "wandb")
        self._sent: dict[RunDir, Any] = {}

    def on_start(self, run: RunDir) -> None:
        """Begins or resumes the W&B run."""
        file = run.path / "wandb-id.txt"
        if not file.exists():
            file.write_text(uuid.uuid4().hex[:12])
        try:
            self._sent[run] = self._library.init(
                project=os.environ.get("WANDB_PROJECT", "pixelbrax"),
                name=run.path.name,
                id=file.read_text(),
                resume="allow",
                reinit="create_new",
                dir=str(run.path),
                config=read_toml_file(run.config_file),
            )
        except self._library.errors.Error as e:
            raise ConfigError(f"Weights & Biases: {e} (WANDB_MODE=offline keeps everything in the run)") from e

    def on_update(self, run: RunDir, row: dict[str, float]) -> None:
        """Adds a point to every curve."""
        steps = int(row["steps"])
        self._sent[run].log({f"train/{name}": value for name, value in _finite(row).items()}, step=steps)

    def on_evaluation(self, run: RunDir, name: str, steps: int, result: Evaluation) -> None:
        """Adds a point to the evaluation's curves."""
        self._sent[run].log(_curves(result), step=steps)

    def on_end(self, run: RunDir) -> None:
        """Ends the W&B run."""
        self._sent.pop(run).finish()


class NamedHook(NamedTuple):
    """A hook that settings can name, as in `--loggers tensorboard`."""

    name: str
    make: Callable[[], Hook]


_REGISTRY: Registry[NamedHook] = Registry("logger")


def register_hook(name: str, make: Callable[[], Hook]) -> None:
    """Registers a hook under a name: `pixelbrax train --loggers NAME`, `loggers` in TOML files.

    Args:
      name: its name.
      make: makes the hook, such as its class; called without arguments, once per training.

    Raises:
      ConfigError: the name is taken or no text, or `make` cannot be called without arguments.
    """
    if not isinstance(name, str) or not name:
        raise ConfigError(f"a logger's name is {name!r:.80}: it must be a non-empty string")
    if not callable(make):
        raise ConfigError(f"the logger {name!r} has make {make!r:.80}: it must be a Hook's class, or a function")
    try:
        signature = inspect.signature(make)
    except (TypeError, ValueError):  # what is not written in Python has none
        signature = inspect.Signature()
    try:
        signature.bind()
    except TypeError:
        kind = getattr(make, "__name__", repr(make))
        raise ConfigError(f"the logger {name!r}: {kind} takes {signature}, and is called without arguments") from None
    _REGISTRY.add(NamedHook(name, make))


def make_hook(name: str) -> Hook:
    """A hook by its name.

    Raises:
      ConfigError: there is none, or its library is not installed, or what it makes is no hook.
    """
    hook = _REGISTRY.get(name).make()
    if not isinstance(hook, Hook):
        raise ConfigError(f"the logger {name!r} makes {hook!r:.80}: it must be a pixelbrax.Hook")
    return check_hook(hook)


register_hook("tensorboard", TensorBoard)
register_hook("wandb", WandB)


def _curves(result: Evaluation) -> dict[str, float]:
    """Statistics of an evaluation, and of that under held-out distractors, by curve."""
    kinds = {"evaluation": result} | ({"held_out": result.held_out} if result.held_out else {})
    return {f"{kind}/{key}": value for kind, each in kinds.items() for key, value in each.as_dict().items()}


def _finite(row: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in row.items() if math.isfinite(value)}


def _imported(module: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise ConfigError(f"{module} is not installed: pip install 'pixelbrax[{extra}]'") from e
