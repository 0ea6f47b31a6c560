"""What tables show of results: where each figure stands in them, its unit, and its numbers by seed and trajectory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.typing import ArrayLike, NDArray

from driftnet.errors import unknown
from driftnet.reproduce.provenance import place
from driftnet.reproduce.store import Result

Values = Float[ndarray, "seed n"]


@dataclass(frozen=True)
class Measure:
    """A figure: its title with its unit, and what to multiply the stored number with."""

    title: str
    factor: float = 1.0
    digits: int = 3


PER_TRAJECTORY = {
    "final": Measure("error at T*, %", 100.0),
    "first": Measure("error of one step, %", 100.0),
    "rollout_mean": Measure("mean error of the rollout, %", 100.0),
    "growth_slope": Measure("growth, % a step", 100.0),
    "correlation_time": Measure("steps until the correlation is below 0.8"),
    "band_low": Measure("nRMSE, n < 4, %", 100.0),
    "band_mid": Measure("nRMSE, 4 to 12, %", 100.0),
    "band_high": Measure("nRMSE, from 12, %", 100.0),
}
PER_RUN = {
    "blown_up": Measure("blown up, %", 100.0),
    "parameters": Measure("parameters, M", 1e-6),
    "training_seconds": Measure("training, s"),
    "training_trajectories": Measure("training trajectories", digits=5),
    "rollout_seconds": Measure("rollout, ms a trajectory", 1000.0),
    "peak_bytes": Measure("peak memory of a step, GB", 1e-9),
    "step_seconds": Measure("training step, ms", 1000.0),
    "epoch_seconds": Measure("epoch, min", 1 / 60),
    "forward_seconds": Measure("forward pass, ms", 1000.0),
    "throughput": Measure("forward passes a second"),
    "lemma_product": Measure("product of A.1 over the blocks"),
    "network_bound": Measure("network, bound"),
    "network_measured": Measure("network, measured"),
    "one_step_measured": Measure("one step, measured"),
    "defect_printed": Measure("defect, B.1 as printed"),
    "defect_bound": Measure("defect, bound that holds"),
    "defect_measured": Measure("defect, measured"),
}
MEASURES = {**PER_TRAJECTORY, **PER_RUN}
OF_A_MACHINE = (
    "training_seconds",
    "rollout_seconds",
    "step_seconds",
    "epoch_seconds",
    "forward_seconds",
    "throughput",
    "peak_bytes",
)

LARGE = 1e6  # From here on numbers of tables have an exponent.

BOUNDS = {
    "lemma_product": ("network", "lemma"),
    "network_bound": ("network", "bound"),
    "network_measured": ("network", "measured"),
    "one_step_measured": ("one step", "measured"),
    "defect_printed": ("defect", "lemma"),
    "defect_bound": ("defect", "bound"),
    "defect_measured": ("defect", "measured"),
}


@dataclass(frozen=True)
class Cell:
    """The results of all seeds at one place of a table, and how many were planned."""

    found: tuple[Result, ...]
    planned: int

    def values(self, name: str) -> Values | None:
        """Numbers by seed and trajectory, or by seed alone; infinite where a rollout has blown up; None without any."""
        if name not in MEASURES:
            raise unknown("measure", name, MEASURES)
        rows = [row for result in self.found if (row := _row(result, name)) is not None]
        return np.array(rows, dtype=float) if rows else None

    @property
    def places(self) -> list[str]:
        """Where its results were computed."""
        return sorted({place(result["provenance"]) for result in self.found if "provenance" in result})

    @property
    def diverged(self) -> int:
        """Trainings whose loss ceased to be a number."""
        return sum("diverged" in result for result in self.found)

    @property
    def left_out(self) -> str:
        """Why there is nothing to see here, if there is a reason."""
        return next((str(result["left_out"]) for result in self.found if "left_out" in result), "")


def _row(result: Result, name: str) -> list[float] | None:
    if name in PER_TRAJECTORY:
        kept = result.get("trajectories", {}).get(name)
        return None if kept is None else [np.inf if value is None else value for value in kept]
    value = _fact(result, name)
    return None if value is None else [value]


def _fact(result: Result, name: str) -> float | None:
    if name == "blown_up":
        kept = result.get("trajectories", {}).get("final")
        return None if not kept else sum(value is None for value in kept) / len(kept)
    if name == "throughput":
        seconds = result.get("forward_seconds_median")
        return 1 / seconds if seconds else None
    if name in BOUNDS:
        row, column = BOUNDS[name]
        return result.get("rows", {}).get(row, {}).get(column)
    found = result.get(f"{name}_median", result.get(name))
    return None if found is None else float(found)


def ratio(ours: Values, theirs: Float[ndarray, "other_seed n"], resamples: int = 2000) -> tuple[float, float, float]:
    """Ratio of two rows' centres with its 95 % interval: seeds resampled row by row, trajectories in both alike.

    Means, or medians where trajectories have blown up; where both of those are infinite, neither row is lower.
    """
    rng = np.random.default_rng(0)
    middle = np.mean if np.isfinite(ours).all() and np.isfinite(theirs).all() else np.median
    columns = rng.integers(ours.shape[1], size=(resamples, 1, ours.shape[1]))
    drawn = [middle(values[_drawn(rng, resamples, len(values)), columns], axis=(1, 2)) for values in (ours, theirs)]
    low, high = np.quantile(_divided(*drawn), (0.025, 0.975), method="nearest")
    return float(_divided(middle(ours), middle(theirs))), float(low), float(high)


def _drawn(rng: np.random.Generator, resamples: int, seeds: int) -> NDArray[np.int64]:
    return rng.integers(seeds, size=(resamples, seeds, 1))


def _divided(above: ArrayLike, below: ArrayLike) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.divide(above, below)
    return np.where(np.isinf(above) & np.isinf(below), 1.0, found)


def text(value: float, digits: int = 3) -> str:
    """A number of a few digits for a table."""
    if not np.isfinite(value):
        return "infinite"
    return f"{value:.0f}" if 10**digits <= abs(value) < LARGE else f"{value:.{digits}g}"
