"""The training loop and what it leaves on disk."""

from pixelbrax.training.cohort import Cohort
from pixelbrax.training.config import EnvConfig, TrainConfig
from pixelbrax.training.evaluation import Evaluation, Evaluator
from pixelbrax.training.hooks import Hook
from pixelbrax.training.run_dir import RunDir
from pixelbrax.training.trainer import Trainer

__all__ = ["Cohort", "EnvConfig", "Evaluation", "Evaluator", "Hook", "RunDir", "TrainConfig", "Trainer"]
