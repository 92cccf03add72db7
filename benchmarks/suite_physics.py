"""How `dmc/*` differs from the DeepMind Control Suite: settings, and what equal actions lead to and earn.

Usage: python benchmarks/suite_physics.py --python PATH [--task TASK ...] [--json FILE]

The suite runs in a separate interpreter, given by --python (pip install dm_control==1.0.50 mujoco==3.17.0). From its
initial states and with its actions, ours is simulated twice: with MuJoCo Playground's constants, and with
physics="suite". `docs/tasks.md` has the tables; one task represents all with its model.
"""

import argparse
import importlib
import os
import subprocess
import tempfile
from collections.abc import Callable
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
CALM = 10  # steps whose rewards and observations are compared: later ones differ as positions do
STATES, SCALES = 600, ((0.1, 0.1), (0.5, 1), (1, 10), (1, 30))  # of positions and velocities, in turn


def reference(file: Path) -> None:
    """Writes the suite's episodes and settings."""
    suite = importlib.import_module("dm_control.suite")
    kept: dict[str, np.ndarray] = {}
    for task, (domain, name) in TASKS.items():
        env, rng = suite.load(domain, name, task_kwargs={"random": 0}), np.random.default_rng(0)
        data, spec = env.physics.data, env.action_spec()
        episodes: dict[str, list[Any]] = {key: [] for key in ("qpos", "qvel", "action", "earned", "seen", "target")}
        for _ in range(EPISODES):
            env.reset()
            states, actions = [(data.qpos.copy(), data.qvel.copy())], rng.uniform(-1, 1, (LENGTH, *spec.shape))
            steps = []
            for action in actions:
                step = env.step(action)
                steps.append((step.reward, np.hstack(list(step.observation.values()))))
                states.append((data.qpos.copy(), data.qvel.copy()))
            found = (*zip(*states, strict=True), actions, *zip(*steps, strict=True), target(env))
            for key, values in zip(episodes, found, strict=True):
                episodes[key].append(values)
        kept |= {f"{task}/{key}": np.array(values) for key, values in episodes.items()}
        kept[f"{task}/settings"] = np.array(list(settings(env.physics.model.opt, env.control_timestep()).values()))
        kept[f"{task}/steps"] = np.array(env._step_limit)
        kept |= {f"{task}/{key}": values for key, values in rewards(env, rng).items()}
        kept[f"{task}/some_target"] = np.tile(target(env), (STATES, 1))
    np.savez(file, **kept)  # pyright: ignore[reportArgumentType]


def target(env: Any) -> np.ndarray:
    """Where the geom or site `target` is in its body, in m; zeros if there is none. Those that move are the world's."""
    model = env.physics.model
    for places, kind in ((model.geom_pos, "geom"), (model.site_pos, "site")):
        if "target" in [model.id2name(i, kind) for i in range(len(places))]:
            return places[model.name2id("target", kind)].copy()
    return np.zeros(3)


def rewards(env: Any, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """States about initial ones, slow and fast, and the suite's rewards of them; a target stays where it is."""
    data, env_task = env.physics.data, env.task
    env.reset()
    start, found = data.qpos.copy(), {"some_qpos": [], "some_qvel": [], "some_ctrl": [], "reward": []}
    for number in range(STATES):
        far, fast = SCALES[number % len(SCALES)]
        qpos = start + rng.normal(size=start.shape) * far
        qvel, ctrl = rng.normal(size=data.qvel.shape) * fast, rng.uniform(-1, 1, data.ctrl.shape)
        with env.physics.reset_context():
            data.qpos[:], data.qvel[:], data.ctrl[:] = qpos, qvel, ctrl
        env.physics.forward()
        values = (data.qpos.copy(), data.qvel.copy(), data.ctrl.copy(), env_task.get_reward(env.physics))
        for key, value in zip(found, values, strict=True):
            found[key].append(value)
    return {key: np.array(values) for key, values in found.items()}


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
    """Our settings, and the largest differences of a position and of a state's reward from the suite's."""
    import jax
    from mujoco import mjx

    import pixelbrax

    made: Any = pixelbrax.make(f"dmc/{task}", physics=physics, outputs=())  # pyright: ignore
    env = made.physics._env  # pyright: ignore

    def placed(state: Any, qpos: Any, qvel: Any, ctrl: Any, target: Any) -> Any:
        data = state.data.replace(qpos=qpos, qvel=qvel, ctrl=ctrl)
        if env.mj_model.nmocap:
            data = data.replace(mocap_pos=data.mocap_pos.at[0].set(target))
        return state.replace(data=mjx.forward(env.mjx_model, data))

    def play(state: Any, qpos: Any, qvel: Any, actions: Any, target: Any) -> Any:
        def step(state: Any, action: Any) -> Any:
            state = env.step(state, action)
            return state, (state.data.qpos, state.reward, state.obs)

        return jax.lax.scan(step, placed(state, qpos, qvel, actions[0], target), actions)[1]

    def reward(state: Any, qpos: Any, qvel: Any, ctrl: Any, target: Any) -> Any:
        state = placed(state, qpos, qvel, ctrl, target)
        return env._get_reward(state.data, ctrl, state.info, state.metrics)

    def each(fun: Callable[..., Any], *names: str) -> Any:
        values = (there[name].astype(np.float32) for name in names)
        first = jax.jit(env.reset)(jax.random.PRNGKey(0))
        return jax.tree.map(np.asarray, jax.jit(jax.vmap(fun, (None, 0, 0, 0, 0)))(first, *values))

    with jax.default_matmul_precision("highest"):
        qpos, earned, seen = each(play, "first_qpos", "first_qvel", "action", "target")
        ours = each(reward, "some_qpos", "some_qvel", "some_ctrl", "some_target")
    apart = np.abs(qpos - there["qpos"][:, 1:]).max((0, 2))
    return {
        "settings": settings(env.mj_model.opt, env.dt),
        "apart": {str(steps): float(apart[:steps].max()) for steps in AFTER},
        "reward_apart": float(np.abs(ours - there["reward"]).max()),
        "earned_apart": float(np.abs(earned - there["earned"])[:, :CALM].max()),
        "seen_apart": float(np.abs(seen - there["seen"])[:, :CALM].max()),
        "steps": round(made.episode_length * made.physics.dt / env.dt),
    }


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
        there = {key.split("/")[1]: value for key, value in kept.items() if key.split("/")[0] == task}
        there |= {f"first_{key}": there[key][:, 0] for key in ("qpos", "qvel")}
        ours = {name: compare(task, physics, there) for name, physics in (("playground", None), ("suite", "suite"))}
        names = ours["suite"]["settings"]
        suite = dict(zip(names, there["settings"].tolist(), strict=True))
        steps, reward = int(there["steps"]), [float(there["reward"].min()), float(there["reward"].max())]
        rows.append({"env": f"dmc/{task}", "dm_control": suite, "steps": steps, "rewards": reward, **ours})
        parted = "; ".join(f"{name} {list(row['apart'].values())}" for name, row in ours.items())
        same = "as dm_control" if suite == names else f"NOT dm_control's {suite}"
        kinds = ("reward_apart", "earned_apart", "seen_apart")
        rewards = f"rewards, earned, seen {[[row[kind] for kind in kinds] for row in ours.values()]} of {reward}"
        print(f"{task}: apart after {AFTER} steps: {parted}; {rewards}; settings {same}", flush=True)
        write_rows(args.json, rows)


if __name__ == "__main__":
    main()
