"""Drifts of momentum and energy in space, by engine and task: `pixelbrax diagnose`, for the tables of docs/physics.md.

Usage: python benchmarks/diagnose.py [--task TASK ...] [--seeds N] [--picture TASK]
"""

import argparse
import json

from markdown_tables import RESULTS, ROOT

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.experiments import (
    QUANTITIES,
    Protocol,
    diagnose,
    diagnosis_facts,
    drift_table,
    drift_title,
    engines_of,
    file_name,
)
from pixelbrax.report import write_drift
from pixelbrax.training import Progress, provenance

TASKS = ("humanoid", "ant", "halfcheetah", "creatures/strider", "creatures/grazer", "creatures/eel")


def main() -> None:
    """Writes a file for each task, and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", "--env", nargs="+", default=list(TASKS), metavar="TASK")
    parser.add_argument("--seeds", type=int, default=128)
    parser.add_argument("--picture", default="humanoid", help="task of docs/diagnose.png", metavar="TASK")
    args = parser.parse_args()
    enable_compilation_cache()
    for task in args.task:
        facts: dict = {}
        for diagnosis in diagnose(task, engines_of(task), Protocol(seeds=args.seeds), Progress()):
            facts = diagnosis_facts(diagnosis)
        print(drift_table(facts), flush=True)
        if task == args.picture:
            write_drift(ROOT / "docs" / "diagnose.png", facts["systems"], QUANTITIES, drift_title(facts))
        for system in facts["systems"]:
            del system["series"]  # the picture shows it; a table has no room
        document = {"provenance": provenance(), **facts}
        (RESULTS / f"diagnose-{file_name(task)}.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
