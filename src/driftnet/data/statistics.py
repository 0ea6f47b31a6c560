"""Statistics of the training part, read once from front to back, never more than a few trajectories in memory."""

from __future__ import annotations

from driftnet.data.sources import Source
from driftnet.errors import DriftnetError
from driftnet.metrics.statistics import Moments, Statistics
from driftnet.progress import progress


def fit_statistics(training: Source) -> Statistics:
    """Mean and spread of the states and of their increments."""
    trajectories = training.trajectories
    task = trajectories.task
    states, increments = (Moments(len(task.components)) for _ in range(2))
    with progress("statistics", len(trajectories)) as advance:
        for _, fields in training.stream(range(len(trajectories))):
            states.add(fields)
            increments.add(fields.diff(dim=0))
            advance()
    std, increment_std = states.variance, increments.variance
    for quantity in task.quantities:
        channels = task.channels(quantity)
        std[channels] = std[channels].mean().sqrt()
        increment_std[channels] = increment_std[channels].mean().sqrt()
        if std[channels].min() == 0 or increment_std[channels].min() == 0:
            raise DriftnetError(f"{trajectories.stored.path}: {quantity.name} never changes, so it cannot be normalised")
    return Statistics(*(value.float() for value in (states.mean, std, increments.mean, increment_std)))
