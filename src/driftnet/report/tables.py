"""Results as tables: which rows may stand together, and what each says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from driftnet.errors import DriftnetError, UsageError
from driftnet.evaluate.run import METRICS_FILE, open_metrics


@dataclass(frozen=True)
class Row:
    """One model's line; errors are relative L1, averaged over quantities."""

    model: str
    seed: int | None
    parameters: int
    final_mean: float
    final_median: float
    final_spread: float
    per_quantity: dict[str, float]
    first_step: float
    rollout_mean: float
    blown_up: float
    training_seconds: float
    rollout_milliseconds: float


def collect(folders: Sequence[Path]) -> list[xr.Dataset]:
    """The results under the folders, best first; only those of one protocol may be compared."""
    paths = sorted({path for folder in folders for path in folder.rglob(METRICS_FILE)})
    if not paths:
        raise DriftnetError(f"there is no {METRICS_FILE} under {', '.join(map(str, folders))}; 'driftnet evaluate' makes it")
    results = [open_metrics(path) for path in paths]
    first = _protocol(results[0])
    for path, result in zip(paths, results, strict=True):
        if _protocol(result) != first:
            raise UsageError(f"{path} and {paths[0]} differ in task, data or protocol; report them apart")
    return sorted(results, key=lambda result: row(result).final_mean)


def _protocol(result: xr.Dataset) -> tuple[str, ...]:
    settings = json.loads(result.attrs["settings"])
    return (result.attrs["task"], json.dumps(settings["evaluation"]), settings["data"], str(settings["test"]))


def row(result: xr.Dataset) -> Row:
    """The figures of one result."""
    facts = result.attrs
    errors = result.relative_l1
    final = errors.sel(snapshot=facts["final_snapshot"])
    per_sample = final.mean("quantity")
    seed = facts.get("seed")
    return Row(
        model=facts["model"],
        seed=None if seed is None else int(seed),
        parameters=int(facts["parameters"]),
        final_mean=float(per_sample.mean()),
        final_median=float(per_sample.median()),
        final_spread=float(per_sample.std(ddof=1)) if np.isfinite(per_sample).all() else float("nan"),
        per_quantity={str(name): float(final.sel(quantity=name).mean()) for name in final.quantity.values},
        first_step=float(errors.isel(snapshot=0).mean()),
        rollout_mean=float(errors.mean()),
        blown_up=float((~np.isfinite(per_sample)).mean()),
        training_seconds=float(facts["training_seconds"]),
        rollout_milliseconds=1000 * float(facts["rollout_seconds_per_trajectory"]),
    )


def cells(line: Row) -> list[str]:
    """A row as text."""
    trained = line.seed is not None
    return [
        line.model,
        str(line.seed) if trained else "",
        f"{line.parameters:,}" if trained else "",
        f"{line.final_mean:.4f}",
        f"{line.final_median:.4f}",
        f"{line.final_spread:.4f}",
        *(f"{error:.4f}" for error in line.per_quantity.values() if len(line.per_quantity) > 1),
        f"{line.first_step:.4f}",
        f"{line.rollout_mean:.4f}",
        f"{line.blown_up:.0%}",
        f"{line.training_seconds:.0f}" if trained else "",
        f"{line.rollout_milliseconds:.1f}",
    ]


def headings(line: Row, final_snapshot: int) -> list[str]:
    """What the cells mean."""
    quantities = [name for name in line.per_quantity if len(line.per_quantity) > 1]
    return [
        "model",
        "seed",
        "parameters",
        f"mean at T* = {final_snapshot}",
        "median",
        "spread",
        *quantities,
        "after 1 step",
        "whole rollout",
        "blown up",
        "training s",
        "rollout ms",
    ]


def as_text(results: Sequence[xr.Dataset]) -> str:
    """The table for a terminal."""
    lines = [row(result) for result in results]
    table = [headings(lines[0], int(results[0].attrs["final_snapshot"])), *map(cells, lines)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(entry, widths, strict=True)) for entry in table)
