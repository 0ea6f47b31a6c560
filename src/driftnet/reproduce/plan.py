"""What a suite will cost, and the plan that `--dry-run` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from driftnet.reproduce.parts import Entry, Fit, Need, data_file
from driftnet.reproduce.recipes import Cookbook, Scale
from driftnet.reproduce.store import Store

EVALUATION = 0.12  # Share of the training that its evaluation took, of the first runs of the laptop suite.
BASELINE_SECONDS, BOUNDS_SECONDS = 10.0, 30.0  # Of the first runs of the laptop suite.
COSTS_START, COSTS_STEP = 10.0, 15.0  # Of a process, and of a step of a full model at batch 4, one core, with its forward pass.
LEGEND = "A part that experiments share counts where it comes first. Hours rest on the seconds of a step in the scale's file."


@dataclass(frozen=True)
class Estimate:
    """Seconds on one worker, by the seconds of a step that the scale states."""

    scale: Scale

    def group(self, needs: Sequence[Need]) -> float:
        """Of parts that share a training."""
        fit = needs[0].fit
        training = self.training(fit) if fit else 0.0
        return max(1.0, training + sum(self._measuring(need, training) for need in needs))

    def training(self, fit: Fit) -> float:
        """Of a training."""
        return steps_of(fit) * self._step(fit) * self.scale.data[fit.task].cost

    def _step(self, fit: Fit) -> float:
        own = [each.step for each in self.scale.models.values() if each.preset == fit.recipe.preset and each.step]
        return max(own, default=0.0)

    def _measuring(self, need: Need, training: float) -> float:
        if need.part.kind == "costs":
            return self._costs(need.part.spec)
        return {"errors": EVALUATION * training, "baseline": BASELINE_SECONDS}.get(need.part.kind, BOUNDS_SECONDS)

    def _costs(self, spec: Mapping[str, Any]) -> float:
        """Processes one after the other, at the seconds of a step that the scale states, or at those of a core."""
        own = max((each.step for each in self.scale.models.values() if each.preset == spec["model"]), default=0.0)
        step = 2 * own if own else COSTS_STEP
        return spec["repeats"] * (COSTS_START + spec["steps"] * step * (spec["resolution"] / 128) ** 2)

    def data(self, needs: Iterable[Need]) -> dict[str, float]:
        """Of every data file, by its name."""
        jobs = {data_file(job): (need.task, job) for need in needs if (job := need.fit.job if need.fit else need.job)}
        return {path.stem: job.split.total * self.scale.data[task].generation for path, (task, job) in jobs.items()}


def steps_of(fit: Fit) -> int:
    """Optimiser steps of a training."""
    training, trajectories = fit.recipe.training, fit.recipe.trajectories or fit.job.split.train
    pairs = trajectories * (fit.job.snapshots - 1)
    return training.steps or ceil(pairs * training.epochs / training.batch)


def show(entries: Sequence[Entry], book: Cookbook, store: Store, workers: int, any_code: bool) -> str:
    """The plan as text: what is there, what is missing, what it will take."""
    from driftnet.reproduce.suite import groups

    estimate = Estimate(book.scale)
    lines = [f"scale {book.scale.name}: {' '.join(book.scale.about.split())}", ""]
    lines += [f"{'experiment':28} {'parts':>6} {'done':>6} {'older code':>11} {'trainings':>10} {'hours':>7}"]
    met: set[str] = set()
    for name in dict.fromkeys(entry.experiment for entry in entries):
        own = [entry for entry in entries if entry.experiment == name]
        missing = groups([entry for entry in own if entry.need.part.name not in met], store, estimate, any_code)
        lines.append(_line(name, own, store, missing))
        met.update(entry.need.part.name for entry in own)
    missing = groups(entries, store, estimate, any_code)
    data = estimate.data(need for group in missing for need in group.needs)
    seconds = sum(group.seconds for group in missing) + sum(data.values())
    trainings = Counter(group.needs[0].fit is not None for group in missing)[True]
    lines += ["", f"data files: {len(data)}, {sum(data.values()) / 3600:.2f} hours of one worker"]
    lines += [
        f"to run: {trainings} trainings, {seconds / 3600:.1f} hours of one worker, {_clock(seconds / workers)} on {workers}"
    ]
    lines += [LEGEND]
    return "\n".join(lines)


def _line(name: str, own: list[Entry], store: Store, missing: list[Any]) -> str:
    parts = {entry.need.part.name: entry.need.part for entry in own}
    done = sum(store.has(part) for part in parts.values())
    older = sum(store.has(part, any_code=True) for part in parts.values()) - done
    trainings = sum(group.needs[0].fit is not None for group in missing)
    hours = sum(group.seconds for group in missing) / 3600
    return f"{name:28} {len(parts):6} {done:6} {older:11} {trainings:10} {hours:7.2f}"


def _clock(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min"
