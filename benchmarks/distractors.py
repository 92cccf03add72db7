"""Throughput with each distractor, relative to none, measured alternately in one run.

Usage: python benchmarks/distractors.py [--task halfcheetah] [--num-envs 256] [--size 64] [--only PATTERN ...]
       [--json F]

Each preset is measured between two measurements of the plain environment, and divided by their mean. Of presets that
run the same program with other constants, one is measured. With --only, the file's other rows are kept.
"""

import argparse
import fnmatch
import json
import statistics
import time
from pathlib import Path
from typing import Any

import jax

import pixelbrax
from pixelbrax.cache import enable_compilation_cache
from pixelbrax.distractors import list_distractors
from pixelbrax.experiments import pixel_checksum
from pixelbrax.training import provenance

STEPS, ROUNDS = 20, 5
# Presets that run the same program as another, with other constants.
_SAME = (
    *(
        "-medium",
        "-easy",
        "_easy",
        "/easy",
        "/medium",
        "-static",
        "dmcgb/distracting_*",
        "dmcvb/easy-*",
        "dmcvb/medium-*",
    ),
    *(
        "dmcr/1*",
        "kage/brightness",
        "kage/contrast",
        "kage/pixelate",
        "kage/point-lights-[23]",
        "gen-v1/*",
        "severity/*",
    ),
)


def measured_names(patterns: list[str]) -> list[str]:
    """The presets to measure: those that match a pattern, or one per program."""
    if patterns:
        return [name for pattern in patterns for name in fnmatch.filter(list_distractors(), pattern)]
    return [name for name in list_distractors() if not any(fnmatch.fnmatch(name, f"*{same}") for same in _SAME)]


class _Subject:
    """A compiled call of `STEPS` steps of a batch, and its states."""

    def __init__(self, name: str, size: int, num_envs: int, distractors: tuple[str, ...]):
        env = pixelbrax.make(name, image_size=size, distractors=distractors)

        def step(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
            action = jax.random.uniform(key, (num_envs, env.action_size), minval=-1, maxval=1)
            state = jax.vmap(env.step)(state, action)
            return state, pixel_checksum(state.obs["pixels"])

        start = time.perf_counter()
        self.state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), num_envs))
        scan = jax.jit(lambda state, key: jax.lax.scan(step, state, jax.random.split(key, STEPS)))
        self.program = scan.lower(self.state, jax.random.key(1)).compile()
        jax.block_until_ready(self.state)
        self.compile_seconds = time.perf_counter() - start
        self.num_envs = num_envs
        self.rate()

    def rate(self) -> float:
        """Steps per second of one call."""
        start = time.perf_counter()
        self.state, checksums = self.program(self.state, jax.random.key(1))
        jax.block_until_ready(checksums)
        return STEPS * self.num_envs / (time.perf_counter() - start)


def main() -> None:
    """Prints a table, and writes it if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", "--env", default="halfcheetah")
    parser.add_argument("--num-envs", type=int, default=256)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    enable_compilation_cache()
    plain = _Subject(args.task, args.size, args.num_envs, ())
    facts = provenance()
    rows = {}
    if args.only and args.json and args.json.exists():
        rows = {row["distractor"]: row for row in json.loads(args.json.read_text())["rows"]}
    print(f"{'distractor':<28} {'steps/s':>9} {'relative':>8} {'compile s':>10}")
    for name in measured_names(args.only):
        subject = _Subject(args.task, args.size, args.num_envs, (name,))
        pairs = []
        for _ in range(ROUNDS):
            before, disturbed, after = plain.rate(), subject.rate(), plain.rate()
            pairs.append((disturbed, 2 * disturbed / (before + after)))
        row = {
            "distractor": name,
            "steps_per_second": round(statistics.median(p[0] for p in pairs)),
            "of_none": round(statistics.median(p[1] for p in pairs), 3),
            "compile_seconds": round(subject.compile_seconds, 1),
            "commit": facts.get("commit", ""),
        }
        rows[name] = row
        print(
            f"{name:<28} {row['steps_per_second']:>9,} {row['of_none']:>8.2f} {row['compile_seconds']:>10}", flush=True
        )
        if args.json:
            settings = {"env": args.task, "num_envs": args.num_envs, "size": args.size}
            args.json.write_text(
                json.dumps({"provenance": facts, **settings, "rows": list(rows.values())}, indent=2) + "\n"
            )


if __name__ == "__main__":
    main()
