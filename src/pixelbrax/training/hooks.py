"""What joins training: TensorBoard, Weights & Biases, and a user's own classes."""

import importlib
import math
import os
import tomllib
import uuid
from types import ModuleType
from typing import Any

from pixelbrax.errors import ConfigError
from pixelbrax.training.evaluation import Evaluation
from pixelbrax.training.run_dir import RunDir


class Hook:
    """Is told of every run of a `Cohort`. Override what you need; whatever it raises ends training.

    Of several processes that train together, only the first has hooks.
    """

    def on_start(self, run: RunDir) -> None:
        """Comes before all else, when training begins or goes on."""

    def on_update(self, run: RunDir, row: dict[str, float]) -> None:
        """A row was added to the run's metrics.csv."""

    def on_evaluation(self, run: RunDir, name: str, steps: int, result: Evaluation) -> None:
        """A policy was evaluated: "untrained", "update 1,000" or "trained"; there may be a `result.held_out`."""

    def on_end(self, run: RunDir) -> None:
        """Training has ended or was stopped."""


class TensorBoard(Hook):
    """Writes event files to `tensorboard/` in the run."""

    def __init__(self):
        """Raises ConfigError where tensorboardX is not installed."""
        self._library = _imported("tensorboardX", "tensorboard")
        self._writers: dict[RunDir, Any] = {}

    def on_start(self, run: RunDir) -> None:
        """Opens a file; of earlier ones, what a run that goes on writes again no longer counts."""
        rows = run.read_metrics()
        again = int(rows[-1]["steps"]) + 1 if rows else 0
        folder = str(run.path / "tensorboard")
        self._writers[run] = self._library.SummaryWriter(folder, purge_step=again, flush_secs=5)

    def on_update(self, run: RunDir, row: dict[str, float]) -> None:
        """A point on every curve."""
        for name, value in _finite(row).items():
            self._writers[run].add_scalar(f"train/{name}", value, int(row["steps"]))

    def on_evaluation(self, run: RunDir, name: str, steps: int, result: Evaluation) -> None:
        """A point on the evaluation's curves."""
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
        """Begins its record there, or goes on with it."""
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
                config=tomllib.loads(run.config_file.read_text()),
            )
        except self._library.errors.Error as e:
            raise ConfigError(f"Weights & Biases: {e} (WANDB_MODE=offline keeps everything in the run)") from e

    def on_update(self, run: RunDir, row: dict[str, float]) -> None:
        """A point on every curve."""
        steps = int(row["steps"])
        self._sent[run].log({f"train/{name}": value for name, value in _finite(row).items()}, step=steps)

    def on_evaluation(self, run: RunDir, name: str, steps: int, result: Evaluation) -> None:
        """A point on the evaluation's curves."""
        self._sent[run].log(_curves(result), step=steps)

    def on_end(self, run: RunDir) -> None:
        """Ends the record."""
        self._sent.pop(run).finish()


LOGGERS: dict[str, type[Hook]] = {"tensorboard": TensorBoard, "wandb": WandB}


def _curves(result: Evaluation) -> dict[str, float]:
    """An evaluation's numbers, those under looks held out apart."""
    kinds = {"evaluation": result} | ({"held_out": result.held_out} if result.held_out else {})
    return {f"{kind}/{key}": value for kind, each in kinds.items() for key, value in each.as_dict().items()}


def _finite(row: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in row.items() if math.isfinite(value)}


def _imported(module: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise ConfigError(f"{module} is not installed: pip install 'pixelbrax[{extra}]'") from e
