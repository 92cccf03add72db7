"""`pixelbrax bench train`: steps per second of training, and an update's shares of acting and learning."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
from jaxtyping import Array, PyTree

from pixelbrax.cli.parse import parse
from pixelbrax.envs import State
from pixelbrax.experiments import check_output, rate, write_rows
from pixelbrax.learning import AgentState
from pixelbrax.training import TrainConfig, build, check_memory, load_preset
from pixelbrax.xla import compiler_options, program_cost


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax bench train`."""

    preset: str = "ppo-cpu"
    """Presets, separated by commas."""
    seconds: float = 10.0
    """Seconds of measurement for each part of each row, at least one update."""
    json: Path | None = None
    """JSON file for the results, with versions and machine."""


def main(argv: list[str]) -> int:
    """Prints a table, and writes it to --json if given."""
    about = "Measures steps per second of training, and splits an update into acting and learning."
    args = parse(Args, argv, "bench train", about)
    check_output(args.seconds, args.json)
    configs = {name: load_preset(name) for name in args.preset.split(",")}
    for config in configs.values():
        if (teacher := build(config)[1].teacher) is not None:
            teacher.load()  # raises where there is none, before anything is compiled
    print(f"{'preset':<20} {'envs':>6} {'steps/s':>9} {'us/step':>9} {'acting':>8} {'learning':>8} {'compile s':>10}")
    rows = []
    for name, config in configs.items():
        row = {"preset": name, "num_envs": config.agent.num_envs, **measure(config, args.seconds)}
        rows.append(row)
        whole, acting = row["seconds_per_update"], row["acting_seconds"] / row["seconds_per_update"]
        print(
            f"{name:<20} {config.agent.num_envs:>6} {row['steps_per_second']:>9,} "
            f"{1e6 * whole / config.agent.steps_per_update:>9.1f} {acting:>8.0%} {1 - acting:>8.0%} "
            f"{row['compile_seconds']:>10.1f}",
            flush=True,
        )
        write_rows(args.json, rows)
    return 0


def measure(config: TrainConfig, seconds: float) -> dict[str, Any]:
    """One row of the table: whole updates, auxiliary phases included, and beside them the same policy only acting."""
    env, agent = build(config)
    check_memory(config, agent)
    phase = getattr(config.agent, "policy_iterations", 1)
    state: AgentState = jax.jit(agent.init)(jax.random.key(config.seed))

    @jax.jit
    def act(variables: tuple[PyTree, PyTree], envs: State, key: Array) -> State:
        def step(envs: State, key: Array) -> tuple[State, None]:
            policy = agent.policy(*variables, envs.obs)
            return jax.vmap(env.step)(envs, policy.action(policy.sample(key))), None

        return jax.lax.scan(step, envs, jax.random.split(key, config.agent.unroll_length))[0]

    def updates(state: AgentState) -> AgentState:
        return jax.lax.scan(lambda state, _: (agent.update(state)[0], None), state, None, length=phase)[0]

    envs = [state.envs]

    def keep_acting() -> Array:
        envs[0] = act(state.variables, envs[0], jax.random.key(0))
        return envs[0].reward

    acting_seconds = 1 / rate(keep_acting, seconds)
    start = time.perf_counter()
    program = jax.jit(updates, donate_argnums=0, compiler_options=compiler_options()).lower(state).compile()
    compile_seconds = time.perf_counter() - start
    latest = [state]

    def keep_learning() -> Array:
        latest[0] = program(latest[0])
        return latest[0].num_updates

    update_seconds = 1 / rate(keep_learning, seconds) / phase
    return {
        "steps_per_second": round(config.agent.steps_per_update / update_seconds),
        "seconds_per_update": update_seconds,
        "acting_seconds": acting_seconds,
        "kernels": round(program_cost(program)["kernels"] / phase),
        "compile_seconds": round(compile_seconds, 1),
    }
