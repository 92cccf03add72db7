"""The tables of `docs/physics.md` from `benchmarks/results/diagnose-*.json`; `tables.py` writes them."""

import json
from collections.abc import Mapping
from typing import Any

from markdown_tables import RESULTS, source, table

_QUANTITIES = {"linear": "linear momentum", "angular": "angular momentum", "energy": "energy"}
_DIVERGED = 100.0  # as for `Drifts`
_ORDER = ("ant", "halfcheetah", "humanoid", "creatures/strider", "creatures/grazer", "creatures/eel")


def _read() -> list[dict[str, Any]]:
    """The diagnoses of all tasks, each with its file's name."""
    found = [json.loads(file.read_text()) | {"file": file.name} for file in RESULTS.glob("diagnose-*.json")]
    return sorted(found, key=lambda each: _ORDER.index(each["task"]) if each["task"] in _ORDER else len(_ORDER))


def drifts() -> str:
    """Drifts with each system's own time step."""
    rows = []
    for facts in _read():
        for system in facts["systems"]:
            cells = [_interval(system[name]) if name in system else "-" for name in _QUANTITIES]
            lost = f"{system['diverged']:.0%}"
            rows.append([f"`{facts['task']}`", system["name"], f"{1000 * system['timestep']:.3g}", *cells, lost])
    heading = ["task", "system", "step, ms", *_QUANTITIES.values(), "diverged"]
    return table(heading, rows) + "\n\n" + _made()


def sweep() -> str:
    """Median drifts with the longest and with the shortest time step of the sweep."""
    rows = []
    for facts in _read():
        for system in facts["systems"]:
            if not system["name"].startswith("mujoco") or system["name"].endswith("RK4"):
                ends = system["sweep"][-1], system["sweep"][0]
                steps = " to ".join(f"{1000 * row['timestep']:.3g}" for row in ends)
                cells = [" to ".join(_end(row, name) for row in ends) for name in _QUANTITIES]
                rows.append([f"`{facts['task']}`", system["name"], steps, *cells])
    return table(["task", "system", "steps, ms", *_QUANTITIES.values()], rows)


def _made() -> str:
    """Seeds, and where the diagnoses were measured."""
    found = _read()
    seeds: dict[int, list[str]] = {}
    for facts in found:
        seeds.setdefault(facts["protocol"]["seeds"], []).append(f"`{facts['task']}`")
    counts = "; ".join(f"{count} seeds of {', '.join(tasks)}" for count, tasks in seeds.items())
    made = source(found[0]["provenance"], "diagnose-*.json", *(facts["provenance"] for facts in found[1:]))
    return f"{counts}; {found[0]['protocol']['seconds']:g} s of simulation. {made}"


def _interval(row: Mapping[str, float | None]) -> str:
    median, low, high = (_short(row[name]) for name in ("median", "low", "high"))
    return f"{median} ({low} to {high})"


def _end(row: Mapping[str, Any], quantity: str) -> str:
    """A median; one of energy a hundredfold is of bodies that fly apart."""
    energy = row["energy"]["median"]
    if energy is None or energy > _DIVERGED:
        return "diverged"
    return _short(row[quantity]["median"]) if quantity in row else "-"


def _short(value: float | None) -> str:
    return "inf" if value is None else "0" if value == 0 else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e+")


TABLES = {"drifts": drifts, "drift-sweep": sweep}
