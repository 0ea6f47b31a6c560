"""Statistics of the training part, read once from front to back, never more than a few trajectories in memory."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from driftnet.data.sources import Source
from driftnet.errors import DriftnetError
from driftnet.metrics.statistics import Moments, Statistics
from driftnet.progress import progress


def fit_statistics(training: Source) -> Statistics:
    """Mean and spread of the states, of their increments and of what is given with them."""
    trajectories = training.trajectories
    task = trajectories.task
    states, increments, static = (Moments(count) for count in (len(task.components),) * 2 + (len(task.static),))
    with progress("statistics", len(trajectories)) as advance:
        for index, fields in training.stream(range(len(trajectories))):
            states.add(fields[1:] if task.steady else fields)  # The first state of a steady map is zero by definition.
            increments.add(fields.diff(dim=0))
            if task.static:
                static.add(trajectories.static([index]))
            advance()
    std, increment_std = states.variance, increments.variance
    for quantity in task.quantities:
        channels = task.channels(quantity)
        for name, *spreads in zip(quantity.components, std[channels], increment_std[channels], strict=True):
            _require_change(trajectories.stored.path, quantity.name, name, min(spreads))
        std[channels] = std[channels].mean().sqrt()
        increment_std[channels] = increment_std[channels].mean().sqrt()
    given = static.variance.sqrt() if task.static else static.mean
    given[given == 0] = 1
    found = (states.mean, std, increments.mean, increment_std, static.mean, given)
    return Statistics(*(value.float() for value in found))


def _require_change(path: Path, quantity: str, component: str, spread: Tensor) -> None:
    of = "" if component == quantity else f"{component} of "
    if spread == 0:
        raise DriftnetError(f"{path}: {of}{quantity} never changes, so it cannot be normalised")
