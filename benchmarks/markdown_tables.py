"""Markdown of results: tables, and where they were measured."""

import json
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def table(heading: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def source(provenance: dict[str, str], file: str, *further: dict[str, str]) -> str:
    """The provenance line of a table; `further` runs on the same machine may be from other commits."""
    commits = dict.fromkeys(facts["commit"][:9] for facts in (provenance, *further))
    flags = f"`XLA_FLAGS={provenance['xla_flags']}`, " if "xla_flags" in provenance else ""
    return (
        f"Measured on {provenance['machine']}, {provenance['device']}, Python {provenance['python']}, "
        f"JAX {provenance['jax']}, {flags}commit {', '.join(commits)} (`benchmarks/results/{file}`)."
    )


def compiler(facts: dict[str, str], file: str) -> str:
    """The provenance line of a table of programs that were compiled and not run."""
    return (
        f"Compiled by JAX {facts['jax']} for an H200, commit {facts['commit'][:9]}, and not run "
        f"(`benchmarks/results/{file}`)."
    )


def read(file: str) -> dict:
    """The results in a file."""
    return json.loads((RESULTS / file).read_text())
