"""Trajectories of a data file, read as they are asked for: a file may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.data.store import Stored, inspect
from driftnet.errors import DriftnetError
from driftnet.tasks.base import Task


class Trajectories:
    """One part of a data file: trajectory i, snapshot t, in physical units."""

    def __init__(self, path: Path, task: Task, part: str) -> None:
        self.task = task
        self.stored: Stored = inspect(path, task)
        chosen = self.stored.split(task).slices(self.stored.trajectories)[part]
        self.indices = range(chosen.start, chosen.stop)
        self._file: h5py.File | None = None

    def __len__(self) -> int:
        """Trajectories in this part."""
        return len(self.indices)

    @property
    def snapshots(self) -> int:
        """Snapshots of every trajectory."""
        return self.stored.snapshots

    @property
    def pairs(self) -> int:
        """Pairs of consecutive snapshots."""
        return len(self) * (self.snapshots - 1)

    def read(self, trajectory: int, first: int, last: int) -> Float[Tensor, "t c x y"]:
        """Snapshots first .. last - 1 of a trajectory; before the step of a steady map there is nothing."""
        index, axes = self.indices[trajectory], self.task.source.variables[0].dimensions
        variable: Any = self._open()[self.stored.variable]
        values = variable[index, first:last] if "time" in axes else variable[index][None]
        values = values[:, : len(self.task.components)] if "channel" in axes else values[:, None]
        self._refuse_broken(values, index)
        if self.task.steady:
            values = np.concatenate((np.zeros_like(values), values))[first:last]
        return torch.from_numpy(values.astype(np.float32, copy=False))

    def _refuse_broken(self, values: np.ndarray, index: int) -> None:
        if not np.isfinite(values).all():
            raise DriftnetError(f"{self.stored.path}: trajectory {index} has values that are not finite")

    def __getitem__(self, trajectory: int) -> Float[Tensor, "t c x y"]:
        """A whole trajectory."""
        return self.read(trajectory, 0, self.snapshots)

    def batches(self, size: int) -> Iterator[Float[Tensor, "b t c x y"]]:
        """All trajectories in order, `size` at a time."""
        for start in range(0, len(self), size):
            yield torch.stack([self[index] for index in range(start, min(start + size, len(self)))])

    def static(self, trajectories: Sequence[int]) -> Float[Tensor, "b s x y"]:
        """Static input channels of some trajectories."""
        fields = np.zeros((len(trajectories), len(self.task.static), *self.stored.size), np.float32)
        for channel, name in enumerate(self.task.static):
            variable: Any = self._open()[name]
            for row, trajectory in enumerate(trajectories):
                fields[row, channel] = variable[self.indices[trajectory]] if variable.ndim == 3 else variable[:]
        return torch.from_numpy(fields)

    def _open(self) -> h5py.File:
        if self._file is None:
            self._file = h5py.File(self.stored.path, "r")
        return self._file

    def __getstate__(self) -> dict:
        """An open file does not travel to another process: it is opened again there."""
        return {**self.__dict__, "_file": None}
