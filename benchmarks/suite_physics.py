"""How the physics of `dmc/*` diverges from the DeepMind Control Suite's: settings, and positions after equal actions.

Usage: python benchmarks/suite_physics.py --python PATH [--task TASK ...] [--json FILE]

The suite runs in a separate interpreter, given by --python (pip install dm_control==1.0.50 mujoco==3.17.0). From its
initial states and with its actions, ours is simulated twice: with MuJoCo Playground's constants, and with
physics="suite". `docs/tasks.md` has the table; one task represents all with its model.
"""

import argparse
import importlib
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

# No other imports here: this file also runs in the suite's interpreter.

TASKS = {
    "acrobot_swingup": ("acrobot", "swingup"),
    "ball_in_cup": ("ball_in_cup", "catch"),
    "cartpole_swingup": ("cartpole", "swingup"),
    "cheetah_run": ("cheetah", "run"),
    "finger_spin": ("finger", "spin"),
    "finger_turn_easy": ("finger", "turn_easy"),
    "fish_swim": ("fish", "swim"),
    "hopper_hop": ("hopper", "hop"),
    "humanoid_run": ("humanoid", "run"),
    "pendulum_swingup": ("pendulum", "swingup"),
    "point_mass": ("point_mass", "easy"),
    "reacher_easy": ("reacher", "easy"),
    "swimmer_swimmer6": ("swimmer", "swimmer6"),
    "walker_walk": ("walker", "walk"),
}
EPISODES, LENGTH, AFTER = 4, 40, (1, 10, 40)  # AFTER: steps at which positions are compared


def reference(file: Path) -> None:
    """Writes the suite's episodes and settings."""
    suite = importlib.import_module("dm_control.suite")
    kept: dict[str, np.ndarray] = {}
    for task, (domain, name) in TASKS.items():
        env, rng = suite.load(domain, name, task_kwargs={"random": 0}), np.random.default_rng(0)
        data, spec = env.physics.data, env.action_spec()
        episodes: dict[str, list[Any]] = {"qpos": [], "qvel": [], "action": []}
        for _ in range(EPISODES):
            env.reset()
            states, actions = [(data.qpos.copy(), data.qvel.copy())], rng.uniform(-1, 1, (LENGTH, *spec.shape))
            for action in actions:
                env.step(action)
                states.append((data.qpos.copy(), data.qvel.copy()))
            for key, values in zip(episodes, (*zip(*states, strict=True), actions), strict=True):
                episodes[key].append(values)
        kept |= {f"{task}/{key}": np.array(values) for key, values in episodes.items()}
        kept[f"{task}/settings"] = np.array(list(settings(env.physics.model.opt, env.control_timestep()).values()))
    np.savez(file, **kept)  # pyright: ignore[reportArgumentType]


def settings(opt: Any, control_dt: float) -> dict[str, float]:
    """Settings that Playground's port may change: seconds, counts, MuJoCo's integrator and cone, and a flag."""
    eulerdamp = 1 << 15  # mjDSBL_EULERDAMP
    return {
        "control_dt": control_dt,
        "timestep": opt.timestep,
        "integrator": int(opt.integrator),
        "iterations": opt.iterations,
        "ls_iterations": opt.ls_iterations,
        "cone": int(opt.cone),
        "eulerdamp": int(not opt.disableflags & eulerdamp),
    }


def compare(task: str, physics: str | None, there: dict[str, np.ndarray]) -> dict[str, Any]:
    """Our settings, and the largest difference of a position from the suite's, by the number of steps."""
    import jax
    import jax.numpy as jnp
    from mujoco import mjx

    import pixelbrax

    env: Any = pixelbrax.make(f"dmc/{task}", physics=physics, outputs=()).physics._env  # pyright: ignore
    substeps = env.n_substeps

    def play(qpos: Any, qvel: Any, actions: Any) -> Any:
        data = mjx.make_data(env.mj_model, impl="jax").replace(qpos=qpos, qvel=qvel)

        def step(data: Any, action: Any) -> Any:
            def frame(data: Any, _: None) -> Any:
                return mjx.step(env.mjx_model, data.replace(ctrl=action)), None

            data = jax.lax.scan(frame, data, None, length=substeps)[0]
            return data, data.qpos

        return jax.lax.scan(step, mjx.forward(env.mjx_model, data), actions)[1]

    start = (there["qpos"][:, 0], there["qvel"][:, 0], there["action"])
    with jax.default_matmul_precision("highest"):
        qpos = jax.jit(jax.vmap(play))(*(jnp.asarray(x, jnp.float32) for x in start))
    apart = np.abs(np.asarray(qpos) - there["qpos"][:, 1:]).max((0, 2))
    found = {str(steps): float(apart[:steps].max()) for steps in AFTER}
    return {"settings": settings(env.mj_model.opt, env.dt), "apart": found}


def main() -> None:
    """Prints a line for each model, or writes the reference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="interpreter that has dm_control")
    parser.add_argument("--task", "--env", nargs="+", default=list(TASKS), choices=list(TASKS), metavar="TASK")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--reference", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.reference:
        reference(args.reference)
        return
    from pixelbrax.cache import enable_compilation_cache
    from pixelbrax.experiments.measure import write_rows

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "suite.npz"
        command = [args.python, __file__, "--reference", str(file)]
        subprocess.run(command, check=True, env=os.environ | {"MUJOCO_GL": "disabled", "PYTHONPATH": ""})
        kept = dict(np.load(file))
    enable_compilation_cache()
    rows: list[dict[str, Any]] = []
    for task in args.task:
        there = {key: kept[f"{task}/{key}"] for key in ("qpos", "qvel", "action", "settings")}
        ours = {name: compare(task, physics, there) for name, physics in (("playground", None), ("suite", "suite"))}
        names = ours["suite"]["settings"]
        suite = dict(zip(names, there["settings"].tolist(), strict=True))
        rows.append({"env": f"dmc/{task}", "dm_control": suite, **ours})
        parted = "; ".join(f"{name} {list(row['apart'].values())}" for name, row in ours.items())
        same = "as dm_control" if suite == names else f"NOT dm_control's {suite}"
        print(f"{task}: apart after {AFTER} steps: {parted}; settings with physics='suite' {same}", flush=True)
        write_rows(args.json, rows)


if __name__ == "__main__":
    main()
