"""How far momentum and energy drift, over seeds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from pixelbrax.physics import Space, Totals

QUANTITIES = {"linear": "linear momentum", "angular": "angular momentum", "energy": "energy"}
_DIVERGED = 100.0  # times the energy after the kick
_LOW, _HIGH = 0.05, 0.95  # share of the seeds below the interval's ends


@dataclass(frozen=True)
class Drifts:
    """Relative drifts since the start, of all seeds, by quantity; those that are not conserved are left out.

    The drift of a momentum is relative to the largest sum over bodies of the magnitudes of their own momenta during
    the simulation: total momentum starts at zero. The drift of energy is relative to the energy after the kick.

    Attributes:
      timestep: s.
      substeps: time steps between two measurements.
      relative: by quantity (seed, measurement) float64; infinite where the simulation has diverged: where it is not
        finite, or has a hundred times the energy after the kick.
      scale: by quantity, median over seeds of what drifts are relative to: kg m/s, kg m^2/s, J.
    """

    timestep: float
    substeps: int
    relative: dict[str, Float[np.ndarray, "seed time"]]
    scale: dict[str, float]

    @classmethod
    def of(cls, system: Space, measured: Mapping[str, Totals], timestep: float, substeps: int) -> "Drifts":
        """From totals of the tests of "momentum", which may be left out, and of "energy"; (seed, measurement, ...)."""
        relative, scale = {}, {}
        with np.errstate(invalid="ignore", over="ignore"):
            for name, directions in (("linear", system.linear), ("angular", system.angular)):
                if len(directions) and "momentum" in measured:
                    total = np.asarray(getattr(measured["momentum"], name), float) @ directions.T
                    drift = np.linalg.norm(total - total[:, :1], axis=-1)
                    inside = np.asarray(getattr(measured["momentum"], f"{name}_inside"), float).max(axis=1)
                    relative[name], scale[name] = _finite(drift, inside), _median(inside)
            energy = np.asarray(measured["energy"].energy, float)
            relative["energy"] = _finite(np.abs(energy - energy[:, :1]), energy[:, 0])
            scale["energy"] = _median(energy[:, 0])
        # Momentum relative to that of bodies which fly apart would seem conserved.
        lost = relative["energy"] > _DIVERGED
        relative = {name: np.where(lost, np.inf, drift) for name, drift in relative.items()}
        return cls(timestep, substeps, relative, scale)

    @property
    def times(self) -> Float[np.ndarray, " time"]:
        """Seconds of the measurements."""
        count = next(iter(self.relative.values())).shape[1]
        return self.timestep * self.substeps * np.arange(count)

    @property
    def diverged(self) -> float:
        """Share of the seeds of which a drift is not finite at the end."""
        return float(np.any([~np.isfinite(drift[:, -1]) for drift in self.relative.values()], axis=0).mean())

    def center(self, quantity: str) -> Float[np.ndarray, "3 time"]:
        """Median, and the 5 % and 95 % quantiles over seeds."""
        drift = self.relative[quantity]
        return np.quantile(drift, (0.5, _LOW, _HIGH), axis=0, method="inverted_cdf")  # never between finite and not

    def row(self) -> dict[str, Any]:
        """The drifts at the end, as plain numbers; None where they are not finite."""
        ends = {}
        for quantity in self.relative:
            median, low, high = (_plain(value) for value in self.center(quantity)[:, -1])
            mean = _plain(self.relative[quantity][:, -1].mean())
            ends[quantity] = {"median": median, "low": low, "high": high, "mean": mean, "scale": self.scale[quantity]}
        return {"timestep": self.timestep, "substeps": self.substeps, "diverged": self.diverged, **ends}

    def series(self) -> dict[str, Any]:
        """The drifts over time, as plain numbers."""
        curves = {}
        for quantity in self.relative:
            curves[quantity] = {
                name: [_plain(value) for value in values]
                for name, values in zip(("median", "low", "high"), self.center(quantity), strict=True)
            }
        return {"times": [round(float(t), 9) for t in self.times], **curves}


def _finite(drift: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The drift relative to its scale; infinite where it is no number, 0 where nothing moves."""
    ratio = drift / np.where(scale > 0, scale, 1.0)[:, None]
    return np.where(np.isfinite(ratio), ratio, np.inf)


def _median(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else 0.0


def _plain(value: float) -> float | None:
    """A number with as many digits as it is good for."""
    return float(f"{value:.4g}") if np.isfinite(value) else None
