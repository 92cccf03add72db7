"""The life of an experiment: training, evaluation, policies and data, from Python and from the command line."""

from pixelbrax.experiments.acting import RANDOM, PolicyLike, evaluate
from pixelbrax.experiments.actors import policy_actor, random_actor
from pixelbrax.experiments.api import train
from pixelbrax.experiments.comparison import Comparison
from pixelbrax.experiments.datasets import Dataset, check_dataset_folder, load_dataset, rollout
from pixelbrax.experiments.diagnosis import Protocol, diagnose, engines_of
from pixelbrax.experiments.diagnosis_report import diagnosis_facts, drift_table, drift_title, write_diagnosis
from pixelbrax.experiments.drifts import QUANTITIES
from pixelbrax.experiments.environments import check_same_env, config_of
from pixelbrax.experiments.finish import finish, record_videos
from pixelbrax.experiments.launch import Launch, resume, seeds, start
from pixelbrax.experiments.measure import check_output, numbers, pixel_checksum, rate, rates, write_rows
from pixelbrax.experiments.names import check_name, file_name, name_of, settings_file
from pixelbrax.experiments.plotting import is_named, plot_run, plot_runs, readable_runs, sound_runs
from pixelbrax.experiments.policies import Policy, check_fits, policy_of
from pixelbrax.experiments.reports import add_saliency, write_comparison, write_report
from pixelbrax.experiments.runs import Run, RunGroup, Video, load_policy, open_run
from pixelbrax.experiments.saliency import gradient_map, occlusion_map, saliency_of
from pixelbrax.experiments.stages import (
    CurriculumRun,
    chosen,
    curriculum_names,
    default_name,
    is_curriculum,
    last_folder,
    load_curriculum,
    resume_curriculum,
    start_curriculum,
    train_curriculum,
    write_curriculum_report,
)
from pixelbrax.experiments.trajectories import Trajectories

__all__ = [
    "QUANTITIES",
    "RANDOM",
    "Comparison",
    "CurriculumRun",
    "Dataset",
    "Launch",
    "Policy",
    "PolicyLike",
    "Protocol",
    "Run",
    "RunGroup",
    "Trajectories",
    "Video",
    "add_saliency",
    "check_dataset_folder",
    "check_fits",
    "check_name",
    "check_output",
    "check_same_env",
    "chosen",
    "config_of",
    "curriculum_names",
    "default_name",
    "diagnose",
    "diagnosis_facts",
    "drift_table",
    "drift_title",
    "engines_of",
    "evaluate",
    "file_name",
    "finish",
    "gradient_map",
    "is_curriculum",
    "is_named",
    "last_folder",
    "load_curriculum",
    "load_dataset",
    "load_policy",
    "name_of",
    "numbers",
    "occlusion_map",
    "open_run",
    "pixel_checksum",
    "plot_run",
    "plot_runs",
    "policy_actor",
    "policy_of",
    "random_actor",
    "rate",
    "rates",
    "readable_runs",
    "record_videos",
    "resume",
    "resume_curriculum",
    "rollout",
    "saliency_of",
    "seeds",
    "settings_file",
    "sound_runs",
    "start",
    "start_curriculum",
    "train",
    "train_curriculum",
    "write_comparison",
    "write_curriculum_report",
    "write_diagnosis",
    "write_report",
    "write_rows",
]
