"""How figures look: SVG whose colours a page can set, and PNG."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from driftnet.report.collect import Group

INK, RULE, QUIET = "#1b1b1b", "#d4d4d4", "#8a8a8a"
MODEL_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe and Ito: safe for colour-blind eyes.
PAGE_COLORS = {INK: "currentColor", RULE: "var(--rule)", QUIET: "var(--quiet)"} | {
    color: f"var(--series-{index})" for index, color in enumerate(MODEL_COLORS)
}
MODEL_DASHES = ("-", "--", "-.", ":")  # Taken in turn where there are more models than colours.
BASELINE_DASHES: dict[str, Any] = {
    "zero": ":",
    "persistence": "--",
    "climatology": (0, (6, 2)),
    "solver": (0, (1, 3)),
    "solver-half": "-.",
    "solver-quarter": (0, (4, 1, 1, 1, 1, 1)),
}
STYLE: dict[Any, Any] = {
    # Text stays text: smaller, selectable, and in the reader's own font.
    "svg.fonttype": "none",
    "svg.hashsalt": "driftnet",
    "font.size": 11,
    "axes.labelsize": 11,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}
SIZE = (5.0, 3.6)

Plot = Callable[[Figure], None]


def svg(plot: Plot, size: tuple[float, float] = SIZE) -> str:
    """What `plot` draws, as text."""
    stream = io.StringIO()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        plot(figure)
        figure.savefig(stream, format="svg", metadata={"Date": None}, transparent=True, dpi=200)
    return stream.getvalue()[stream.getvalue().index("<svg") :]


def png(plot: Plot, size: tuple[float, float] = SIZE) -> bytes:
    """What `plot` draws, as an image on white."""
    stream = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        plot(figure)
        figure.savefig(stream, format="png", dpi=110)
    return stream.getvalue()


def in_page(drawn: str, name: str, title: str) -> str:
    """The SVG with the colours of the page around it, a title for screen readers, and names of parts that are its own."""
    for color, variable in PAGE_COLORS.items():
        drawn = drawn.replace(color, variable)
    drawn = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", drawn)
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)


def styles(groups: Sequence[Group]) -> dict[str, dict[str, Any]]:
    """Line styles by label: a colour a model, a dash a baseline."""
    found, trained = {}, 0
    for group in sorted(groups, key=lambda group: group.label):
        if group.trained:
            color = MODEL_COLORS[trained % len(MODEL_COLORS)]
            dashes = MODEL_DASHES[trained // len(MODEL_COLORS) % len(MODEL_DASHES)]
            found[group.label], trained = {"color": color, "linestyle": dashes}, trained + 1
        else:
            found[group.label] = {"color": QUIET, "linestyle": BASELINE_DASHES.get(group.model, "-"), "linewidth": 1.2}
    return found


def legend_below(figure: Figure, columns: int = 3) -> None:
    """One legend under the axes, each label once."""
    handles = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=columns)
