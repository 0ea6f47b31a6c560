"""Trajectories of a data set, read as they are asked for: files may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.configs import require
from driftnet.data.formats.reader import Contents, open_reader
from driftnet.errors import DriftnetError
from driftnet.tasks.base import Split, Task


class Trajectories:
    """One part of a data set: trajectory i, snapshot t, in physical units, whatever the format of its files."""

    def __init__(self, path: Path, task: Task, part: str, first: int | None = None) -> None:
        self.task, self.reader = task, open_reader(path, task)
        chosen = split_of(self.stored, task).slices(self.stored.trajectories)[part]
        self.indices = range(chosen.start, chosen.stop)
        if first is not None:
            require(0 < first <= len(self), f"trajectories: {first} is not between 1 and the {len(self)} of the {part} part")
            self.indices = self.indices[:first]

    def __len__(self) -> int:
        """Trajectories in this part."""
        return len(self.indices)

    @property
    def stored(self) -> Contents:
        """What the files say of themselves."""
        return self.reader.contents

    @property
    def snapshots(self) -> int:
        """Snapshots of every trajectory."""
        return self.stored.snapshots

    @property
    def pairs(self) -> int:
        """Pairs of consecutive snapshots."""
        return len(self) * (self.snapshots - 1)

    def read(self, trajectory: int, first: int, last: int) -> Float[Tensor, "t c x y"]:
        """Snapshots first .. last - 1 of a trajectory."""
        index = self.indices[trajectory]
        return self._finite(self.reader.read(index, first, last), index)

    def __getitem__(self, trajectory: int) -> Float[Tensor, "t c x y"]:
        """A whole trajectory."""
        return self.read(trajectory, 0, self.snapshots)

    def batches(self, size: int) -> Iterator[Float[Tensor, "b t c x y"]]:
        """All trajectories in order, `size` at a time."""
        for start in range(0, len(self), size):
            yield torch.stack([self[index] for index in range(start, min(start + size, len(self)))])

    def static(self, trajectories: Sequence[int]) -> Float[Tensor, "b s x y"]:
        """Input channels that are given and never predicted."""
        if not self.task.static:
            return torch.zeros(len(trajectories), 0, *self.stored.size)
        indices = [self.indices[trajectory] for trajectory in trajectories]
        return torch.stack([self._finite(self.reader.static(index), index) for index in indices])

    def _finite(self, values: np.ndarray, index: int) -> Tensor:
        if not np.isfinite(values).all():
            raise DriftnetError(f"{self.stored.path}: trajectory {index} has values that are not finite")
        return torch.from_numpy(values)


def split_of(stored: Contents, task: Task) -> Split:
    """The split that the files state, or the task's published one."""
    split = stored.split or task.split
    if split.total > stored.trajectories:
        raise DriftnetError(
            f"{stored.path} holds {stored.trajectories} trajectories; the split of {task.name} needs {split.total}"
        )
    return split
