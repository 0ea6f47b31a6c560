"""Options of the commands that show results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from driftnet.configs import Convention


@dataclass(frozen=True)
class ReportOptions:
    """Options of `driftnet report`."""

    output: Path = Path("report.html")
    """The page to write."""
    figures: Path | None = None
    """A folder for the figures as files of their own."""
    tables: Path | None = None
    """A folder for every table as CSV, LaTeX and Markdown."""
    convention: Convention = "physical"
    """Errors of the table. physical: fractions of fields as they are; published: Poseidon's per cent of normalised fields."""
    results: str = "metrics.nc"
    """Name of the results to show; those on other grids are called metrics-<points>-<protocol>.nc, and metrics*.nc is all."""
    overwrite: bool = False
    """Replace what exists."""
