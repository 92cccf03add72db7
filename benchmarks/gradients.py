"""What a gradient through the physics is worth: its agreement with, and its variance beside, the policy gradient's.

Usage: python benchmarks/gradients.py [--task halfcheetah ...] [--engine spring ...] [--json FILE]

Both estimate the derivative of a return by the mean of the actions, which are drawn around it as a policy draws them
(a standard deviation of 0.3), from states after 64 steps of such actions. One estimate is the derivative of a sample's
return through the physics; the other multiplies the rewards that follow an action, less their mean over samples, by the
derivative of the action's log-probability, as policy gradients do. Where returns are smooth enough both have one mean,
and what counts is their variance: where it is the same, as many samples are needed.

  apart     distance of the two means, in standard errors of their difference: about 1 where both mean the same
  noise     the variance of a sample's gradient through the physics, divided by that of a sample's policy gradient
  largest   share of the gradient's mean square that the largest hundredth of the samples brings
"""

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pixelbrax.tasks import get_task
from pixelbrax.training import provenance

STD = 0.3
WARM_UP = 64
HORIZONS = (1, 2, 4, 8, 16, 32)


def _samples(physics: Any, mean: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Rewards (time,) of one sample, and the noise of its actions (time, action_size) in standard deviations."""
    reset_key, warm_key, key = jax.random.split(key, 3)

    def step(state: Any, noise: jax.Array) -> tuple[Any, jax.Array]:
        state = physics.step(state, jnp.clip(mean + STD * noise, -1, 1))
        return state, state.reward

    warm = jax.random.normal(warm_key, (WARM_UP, physics.action_size))
    state = jax.lax.stop_gradient(jax.lax.scan(step, physics.reset(reset_key), warm)[0])
    noise = jax.random.normal(key, (HORIZONS[-1], physics.action_size))
    return jax.lax.scan(step, state, noise)[1], noise


def _score(reward: np.ndarray, noise: np.ndarray, horizon: int) -> np.ndarray:
    """Policy gradients (sample, action_size), with rewards to go and their mean over samples as the baseline."""
    to_go = np.cumsum(reward[:, :horizon][:, ::-1], axis=1)[:, ::-1]
    advantage = to_go - to_go.mean(0)
    return (advantage[..., None] * noise[:, :horizon] / STD).sum(1)


def _variance(gradients: np.ndarray) -> float:
    return float(gradients.var(0, ddof=1).sum())


def measure(name: str, engine: str, analytic: int, scores: int, chunk: int) -> list[dict[str, Any]]:
    """Rows of one task on one engine, for each horizon."""
    physics = get_task(name).load_physics(engine)
    sample, mean = partial(_samples, physics), jnp.zeros(physics.action_size)

    @jax.jit
    def derivatives(keys: jax.Array) -> jax.Array:
        one = jax.jacfwd(lambda mean, key: sample(mean, key)[0])
        return jax.lax.map(lambda key: one(mean, key), keys, batch_size=chunk)

    @jax.jit
    def draws(keys: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.lax.map(lambda key: sample(mean, key), keys, batch_size=chunk)

    per_step = np.asarray(derivatives(jax.random.split(jax.random.key(0), analytic)), np.float64)
    reward, noise = (np.asarray(x, np.float64) for x in draws(jax.random.split(jax.random.key(1), scores)))
    rows = []
    for horizon in HORIZONS:
        through, around = per_step[:, :horizon].sum(1), _score(reward, noise, horizon)
        finite = np.isfinite(through).all(1)
        through = through[finite]
        squares = np.sort((through**2).sum(1))
        means = through.mean(0), around.mean(0)
        errors = [(_variance(x) / len(x)) ** 0.5 for x in (through, around)]
        rows.append(
            {
                "env": name,
                "engine": engine,
                "horizon": horizon,
                "samples": [analytic, scores],
                "apart": float(np.linalg.norm(means[0] - means[1]) / np.hypot(*errors)),
                "noise": _variance(through) / _variance(around),
                "largest": float(squares[-max(1, len(squares) // 100) :].sum() / squares.sum()),
                "not_finite": float(1 - finite.mean()),
                "norms": [float(np.linalg.norm(x)) for x in means],
                "standard_errors": errors,
            }
        )
    return rows


def main() -> None:
    """Prints a table, and writes it with versions and machine if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", "--env", nargs="+", default=["reacher", "halfcheetah", "ant"])
    parser.add_argument("--engine", nargs="+", default=["spring", "positional", "generalized"])
    parser.add_argument("--samples", type=int, default=1024, help="gradients through the physics")
    parser.add_argument("--score-samples", type=int, default=8192, help="policy gradients")
    parser.add_argument("--chunk", type=int, default=256, help="samples at once")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = []
    print(f"{'env':<14} {'engine':<12} {'steps':>5} {'apart':>7} {'noise':>10} {'largest':>8}  norms and errors")
    for name in args.task:
        for engine in args.engine:
            for row in measure(name, engine, args.samples, args.score_samples, args.chunk):
                rows.append(row)
                norms = ", ".join(
                    f"{norm:.3g} +- {error:.2g}"
                    for norm, error in zip(row["norms"], row["standard_errors"], strict=True)
                )
                print(
                    f"{name:<14} {engine:<12} {row['horizon']:>5} {row['apart']:>7.2f} {row['noise']:>10.3g}"
                    f" {row['largest']:>8.1%}  {norms}",
                    flush=True,
                )
    if args.json:
        args.json.write_text(json.dumps({"provenance": provenance(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
