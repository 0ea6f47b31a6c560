"""Whole trajectories from where they are: read from the disk as they are asked for, or kept once they were read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, runtime_checkable

import h5py
import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.data.formats.containers import in_one_piece, readable
from driftnet.data.loading import Loading
from driftnet.data.trajectories import Trajectories

AHEAD = 4  # Trajectories announced before they are read; 2 to 32 measured alike on a solid-state disk.
FLOAT_BYTES = 4


@runtime_checkable
class Source(Protocol):
    """Trajectories that are taken whole."""

    trajectories: Trajectories

    def stream(self, indices: Sequence[int]) -> Iterator[tuple[int, Float[Tensor, "t c x y"]]]:
        """The trajectories with these numbers, one at a time, each with its number."""
        ...


class Disk:
    """Reads every time, and has the system fetch the next trajectories meanwhile."""

    def __init__(self, trajectories: Trajectories) -> None:
        self.trajectories = trajectories
        self._announce = announcer(trajectories)
        self._caller = ThreadPoolExecutor(1, "driftnet-announcer")  # Announcing takes as long as reading.

    def stream(self, indices: Sequence[int]) -> Iterator[tuple[int, Float[Tensor, "t c x y"]]]:
        """Read one trajectory after the other."""
        for index in indices[:AHEAD]:
            self._caller.submit(self._announce, index)
        for place, index in enumerate(indices):
            if place + AHEAD < len(indices):
                self._caller.submit(self._announce, indices[place + AHEAD])
            yield index, self.trajectories[index]


class Memory:
    """Keeps what was read once, in memory or on a device."""

    def __init__(self, trajectories: Trajectories, device: torch.device | str = "cpu") -> None:
        self.trajectories, self.device = trajectories, torch.device(device)
        self._disk = Disk(trajectories)
        self._fields: Tensor | None = None
        self._held = [False] * len(trajectories)

    def stream(self, indices: Sequence[int]) -> Iterator[tuple[int, Float[Tensor, "t c x y"]]]:
        """Views of what is kept; what is missing is read first."""
        missing = self._disk.stream([index for index in indices if not self._held[index]])
        for index in indices:
            if not self._held[index]:
                self._keep(*next(missing))
            assert self._fields is not None
            yield index, self._fields[index]

    def _keep(self, index: int, fields: Tensor) -> None:
        if self._fields is None:
            # One allocation: on a device, thousands of small ones would waste a sixth of their memory.
            self._fields = torch.empty((len(self.trajectories), *fields.shape), device=self.device)
        self._fields[index] = fields
        self._held[index] = True


def sources(parts: Sequence[Trajectories], loading: Loading, device: torch.device | str) -> list[Source]:
    """A source for every part: those that fit into what is left of the memory budget are kept."""
    left, chosen = loading.memory * 1e9, list[Source]()
    for part in parts:
        if loading.resident:
            chosen.append(Memory(part, device))
        elif size_in_memory(part) <= left:
            left -= size_in_memory(part)
            chosen.append(Memory(part))
        else:
            chosen.append(Disk(part))
    return chosen


def size_in_memory(trajectories: Trajectories) -> int:
    """Bytes of all fields of a part."""
    width, height = trajectories.stored.size
    snapshot = len(trajectories.task.components) * width * height * FLOAT_BYTES
    return len(trajectories) * trajectories.snapshots * snapshot


def announcer(trajectories: Trajectories) -> Callable[[int], None]:
    """Tells the system that a trajectory will be read soon, where it stands in one piece in the file."""
    path, extent = trajectories.stored.path, _extent(trajectories)
    if extent is None or not hasattr(os, "posix_fadvise"):
        return lambda index: None
    start, size = extent

    def announce(index: int) -> None:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, start + trajectories.indices[index] * size, size, os.POSIX_FADV_WILLNEED)
        finally:
            os.close(descriptor)

    return announce


def _extent(trajectories: Trajectories) -> tuple[int, int] | None:
    """Where the first trajectory begins and how long one is, in a file that is one contiguous variable."""
    path = trajectories.stored.path
    if trajectories.stored.format != "poseidon" or not path.is_file():
        return None
    with readable(path), h5py.File(path, "r") as file:
        variable = file.get(trajectories.task.source.variable)
        if not isinstance(variable, h5py.Dataset) or not in_one_piece(variable):
            return None
        return variable.id.get_offset(), variable.nbytes // variable.shape[0]
