"""Which snapshots of a trajectory a model is shown together; torch-free."""

from __future__ import annotations

from driftnet.configs import Objective, require

Window = tuple[int, ...]  # Numbers of snapshots: the first is given, the others are to be predicted.


def windows(objective: Objective, snapshots: int) -> tuple[Window, ...]:
    """Every window of a trajectory that an objective trains on."""
    if objective.kind == "all-to-all":
        longest = _longest(objective, snapshots)
        return tuple(
            (first, last) for first in range(snapshots) for last in range(first + 1, min(first + longest + 1, snapshots))
        )
    steps = objective.horizon
    require(steps < snapshots, f"training.objective.steps: {steps} is more than the {snapshots - 1} steps of a trajectory")
    return tuple(tuple(range(first, first + steps + 1)) for first in range(snapshots - steps))


def validation_windows(objective: Objective, snapshots: int) -> tuple[Window, ...]:
    """The pairs that decide which weights are kept: all single steps, or every lead time from the first snapshot."""
    if objective.kind == "all-to-all":
        return tuple((0, last) for last in range(1, _longest(objective, snapshots) + 1))
    return windows(Objective(), snapshots)


def _longest(objective: Objective, snapshots: int) -> int:
    most = snapshots - 1
    longest = objective.longest or most
    require(longest <= most, f"training.objective.longest: {longest} is more than the {most} steps of a trajectory")
    return longest
