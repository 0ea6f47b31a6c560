"""Figures of an experiment as SVG, from the condensed results: a panel a task, a line a row, the range of the seeds shaded."""

from __future__ import annotations

import io
from base64 import b64decode
from collections.abc import Callable

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from driftnet.reproduce.tables import Results

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe and Ito: safe for colour-blind eyes.
BASELINES = {"persistence": "--", "climatology": ":", "solver-half": "-."}  # Those that fit on the axes of the models.
BANDS = {"band_low": "n < 4", "band_mid": "4 to 12", "band_high": "from 12"}
PANEL = (3.6, 2.9)  # Inches.
COLUMNS = 3

Curve = NDArray[np.float64]


def planned(results: Results, frame: str) -> list[str]:
    """The figures that the recipe asks for and that have something to show, by name."""
    shown = [kind for kind in results.experiment.figures if _something(results, frame, kind)]
    return [f"{kind}-{frame}" for kind in shown]


def draw(results: Results, name: str) -> str:
    """A planned figure as SVG."""
    kind, _, frame = name.partition("-")
    return as_svg(DRAWN[kind](results, frame))


def _something(results: Results, frame: str, kind: str) -> bool:
    if kind == "fields":
        return bool(_all_kept(results, frame))
    return bool(_places(results, frame, tuple(BANDS) if kind == "bands" else ("mean",)))


def curves(results: Results, task: str, frame: str, row: str, name: str) -> list[Curve]:
    """A curve of every seed; the median where the mean has blown up."""
    found = [result["curves"] for result in results.cell(task, frame, row).found if "curves" in result]
    return [_finite(kept[_sound(kept, name)]) for kept in found if name in kept]


def _sound(kept: dict[str, list[float | None]], name: str) -> str:
    return "median" if name == "mean" and None in kept["mean"] else name


def _finite(values: list[float | None]) -> Curve:
    return np.array([np.nan if value is None else value for value in values])


def _error(results: Results, frame: str) -> Figure:
    """Relative L1 against the step."""
    return _panels(results, frame, ("mean",), lambda curve: curve, "relative L1", "log")


def _growth(results: Results, frame: str) -> Figure:
    """Change of the relative L1 from step to step."""
    return _panels(
        results, frame, ("mean",), lambda curve: np.diff(curve, prepend=0.0), "growth of relative L1 a step", "linear"
    )


def _bands(results: Results, frame: str) -> Figure:
    """NRMSE by bands of wavenumber against the step."""
    return _panels(results, frame, tuple(BANDS), lambda curve: curve, "nRMSE", "log")


def _panels(
    results: Results, frame: str, names: tuple[str, ...], of: Callable[[Curve], Curve], label: str, scale: str
) -> Figure:
    places = _places(results, frame, names)
    columns = min(COLUMNS, len(places))
    lines = -(-len(places) // columns)
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * lines + 0.5), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False)
    for axes, (task, name) in zip(grid.flat, places, strict=False):
        _fill(axes, results, (task, frame, name), of)
        axes.set(title=f"{task}{f', {BANDS[name]}' if name in BANDS else ''}", xlabel="step", ylabel=label, yscale=scale)
    for axes in list(grid.flat)[len(places) :]:
        axes.set_visible(False)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def _places(results: Results, frame: str, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """The panels that have something to show."""
    return [(task, name) for task in results.experiment.tasks for name in names if _shown(results, task, frame, name)]


def _shown(results: Results, task: str, frame: str, name: str) -> bool:
    """A steady task has no curve, and a task without results none yet."""
    found = [curve for row in results.experiment.rows for curve in curves(results, task, frame, row, name)]
    return any(len(curve) > 1 for curve in found)


def _fill(axes: Axes, results: Results, place: tuple[str, str, str], of: Callable[[Curve], Curve]) -> None:
    task, frame, name = place
    for row, color in zip(results.experiment.rows, COLORS, strict=False):
        found = np.array([of(curve) for curve in curves(results, task, frame, row, name)])
        if len(found):
            steps = np.arange(1, found.shape[1] + 1)
            axes.plot(steps, np.median(found, axis=0), color=color, label=row, linewidth=1.3)
            axes.fill_between(steps, found.min(0), found.max(0), color=color, alpha=0.15, linewidth=0)
    for row, dashes in BASELINES.items():
        for curve in curves(results, task, frame, row, name):
            axes.plot(np.arange(1, len(curve) + 1), of(curve), color="#8a8a8a", linestyle=dashes, linewidth=1, label=row)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def _fields(results: Results, frame: str) -> Figure:
    """Truth and predictions of the first example, first and last step, every channel, colours shared."""
    found = _all_kept(results, frame)
    first = next(iter(found.values()))
    rows = {"truth": _images(first, "truth"), **{row: _images(kept, "prediction") for row, kept in found.items()}}
    columns = [(step, channel) for step in range(2) for channel in range(len(first["channels"]))]
    figure = Figure(figsize=(1.9 * len(columns), 1.9 * len(rows) + 0.4), layout="constrained")
    grid = figure.subplots(len(rows), len(columns), squeeze=False)
    for line, (row, images) in zip(grid, rows.items(), strict=True):
        for axes, (step, channel) in zip(line, columns, strict=True):
            axes.imshow(images[step, channel].T, origin="lower", cmap="RdBu_r", vmin=-1, vmax=1)
            axes.set(xticks=[], yticks=[])
        line[0].set_ylabel(row)
    for axes, (step, channel) in zip(grid[0], columns, strict=True):
        axes.set_title(f"{first['channels'][channel]}, step {first['snapshots'][step]}", fontsize=9)
    return figure


def _all_kept(results: Results, frame: str) -> dict[str, dict]:
    """The kept fields of every row that has some; one task, one seed."""
    task = results.experiment.tasks[0]
    cells = {row: results.cell(task, frame, row).found for row in results.experiment.rows}
    return {row: found[0]["fields"] for row, found in cells.items() if found and "fields" in found[0]}


def _images(kept: dict, side: str) -> NDArray[np.float64]:
    """(step, channel, x, y), in shares of the largest true value."""
    return np.frombuffer(b64decode(kept[side]), np.int8).reshape(kept["shape"]) / 127


DRAWN: dict[str, Callable[[Results, str], Figure]] = {
    "error": _error,
    "growth": _growth,
    "bands": _bands,
    "fields": _fields,
}


def as_svg(figure: Figure) -> str:
    """A figure as text, the same for the same numbers."""
    stream = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "driftnet"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    return "\n".join(line.rstrip() for line in text[text.index("<svg") :].splitlines()) + "\n"
