"""Figures of results, as text that goes into a page."""

from __future__ import annotations

import io
from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from driftnet.metrics.bands import BANDS

BASELINE_STYLE = {"color": "#8a8a8a", "linewidth": 1.2}
BASELINE_DASHES = {
    "zero": ":",
    "persistence": "--",
    "climatology": (0, (6, 2)),
    "solver": (0, (1, 3)),
    "solver-half": "-.",
    "solver-quarter": (0, (4, 1, 1, 1, 1, 1)),
}
CONSTANT = ("zero", "climatology")  # Predictions that do not depend on the state.
MODEL_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe and Ito: safe for colour-blind eyes.


def error_curves(results: Sequence[xr.Dataset]) -> str:
    """Mean relative L1 against time, with the middle half of the trajectories shaded for trained models."""
    figure, axes = _axes("time", "relative L1")
    for result, style in _without(results, "solver"):
        errors = result.relative_l1.mean("quantity")
        finite = errors.where(np.isfinite(errors))
        axes.plot(result.time, finite.mean("sample"), label=label(result), **style)
        if is_trained(result):
            low, high = (finite.quantile(q, "sample") for q in (0.25, 0.75))
            axes.fill_between(result.time, low, high, color=style["color"], alpha=0.15, linewidth=0)
    axes.set_yscale("log")
    axes.legend(frameon=False)
    return _svg(figure)


def growth_curves(results: Sequence[xr.Dataset]) -> str:
    """Mean change of the relative L1 from step to step."""
    figure, axes = _axes("time", "growth of relative L1 a step")
    for result, style in _without(results, "solver", *CONSTANT):
        growth = result.instantaneous_growth.mean("quantity")
        axes.plot(result.time, growth.where(np.isfinite(growth)).mean("sample"), label=label(result), **style)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.legend(frameon=False)
    return _svg(figure)


def band_curves(results: Sequence[xr.Dataset], quantity: str) -> str:
    """NRMSE over time of trained models, a panel for every band that the grid resolves."""
    bands = [name for name in BANDS if f"band_nrmse_{name}" in results[0]]
    figure = Figure(figsize=(2.6 * len(bands) + 0.6, 3.8), layout="constrained")
    panels = figure.subplots(1, len(bands), squeeze=False, sharey=True)[0]
    for band, axes in zip(bands, panels, strict=True):
        for result, style in zip(results, _styles(results), strict=True):
            errors = result[f"band_nrmse_{band}"].sel(quantity=quantity)
            if is_trained(result) or result.attrs["model"] == "persistence":
                axes.semilogy(result.time, errors.where(np.isfinite(errors)).mean("sample"), label=label(result), **style)
        axes.set(title=band, xlabel="time")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    panels[0].set_ylabel(f"nRMSE of {quantity}")
    panels[-1].legend(frameon=False)
    return _svg(figure)


def error_against_seconds(results: Sequence[xr.Dataset]) -> str:
    """Mean error at T* against the seconds of a rollout; solvers as joined squares."""
    figure, axes = _axes("seconds a trajectory", "relative L1 at T*")
    points = [(cost(result), result, style) for result, style in zip(results, _styles(results), strict=True)]
    solvers = sorted(point for point, result, _ in points if is_solver(result))
    if solvers:
        axes.loglog(*zip(*solvers, strict=True), color="#8a8a8a", marker="s", linewidth=1, label="solver, coarser to finer")
    for point, result, style in points:
        if is_trained(result):
            axes.loglog(*point, marker="o", linestyle="", color=style["color"], label=label(result))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False)
    return _svg(figure)


def cost(result: xr.Dataset) -> tuple[float, float]:
    """Seconds of a rollout and mean error at T*."""
    error = result.relative_l1.sel(snapshot=result.attrs["final_snapshot"]).mean()
    return float(result.attrs["rollout_seconds_per_trajectory"]), float(error)


def is_solver(result: xr.Dataset) -> bool:
    """Whether a result is a numerical solver's."""
    return result.attrs["model"].startswith("solver")


def spectra(results: Sequence[xr.Dataset], quantity: str) -> str:
    """Energy spectra at T*, the truth in black."""
    figure, axes = _axes("wavenumber", f"energy of {quantity}")
    at_end = [result.sel(snapshot=result.attrs["final_snapshot"], quantity=quantity) for result in results]
    wavenumbers = np.arange(1, at_end[0].sizes["wavenumber"])
    for result, end, style in zip(results, at_end, _styles(results), strict=True):
        if result.attrs["model"] not in ("persistence", *CONSTANT):
            axes.loglog(wavenumbers, end.spectrum_prediction[1:], label=label(result), **style)
    truth = at_end[0].spectrum_truth[1:]
    axes.loglog(wavenumbers, truth, color="black", linewidth=1, label="truth")
    # A coarse solver has nothing but rounding beyond its grid.
    axes.set_ylim(bottom=0.1 * float(truth.where(truth > 0).min()))
    axes.legend(frameon=False)
    return _svg(figure)


def fields(result: xr.Dataset, channel: str) -> bytes:
    """Truth, prediction and error of the first example; truth and prediction share their colours."""
    truth, prediction = (result[f"example_{kind}"].isel(example=0).sel(channel=channel) for kind in ("truth", "prediction"))
    error = prediction - truth
    columns = truth.sizes["shown"]
    figure = Figure(figsize=(1.7 * columns + 1, 5.2), layout="constrained")
    grid = figure.subplots(3, columns, squeeze=False)
    shared, own = float(abs(truth).max()), float(abs(error.where(np.isfinite(error))).max())
    lines = (("truth", truth, shared, "RdBu_r"), ("prediction", prediction, shared, "RdBu_r"), ("error", error, own, "PuOr_r"))
    for line, (name, images, limit, colors) in enumerate(lines):
        drawn = [
            axes.imshow(images.isel(shown=column).T, origin="lower", cmap=colors, vmin=-limit, vmax=limit)
            for column, axes in enumerate(grid[line])
        ]
        grid[line][0].set_ylabel(name)
        figure.colorbar(drawn[-1], ax=list(grid[line]), shrink=0.85)
    for column, axes in enumerate(grid[0]):
        axes.set_title(f"snapshot {int(truth.shown[column])}", fontsize=9)
    for axes in grid.flat:
        axes.set(xticks=[], yticks=[])
    return _png(figure)


def _axes(xlabel: str, ylabel: str):  # noqa: ANN202 - matplotlib's own types say little here
    figure = Figure(figsize=(6.2, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    return figure, axes


def _without(results: Sequence[xr.Dataset], *names: str) -> list[tuple[xr.Dataset, dict]]:
    """Results and their styles, but for those that would leave the others no room."""
    pairs = zip(results, _styles(results), strict=True)
    return [(result, style) for result, style in pairs if result.attrs["model"] not in names]


def _styles(results: Sequence[xr.Dataset]) -> list[dict]:
    styles, colors = [], iter(MODEL_COLORS * (1 + len(results)))
    for result in results:
        name = result.attrs["model"]
        baseline = name in BASELINE_DASHES
        styles.append({**BASELINE_STYLE, "linestyle": BASELINE_DASHES[name]} if baseline else {"color": next(colors)})
    return styles


def label(result: xr.Dataset) -> str:
    """How a result is called in figures."""
    seed = result.attrs.get("seed")
    return result.attrs["model"] if seed is None else f"{result.attrs['model']}, seed {int(seed)}"


def _svg(figure: Figure) -> str:
    stream = io.StringIO()
    # Text stays text: smaller, selectable, and in the reader's own font.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "driftnet"}):
        figure.savefig(stream, format="svg", metadata={"Date": None}, transparent=True)
    return stream.getvalue()[stream.getvalue().index("<svg") :]


def is_trained(result: xr.Dataset) -> bool:
    """Whether a result is a trained model's and not a baseline's."""
    return "seed" in result.attrs


def _png(figure: Figure) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110)
    return stream.getvalue()
