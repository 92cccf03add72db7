"""A diagnosis on paper: a table, a JSON and a CSV file, and a plot."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pixelbrax.experiments.diagnosis import Diagnosis, Result
from pixelbrax.experiments.drifts import QUANTITIES
from pixelbrax.report import write_drift
from pixelbrax.training import provenance, replace_text


def diagnosis_facts(diagnosis: Diagnosis) -> dict[str, Any]:
    """The diagnosis as plain numbers and text: what diagnose.json has, without its provenance."""
    return {
        "task": diagnosis.task,
        "protocol": asdict(diagnosis.protocol),
        "bodies": len(diagnosis.system.bodies),
        "limbs": len(diagnosis.system.limbs),
        "conserved": {
            "linear": diagnosis.system.linear.round(6).tolist(),
            "angular": diagnosis.system.angular.round(6).tolist(),
        },
        "no_momentum": diagnosis.system.why_no_momentum,
        "skipped": diagnosis.skipped,
        "systems": [_system(result) for result in diagnosis.results],
    }


def _system(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "precision": result.precision,
        "compile_seconds": round(result.compile_seconds, 1),
        "run_seconds": round(result.run_seconds, 1),
        **result.own.row(),
        "series": result.own.series(),
        "sweep": [drifts.row() for drifts in result.sweep],
    }


def drift_table(facts: Mapping[str, Any]) -> str:
    """A table for the terminal: drifts at the end with each system's own time step.

    Args:
      facts: of `diagnosis_facts`.
    """
    shown = [name for name in QUANTITIES if any(name in system for system in facts["systems"])]
    width = max(len(system["name"]) for system in facts["systems"]) + 2
    head = f"{'system':<{width}}{'step, ms':>9}" + "".join(f"{QUANTITIES[name]:>30}" for name in shown)
    lines = [_heading(facts), head + f"{'diverged':>10}"]
    for system in facts["systems"]:
        cells = "".join(f"{_cell(system[name]):>30}" for name in shown)
        lines.append(f"{system['name']:<{width}}{1000 * system['timestep']:>9.3g}{cells}{system['diverged']:>10.0%}")
    lines += [f"{engine}: skipped: {reason}" for engine, reason in facts["skipped"].items()]
    if facts["no_momentum"]:
        lines.append(f"momentum: not measured: {facts['no_momentum']}")
    return "\n".join(lines)


def write_diagnosis(folder: Path, facts: Mapping[str, Any], diagnosis: Diagnosis) -> None:
    """Writes diagnose.json, diagnose.csv and diagnose.png to a folder that exists."""
    document = {"provenance": provenance(), **facts}
    replace_text(folder / "diagnose.json", json.dumps(document, indent=2) + "\n")
    _write_csv(folder / "diagnose.csv", diagnosis.task, diagnosis.results)
    write_drift(folder / "diagnose.png", facts["systems"], QUANTITIES, drift_title(facts))


def drift_title(facts: Mapping[str, Any]) -> str:
    """Of the plot."""
    protocol = facts["protocol"]
    return f"{facts['task']} in space: {protocol['seeds']} seeds, {protocol['seconds']:g} s"


def _heading(facts: Mapping[str, Any]) -> str:
    protocol = facts["protocol"]
    return (
        f"{facts['task']} in space: {protocol['seeds']} seeds, {protocol['seconds']:g} s; engines in float32, "
        f"MuJoCo in float64; torques of {protocol['torque']:g} N m on {facts['limbs']} inner degrees of freedom, "
        f"kicks of {protocol['kick']:g} m/s\nrelative drift at the end: median (5 % to 95 % of the seeds)"
    )


def _cell(row: Mapping[str, Any]) -> str:
    median, low, high = ("inf" if row[name] is None else f"{row[name]:.1e}" for name in ("median", "low", "high"))
    return f"{median} ({low} to {high})"


def _write_csv(file: Path, task: str, results: Iterable[Result]) -> None:
    """A line for each system, quantity, time step and time; other time steps than the own only at the end."""
    heading = [
        str(name)
        for name in "task system precision quantity timestep substeps own time median low high diverged".split()
    ]
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, heading, lineterminator="\n")
        writer.writeheader()
        for result in results:
            same = {"task": task, "system": result.name, "precision": result.precision}
            for line in _lines(result):
                writer.writerow({**same, **line})


def _lines(result: Result) -> Iterator[Mapping[str, Any]]:
    for drifts in {id(each): each for each in (result.own, *result.sweep)}.values():
        own = drifts is result.own
        for quantity in drifts.relative:
            values = drifts.center(quantity)
            for k in range(1, len(drifts.times)) if own else [len(drifts.times) - 1]:
                median, low, high = (f"{value:.6g}" for value in values[:, k])
                yield {
                    "quantity": quantity,
                    "timestep": f"{drifts.timestep:.9g}",
                    "substeps": drifts.substeps,
                    "own": int(own),
                    "time": f"{drifts.times[k]:.9g}",
                    "median": median,
                    "low": low,
                    "high": high,
                    "diverged": f"{drifts.diverged:.4g}",
                }
