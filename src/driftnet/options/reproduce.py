"""Options of `driftnet reproduce`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from driftnet.configs import require


@dataclass(frozen=True)
class ReproduceOptions:
    """Options of `driftnet reproduce`."""

    scale: str = "laptop"
    """laptop, workstation or paper: a file of recipes/scales."""
    tasks: tuple[str, ...] = ()
    """Of these tasks only; all of the experiments where not given."""
    kinds: tuple[Literal["errors", "baseline", "bounds", "costs"], ...] = ()
    """Of these kinds only: models, rows without training, bounds, costs; all where not given."""
    dry_run: bool = False
    """Show the plan and its cost, and stop."""
    render: bool = False
    """Write the page and the figures from the results that are there, and stop."""
    smoke: bool = False
    """Take one real optimiser step of every configuration at its full size, on random fields, and stop."""
    workers: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    """Processes, one thread each."""
    device: str = "cpu"
    """Where to compute: cpu, cuda, cuda:1, ..."""
    until: float | None = None
    """Seconds after which nothing new is begun."""
    code: Literal["same", "any"] = "same"
    """Which results count as done: of the same code, or of any."""
    recipes: Path = Path("recipes")
    """The folder of recipes."""
    results: Path = Path("results")
    """Results go to RESULTS/<scale>."""
    work: Path = Path("reproduced")
    """Data and runs go to WORK/<scale>; may be deleted."""
    page: Path | None = None
    """The page to write; docs/results.md for the laptop scale, docs/results-<scale>.md for others, where not given."""

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        require(self.workers > 0, f"workers: {self.workers} is not positive")
        require(self.until is None or self.until > 0, f"until: {self.until} is not positive")
