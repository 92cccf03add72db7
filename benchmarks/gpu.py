"""All GPU benchmarks, the most valuable first, within a time budget.

Usage: python benchmarks/gpu.py --budget-seconds N --out FOLDER [--archive FILE] [--tiny] [--only STEP ...]
           [--warm STEP ...] [--teachers FOLDER]

First come, all at once, the steps that time nothing and every program's compilation, which takes processors and hardly
any of the GPU; JAX's cache hands the programs to the steps that measure, which follow one by one, alone. Each step is
a separate process that writes its file as it goes, and is stopped where its budget ends: partial results are kept, and
are in the archive, which is rewritten after every step. `--tiny` rehearses on a CPU in a few minutes.

On a machine that is lent for fifteen minutes in all, its start included, two calls are enough for what is not known
yet: loops over meshes, of which the hand's count, Humanoid's images, agreement; then SAC on `dmc/cheetah_run` for seven
minutes (or distractors and the other learners' updates). The second must follow within half a minute, or the machine
and its cache of programs are gone: prepare all, change nothing in between, and rehearse in a bare environment
(`gpu_pack.sh` names what it must hold). Of the working tree, leave behind docs, tests, notebooks and benchmarks/results
(delete them, uncommitted: the results' "+changes" is then only that). Processors are what is short: on an H200's 16
all programs of a run compile within 41 seconds alone; those of three runs at once in 52 to 102; 23 processes were
hardly done within 215, and of five the two with the most programs (images of two tasks, loops over meshes) not in 100.

  carry .whl/site.tar.xz: unpack, then (PYTHONPATH=src:/tmp/site) gpu.py --out /tmp/r --archive $OUT/results.tar.gz
    --budget-seconds 330 --only mesh-loops render-its-flags agreement
  the same: --out /tmp/r2 --archive $OUT/results2.tar.gz --budget-seconds 420 --only train-sac
    (or --only train-bfloat16 distractors train-split-others)

Students learn of teachers that are carried there (--teachers .whl/teachers; `pixelbrax train --preset
walker2d-state-cpu --name walker2d`, so of ant and humanoid: 20 minutes of two cores). They take three times the
preset's gradient steps, with which Ant's on a CPU came much nearer to its teacher; no GPU has timed that.

In a longer loan of ten minutes a call, each with a budget of 570 seconds: the others. Peers need Warp, which is carried
in two parts, a call each.

To keep the results, here of an H200:

  tar xf results.tar.gz -C /tmp/r
  for f in /tmp/r/*.json; do cp $f benchmarks/results/h200-$(basename $f); done
  python benchmarks/learning.py /tmp/r/runs/* --json benchmarks/results/h200-learning.json

Then `benchmarks/tables.py` fills the tables of docs/gpu.md, or names the first marker that is missing there.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import NamedTuple

from pixelbrax.cli.xla_flags import with_gpu_flags

HERE = Path(__file__).parent


class Step(NamedTuple):
    """A command and its time limit, as a share of the budget; "{out}" stands for the folder.

    `warm` are commands that compile the same programs, or the start of the same: they run before, with all others'.
    A step that times nothing is run `beside` them. "{teachers}" stands for the folder of students' teachers.
    """

    name: str
    command: str
    tiny: str
    share: float
    xla_flags: str = ""
    warm: tuple[str, ...] = ()
    beside: bool = False


def each(template: str, values: str) -> tuple[str, ...]:
    """The template with "{each}" replaced by every one of the values, which commas separate."""
    return tuple(template.replace("{each}", value) for value in values.split(","))


WARM_SHARE = 0.5  # of the budget, at most, for what runs at once
PROFILED = "update:ppo-gpu render:halfcheetah render:humanoid step:halfcheetah step:humanoid"
TRAIN = "-m pixelbrax train --runs {out}/runs --eval-episodes 128 --no-report --no-video --preset"
WARM_TRAIN = TRAIN.replace("{out}/runs", "{out}/warm --num-steps 1")
HELD_OUT = "--eval-distractors pixelbrax/video@test"
STUDENT = f"{TRAIN} distill-gpu --num-steps 2000000 --gradient-steps 96 --eval-interval 48 --no-initial-eval {HELD_OUT}"
DISTRACTED = "pixelbrax/video pixelbrax/color dcs/hard dmcgb/video_hard dmcgb/color_hard new/storm filter/blur"
VIDEO = f"--distractors pixelbrax/video {HELD_OUT}"
TINY_TRAIN = (
    "-m pixelbrax train --runs {out}/runs --no-report --no-video --task halfcheetah --backend spring --image-size 16 "
    "--num-envs 8 --unroll-length 4 --num-steps 128 --log-interval 2 --episode-length 20 --eval-episodes 2"
)
STEPS = (
    Step(
        "agreement",
        "benchmarks/agreement.py --jobs 7 --json {out}/agreement.json",
        "benchmarks/agreement.py --task halfcheetah --num-envs 4 --size 16 --jobs 2 --json {out}/agreement.json",
        0.6,
        beside=True,
    ),
    Step(
        "render",
        "-m pixelbrax bench render --task halfcheetah,walker2d,ant,humanoid --size 64 --num-envs 4096,16384,256 "
        "--seconds 0.5 --json {out}/render.json",
        "-m pixelbrax bench render --task halfcheetah --size 16 --num-envs 2 --seconds 0.1 --json {out}/render.json",
        0.25,
        warm=each(
            "-m pixelbrax bench render --task {each} --size 64 --num-envs 4096,16384,256 --seconds 0.001",
            "halfcheetah,walker2d,ant,humanoid",
        ),
    ),
    *(  # what the command line's flags of XLA are worth
        Step(
            f"render-{name}-flags",
            "-m pixelbrax bench render --task halfcheetah,humanoid --size 64 --num-envs 4096 --seconds 1 "
            f"--json {{out}}/render-{name}-flags.json",
            "",
            0.05,
            flags,
        )
        for name, flags in (
            ("its", ""),
            ("other", "--xla_backend_extra_options=-nvptx-fma-level=0 --xla_gpu_ftz=false"),
        )
    ),
    Step(
        "render-shadows",
        "-m pixelbrax bench render --task halfcheetah,humanoid --size 64 --num-envs 4096 --shadows --seconds 1 "
        "--json {out}/render-shadows.json",
        "",
        0.05,
    ),
    Step(
        "render-outputs",
        "-m pixelbrax bench render --task halfcheetah,humanoid --size 64 --num-envs 4096 "
        "--outputs rgb,depth,segmentation --seconds 1 --json {out}/render-outputs.json",
        "",
        0.05,
    ),
    Step(
        "render-samples",
        "-m pixelbrax bench render --task halfcheetah,humanoid --size 64 --num-envs 4096 --samples 4 --seconds 1 "
        "--json {out}/render-samples.json",
        "",
        0.05,
    ),
    Step(  # what is not installed there is listed as missing
        "peers",
        "benchmarks/peers.py --task halfcheetah humanoid --num-envs 4096 --peer warp --seconds 3 "
        "--limit 90 --json {out}/peers.json",
        "benchmarks/peers.py --task halfcheetah --num-envs 2 --size 16 --peer warp --seconds 0.1 "
        "--json {out}/peers.json",
        0.5,
    ),
    Step(
        "peers-meshes",
        "benchmarks/peers.py --task shadow_hand --num-envs 1024 --peer warp --seconds 3 --limit 90 "
        "--json {out}/peers-meshes.json",
        "",
        0.4,
    ),
    Step(
        "mesh-loops",
        "benchmarks/mesh_loops.py --json {out}/mesh-loops.json",
        "benchmarks/mesh_loops.py --num-envs 2 4 --size 32 --seconds 0.1 --as-accelerator --json {out}/mesh-loops.json",
        0.3,
        warm=("benchmarks/mesh_loops.py --seconds 0.001",),
    ),
    Step(
        "environment",
        "-m pixelbrax bench env --task halfcheetah --backend spring --num-envs 4096,16384,1024,128,1 --seconds 0.5 "
        "--json {out}/environment.json",
        "-m pixelbrax bench env --task halfcheetah --num-envs 2 --size 16 --seconds 0.1 --json {out}/environment.json",
        0.3,
        warm=each(
            "-m pixelbrax bench env --task halfcheetah --backend spring --num-envs {each} --seconds 0.001",
            "4096,16384,1024,128,1",
        ),
    ),
    Step(
        "kernels",
        f"benchmarks/kernels.py {PROFILED} --json {{out}}/kernels.json --dump {{out}}/profiles",
        "benchmarks/kernels.py render:halfcheetah step:halfcheetah --num-envs 2 --size 16 --seconds 0.1 "
        "--json {out}/kernels.json",
        0.3,
        warm=each("benchmarks/kernels.py {each} --seconds 0.001 --calls 1", PROFILED.replace(" ", ",")),
    ),
    Step(  # hardware counters of the renderer's kernels, by Nsight Compute
        "counters",
        "ncu --clock-control none --profile-from-start off --csv --page details --log-file {out}/counters.csv "
        "--section SpeedOfLight --section LaunchStats --section Occupancy --section WarpStateStats "
        "--section InstructionStats --section ComputeWorkloadAnalysis --section MemoryWorkloadAnalysis "
        "{python} benchmarks/kernels.py render:halfcheetah render:humanoid --once",
        "",
        0.2,
    ),
    Step(
        "update-bfloat16",
        "benchmarks/kernels.py update:ppo-gpu update:ppo-gpu:bfloat16 --json {out}/update-bfloat16.json",
        "",
        0.3,
    ),
    Step(
        "environment-others",
        "-m pixelbrax bench env --task humanoid,ant,walker2d --backend spring --num-envs 4096 --seconds 0.5 "
        "--json {out}/environment-others.json",
        "",
        0.3,
        warm=each(
            "-m pixelbrax bench env --task {each} --backend spring --num-envs 4096 --seconds 0.001",
            "humanoid,ant,walker2d",
        ),
    ),
    Step(
        "distractors",
        f"benchmarks/distractors.py --num-envs 4096 --only {DISTRACTED} --json {{out}}/distractors.json",
        "benchmarks/distractors.py --num-envs 2 --size 16 --only pixelbrax/color --json {out}/distractors.json",
        0.3,
        warm=each("benchmarks/distractors.py --num-envs 4096 --only {each}", DISTRACTED.replace(" ", ",")),
    ),
    Step(
        "train-video",
        f"{TRAIN} ppo-gpu --name video --eval-interval 96 {VIDEO}",
        TINY_TRAIN + " --name video --distractors pixelbrax/video",
        0.5,
        warm=(f"{WARM_TRAIN} ppo-gpu --name video --eval-interval 96 {VIDEO}",),
    ),
    Step(
        "train-split",
        "-m pixelbrax bench train --preset ppo-gpu --seconds 2 --json {out}/train-split.json",
        "",
        0.2,
        warm=("-m pixelbrax bench train --preset ppo-gpu --seconds 0.001",),
    ),
    Step(  # what the same bits from the same seed cost
        "train-split-any-bits",
        "-m pixelbrax bench train --preset ppo-gpu --seconds 2 --json {out}/train-split-any-bits.json",
        "",
        0.2,
        "--xla_gpu_exclude_nondeterministic_ops=false",
        warm=("-m pixelbrax bench train --preset ppo-gpu --seconds 0.001",),
    ),
    Step(
        "train-split-others",
        "-m pixelbrax bench train --preset dcpg-gpu,ppg-gpu --seconds 2 --json {out}/train-split-others.json",
        "",
        0.4,
        warm=each("-m pixelbrax bench train --preset {each} --seconds 0.001", "dcpg-gpu,ppg-gpu"),
    ),
    Step(
        "train-state",
        f"{TRAIN} halfcheetah-state --num-steps 20000000",
        "",
        0.2,
    ),
    Step("train-bfloat16", f"{TRAIN} ppo-gpu --name bfloat16 --dtype bfloat16 --eval-interval 192 {VIDEO}", "", 0.5),
    Step("train-dcpg", f"{TRAIN} dcpg-gpu --name dcpg {VIDEO}", "", 0.3),
    Step("train-ppg", f"{TRAIN} ppg-gpu --name ppg {VIDEO}", "", 0.3),
    Step("train-ant", f"{TRAIN} ppo-gpu --name ant --task ant {VIDEO}", "", 0.3),
    Step("train-walker2d", f"{TRAIN} ppo-gpu --name walker2d --task walker2d {VIDEO}", "", 0.3),
    Step(  # target: cheetah_run at least 700 within 10 minutes, 800 within 30, 850 within 60
        "train-sac",
        f"{TRAIN} sac-gpu --name sac --eval-interval 80 --eval-episodes 64",
        TINY_TRAIN + " --algorithm sac --replay-size 128 --random-steps 16 --gradient-steps 2 --name sac",
        1.0,
    ),
    Step("train-teacher", f"{TRAIN} halfcheetah-state --name teacher --num-steps 20000000", "", 0.3),
    Step(  # after train-teacher, in the same folder
        "train-distill",
        f"{TRAIN} distill-gpu --name distill --teacher {{out}}/runs/teacher {HELD_OUT}",
        "",
        0.5,
    ),
    Step(  # Ant's teacher with more entropy than Brax's setting: one that a student can follow
        "train-teacher-ant",
        f"{TRAIN} ant-state --name teacher-ant --entropy-coef 0.05 --num-steps 20000000",
        "",
        0.3,
    ),
    Step(
        "train-distill-ant",
        f"{TRAIN} distill-gpu --name distill-ant --task ant --teacher {{out}}/runs/teacher-ant {HELD_OUT}",
        "",
        0.5,
    ),
    *(  # of teachers that the CPU's presets have trained, NAME-state-cpu; they act as seldom as their teachers
        Step(
            f"student-{task}",
            f"{STUDENT} --name student-{task} --task {task} --action-repeat {repeat} --teacher {{teachers}}/{task}",
            "",
            1.0,
            beside=True,
        )
        for task, repeat in (("walker2d", 4), ("humanoid", 2), ("ant", 1))
    ),
    Step(
        "train-apg",
        f"{TRAIN} apg-gpu --name apg",
        TINY_TRAIN + " --algorithm apg --name apg",
        0.5,
    ),
    Step("split-sac-apg", "-m pixelbrax bench train --preset sac-gpu,apg-gpu --json {out}/split-sac-apg.json", "", 0.2),
)


def machine() -> dict[str, str]:
    """The GPU and its driver, as the driver reports them."""
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
        text = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return {"gpu": "none"}
    return dict(zip(("gpu", "driver", "memory"), text.splitlines()[0].split(", "), strict=True))


def start(command: str, log: Path, xla_flags: str = "") -> subprocess.Popen[bytes]:
    """Starts a command of this interpreter, or one in which "{python}" stands for it; output goes to `log`."""
    words = command.replace("{python}", sys.executable).split()
    flags = with_gpu_flags(" ".join([os.environ.get("XLA_FLAGS", ""), xla_flags]))  # as the command line has it
    with log.open("w") as output:
        return subprocess.Popen(
            words if "{python}" in command else [sys.executable, *words],
            cwd=HERE.parent,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"XLA_FLAGS": flags},
        )


def finish(process: subprocess.Popen[bytes], seconds: float) -> int | str:
    """The exit code, or "cut off" if the process had to be stopped after `seconds`."""
    try:
        return process.wait(max(seconds, 0))
    except subprocess.TimeoutExpired:
        process.terminate()  # `pixelbrax train` writes a checkpoint and its curve
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
        return "cut off"


def run(step: Step, out: Path, tiny: bool, seconds: float) -> dict[str, object]:
    """Runs a step for at most `seconds`; its output goes to a log file with its name."""
    begin = time.monotonic()
    command = (step.tiny if tiny else step.command).replace("{out}", str(out))
    try:
        code = finish(start(command, out / f"{step.name}.log", step.xla_flags), seconds)
    except OSError as e:  # a profiler that is not installed
        code = str(e)
    return {"step": step.name, "exit": code, "seconds": round(time.monotonic() - begin, 1)}


def run_at_once(beside: list[Step], warm: list[Step], out: Path, tiny: bool, seconds: float) -> list[dict[str, object]]:
    """Runs the steps that time nothing, and beside them compiles others' programs; only the former are results."""
    begin, logs = time.monotonic(), out / "warm"
    logs.mkdir(exist_ok=True)
    jobs = [(step.name, step.tiny if tiny else step.command, out, step) for step in beside]
    jobs += [(f"{step.name}-{i}", command, logs, step) for step in warm for i, command in enumerate(step.warm)]
    started = [start(c.replace("{out}", str(out)), to / f"{name}.log", step.xla_flags) for name, c, to, step in jobs]
    ends: dict[str, float] = {}
    while len(ends) < len(jobs) and time.monotonic() < begin + seconds:
        time.sleep(0.2)
        for (name, *_), process in zip(jobs, started, strict=True):
            if process.poll() is not None:
                ends.setdefault(name, round(time.monotonic() - begin, 1))
    for process in started:
        process.terminate()  # all at once, those that have not ended: each takes its time to stop
    codes = [finish(process, 0 if name in ends else 25) for (name, *_), process in zip(jobs, started, strict=True)]
    done: list[dict[str, object]] = []
    for (name, *_, step), code in zip(jobs, codes, strict=True):
        ended = {"exit": code, "seconds": ends[name]} if name in ends else {"exit": "cut off", "seconds": seconds}
        done.append({"step": name, **ended} if step.beside else {"step": name, **ended, "warm": True})
    return done


def archive(out: Path, file: Path) -> None:
    """Packs all results into one file, except checkpoints, videos, profiles and what only compiled."""
    apart = {"checkpoint", "profiles", "warm"}
    with tarfile.open(file.with_suffix(".part"), "w:gz") as tar:
        for path in sorted(out.rglob("*")):
            if path.is_file() and apart.isdisjoint(path.parts) and path.suffix != ".mp4":
                tar.add(path, path.relative_to(out))
    file.with_suffix(".part").replace(file)


def main() -> int:
    """Runs the steps; the exit code is 1 if one of them failed by itself."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget-seconds", type=float, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--archive", type=Path)
    parser.add_argument("--tiny", action="store_true")
    names = [step.name for step in STEPS]
    parser.add_argument("--only", nargs="+", choices=names)
    parser.add_argument("--warm", nargs="+", choices=names, default=[], help="steps of a later call to compile for")
    parser.add_argument("--cold", action="store_true", help="compile nothing beforehand: an earlier call has")
    parser.add_argument(
        "--teachers", type=Path, default=Path("teachers"), help="folder of runs: walker2d, ant, humanoid"
    )
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + args.budget_seconds
    report: dict[str, object] = {"machine": machine(), "budget_seconds": args.budget_seconds}
    steps = [step for step in STEPS if (not args.only or step.name in args.only) and (step.tiny or not args.tiny)]
    warm = [] if args.cold or args.tiny else [step for step in STEPS if step in steps or step.name in args.warm]
    beside = [
        step._replace(command=step.command.replace("{teachers}", str(args.teachers.absolute())))
        for step in steps
        if step.beside
    ]
    done = run_at_once(beside, warm, args.out.absolute(), args.tiny, args.budget_seconds * WARM_SHARE)
    print(*done, sep="\n", flush=True)
    for step in [None, *(step for step in steps if not step.beside)]:
        seconds = min(args.budget_seconds * step.share, end - time.monotonic()) if step else 0.0
        if step and seconds > 1:
            done.append(run(step, args.out.absolute(), args.tiny, seconds))
            print(done[-1], flush=True)
        (args.out / "report.json").write_text(json.dumps(report | {"steps": done}, indent=2) + "\n")
        if args.archive:
            archive(args.out, args.archive)
    failed = [result["exit"] for result in done if result["exit"] not in (0, "cut off")]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
