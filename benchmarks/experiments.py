"""Trains the runs of an experiment, one after another, and collects them: `results/cpu-EXPERIMENT.json`.

Usage: python benchmarks/experiments.py EXPERIMENT [--runs DIR] [--only PATTERN] [--list | --again]

A run that is in --runs already is resumed if it was interrupted, and kept if it is complete: after a break, give the
same command again. One of other settings, as they were before a preset changed, is refused. A run whose row the file
has, of the same options, is not trained again, so that an experiment can be shared among days and machines; --again
looks at --runs only, and so does another run that begins with it. Seconds count only on a machine with nothing beside
it.
"""

import argparse
import fnmatch
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from learning import summarize

from pixelbrax.cli.settings import read
from pixelbrax.cli.train import Args
from pixelbrax.generalization import GEN_V2
from pixelbrax.training import RunDir, TrainConfig, load_preset
from pixelbrax.training.files import as_json

RESULTS = Path(__file__).parent / "results"
SEEDS = (100, 101, 102)  # never those that settings were chosen on


@dataclass(frozen=True)
class Run:
    """Runs of one setting.

    Attributes:
      name: of their folders, followed by the seed.
      options: of `pixelbrax train`; {runs} is the folder of all runs, {seed} the seed.
      seeds: one run each.
      teacher: further options of the teacher NAME-sSEED-teacher, where the run names that one.
    """

    name: str
    options: str
    seeds: tuple[int, ...] = SEEDS
    teacher: str = ""


_APG_ON = "--algorithm apg --num-envs 16 --unroll-length 16 --initial-std 0.3 --backend"
_APG = f"{_APG_ON} spring"
_APG_SHORT = "--algorithm apg --num-envs 64 --unroll-length 4 --initial-std 0.3 --backend spring"
_PPO = "--algorithm ppo --num-envs 64 --unroll-length 32 --backend spring --obs state --critic state"
_PENDULUM = "--env inverted_pendulum --num-steps 200000"
_FEW = "--env inverted_pendulum --num-steps 51200"
_CHEETAH = "--env halfcheetah --num-steps 200000"
_REACHER = "--env reacher --episode-length 200 --num-steps 150000 --reward-scale 0.2"
_EARLIER = "--preset ppo-cpu --discount 0.98 --reward-scale 0.05"  # before ppo-cpu had a longer view
_TEACHER = f"{_EARLIER} --obs state --critic state --num-envs 128 --num-steps 800000"
_WALKER = (  # before walker2d-state-cpu took more gradient steps
    "--env walker2d --obs state --critic state --action-repeat 4 --num-envs 128 --num-minibatches 8 --discount 0.99"
)
_PIXELS = "--image-size 48 --grayscale --frame-stack 3"
# Small images: through the picture every pixel costs.
_APG_TINY = f"{_APG_SHORT} --image-size 24 --grayscale --frame-stack 3 {_CHEETAH} --reward-scale 0.1"
_SHORT = "--num-steps 204800 --eval-interval 50"
_EVAL = "--eval-episodes 128"
_VIDEO = "--distractors pixelbrax/video --eval-distractors pixelbrax/video@test"
# Videos that fade in by quarters, each after 32 whole episodes that return 1,000, and twice the steps of the optimizer.
_FADE = (
    "--num-minibatches 32 --max-grad-norm 3 --difficulty-measure return --threshold-up 1000 --difficulty-step 0.25 "
    "--difficulty-episodes 32"
)
_LONG = "--num-steps 2662400 --eval-interval 130"
_WIDE = "--patch-features 32 --conv-features 64 64 --features 256"  # the network of walker2d-cpu and ant-cpu
# With phases of 40,960 actions, and PPO's settings else.
_PHASES = "--policy-epochs 3 --auxiliary-epochs 2 --auxiliary-minibatches 64"
_PPG = "--algorithm ppg --value-epochs 4"
_DCPG = "--algorithm dcpg --critic shared"  # as in its paper; without, that of PixelBrax's authors
# 500,000 frames of the suite, its teacher's among them, each action held for two, as in DrQ-v2.
_SUITE = f"--preset suite-cpu {_EVAL}"
_SPIN = "--pink-noise --num-atoms 1 --no-layer-norm --target-std 0.09"  # of its teacher: the critic of SAC's paper


def _transfer(task: str) -> tuple[Run, ...]:
    """Students of a task under videos, from scratch and from HalfCheetah's encoders, with the teachers of `tasks`."""
    student = f"--preset {task}-cpu --num-steps 204800 --eval-interval 50 {_VIDEO} {_EVAL}"
    student += f" --teacher {{runs}}/{task}-s{{seed}}-teacher"
    runs = [Run(f"{task}-scratch", student), Run(f"{task}-random-frozen", f"{student} --freeze-encoder")]
    for encoder in ("plain", "video"):
        started = f"{student} --start-from {{runs}}/encoder-{encoder}-s{{seed}} --start-part encoder"
        runs += [Run(f"{task}-{encoder}-tuned", started)]
        runs += [Run(f"{task}-{encoder}-frozen", f"{started} --freeze-encoder")]
    return tuple(runs)


# PixelBraxGen-v2-lite: what each task needs beside the algorithm's preset.
_LITE = {
    "halfcheetah": "--discount 0.99 --reward-scale 0.03",
    "inverted_pendulum": "--discount 0.99 --reward-scale 0.03 --initial-std 0.3",
}
_LOOKS = "--distractors severity/combined-3:scenes"


def _lite(task: str) -> tuple[Run, ...]:
    """Baselines of PixelBraxGen-v2-lite: with and without shifted images, trained plainly and with random looks."""
    actions = {"ppo": 204_800, "dcpg": 196_608}  # whole log intervals
    return tuple(
        Run(
            f"lite-{algorithm}{shift and '-shift'}-{track}-{task}",
            f"--preset {algorithm}-cpu --env {task} --num-steps {actions[algorithm]} --no-grayscale --no-initial-eval "
            f"{_LITE[task]} {shift} {looks}",
        )
        for algorithm in actions
        for shift in ("", "--random-shift 2")
        for track, looks in (("plain", ""), ("looks", _LOOKS))
    )


def _full(task: str) -> tuple[Run, ...]:
    """The same of PixelBraxGen-v2, for a GPU. Not yet run on one; settings that a task needs are to be found there."""
    at = GEN_V2.environment(task, "plain")
    environment = f"--env {task} --backend {at.backend} --action-repeat {at.action_repeat}"
    environment += f" --episode-length {at.episode_length}" + (f" --physics {at.physics}" if at.physics else "")
    return tuple(
        Run(
            f"gen-{algorithm}{shift and '-shift'}-{track}-{task.replace('/', '-')}",
            f"--preset {algorithm}-gpu {environment} {shift}"
            + (f" --distractors {' '.join(distractors)}" if distractors else ""),
            tuple(range(100, 105)),
        )
        for algorithm in ("ppo", "dcpg")
        for shift in ("", "--random-shift 3")
        for track, distractors in GEN_V2.tracks.items()
    )


EXPERIMENTS: dict[str, tuple[Run, ...]] = {
    # `make demo`: a teacher, which is trained first, and its student.
    "demo": (Run("demo", f"--preset demo {_EVAL}", tuple(range(100, 110))),),
    # From pixels by reward alone, without and with videos, and what else the same settings reach.
    "learning": (
        Run("ppo", f"--preset ppo-cpu {_EVAL}", tuple(range(100, 105))),
        Run("ppo-state", f"--preset ppo-cpu --obs state --critic state --eval-interval 200 {_EVAL}"),
        Run("ppo-blind", f"--preset ppo-cpu --blind {_EVAL}"),
        Run("ppg", f"--preset ppg-cpu {_EVAL}"),
        Run("dcpg", f"--preset dcpg-cpu {_EVAL}"),
        Run("ppo-video", f"--preset ppo-cpu --num-steps 798720 {_VIDEO} {_EVAL}"),
        Run("ppg-video", f"--preset ppg-cpu {_VIDEO} {_EVAL}"),
        Run("dcpg-video", f"--preset dcpg-cpu {_VIDEO} {_EVAL}"),
        Run("pendulum", f"--preset pendulum-cpu {_EVAL}"),
    ),
    # The paper's four tasks by rewards alone, with states while they learn, without and with videos; and from states.
    "rewards": tuple(
        run
        for task, from_states, rollouts in (
            ("halfcheetah", "--preset halfcheetah-ppo-cpu --obs state --state-coef 0", 20),
            ("walker2d", "--preset walker2d-state-cpu --num-steps 2457600", 20),
            ("ant", "--preset ant-ppo-cpu --obs state --state-coef 0", 4),
            ("humanoid", "--preset humanoid-ppo-cpu --obs state --state-coef 0", 10),
        )
        for run in (
            Run(f"{task}-ppo", f"--preset {task}-ppo-cpu {_EVAL}"),
            Run(f"{task}-ppo-video", f"--preset {task}-ppo-cpu {_VIDEO} {_EVAL}"),
            Run(f"{task}-ppg", f"--preset {task}-ppo-cpu {_PHASES} --policy-iterations {rollouts} {_PPG} {_EVAL}"),
            Run(f"{task}-dcpg", f"--preset {task}-ppo-cpu {_PHASES} --policy-iterations {rollouts} {_DCPG} {_EVAL}"),
            Run(
                f"{task}-dcpg-separate",
                f"--preset {task}-ppo-cpu {_PHASES} --policy-iterations {rollouts} --algorithm dcpg {_EVAL}",
            ),
            Run(f"{task}-ppo-state", f"{from_states} {_EVAL}"),
        )
    )
    + (  # one more task of Brax's, by the settings of another
        Run("hopper-ppo", f"--preset walker2d-ppo-cpu --env hopper {_EVAL}"),
        Run("hopper-ppo-state", f"--preset walker2d-ppo-cpu --env hopper --obs state --state-coef 0 {_EVAL}"),
    )
    + (  # on seed 100 it was chosen
        Run("ant-ppo-fade-video", f"--preset ant-ppo-cpu {_FADE} {_VIDEO} {_EVAL}", (101, 102)),
        Run("ant-ppo-long-video", f"--preset ant-ppo-cpu {_LONG} {_FADE} {_VIDEO} {_EVAL}", (101, 102)),
        Run("ant-ppo-long-state", f"--preset ant-ppo-cpu {_LONG} --obs state --state-coef 0 {_EVAL}", (101, 102)),
    ),
    # The paper's other tasks, each with a teacher of its own, without and with videos.
    "tasks": tuple(
        run
        for task, beside in (
            ("walker2d", "--no-grayscale "),
            ("ant", "--gradient-steps 48 --replay-size 262144 "),
            ("humanoid", "--num-steps 2457600 "),
        )
        for run in (
            Run(task, f"--preset {task}-cpu {_EVAL}"),
            Run(
                f"{task}-video",
                f"--preset {task}-cpu {beside}{_VIDEO} {_EVAL} --teacher {{runs}}/{task}-s{{seed}}-teacher",
            ),
        )
    ),
    # An encoder of HalfCheetah on Walker2d and Ant, under videos that it learnt with or without.
    "transfer": (
        Run("encoder-plain", f"--preset demo {_WIDE} {_EVAL}"),
        Run(
            "encoder-video",
            f"--preset demo {_WIDE} {_VIDEO} {_EVAL} --teacher {{runs}}/encoder-plain-s{{seed}}-teacher",
        ),
        *_transfer("walker2d"),
        *_transfer("ant"),
    ),
    # The DeepMind Control Suite's tasks with its own physics.
    "suite": tuple(
        Run(task, f"{_SUITE} --env dmc/{task}{further}", (101, 102, 103), teacher)  # on 100 settings were chosen
        for task, further, teacher in (
            ("cartpole_swingup", "", ""),
            ("reacher_easy", "", ""),
            ("finger_spin", " --teacher {runs}/finger_spin-s{seed}-teacher", _SPIN),
            ("walker_walk", "", ""),
            ("cheetah_run", "", ""),
        )
    ),
    "generalization": tuple(run for task in GEN_V2.task_names for run in _full(task)),
    "lite": tuple(run for task in _LITE for run in _lite(task)),
    "es": (Run("pendulum-es", "--preset es-cpu"),),
    # Off the policy beside PPO, at equal numbers of actions.
    "sac": (
        Run("pendulum-sac", "--preset sac-cpu --eval-interval 400"),
        Run("pendulum-ppo", f"--preset pendulum-cpu {_SHORT}"),
        Run("cheetah-sac", "--preset sac-cpu --env halfcheetah --eval-interval 400"),
        Run("cheetah-ppo", f"{_EARLIER} {_SHORT}"),
    ),
    # Through the physics beside PPO.
    "apg": (
        Run("pendulum-apg", f"{_APG} --obs state {_PENDULUM} --reward-scale 0.1"),
        Run("pendulum-ppo-state", f"{_PPO} {_PENDULUM} --discount 0.99 --reward-scale 0.03 --initial-std 0.3"),
        Run("reacher-apg", f"{_APG} --obs state {_REACHER}"),
        Run("reacher-ppo", f"{_PPO} {_REACHER}"),
        # From pixels, past the picture (D.Va).
        Run("pendulum-apg-pixels", f"{_APG} {_PIXELS} {_PENDULUM} --reward-scale 0.1"),
        Run("reacher-apg-pixels", f"{_APG} {_PIXELS} {_REACHER}"),
        Run(
            "pendulum-ppo-pixels",
            f"--preset ppo-cpu {_PENDULUM} --action-repeat 1 --discount 0.99 --reward-scale 0.03 --initial-std 0.3",
        ),
        Run("reacher-ppo-pixels", f"{_EARLIER} {_REACHER} --action-repeat 1 --discount 0.99 --initial-std 0.3"),
        # The engines.
        Run("reacher-apg-positional", f"{_APG_ON} positional --obs state {_REACHER}", (100,)),
        Run("reacher-apg-generalized", f"{_APG_ON} generalized --obs state {_REACHER}", (100,)),
        # Through the picture, in fewer steps: each takes many times as long.
        Run("pendulum-apg-through", f"{_APG} {_PIXELS} {_FEW} --reward-scale 0.1 --render-gradient pixels", (100,)),
        Run("pendulum-apg-past", f"{_APG} {_PIXELS} {_FEW} --reward-scale 0.1", (100,)),
        # A horizon over which its gradients are of use, by gradients.py.
        Run("cheetah-apg-short", f"{_APG_SHORT} --obs state {_CHEETAH} --reward-scale 0.1"),
        Run("cheetah-apg-pixels", f"{_APG_SHORT} {_PIXELS} {_CHEETAH} --reward-scale 0.1"),
        Run("cheetah-apg-past", _APG_TINY, (100,)),
        Run("cheetah-apg-through", f"{_APG_TINY} --render-gradient pixels", (100,)),
        Run("cheetah-ppo-state", f"{_PPO} {_CHEETAH}"),
    ),
    # Students of state teachers.
    "distillation": (
        Run("cheetah-teacher", _TEACHER, (100,)),
        Run("cheetah-student", "--preset distill-cpu --teacher {runs}/cheetah-teacher-s100"),
        Run(
            "cheetah-student-video",
            "--preset distill-cpu --teacher {runs}/cheetah-teacher-s100 --distractors pixelbrax/video "
            "--eval-distractors pixelbrax/video@test",
        ),
        Run("ant-teacher", "--preset ant-state-cpu", (100,)),
        Run("ant-student", "--preset ant-cpu --teacher {runs}/ant-teacher-s100"),
        Run("walker-teacher", _WALKER, (100,)),
        Run(
            "walker-student",
            "--preset distill-cpu --env walker2d --action-repeat 4 --num-steps 307200 "
            "--teacher {runs}/walker-teacher-s100",
        ),
    ),
}


def _each(experiment: str, pattern: str) -> Iterator[tuple[str, str]]:
    """Names and options of the runs."""
    for run in EXPERIMENTS[experiment]:
        for seed in run.seeds:
            name = f"{run.name}-s{seed}"
            if fnmatch.fnmatch(name, pattern):
                yield name, f"{run.options} --seed {seed}".replace("{seed}", str(seed))


def _options_of(name: str) -> str:
    """Options of a run of any experiment, or of the teacher that is trained beside one."""
    known = dict(pair for experiment in EXPERIMENTS for pair in _each(experiment, "*"))
    if name in known:
        return known[name]
    student = known[name.removesuffix("-teacher")]
    preset, seed = re.search(r"--preset (\S+).* --seed (\d+)", student).groups()  # pyright: ignore[reportOptionalMemberAccess]
    agent: Any = load_preset(preset).agent
    task = re.search(r"--env \S+", student)
    every = (run for runs in EXPERIMENTS.values() for run in runs)
    further = next(run.teacher for run in every if f"{run.name}-s{seed}-teacher" == name)
    return f"--preset {agent.teacher} {task.group() if task else ''} {further} {_EVAL} --seed {seed}"


def _complete(folder: Path) -> bool:
    """Whether a run has been trained to its end."""
    return (folder / "evaluation.json").exists() and "trained" in RunDir.open(folder).read_evaluations()


def _begun(folder: Path) -> bool:
    """Whether a run can be resumed; one that was stopped before its first checkpoint is removed."""
    if folder.exists() and not (folder / "checkpoint").exists():
        shutil.rmtree(folder)
    return folder.exists()


def _settings(config: TrainConfig) -> dict[str, Any]:
    """What of a run's settings must be as its options say; runs that it names are checked by themselves."""
    settings = asdict(config)
    settings["environment"] = asdict(config.environment.resolved())
    settings["agent"] |= {name: None for name in ("teacher", "teacher_updates") if name in settings["agent"]}
    named = (*TrainConfig.NEUTRAL, "start_from", "start_updates")
    return {name: value for name, value in settings.items() if name not in named}


def _check(folder: Path, options: str, runs: Path) -> None:
    """Refuses a folder that another experiment, or an older preset, has left there."""
    words = options.format(runs=runs).split()
    wanted = _settings(read(Args, words, "train", "").config)
    found = _settings(RunDir.open(folder).load_config())
    if apart := [name for name, value in wanted.items() if found[name] != value]:
        raise SystemExit(f"{folder} has other settings ({', '.join(apart)}) than {options}: remove it, or name --runs")


def _train(folder: Path, options: str, runs: Path) -> None:
    """Trains a run to its end, from where it stands, and before it the runs that it begins with."""
    complete = _complete(folder)  # perhaps without its checkpoints, which take room
    if complete or _begun(folder):
        _check(folder, options, runs)
    if complete:
        return
    for name in re.findall(r"\{runs\}/(\S+)", options):
        _train(runs / name, _options_of(name), runs)
    command = [sys.executable, "-m", "pixelbrax", "train"]
    teacher = runs / f"{folder.name}-teacher"  # where a preset is the teacher
    if _begun(folder):
        command += ["--resume", str(folder)]
    else:
        command += [*options.format(runs=runs).split(), "--runs", str(runs), "--name", folder.name]
        if _begun(teacher):  # interrupted in between
            _train(teacher, _options_of(teacher.name), runs)
            command += ["--teacher", str(teacher)]
    print(" ".join(command[3:]), flush=True)
    subprocess.run(command, check=True)


def _read(file: Path) -> dict[str, dict]:
    """The rows of a file, by the names of their runs."""
    return {row["run"]: row for row in json.loads(file.read_text())["rows"]} if file.exists() else {}


def _collect(folder: Path, options: str) -> list[dict]:
    """The rows of a run and of the teacher that was trained beside it; keeps the run's curve."""
    shutil.copy(folder / "metrics.csv", RESULTS / "curves" / f"{folder.name}.csv")
    teacher = folder.with_name(f"{folder.name}-teacher")
    rows = [summarize(RunDir.open(path)) for path in (folder, teacher) if path.exists()]
    return [row | {"options": options} for row in rows]


def main() -> None:
    """Trains, and writes the file after each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the runs")
    parser.add_argument("--only", default="*", help="pattern of their names, such as 'pendulum-*'")
    parser.add_argument("--list", action="store_true", help="print the runs instead of training them")
    parser.add_argument("--again", action="store_true", help="also train the runs whose rows the file has")
    args = parser.parse_args()
    file = RESULTS / f"cpu-{args.experiment}.json"
    for name, options in _each(args.experiment, args.only):
        if args.list:
            print(name, options)
        elif args.again or _read(file).get(name, {}).get("options") != options:
            _train(args.runs / name, options, args.runs)
            rows = _read(file) | {row["run"]: row for row in _collect(args.runs / name, options)}
            every = [name for run, _ in _each(args.experiment, "*") for name in (run, f"{run}-teacher")]
            file.write_text(as_json({"rows": [rows[name] for name in every if name in rows]}))


if __name__ == "__main__":
    main()
