"""`driftnet bench objectives`: what a training step costs under every objective, in ratios to one-step training."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from driftnet import registry
from driftnet.bench.models import Case, as_text, spread, take_turns
from driftnet.configs import Objective
from driftnet.options.bench import BenchObjectivesOptions

HEAD = ("model", "training", "step ms", "spread", "time", "peak MB", "memory")


@dataclass(frozen=True)
class ObjectiveCase(Case):
    """One line of the table."""

    objective: Objective = field(default_factory=Objective)
    ema: float = 0.0


WAYS: dict[str, tuple[Objective, float]] = {
    "one-step": (Objective(), 0.0),
    "one-step, noise": (Objective(noise=0.01), 0.0),
    "one-step, ema": (Objective(), 0.999),
    "all-to-all": (Objective("all-to-all"), 0.0),
    "unrolled, 2 steps": (Objective("unrolled", steps=2), 0.0),
    "unrolled, 4 steps": (Objective("unrolled", steps=4), 0.0),
    "pushforward, 2 steps": (Objective("pushforward", steps=2), 0.0),
    "pushforward, 4 steps": (Objective("pushforward", steps=4), 0.0),
}


def bench(names: list[str], options: BenchObjectivesOptions) -> str:
    """Measure every way of training of every model in turn; returns the table."""
    chosen = names or ["drift-net-tiny"]
    for name in chosen:
        registry.model(name)
    size = (registry.task(options.task).name, options.resolution, options.batch, options.device, options.steps)
    cases = [
        ObjectiveCase(name, *size, objective=objective, ema=ema)
        for name in chosen
        for objective, ema in WAYS.values()
        if objective.kind != "all-to-all" or hasattr(registry.model(name), "backbone")
    ]
    found = take_turns(cases, options.repeats, options.threads)
    return as_text(_rows(cases, found), HEAD) + "\n\n" + _notes(options)


def _rows(cases: list[ObjectiveCase], found: list[list[dict[str, Any]]]) -> list[tuple[str, ...]]:
    named = {way: name for name, way in WAYS.items()}
    base: dict[str, tuple[float, float]] = {}
    rows = []
    for case, results in zip(cases, found, strict=True):
        steps = [second for result in results for second in result["step_seconds"]]
        step, peak = median(steps), median(result["peak_bytes"] for result in results)
        first = base.setdefault(case.model, (step, peak))  # One-step training comes first.
        name = named[case.objective, case.ema]
        times = (f"{1000 * step:.1f}", f"{1000 * spread(steps):.1f}", f"{step / first[0]:.2f}")
        rows.append((case.model, name, *times, f"{peak / 1e6:.0f}", f"{peak / first[1]:.2f}"))
    return rows


def _notes(options: BenchObjectivesOptions) -> str:
    return (
        f"Steps of {options.batch} windows on {options.resolution} x {options.resolution} points, single precision, on "
        f"{options.device}, {options.threads} threads.\nMedians of {options.repeats} processes x {options.steps} steps, in "
        "turn; time and memory over those of one-step. all-to-all: on the same\nmodel with norms that take lead times."
    )
