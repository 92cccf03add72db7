"""`pixelbrax bench env`: the cost of a step of a batch of environments, split into physics, rendering and the rest."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import tyro
from jaxtyping import Array

from pixelbrax.cli.parse import parse
from pixelbrax.envs import PixelEnv, State, check_fits_device, make
from pixelbrax.experiments import check_output, numbers, rates, write_rows
from pixelbrax.render import render
from pixelbrax.xla import program_cost

_STEPS = 20  # in one call of a compiled program


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax bench env`."""

    task: Annotated[str, tyro.conf.arg(aliases=["--env"])] = "halfcheetah,humanoid"
    """Tasks, separated by commas."""
    backend: str | None = None
    """Physics engine; by default each task's own."""
    num_envs: str = "256"
    """Batch sizes, separated by commas."""
    size: int = 64
    """Height and width of the image, pixels."""
    frame_stack: int = 3
    """Frames in an observation."""
    seconds: float = 3.0
    """Seconds of measurement for each part of each row."""
    json: Path | None = None
    """JSON file for the results, with versions and machine."""


def main(argv: list[str]) -> int:
    """Prints a table, and writes it to --json if given."""
    about = "Measures steps per second of whole environments, and splits a step into physics, rendering and the rest."
    args = parse(Args, argv, "bench env", about)
    check_output(args.seconds, args.json)
    batches = numbers("num-envs", args.num_envs)
    settings: dict[str, Any] = {"image_size": args.size, "frame_stack": args.frame_stack}
    envs = {name: make(name, args.backend, **settings) for name in args.task.split(",")}
    for env in envs.values():
        check_fits_device(max(batches), env.bytes_per_env)
    print(
        f"{'env':<26} {'envs':>6} {'steps/s':>9} {'us/step':>9} {'physics':>8} {'render':>8} {'rest':>8} "
        f"{'KB/env':>8} {'compile s':>10}"
    )
    rows = []
    for name, env in envs.items():
        for num_envs in batches:
            row = {"env": name, "size": args.size, "num_envs": num_envs, **measure(env, num_envs, args.seconds)}
            rows.append(row)
            whole = row["seconds_per_step"]
            shares = [f"{row[part] / whole:>8.0%}" for part in ("physics_seconds", "render_seconds", "rest_seconds")]
            print(
                f"{name:<26} {num_envs:>6} {row['steps_per_second']:>9,} {1e6 * whole / num_envs:>9.1f} "
                f"{' '.join(shares)} {row['bytes_per_env'] / 1000:>8.1f} {row['compile_seconds']:>10.1f}",
                flush=True,
            )
            write_rows(args.json, rows)
    return 0


def measure(env: PixelEnv, num_envs: int, seconds: float) -> dict[str, Any]:
    """One row of the table: random actions, and episodes of all ages.

    Nothing need read the pixels: the observation is carried from step to step, and XLA computes what a loop carries.

    The rest is what a step takes beyond physics and rendering measured alone: stacking frames, resets, bookkeeping. It
    may be negative where the two share work.
    """

    def actions(key: Array) -> Array:
        return jax.random.uniform(key, (num_envs, env.action_size), minval=-1, maxval=1)

    def whole(state: State, key: Array) -> tuple[State, Array]:
        state = jax.vmap(env.step)(state, actions(key))
        return state, jnp.sum(state.reward)

    def physics(state: State, key: Array) -> tuple[State, Array]:
        stepped = jax.vmap(env.physics.step)(state.physics, actions(key))
        return replace(state, physics=stepped), jnp.sum(stepped.obs)

    height, width = env.images.shape

    def draw(state: State) -> Array:
        return render(*env.render_inputs(state), height, width).rgb

    keys = jax.random.split(jax.random.key(0), num_envs)
    state = jax.block_until_ready(jax.jit(jax.vmap(env.reset))(keys))
    ages = jax.random.randint(jax.random.key(1), (num_envs,), 0, env.episode_length)
    state = replace(state, info=state.info | {"steps": ages})

    start = time.perf_counter()
    program = _scanned(whole).lower(state, jax.random.key(0)).compile()
    compile_seconds = time.perf_counter() - start
    memory = program.memory_analysis()
    drawing = jax.jit(jax.vmap(draw))
    calls = [_steps(program, state), _steps(_scanned(physics), state), lambda: drawing(state)]
    of_whole, of_physics, of_drawing = rates(calls, seconds)
    whole_seconds, physics_seconds, render_seconds = 1 / of_whole / _STEPS, 1 / of_physics / _STEPS, 1 / of_drawing
    return {
        "steps_per_second": round(num_envs / whole_seconds),
        "seconds_per_step": whole_seconds,
        "physics_seconds": physics_seconds,
        "render_seconds": render_seconds,
        "rest_seconds": whole_seconds - physics_seconds - render_seconds,
        "bytes_per_env": round((memory.temp_size_in_bytes + memory.output_size_in_bytes) / num_envs) if memory else 0,
        "kernels": round(program_cost(program)["kernels"] / _STEPS),
        "compile_seconds": round(compile_seconds, 1),
    }


def _scanned(step: Callable[[Any, Array], tuple[Any, Array]]) -> Any:
    return jax.jit(lambda state, key: jax.lax.scan(step, state, jax.random.split(key, _STEPS)))


def _steps(program: Callable[..., tuple[Any, Array]], state: State) -> Callable[[], Array]:
    """`_STEPS` steps of all environments together, whose states carry over from call to call."""
    latest = [state]

    def call() -> Array:
        latest[0], total = program(latest[0], jax.random.key(0))
        return total

    return call
