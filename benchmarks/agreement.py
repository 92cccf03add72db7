"""Whether an accelerator renders what the CPU renders, and reproduces its own results bit for bit.

Usage: python benchmarks/agreement.py [--task halfcheetah ...] [--num-envs 64] [--size 64] [--jobs 1] [--json F]

Both take one step from the same states, some of which end an episode or begin one, and their images are compared:
segmentation pixel by pixel, colors where it agrees. Then the accelerator plays the same episodes twice. The first task
is also compared with distractors, and a robot of meshes (see `meshes.py`) in random postures. Finally the accelerator
trains twice. With `--jobs` rows are made side by side, each
in a process of its own: most of their time is the compiler's.
"""

import argparse
import hashlib
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import meshes
import numpy as np

import pixelbrax
from pixelbrax.cache import enable_compilation_cache
from pixelbrax.experiments.measure import write_rows
from pixelbrax.render import Camera, GeomPose, render
from pixelbrax.training import build, load_preset
from pixelbrax.xla import compiler_options

TASKS = ("halfcheetah", "ant", "walker2d", "humanoid")
LOOKS = ((), ("dcs/hard",), ("pixelbrax/video",))
WARM_UP, REPLAYED = 10, 40  # steps before the compared one; steps of the replay
UPDATES = 3
BACKEND = "spring"  # the engine whose steps should differ least


def compare(task: str, distractors: tuple[str, ...], num_envs: int, size: int) -> dict[str, Any]:
    """One row: shares of pixels that agree, and whether a replay is bit-identical."""
    env = pixelbrax.make(
        task, BACKEND, image_size=size, frame_stack=1, distractors=distractors, outputs=("pixels", "segmentation")
    )

    @jax.jit
    def act(state: Any, key: jax.Array) -> Any:
        action = jax.random.uniform(key, (num_envs, env.action_size), minval=-1, maxval=1)
        return jax.vmap(env.step)(state, action)

    def play(state: Any, key: jax.Array, steps: int) -> Iterator[Any]:
        for step in range(steps):
            state = act(state, jax.random.fold_in(key, step))
            yield state

    cpu, accelerator = jax.devices("cpu")[0], jax.devices()[0]
    key = jax.device_put(jax.random.key(0), cpu)
    state = jax.jit(jax.vmap(env.reset))(jax.random.split(key, num_envs))
    # Some are about to end an episode, and some to begin one.
    soon = env.episode_length - WARM_UP - 1 + jnp.arange(num_envs) % 4
    state = replace(state, info=state.info | {"steps": jnp.where(jnp.arange(num_envs) % 2 == 0, soon, 0)})
    *_, state = play(state, key, WARM_UP)
    there, here = (act(jax.device_put(state, d), jax.device_put(key, d)).obs for d in (cpu, accelerator))
    agreement = _agreement(*(jax.device_get((seen["pixels"], seen["segmentation"])) for seen in (there, here)))

    state, key = jax.device_put((state, key), accelerator)
    first, second = ([_digest((s.obs, s.reward, s.metrics)) for s in play(state, key, REPLAYED)] for _ in range(2))
    return {
        "env": task,
        "distractors": list(distractors),
        **agreement,
        "replay_same_bits": first == second,
    }


def compare_meshes(num_envs: int, size: int) -> dict[str, Any]:
    """One row: the same of a robot of meshes, which is rendered twice on the accelerator."""
    scene, *inputs = meshes.hand(num_envs, meshes.hand_model())

    @jax.jit
    def images(pose: GeomPose, camera: Camera) -> tuple[jax.Array, jax.Array]:
        frame = jax.vmap(lambda p, c: render(scene, p, c, size, size, ("rgb", "segmentation")))(pose, camera)
        return frame.rgb, frame.segmentation

    devices = (jax.devices("cpu")[0], jax.devices()[0], jax.devices()[0])
    there, here, again = (jax.device_get(images(*jax.device_put(inputs, device))) for device in devices)
    return {
        "env": "shadow hand",
        "distractors": [],
        **_agreement(there, here),
        "replay_same_bits": _digest(here) == _digest(again),
    }


def _agreement(there: tuple[np.ndarray, np.ndarray], here: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    """How far colors and segmentation agree; colors where the geom is the same."""
    same = there[1] == here[1]
    apart = np.abs(there[0].astype(int) - here[0].astype(int)).max(-1)[same]
    return {
        "same_geom": float(same.mean()),
        "color_within_2": float((apart <= 2).mean()),
        "color_largest": int(apart.max()),
    }


def learn_twice(num_envs: int, size: int) -> dict[str, Any]:
    """Whether training twice gives the same parameters."""
    preset = load_preset("ppo-gpu")
    seen, agent_config = preset.environment, replace(preset.agent, num_envs=num_envs, num_minibatches=4)
    _, agent = build(replace(preset, environment=replace(seen, image_size=size), agent=agent_config))
    init, update = jax.jit(agent.init), jax.jit(agent.update, compiler_options=compiler_options())

    def learnt() -> str:
        state = init(jax.random.key(0))
        for _ in range(UPDATES):
            state, *_ = update(state)
        return _digest(state.params)

    return {"preset": "ppo-gpu", "num_envs": num_envs, "updates": UPDATES, "same_bits": learnt() == learnt()}


def _digest(tree: Any) -> str:
    leaves = jax.tree.leaves(jax.device_get(tree))
    return hashlib.sha256(b"".join(np.ascontiguousarray(leaf).tobytes() for leaf in leaves)).hexdigest()


def main() -> None:
    """Prints a table, and writes it row by row if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", "--env", nargs="+", default=list(TASKS))
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=1, help="rows made at the same time")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    print(f"{'env':<14} {'distractors':<16} {'same geom':>10} {'color <= 2':>10} {'largest':>8}  replay")
    first, *others = args.task
    looks = [*((first, look) for look in LOOKS), *((other, ()) for other in others)]
    with ProcessPoolExecutor(args.jobs, multiprocessing.get_context("spawn"), enable_compilation_cache) as pool:
        for row in _rows(pool, looks, args):
            rows.append(row)
            print(_line(row), flush=True)
            write_rows(args.json, rows)


def _rows(pool: Executor, looks: list[tuple[str, tuple[str, ...]]], args: argparse.Namespace) -> Iterator[dict]:
    compared = [pool.submit(compare, task, look, args.num_envs, args.size) for task, look in looks]
    compared.append(pool.submit(compare_meshes, args.num_envs, args.size))
    for job in [*compared, pool.submit(learn_twice, args.num_envs, args.size)]:
        yield job.result()


def _line(row: dict[str, Any]) -> str:
    if "preset" in row:
        again = "same bits" if row["same_bits"] else "OTHER BITS"
        return f"learning twice, {UPDATES} updates of {row['preset']}: {again}"
    return (
        f"{row['env']:<14} {' '.join(row['distractors']) or '-':<16} {row['same_geom']:>10.4%} "
        f"{row['color_within_2']:>10.4%} {row['color_largest']:>8}  "
        f"{'same bits' if row['replay_same_bits'] else 'OTHER BITS'}"
    )


if __name__ == "__main__":
    main()
