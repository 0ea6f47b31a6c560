"""What the tables of a section say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from driftnet.configs import Convention
from driftnet.errors import UsageError
from driftnet.evaluate.derived import PUBLISHED
from driftnet.metrics.bands import BANDS
from driftnet.metrics.published import over_groups
from driftnet.metrics.summary import bootstrap, quantile
from driftnet.report.collect import Group, Section
from driftnet.report.tables import Column, Table, Value, per_cent, seconds, share, whole

POSEIDON_SNAPSHOT = 14  # Where Poseidon measures (t = 0.7): it stands beside T* in every table.
INTERVAL = "95 % interval"

Cell = Callable[[Group], Value]
Columns = list[tuple[Column, Cell]]


def tables_of(section: Section, convention: Convention = "physical") -> list[Table]:
    """All tables of a section, the headline first."""
    made = (headline(section, convention), course(section), physics(section), cost(section), runs(section))
    return [table for table in made if table]


def headline(section: Section, convention: Convention = "physical") -> Table:
    """Errors at T*, model by model."""
    target = section.target
    shown = _physical(section) if convention == "physical" else _published(section)
    unit = "fractions of fields in physical units" if convention == "physical" else "per cent, published convention"
    columns: Columns = [
        (Column("runs"), lambda group: str(len(group.runs)) if group.trained else None),
        *shown,
    ]
    return _table("errors", f"{section.title}: relative L1 error at T* = {target}, {unit}.", section, columns)


def course(section: Section) -> Table:
    """The rollout as a whole."""
    columns: Columns = [
        (Column("after 1 step"), lambda group: float(group.stacked("relative_l1")[:, :, 0].mean())),
        (Column("whole rollout"), lambda group: float(_per_run(group, "rollout_mean").mean())),
        (Column(INTERVAL), lambda group: interval(_per_run(group, "rollout_mean"))),
        (Column("slope a step"), lambda group: float(_per_run(group, "growth_slope").mean())),
        (
            Column("correlated steps", lambda value: f"{value:.1f}"),
            lambda group: float(_per_run(group, "correlation_time").mean()),
        ),
        (Column("blown up", share), lambda group: float((~np.isfinite(group.final)).mean())),
        *((Column(f"{band} band"), _band_cell(section.target, band)) for band in resolved_bands(section)),
    ]
    caption = f"{section.title}: relative L1 over the rollout, and nRMSE at T* by bands of wavenumber."
    return _table("rollout", caption, section, columns)


def physics(section: Section) -> Table | None:
    """Physical checks at T*; none where no quantity declares one."""
    columns: Columns = []
    for quantity in section.quantities:
        for name, (meaning, compare) in CHECKS.items():
            if f"{name}_truth" in section.groups[0].first and _declared(section.groups[0].first, name, quantity):
                columns.append((Column(f"{quantity}: {meaning}"), _check_cell(section.target, name, quantity, compare)))
    return _table("physics", f"{section.title}: physical checks at T*.", section, columns) if columns else None


def cost(section: Section) -> Table:
    """What the errors cost; the fastest first."""
    groups = sorted(section.groups, key=seconds_of)
    columns: Columns = [
        (Column("parameters", whole), lambda group: int(group.first.attrs["parameters"]) if group.trained else None),
        (Column("training s", seconds), lambda group: _fact(group, "training_seconds") if group.trained else None),
        (Column("seconds a trajectory", seconds), seconds_of),
        (Column("mean at T*"), lambda group: float(group.final.mean())),
    ]
    return _table("cost", f"{section.title}: error against the time of a rollout.", section, columns, groups)


def runs(section: Section) -> Table:
    """Every run by itself, the missing ones included."""
    heads = (Column("model"), Column("seed"), Column("result"), Column("mean at T*"), Column("median"), Column("best step"))
    rows: list[tuple[Value, ...]] = [
        (group.label, str(seed), "measured", float(errors.mean()), _median(errors), str(int(run.attrs["best_step"])))
        for group in section.trained
        for seed, errors, run in zip(group.seeds, group.final, group.runs, strict=True)
    ]
    absent = [(each.label, None, f"missing: {each.reason}", None, None, None) for each in section.missing]
    return Table("runs", f"{section.title}: every run.", heads, (*rows, *absent))


def interval(values: np.ndarray) -> tuple[float, float]:
    """Ends of the 95 % interval of the mean of (run, trajectory), resampling both."""
    low, high = bootstrap(values)
    return float(low), float(high)


def seconds_of(group: Group) -> float:
    """Wall time of a trajectory's rollout, mean over runs."""
    return _fact(group, "rollout_seconds_per_trajectory")


def resolved_bands(section: Section) -> list[str]:
    """Bands that the grid resolves."""
    return [name for name in BANDS if f"band_nrmse_{name}" in section.groups[0].first]


def _table(name: str, caption: str, section: Section, columns: Columns, groups: Sequence[Group] | None = None) -> Table:
    chosen = section.groups if groups is None else groups
    rows = [(group.label, *(cell(group) for _, cell in columns)) for group in chosen]
    absent = [(each.label, "missing", *[None] * (len(columns) - 1)) for each in section.missing]
    return Table(name, caption, (Column("model"), *(column for column, _ in columns)), (*rows, *absent))


def _physical(section: Section) -> Columns:
    names = section.quantities if len(section.quantities) > 1 else []
    return [
        (Column(f"mean at T* = {section.target}"), lambda group: float(group.final.mean())),
        (Column(INTERVAL), lambda group: interval(group.final)),
        (Column("median"), lambda group: _median(group.final)),
        (Column("quartiles"), lambda group: (_median(group.final, 0.25), _median(group.final, 0.75))),
        *((Column(name), _quantity_cell(section.target, name)) for name in names),
        *((Column(f"mean at {at}"), _mean_cell(at)) for at in _snapshots(section)[1:]),
    ]


def _published(section: Section) -> Columns:
    """Poseidon's figures, in per cent."""
    if PUBLISHED[0] not in section.groups[0].first:
        raise UsageError(f"--convention published: no constants are published for {section.facts['task']}")
    columns: Columns = []
    for at in _snapshots(section):
        heading = f"{'T* = ' if at == section.target else ''}{at}"
        columns += [
            (Column(f"mean % at {heading}", per_cent), _published_cell(PUBLISHED[0], at)),
            (Column(INTERVAL, per_cent), lambda group, at=at: interval(_published_errors(group, at))),
            (Column(f"median % at {heading}", per_cent), _published_cell(PUBLISHED[1], at)),
        ]
    return columns


def _published_errors(group: Group, at: int) -> np.ndarray:
    """Per cent by run and trajectory, averaged over groups of channels as Poseidon does."""
    given = int(group.first[PUBLISHED[0]].attrs["given_groups"])
    return np.stack([over_groups(run.published_relative_l1.sel(snapshot=at).values, given) for run in group.runs])


def _published_cell(name: str, at: int) -> Cell:
    return lambda group: float(np.mean([run[name].sel(snapshot=at) for run in group.runs]))


def _snapshots(section: Section) -> list[int]:
    """T*, and Poseidon's snapshot where that is an earlier one."""
    return [section.target, POSEIDON_SNAPSHOT] if section.target > POSEIDON_SNAPSHOT else [section.target]


def _mean_cell(at: int) -> Cell:
    return lambda group: float(np.mean([run.relative_l1.sel(snapshot=at).mean() for run in group.runs]))


def _quantity_cell(at: int, quantity: str) -> Cell:
    return lambda group: float(np.mean([run.relative_l1.sel(snapshot=at, quantity=quantity).mean() for run in group.runs]))


def _band_cell(at: int, band: str) -> Cell:
    return lambda group: float(np.mean([run[f"band_nrmse_{band}"].sel(snapshot=at).mean() for run in group.runs]))


def _per_run(group: Group, name: str) -> np.ndarray:
    """A figure of a rollout by run and trajectory, averaged over quantities."""
    return group.stacked(name).mean(-1)


def _median(values: np.ndarray, at: float = 0.5) -> float:
    return float(quantile(values.reshape(-1), at))


def _fact(group: Group, name: str) -> float:
    return float(np.mean([run.attrs[name] for run in group.runs]))


def _declared(result: xr.Dataset, name: str, quantity: str) -> bool:
    return bool(result[f"{name}_truth"].sel(quantity=quantity).notnull().all())


def _check_cell(at: int, name: str, quantity: str, compare: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Cell:
    def cell(group: Group) -> float | None:
        if f"{name}_prediction" not in group.first:  # Nothing has no divergence to speak of.
            return None
        both = (
            np.stack([run[f"{name}_{side}"].sel(snapshot=at, quantity=quantity).values for run in group.runs])
            for side in ("prediction", "truth")
        )
        return float(compare(*both).mean())

    return cell


CHECKS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "divergence": ("divergence", lambda prediction, truth: prediction),
    "energy": ("energy, prediction / truth", lambda prediction, truth: prediction / truth),
    "enstrophy": ("enstrophy, prediction / truth", lambda prediction, truth: prediction / truth),
    "mass": ("error of the mean", lambda prediction, truth: abs(prediction - truth)),
}
