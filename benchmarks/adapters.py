"""Steps per second through the interfaces of other libraries, beside our own loop and beside others' environments.

Usage: python benchmarks/adapters.py [--num-envs 1 64 256] [--seconds 3] [--rounds 3] [--json FILE]

All interfaces show the same environment, halfcheetah with one 64x64 image, with random actions. "own loop" calls the
compiled step of all environments from Python and waits for its images; "scan" runs ten steps in one compiled program,
as training does. After a warm-up they take turns, and ratios are taken within a round.

Others' environments, one each: Gymnasium's HalfCheetah-v5 and dm_control's cheetah with MuJoCo's images, TorchRL's
GymEnv with `from_pixels`, and TorchRL's BraxEnv without images. One that is missing or fails is listed with the reason:

  pip install dm_control==1.0.50    # and libOSMesa or libEGL; MUJOCO_GL chooses

The second table is that of TorchRL's page on BraxEnv: milliseconds for `rollout(100)` of ant on Brax's engine
"generalized", its default, beside BraxEnv itself.
"""

import argparse
import json
import os
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("MUJOCO_GL", "osmesa")

import jax
import jax.numpy as jnp
import numpy as np
import torch
from tqdm import tqdm

import pixelbrax
from pixelbrax.adapters.brax import as_brax
from pixelbrax.adapters.dm_env import PixelBraxDmEnv
from pixelbrax.adapters.gymnasium import PixelBraxVectorEnv
from pixelbrax.adapters.gymnax import PixelBraxGymnax
from pixelbrax.adapters.stable_baselines3 import PixelBraxVecEnv
from pixelbrax.adapters.torchrl import PixelBraxEnv, PixelBraxWrapper
from pixelbrax.training import provenance

TASK, SIZE, SCANNED = "halfcheetah", 64, 10
ROLLOUT, BATCHES = 100, (4, 16, 128)
Step = Callable[[], Any]
"""Steps all environments once and waits for the result."""


def _random_actions(num_envs: int, size: int) -> Callable[[], np.ndarray]:
    rng = np.random.default_rng(0)
    return lambda: rng.uniform(-1, 1, (num_envs, size)).astype(np.float32)


def _own_loop(env: pixelbrax.PixelEnv, num_envs: int) -> Step:
    step, actions = jax.jit(jax.vmap(env.step)), _random_actions(num_envs, env.action_size)
    state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), num_envs))

    def once() -> None:
        nonlocal state
        state = jax.block_until_ready(step(state, actions()))

    return once


def _scan(env: pixelbrax.PixelEnv, num_envs: int) -> Step:
    @jax.jit
    def steps(state: Any, actions: jax.Array) -> Any:
        following = jax.lax.scan(lambda s, a: (jax.vmap(env.step)(s, a), None), state, actions)[0]
        return following, jnp.sum(following.obs["pixels"], dtype=jnp.uint32)

    actions = _random_actions(SCANNED * num_envs, env.action_size)
    state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), num_envs))

    def once() -> None:
        nonlocal state
        state, _ = jax.block_until_ready(steps(state, actions().reshape(SCANNED, num_envs, -1)))

    return once


def _gymnasium(arrays: Any) -> Callable[[pixelbrax.PixelEnv, int], Step]:
    def made(env: pixelbrax.PixelEnv, num_envs: int) -> Step:
        envs, actions = PixelBraxVectorEnv(env, num_envs, arrays=arrays), _random_actions(num_envs, env.action_size)
        envs.reset(seed=0)
        return lambda: jax.block_until_ready(envs.step(actions())[0])

    return made


def _stable_baselines3(env: pixelbrax.PixelEnv, num_envs: int) -> Step:
    envs, actions = PixelBraxVecEnv(env, num_envs), _random_actions(num_envs, env.action_size)
    envs.seed(0)
    envs.reset()
    return lambda: envs.step(actions())


def _torchrl(functional: bool) -> Callable[[pixelbrax.PixelEnv, int], Step]:
    def made(env: pixelbrax.PixelEnv, num_envs: int) -> Step:
        envs = PixelBraxWrapper(env, batch_size=[num_envs], functional=functional)
        return _of_torchrl(envs)

    return made


def _of_torchrl(envs: Any) -> Step:
    envs.set_seed(0)
    tensordict = envs.reset()

    def once() -> None:
        nonlocal tensordict
        _, tensordict = envs.step_and_maybe_reset(envs.rand_action(tensordict))

    return once


def _gymnax(env: pixelbrax.PixelEnv, num_envs: int) -> Step:
    envs, actions = PixelBraxGymnax(env), _random_actions(num_envs, env.action_size)
    step, keys = jax.jit(jax.vmap(envs.step)), jax.random.split(jax.random.key(0), num_envs)
    _, state = jax.jit(jax.vmap(envs.reset))(keys)

    def once() -> None:
        nonlocal state
        _, state, *_ = jax.block_until_ready(step(keys, state, actions()))

    return once


def _brax(env: pixelbrax.PixelEnv, num_envs: int) -> Step:
    from brax.envs.wrappers import training

    envs, actions = training.wrap(as_brax(env), episode_length=1000), _random_actions(num_envs, env.action_size)
    step = jax.jit(envs.step)
    state = jax.jit(envs.reset)(jax.random.split(jax.random.PRNGKey(0), num_envs))

    def once() -> None:
        nonlocal state
        state = jax.block_until_ready(step(state, actions()))

    return once


def _dm_env(env: pixelbrax.PixelEnv, num_envs: int) -> Step:
    assert num_envs == 1
    one, actions = PixelBraxDmEnv(env, seed=0), _random_actions(1, env.action_size)
    return lambda: one.step(actions()[0])


def _peer_gymnasium() -> Step:
    import gymnasium

    env = gymnasium.make("HalfCheetah-v5", render_mode="rgb_array", width=SIZE, height=SIZE)
    env = gymnasium.wrappers.AddRenderObservation(env, render_only=True)
    envs = gymnasium.vector.SyncVectorEnv([lambda: env])
    envs.reset(seed=0)
    return lambda: envs.step(envs.action_space.sample())


def _peer_dm_control() -> Step:
    from dm_control import suite  # pyright: ignore[reportMissingImports]

    env = suite.load("cheetah", "run", task_kwargs={"random": 0})
    actions = _random_actions(1, env.action_spec().shape[0])
    env.reset()

    def once() -> None:
        env.step(actions()[0])
        env.physics.render(SIZE, SIZE, camera_id=0).sum()

    return once


def _peer_gym_env() -> Step:
    from torchrl.envs import GymEnv

    return _of_torchrl(GymEnv("HalfCheetah-v5", from_pixels=True, pixels_only=True, width=SIZE, height=SIZE))


def _peer_brax_env() -> Step:
    from torchrl.envs import BraxEnv

    return _of_torchrl(BraxEnv(TASK))


OURS: dict[str, Callable[[pixelbrax.PixelEnv, int], Step]] = {
    "own loop": _own_loop,
    "scan": _scan,
    "Gymnasium, NumPy": _gymnasium("numpy"),
    "Gymnasium, JAX": _gymnasium("jax"),
    "Gymnasium, PyTorch": _gymnasium("torch"),
    "Stable-Baselines3": _stable_baselines3,
    "TorchRL": _torchrl(functional=False),
    "TorchRL, functional": _torchrl(functional=True),
    "gymnax": _gymnax,
    "Brax's wrappers": _brax,
    "dm_env": _dm_env,
}
PEERS: dict[str, Callable[[], Step]] = {
    "Gymnasium's HalfCheetah-v5 with images": _peer_gymnasium,
    "dm_control's cheetah with images": _peer_dm_control,
    "TorchRL's GymEnv with images": _peer_gym_env,
    "TorchRL's BraxEnv without images": _peer_brax_env,
}


def _rate(once: Step, seconds: float) -> float:
    """Calls per second."""
    calls, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds or not calls:
        once()
        calls += 1
    return calls / elapsed


def _compared(steps: dict[str, Step], num_envs: int, seconds: float, rounds: int) -> list[dict[str, Any]]:
    """Steps per second, and shares of the first's within each round."""
    for once in tqdm(steps.values(), desc=f"{num_envs} environments: compiling"):
        once()
        once()
    rates: dict[str, list[float]] = {name: [] for name in steps}
    for _ in tqdm(range(rounds), desc=f"{num_envs} environments: rounds"):
        for name, once in steps.items():
            rates[name].append(_rate(once, seconds) * num_envs * (SCANNED if name == "scan" else 1))
    first = rates[next(iter(steps))]
    return [
        {
            "system": name,
            "num_envs": num_envs,
            "steps_per_second": round(statistics.median(found), 1),
            "of_own_loop": round(statistics.median(a / b for a, b in zip(found, first, strict=True)), 3),
        }
        for name, found in rates.items()
    ]


def _adapters(numbers: list[int], seconds: float, rounds: int) -> list[dict[str, Any]]:
    env = pixelbrax.make(TASK, image_size=SIZE, frame_stack=1)
    rows = []
    for num_envs in numbers:
        steps = {name: make(env, num_envs) for name, make in OURS.items() if name != "dm_env" or num_envs == 1}
        failed = []
        for name, make in PEERS.items() if num_envs == 1 else ():
            try:
                steps[name] = make()
            except Exception as e:  # whatever another library raises is the reason why it is not measured
                failed.append({"system": name, "num_envs": 1, "reason": f"{type(e).__name__}: {e}".splitlines()[0]})
        rows += _compared(steps, num_envs, seconds, rounds) + failed
    return rows


def _rollouts(rounds: int) -> list[dict[str, Any]]:
    """Milliseconds for a rollout of ant, as on TorchRL's page on BraxEnv."""
    from torchrl.envs import BraxEnv

    def ours(**settings: Any) -> Callable[[int], Any]:
        return lambda batch: PixelBraxEnv("ant", backend="generalized", batch_size=[batch], **settings)

    systems: dict[str, Callable[[int], Any]] = {
        "BraxEnv": lambda batch: BraxEnv("ant", batch_size=[batch]),
        "ours": ours(),
        "ours, functional": ours(functional=True),
        "ours, with 64x64 images": ours(from_pixels=True),
    }
    rows = []
    for batch in BATCHES:
        envs = {name: make(batch) for name, make in systems.items()}
        for env in tqdm(envs.values(), desc=f"ant, batch {batch}: compiling"):
            env.set_seed(0)
            env.rollout(3, break_when_any_done=False)
        times: dict[str, list[float]] = {name: [] for name in envs}
        for _ in range(rounds):
            for name, env in envs.items():
                start = time.perf_counter()
                env.rollout(ROLLOUT, break_when_any_done=False)
                times[name].append(1000 * (time.perf_counter() - start))
        rows += [{"system": name, "batch": batch, "ms": round(statistics.median(x), 1)} for name, x in times.items()]
    return rows


def main() -> None:
    """Prints rows, and writes them with versions and machine if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-envs", nargs="+", type=int, default=[1, 64, 256])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    pixelbrax.enable_compilation_cache()
    results: dict[str, Any] = {"provenance": provenance(), "task": TASK}
    for part, measured in (
        ("rows", lambda: _adapters(args.num_envs, args.seconds, args.rounds)),
        ("rollouts", lambda: _rollouts(args.rounds)),
    ):
        results[part] = measured()
        for row in results[part]:
            print(*row.values(), sep="\t", flush=True)
        if args.json:
            args.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
