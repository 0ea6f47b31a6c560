"""From metrics.nc to what a table, a curve and an interval need: a few kilobytes of plain numbers."""

from __future__ import annotations

import json
from base64 import b64encode
from math import isfinite
from typing import Any

import numpy as np
import xarray as xr

from driftnet.metrics.bands import BANDS

DIGITS = 5  # Of every number kept; the spread of trajectories is in the second.
FACTS = ("parameters", "parameters_as_reals", "training_seconds", "training_steps", "training_trajectories", "best_step")
PUBLISHED = "mean_relative_l1_error"


def condense(results: xr.Dataset, with_fields: bool) -> dict[str, Any]:
    """Errors trajectory by trajectory at T*, curves over time, facts. None stands for an infinite number."""
    target = results.attrs["final_snapshot"]
    attributes = {name: results.attrs[name] for name in FACTS if name in results.attrs}
    found = {
        "task": results.attrs["task"],
        "final_snapshot": int(target),
        "resolution": [int(points) for points in results.attrs["resolution"]],
        "protocol": results.attrs["protocol"],
        "convention": results.attrs["convention"],
        **{name: numbers(value) for name, value in attributes.items()},
        "rollout_seconds": numbers(results.attrs["rollout_seconds_per_trajectory"]),
        "threads": int(results.attrs["threads"]),
        "machine": json.loads(results.attrs["evaluated_on"]),
        "versions": json.loads(results.attrs["evaluated_with"]),
        "quantities": {str(name): numbers(final(results).sel(quantity=name).values) for name in results.quantity.values},
        "trajectories": {name: numbers(values) for name, values in per_trajectory(results).items()},
        "curves": {name: numbers(values) for name, values in curves(results).items()},
    }
    if PUBLISHED in results:
        found[PUBLISHED] = numbers(float(results[PUBLISHED].sel(snapshot=target)))
    return {**found, "fields": fields(results)} if with_fields else found


def final(results: xr.Dataset) -> xr.DataArray:
    """Relative L1 at T*."""
    return results.relative_l1.sel(snapshot=results.attrs["final_snapshot"])


def per_trajectory(results: xr.Dataset) -> dict[str, np.ndarray]:
    """Every measure of every trajectory, averaged over quantities as the paper does."""
    found = {
        "final": final(results),
        "first": results.relative_l1.isel(snapshot=0),
        "rollout_mean": results.rollout_mean,
        "growth_slope": results.growth_slope,
        "correlation_time": results.correlation_time,
    }
    at_end = results.sel(snapshot=results.attrs["final_snapshot"])
    found.update({f"band_{band}": at_end[name] for band, name in _bands(results).items()})
    return {name: values.mean("quantity", skipna=False).values for name, values in found.items()}


def curves(results: xr.Dataset) -> dict[str, np.ndarray]:
    """Mean and median over trajectories at every snapshot; bands by their mean."""
    errors = results.relative_l1.mean("quantity", skipna=False)
    found = {"time": results.time.values, "mean": errors.mean("sample").values, "median": errors.median("sample").values}
    for band, name in _bands(results).items():
        found[f"band_{band}"] = results[name].mean(("sample", "quantity"), skipna=False).values
    return found


def fields(results: xr.Dataset) -> dict[str, Any]:
    """The first example at the first and the last step that is shown, in bytes, with the largest value they stand for."""
    kept: dict[str, Any] = {"channels": [str(name) for name in results.channel.values]}
    kept["snapshots"] = [int(results.shown[0]), int(results.shown[-1])]
    for side in ("truth", "prediction"):
        values = results[f"example_{side}"].isel(example=0, shown=[0, -1]).values
        limit = float(np.abs(results.example_truth.isel(example=0, shown=[0, -1])).max())
        scaled = np.nan_to_num(np.clip(values / limit, -1, 1)) * 127
        kept[side] = b64encode(scaled.round().astype(np.int8).tobytes()).decode()
        kept["limit"], kept["shape"] = numbers(limit), list(values.shape)
    return kept


def _bands(results: xr.Dataset) -> dict[str, str]:
    """The bands that the grid resolves."""
    return {band: f"band_nrmse_{band}" for band in BANDS if f"band_nrmse_{band}" in results}


def numbers(values: Any) -> Any:
    """Plain numbers of a few digits; None where one is not finite."""
    if isinstance(values, np.ndarray):
        return [numbers(value) for value in values.tolist()]
    if isinstance(values, float | np.floating):
        return float(f"{values:.{DIGITS}g}") if isfinite(values) else None
    return values.item() if isinstance(values, np.generic) else values
