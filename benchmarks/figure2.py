"""Steps per second of environments with pixels, by number of environments: Figure 2 of arXiv 2502.00021, in one run.

Usage: python benchmarks/figure2.py --python PATH [--num-envs 1 10 100 1000] [--seconds 4] [--json FILE]

The baseline is the DeepMind Control Suite with MuJoCo's engine and renderer on the CPU: dm_control alone, one
environment after another, and through Gymnasium's vectorized environments, as in the paper. Both run in a separate
interpreter, given by --python, and need libOSMesa or libEGL:

  pip install dm_control==1.0.50 mujoco==3.17.0 gymnasium==1.4.0 shimmy==2.0.1 imageio packaging

All render 64x64 color images from the task's own camera. The suite has no ant; its quadruped is used instead. A step is
one control step of the task (simulated seconds differ). Gymnasium runs one process per environment, up to `PROCESSES`
(more do not fit into an ordinary machine's memory); beyond that it is not measured.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

# No other imports here: this file also runs in the peers' interpreter.

TASKS = {
    "halfcheetah": ("cheetah", "run"),
    "ant": ("quadruped", "run"),
    "walker2d": ("walker", "run"),
    "humanoid": ("humanoid", "run"),
}
SIZE, PROCESSES = 64, 10


def _steps_per_second(step: Any, num_envs: int, seconds: float) -> float:
    step()
    calls, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds or not calls:
        step()
        calls += 1
    return calls * num_envs / elapsed


def dm_control(task: str, num_envs: int, seconds: float) -> float:
    """One environment after another, each with its image."""
    import numpy as np

    suite = importlib.import_module("dm_control.suite")
    envs = [suite.load(*TASKS[task], task_kwargs={"random": i}) for i in range(num_envs)]
    rng, low, high = np.random.default_rng(0), envs[0].action_spec().minimum, envs[0].action_spec().maximum
    for env in envs:
        env.reset()

    def step() -> None:
        for env in envs:
            env.step(rng.uniform(low, high))
            env.physics.render(SIZE, SIZE, camera_id=0).sum()

    return _steps_per_second(step, num_envs, seconds)


def gymnasium(task: str, num_envs: int, seconds: float) -> float:
    """One process per environment, through Shimmy's wrapper of dm_control."""
    gym: Any = importlib.import_module("gymnasium")

    def one() -> Any:
        gym.register_envs(importlib.import_module("shimmy"))
        domain, name = TASKS[task]
        picture = {"height": SIZE, "width": SIZE, "camera_id": 0}
        env = gym.make(f"dm_control/{domain}-{name}-v0", render_mode="rgb_array", render_kwargs=picture)
        return gym.wrappers.AddRenderObservation(env, render_only=True)

    envs = gym.vector.AsyncVectorEnv([one] * num_envs, context="spawn")
    pixels, _ = envs.reset(seed=0)
    assert pixels.shape == (num_envs, SIZE, SIZE, 3), pixels.shape

    def step() -> None:
        envs.step(envs.action_space.sample())[0].sum()

    result = _steps_per_second(step, num_envs, seconds)
    envs.close()
    return result


PEERS = {"dm_control": dm_control, "gymnasium": gymnasium}


def _peer(python: str, peer: str, task: str, num_envs: int, seconds: float) -> dict[str, Any]:
    """One measurement of a peer, or the reason why there is none."""
    if peer == "dm_control" and num_envs > 1:
        return {"reason": "as with one: it steps one after the other"}
    if num_envs > PROCESSES:
        return {"reason": f"not measured: a process each, {PROCESSES} at most"}
    command = [python, __file__, "--worker", peer, task, str(num_envs), str(seconds)]
    env = os.environ | {"MUJOCO_GL": os.environ.get("MUJOCO_GL", "osmesa")}
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return {"reason": "it hung"}
    if done.returncode:
        return {"reason": (done.stderr.strip().splitlines() or ["it crashed"])[-1]}
    return {"steps_per_second": round(float(done.stdout.split()[-1]), 1)}


def main() -> None:
    """Prints a table, and writes it with versions and machine if requested."""
    if sys.argv[1:2] == ["--worker"]:
        peer, task, num_envs, seconds = sys.argv[2:]
        print(PEERS[peer](task, int(num_envs), float(seconds)))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="interpreter that has dm_control, gymnasium and shimmy")
    parser.add_argument("--task", "--env", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--num-envs", nargs="+", type=int, default=[1, 10, 100, 1000])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()

    import pixelbrax
    from pixelbrax.cli.bench_env import measure
    from pixelbrax.training import provenance

    rows = []
    for task in args.task:
        env = pixelbrax.make(task, image_size=SIZE, frame_stack=1)
        for num_envs in args.num_envs:
            results: dict[str, dict[str, Any]] = {"ours": measure(env, num_envs, args.seconds)}
            results |= {peer: _peer(args.python, peer, task, num_envs, args.seconds) for peer in PEERS}
            for renderer, result in results.items():
                rows.append({"env": task, "num_envs": num_envs, "system": renderer, **result})
                print(task, num_envs, renderer, result.get("steps_per_second", result.get("reason")), flush=True)
    if args.json:
        args.json.write_text(json.dumps({"provenance": provenance(), "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
