"""Results as tables: which rows may stand together, and what each says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import xarray as xr

from driftnet.configs import Convention
from driftnet.errors import DriftnetError, UsageError
from driftnet.evaluate.results import METRICS_FILE, open_metrics
from driftnet.metrics.summary import STATISTICS, bootstrap, summarise

POSEIDON_SNAPSHOT = 14  # Where Poseidon measures (t = 0.7): it stands beside T* in every table.
SMALL = 5e-4  # Below it, four decimals would say nothing.

Table = list[list[str]]


@dataclass(frozen=True)
class Row:
    """One result's line; errors are relative L1, averaged over quantities."""

    model: str
    seed: int | None
    parameters: int
    final: dict[str, float]
    """The statistics of metrics/summary.py at T*."""
    per_quantity: dict[str, float]
    earlier: dict[int, float]
    """Mean at Poseidon's snapshot, where that is not T* itself and was reached."""
    published: dict[tuple[str, int], float]
    """Poseidon's mean and median at T* and, likewise, at its own snapshot."""
    first_step: float
    rollout_mean: float
    slope: float
    correlation_time: float
    training_seconds: float
    rollout_milliseconds: float

    @property
    def final_mean(self) -> float:
        """Mean over the test trajectories at T*."""
        return self.final["mean"]


Columns = dict[str, Callable[[Row], str]]


def collect(folders: Sequence[Path], name: str = METRICS_FILE) -> list[xr.Dataset]:
    """The results called `name` under the folders, best first; only those of one protocol may be compared."""
    paths = sorted({path for folder in folders for path in folder.rglob(name)})
    if not paths:
        raise DriftnetError(f"there is no {name} under {', '.join(map(str, folders))}; 'driftnet evaluate' makes it")
    results = [open_metrics(path) for path in paths]
    first = _protocol(results[0])
    for path, result in zip(paths, results, strict=True):
        if _protocol(result) != first:
            raise UsageError(f"{path} and {paths[0]} differ in task, data or protocol; report them apart")
    return sorted(results, key=lambda result: float(final_errors(result).mean()))


def _protocol(result: xr.Dataset) -> tuple[str, ...]:
    settings = json.loads(result.attrs["settings"])
    return (result.attrs["task"], json.dumps(settings["evaluation"]), settings["data"], str(settings["test"]))


def final_errors(result: xr.Dataset) -> np.ndarray:
    """Relative L1 at T* by trajectory, averaged over quantities."""
    return result.relative_l1.sel(snapshot=result.attrs["final_snapshot"]).mean("quantity").values


def row(result: xr.Dataset) -> Row:
    """The figures of one result."""
    facts, errors = result.attrs, result.relative_l1
    final = errors.sel(snapshot=facts["final_snapshot"])
    seed = facts.get("seed")
    return Row(
        model=facts["model"],
        seed=None if seed is None else int(seed),
        parameters=int(facts["parameters"]),
        final=dict(zip(STATISTICS, map(float, summarise(final_errors(result))), strict=True)),
        per_quantity={str(name): float(final.sel(quantity=name).mean()) for name in final.quantity.values},
        earlier={at: float(errors.sel(snapshot=at).mean()) for at in _snapshots(result)[1:]},
        published={
            (kind, at): float(result[f"{kind}_relative_l1_error"].sel(snapshot=at))
            for at in _snapshots(result)
            for kind in ("mean", "median")
        },
        first_step=float(errors.isel(snapshot=0).mean()),
        rollout_mean=float(result.rollout_mean.mean()),
        slope=float(result.growth_slope.mean()),
        correlation_time=float(result.correlation_time.mean()),
        training_seconds=float(facts["training_seconds"]),
        rollout_milliseconds=1000 * float(facts["rollout_seconds_per_trajectory"]),
    )


def _snapshots(result: xr.Dataset) -> list[int]:
    """T*, and Poseidon's snapshot where that is an earlier one."""
    target = int(result.attrs["final_snapshot"])
    return [target, POSEIDON_SNAPSHOT] if target > POSEIDON_SNAPSHOT else [target]


def trained(cell: Callable[[Row], str]) -> Callable[[Row], str]:
    """A cell that is empty for what was not trained."""
    return lambda line: "" if line.seed is None else cell(line)


NAMED: Columns = {
    "model": lambda line: line.model,
    "seed": trained(lambda line: str(line.seed)),
    "parameters": trained(lambda line: f"{line.parameters:,}"),
}
COST: Columns = {
    "blown up": lambda line: f"{line.final['blown_up']:.0%}",
    "training s": trained(lambda line: f"{line.training_seconds:.0f}"),
    "rollout ms": lambda line: f"{line.rollout_milliseconds:.1f}",
}


def table(results: Sequence[xr.Dataset], convention: Convention = "physical") -> Table:
    """Headings, then a line for every result."""
    lines = [row(result) for result in results]
    target = int(results[0].attrs["final_snapshot"])
    shown = _physical(lines[0], target) if convention == "physical" else _published(lines[0], target)
    columns = {**NAMED, **shown, **COST}
    return [[*columns], *([cell(line) for cell in columns.values()] for line in lines)]


def _physical(first: Row, target: int) -> Columns:
    names = list(first.per_quantity) if len(first.per_quantity) > 1 else []
    return {
        f"mean at T* = {target}": lambda line: _number(line.final["mean"]),
        "95 % interval": lambda line: _span(line.final["mean_low"], line.final["mean_high"]),
        "median": lambda line: _number(line.final["median"]),
        "quartiles": lambda line: _span(line.final["quartile_1"], line.final["quartile_3"]),
        **{name: lambda line, name=name: _number(line.per_quantity[name]) for name in names},
        **{f"mean at {at}": lambda line, at=at: _number(line.earlier[at]) for at in first.earlier},
        "after 1 step": lambda line: _number(line.first_step),
        "whole rollout": lambda line: _number(line.rollout_mean),
        "slope": lambda line: _number(line.slope),
        "correlated steps": lambda line: f"{line.correlation_time:.1f}",
    }


def _published(first: Row, target: int) -> Columns:
    """Poseidon's figures, in per cent."""
    headings = {(kind, at): f"{kind} % at {'T* = ' if at == target else ''}{at}" for kind, at in first.published}
    return {text: lambda line, which=which: f"{line.published[which]:.2f}" for which, text in headings.items()}


def seeds_table(results: Sequence[xr.Dataset]) -> Table:
    """Models of which several runs are given: means over runs, intervals over runs and trajectories. Empty without any."""
    trained = sorted((result for result in results if "seed" in result.attrs), key=lambda result: result.attrs["model"])
    lines = []
    for model, runs in groupby(trained, key=lambda result: result.attrs["model"]):
        errors = np.stack([final_errors(run) for run in runs])
        if len(errors) > 1:
            means = ", ".join(_number(float(mean)) for mean in errors.mean(1))
            interval = _span(*map(float, bootstrap(errors)))
            lines.append([model, str(len(errors)), _number(float(errors.mean())), interval, means])
    return [["model", "runs", "mean at T*", "95 % interval", "means of the runs"], *lines] if lines else []


def cost_table(results: Sequence[xr.Dataset]) -> Table:
    """Error against the time of a rollout, the fastest first."""
    lines = sorted(map(row, results), key=lambda line: line.rollout_milliseconds)
    cells = [[_named(line), f"{line.rollout_milliseconds / 1000:.3g}", _number(line.final_mean)] for line in lines]
    return [["model", "seconds a trajectory", "mean at T*"], *cells]


def _named(line: Row) -> str:
    return line.model if line.seed is None else f"{line.model}, seed {line.seed}"


def _number(value: float) -> str:
    return f"{value:.1e}" if 0 < abs(value) < SMALL else f"{value:.4f}"


def _span(low: float, high: float) -> str:
    return f"{_number(low)} to {_number(high)}"


def as_text(results: Sequence[xr.Dataset], convention: Convention = "physical") -> str:
    """The table for a terminal."""
    lines = table(results, convention)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
