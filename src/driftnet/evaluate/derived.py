"""What follows from the errors of every trajectory at every step: final errors, growth, correlation times."""

from __future__ import annotations

import xarray as xr

from driftnet import registry
from driftnet.metrics.published import AVERAGES_STATIC, over_groups
from driftnet.metrics.summary import STATISTICS, quantile, summarise
from driftnet.tasks.base import Task

SOURCE = {"correlation_time": "correlation"}  # The other curves are of relative_l1.
PUBLISHED = ("mean_relative_l1_error", "median_relative_l1_error")


def derive(results: xr.Dataset, task: Task, final_snapshot: int) -> xr.Dataset:
    """The results with all that is computed from them."""
    final = results.relative_l1.sel(snapshot=final_snapshot)
    added: dict[str, tuple] = {"relative_l1_final": (["statistic", "quantity"], summarise(final.values))}
    for name, reference in registry.CURVES.items():
        source = results[SOURCE.get(name, "relative_l1")]
        values = registry.resolve(reference)(source.values)
        added[name] = (source.dims if values.ndim == 3 else ["sample", "quantity"], values)
    added["mean_correlation"] = (["snapshot", "quantity"], results.channel_correlation.values.mean(0))
    added.update(_published(results, task))
    return _with_units(results.assign(added).assign_coords(statistic=list(STATISTICS)), task)


def _published(results: xr.Dataset, task: Task) -> dict[str, tuple]:
    """Poseidon's two figures at every snapshot, where constants of a published loader are known."""
    if task.published is None:
        return {}
    errors = results.published_relative_l1.values
    static = len(task.static) if task.name in AVERAGES_STATIC else 0
    per_group = (errors.mean(0), quantile(errors, 0.5))
    given = {"given_groups": static}
    return {name: (["snapshot"], over_groups(values, static), given) for name, values in zip(PUBLISHED, per_group, strict=True)}


def _with_units(results: xr.Dataset, task: Task) -> xr.Dataset:
    """Units as CF attributes; what is not named here is a pure number."""
    per_cent, step = ("published_relative_l1", *PUBLISHED), {"correlation_time": "steps", "growth_slope": "1/step"}
    unit = {quantity.unit for quantity in task.quantities}
    own = unit.pop() if len(unit) == 1 else "that of the quantity"
    for name, variable in results.data_vars.items():
        text = str(name)
        known = {**dict.fromkeys(per_cent, "percent"), **step}
        variable.attrs["units"] = known.get(text, own if text.startswith(("frmse", "example", "mass")) else "1")
    return results
