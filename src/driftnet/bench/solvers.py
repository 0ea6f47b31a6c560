"""`driftnet bench solvers`: what a time step costs, beside exponax and beside finite differences in C."""

from __future__ import annotations

from dataclasses import asdict
from statistics import median
from typing import Any

from driftnet.bench.models import as_text, spread
from driftnet.bench.process import ask
from driftnet.configs import require
from driftnet.options.bench import BenchSolversOptions

HEAD = ("solver", "ms", "spread", "beside", "ms", "spread", "ours/theirs", "differ by")
ONE_CORE = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def bench(names: list[str], options: BenchSolversOptions) -> str:
    """Measure all solvers in turn in one process; returns the table."""
    require(not names, "driftnet bench solvers takes no names")
    found = measured(options)
    skipped = sorted({f"Skipped, because {row['skipped']}: '{row['beside']}'." for row in found if row["skipped"]})
    return "\n".join((as_text([_cells(row) for row in found], HEAD), "", _notes(options), *skipped))


def measured(options: BenchSolversOptions) -> list[dict[str, Any]]:
    """Of every solver its name, what is beside it, seconds of a step of both, and how far their results are apart."""
    return ask("driftnet.bench.steps:measure", asdict(options), 1, XLA_FLAGS=ONE_CORE)


def ratio(row: dict[str, Any]) -> float:
    """Median of a step of ours in those of the other."""
    return median(row["seconds"]["ours"]) / median(row["seconds"]["theirs"])


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    ours, theirs = row["seconds"]["ours"], row["seconds"]["theirs"]
    difference = "-" if row["difference"] is None else f"{row['difference']:.1e}"
    if not theirs:
        return (row["name"], *_times(ours), row["beside"] or "-", "-", "-", "-", "-")
    return (row["name"], *_times(ours), row["beside"], *_times(theirs), f"{ratio(row):.2f}", difference)


def _times(seconds: list[float]) -> tuple[str, str]:
    return f"{1000 * median(seconds):.3f}", f"{1000 * spread(seconds):.3f}"


def _notes(options: BenchSolversOptions) -> str:
    return (
        f"A time step of {options.batch} trajectories on {options.resolution} x {options.resolution} points, single precision; "
        "processor time of one process bound to one\ncore, allocator fixed. "
        f"Medians of {options.repeats} repeats x {options.steps} steps, in turn; spread: half the interquartile range.\n"
        "Flows: ETDRK2. exponax: one compiled loop of its Fourier steps. C: compiled here for this machine, fourth order in\n"
        "space; wave: the same scheme and absorbing layer; Allen-Cahn: the same splitting, diffusion to second order in time.\n"
        "differ by: largest difference after those steps, of the largest value."
    )
