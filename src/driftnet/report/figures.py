"""Figures of a section: curves with intervals, bands, spectra, cost, fields."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from driftnet.metrics.bands import BANDS
from driftnet.metrics.summary import bootstrap
from driftnet.report.collect import Group, Section
from driftnet.report.columns import resolved_bands, seconds_of
from driftnet.report.drawing import INK, QUIET, legend_below, png, styles, svg

CONSTANT = ("zero", "climatology")  # Predictions that do not depend on the state.
BAND_COLORS, BAND_LIMITS = "cividis", (1e-4, 10.0)  # Beyond the limits, more colour would say nothing.
SPECTRUM_TIMES, SPECTRUM_RANGE = 3, 1e-10
FIELD_COLUMNS = 5


def error_curves(section: Section, quantity: str | None = None) -> str:
    """Mean relative L1 against time; of models with its 95 % interval."""
    return _curves(section, "relative_l1", ("relative L1", "log"), quantity, ("solver",))


def growth_curves(section: Section) -> str:
    """Mean change of the relative L1 from step to step; of models with its 95 % interval."""
    return _curves(section, "instantaneous_growth", ("growth of relative L1 a step", "linear"), None, ("solver", *CONSTANT))


def _curves(section: Section, name: str, axis: tuple[str, str], quantity: str | None, left_out: Sequence[str]) -> str:
    look = styles(section.groups)

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        axes.set(xlabel="time", ylabel=axis[0] if quantity is None else f"{axis[0]} of {quantity}", yscale=axis[1])
        for group in section.groups:
            if group.model not in left_out:
                _curve(axes, group, _of_quantity(group, name, quantity), look[group.label])
        legend_below(figure)

    return svg(plot)


def _of_quantity(group: Group, name: str, quantity: str | None) -> np.ndarray:
    """A variable by run, trajectory and step: of one quantity, or the mean over all."""
    values = group.stacked(name)
    return values.mean(-1) if quantity is None else values[..., list(group.first.quantity.values).index(quantity)]


def _curve(axes: Axes, group: Group, values: np.ndarray, style: dict) -> None:
    time = group.first.time.values
    axes.plot(time, _finite(values.mean((0, 1))), label=group.label, marker="o" if len(time) == 1 else "", **style)
    if group.trained:
        low, high = (_finite(end) for end in bootstrap(values))
        axes.fill_between(time, low, high, color=style["color"], alpha=0.2, linewidth=0)


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.nan)


def error_against_seconds(section: Section) -> str:
    """Mean error at T* against the seconds of a rollout; solvers as joined squares."""
    look = styles(section.groups)

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        axes.set(xlabel="seconds a trajectory", ylabel="relative L1 at T*", xscale="log", yscale="log")
        groups = [group for group in section.groups if group.model.startswith("solver") and group.final.any()]
        solvers = sorted((seconds_of(group), group.final.mean()) for group in groups)
        if solvers:
            axes.plot(*zip(*solvers, strict=True), color=QUIET, marker="s", linewidth=1, label="solver, coarser to finer")
        for group in section.trained:
            color = look[group.label]["color"]
            axes.plot(seconds_of(group), group.final.mean(), marker="o", linestyle="", color=color, label=group.label)
        low, high = axes.get_xlim()
        axes.set_xlim(10 ** np.floor(np.log10(low)), 10 ** np.ceil(np.log10(high)))
        axes.xaxis.set_minor_formatter(NullFormatter())  # Labels between powers of ten run into each other.
        legend_below(figure)

    return svg(plot)


def shown_steps(section: Section) -> list[int]:
    """Snapshots at which spectra are drawn: the first, one between, T*."""
    return [int(step) for step in np.unique(np.geomspace(1, section.target, SPECTRUM_TIMES).round())]


def _energies(section: Section, quantity: str) -> tuple[float, float]:
    """Limits for all times shown, so that these can be compared; what lies below them is rounding."""
    truth = section.groups[0].first.spectrum_truth.sel(snapshot=shown_steps(section), quantity=quantity).values[:, 1:]
    high = float(truth.max())
    return max(0.1 * float(truth.min()), SPECTRUM_RANGE * high), 3 * high


def spectra(section: Section, quantity: str, snapshot: int) -> str:
    """Energy by wavenumber at a snapshot, mean over runs and trajectories; the truth in the colour of the text."""
    look = styles(section.groups)

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        axes.set(xlabel="wavenumber", ylabel=f"energy of {quantity}", xscale="log", yscale="log")
        for group in section.groups:
            if group.model not in ("persistence", *CONSTANT):
                prediction = np.mean([_spectrum(run, "prediction", quantity, snapshot) for run in group.runs], 0)
                axes.plot(np.arange(1, len(prediction)), prediction[1:], label=group.label, **look[group.label])
        truth = _spectrum(section.groups[0].first, "truth", quantity, snapshot)[1:]
        axes.plot(np.arange(1, len(truth) + 1), truth, color=INK, linewidth=1, label="truth")
        axes.set_ylim(*_energies(section, quantity))
        axes.xaxis.set_minor_formatter(NullFormatter())
        legend_below(figure)

    return svg(plot)


def _spectrum(run: xr.Dataset, side: str, quantity: str, snapshot: int) -> np.ndarray:
    return run[f"spectrum_{side}"].sel(snapshot=snapshot, quantity=quantity).values


def band_map(section: Section, quantity: str) -> str:
    """NRMSE by band and time, a strip for every model, persistence and the coarse solvers; one colour scale for all."""
    groups = [group for group in section.groups if group.model not in ("solver", *CONSTANT)]
    bands = resolved_bands(section)
    maps = {group.label: _bands_over_time(group, bands, quantity) for group in groups}
    finite = np.concatenate([values[np.isfinite(values) & (values > 0)] for values in maps.values()])
    norm = LogNorm(max(finite.min(), BAND_LIMITS[0]), min(finite.max(), BAND_LIMITS[1]))
    time = section.groups[0].first.time.values
    half = (time[1] - time[0]) / 2 if len(time) > 1 else 0.5

    def plot(figure: Figure) -> None:
        panels = figure.subplots(len(groups), 1, squeeze=False, sharex=True)[:, 0]
        extent = (time[0] - half, time[-1] + half, len(bands) - 0.5, -0.5)
        for axes, (label, values) in zip(panels, maps.items(), strict=True):
            axes.imshow(values, cmap=BAND_COLORS, norm=norm, extent=extent, aspect="auto", interpolation="nearest")
            axes.set_yticks(range(len(bands)), bands)
            axes.set_title(label, loc="left", fontsize=9)
            axes.grid(visible=False)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        panels[-1].set_xlabel("time")
        figure.colorbar(ScalarMappable(norm, BAND_COLORS), ax=list(panels), label=f"nRMSE of {quantity}", aspect=30)

    return svg(plot, (5.0, 0.8 * len(groups) + 0.8))


def _bands_over_time(group: Group, bands: Sequence[str], quantity: str) -> np.ndarray:
    """(band, snapshot), mean over runs and trajectories."""
    return np.stack([_of_quantity(group, f"band_nrmse_{band}", quantity).mean((0, 1)) for band in bands])


def band_meaning() -> str:
    """The bounds of the bands in words."""
    return ", ".join(f"{name} from |n| = {first}" for name, (first, _) in BANDS.items())


def fields(result: xr.Dataset, channel: str) -> bytes:
    """Truth, prediction and error of the first example; truth and prediction share their colours."""
    shown = np.unique(np.linspace(0, result.sizes["shown"] - 1, FIELD_COLUMNS).round().astype(int))
    chosen = result.isel(example=0, shown=shown).sel(channel=channel)
    truth, prediction = chosen.example_truth, chosen.example_prediction
    error = prediction - truth
    shared, own = float(abs(truth).max()), float(abs(error.where(np.isfinite(error))).max())
    lines = (("truth", truth, shared, "RdBu_r"), ("prediction", prediction, shared, "RdBu_r"), ("error", error, own, "PuOr_r"))

    def plot(figure: Figure) -> None:
        grid = figure.subplots(3, len(shown), squeeze=False)
        for line, (name, images, limit, colors) in zip(grid, lines, strict=True):
            for column, axes in enumerate(line):
                axes.imshow(images.isel(shown=column).T, origin="lower", cmap=colors, vmin=-limit, vmax=limit)
                axes.set(xticks=[], yticks=[])
                axes.grid(visible=False)
            line[0].set_ylabel(name)
            figure.colorbar(ScalarMappable(Normalize(-limit, limit), colors), ax=list(line), shrink=0.85)
        for step, axes in zip(truth.shown.values, grid[0], strict=True):
            axes.set_title(f"snapshot {int(step)}", fontsize=9)

    return png(plot, (1.7 * len(shown) + 1, 5.2))
