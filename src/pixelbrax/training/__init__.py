"""The training loop, and the files that it writes."""

from pixelbrax.training.acting_hooks import ActingHook, Interval
from pixelbrax.training.assembly import build, check_memory, check_teacher, resolved
from pixelbrax.training.checkpoint import all_checkpoints
from pixelbrax.training.clock import process_start
from pixelbrax.training.config import (
    TrainConfig,
    check_types,
    config_from,
    is_of_any_task,
    load_config,
    load_preset,
    preset_names,
    preset_table,
    read_toml,
    read_toml_file,
)
from pixelbrax.training.env_config import TABLES, EnvConfig, camera_of
from pixelbrax.training.evaluation import (
    EVALUATION,
    MAX_EPISODES,
    Evaluation,
    Evaluator,
    Policy,
    check_metrics,
    kind_of,
)
from pixelbrax.training.files import as_json, replace_text, writing
from pixelbrax.training.hooks import Hook, register_hook
from pixelbrax.training.lock import locked
from pixelbrax.training.named_values import words_of
from pixelbrax.training.processes import (
    Processes,
    agree_on,
    checkpoints_of,
    clips_of,
    joined,
    of_the_first,
    own_folder,
    own_progress,
    removed_if_lost,
    settings_of,
    stop_others,
    to_go_on,
)
from pixelbrax.training.progress import Progress
from pixelbrax.training.run_dir import (
    BEST,
    HELD_OUT,
    REPORT,
    TEACHER,
    RunDir,
    check_unused,
    make_folder,
    natural,
    runs_in,
    unused_path,
)
from pixelbrax.training.signals import interruptible, last_stop, stop_requests
from pixelbrax.training.software import provenance
from pixelbrax.training.starting_policy import check_start, takeover
from pixelbrax.training.statistics import (
    Center,
    interval,
    iqm,
    mean_interval,
    over_runs,
    over_tasks,
    probability_of_improvement,
    share_above,
)
from pixelbrax.training.stopwatch import TOTAL, read_timings, write_timings
from pixelbrax.training.trainer import MAX_AGENTS, Trainer
from pixelbrax.training.training_run import TrainingRun

__all__ = [
    "BEST",
    "EVALUATION",
    "HELD_OUT",
    "MAX_AGENTS",
    "MAX_EPISODES",
    "REPORT",
    "TABLES",
    "TEACHER",
    "TOTAL",
    "ActingHook",
    "Center",
    "EnvConfig",
    "Evaluation",
    "Evaluator",
    "Hook",
    "Interval",
    "Policy",
    "Processes",
    "Progress",
    "RunDir",
    "TrainConfig",
    "Trainer",
    "TrainingRun",
    "agree_on",
    "all_checkpoints",
    "as_json",
    "build",
    "camera_of",
    "check_memory",
    "check_metrics",
    "check_start",
    "check_teacher",
    "check_types",
    "check_unused",
    "checkpoints_of",
    "clips_of",
    "config_from",
    "interruptible",
    "interval",
    "iqm",
    "is_of_any_task",
    "joined",
    "kind_of",
    "last_stop",
    "load_config",
    "load_preset",
    "locked",
    "make_folder",
    "mean_interval",
    "natural",
    "of_the_first",
    "over_runs",
    "over_tasks",
    "own_folder",
    "own_progress",
    "preset_names",
    "preset_table",
    "probability_of_improvement",
    "process_start",
    "provenance",
    "read_timings",
    "read_toml",
    "read_toml_file",
    "register_hook",
    "removed_if_lost",
    "replace_text",
    "resolved",
    "runs_in",
    "settings_of",
    "share_above",
    "stop_others",
    "stop_requests",
    "takeover",
    "to_go_on",
    "unused_path",
    "words_of",
    "write_timings",
    "writing",
]
