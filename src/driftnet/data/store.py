"""Layout of a data file: NetCDF-4 with one contiguous variable (sample, time, channel, x, y) and its provenance.

The file is laid out first and its values are written in place afterwards, straight to where they belong, without
touching its structure again: a writer that is killed leaves a file that can be continued, and the finished file is
the same whatever happened on the way.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from driftnet.errors import DriftnetError

DIMENSIONS = ("sample", "time", "channel", "x", "y")


@dataclass(frozen=True)
class Layout:
    """Everything that the structure of a file depends on."""

    variable: str
    shape: tuple[int, int, int, int, int]
    """Trajectories, snapshots, channels, points along x, points along y."""
    duration: float
    attributes: dict[str, str]

    @property
    def trajectory_bytes(self) -> int:
        """Size of one trajectory in the file."""
        return 4 * int(np.prod(self.shape[1:]))


def lay_out(path: Path, layout: Layout) -> None:
    """Create the file with its space reserved and no values in it."""
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        variable = file.create_dataset(layout.variable, layout.shape, "<f4", dcpl=_contiguous())
        for axis, (name, values) in enumerate(_coordinates(layout).items()):
            coordinate = file.create_dataset(name, data=values)
            coordinate.make_scale(name)
            variable.dims[axis].attach_scale(coordinate)
        file.attrs.update(layout.attributes)


def _contiguous() -> h5py.h5p.PropDCID:
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.CONTIGUOUS)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    return properties


def _coordinates(layout: Layout) -> dict[str, NDArray[Any]]:
    samples, snapshots, channels, width, height = layout.shape
    values = (
        np.arange(samples, dtype="<i4"),
        np.linspace(0, layout.duration, snapshots),
        np.arange(channels, dtype="<i4"),
        np.arange(width) / width,
        np.arange(height) / height,
    )
    return dict(zip(DIMENSIONS, values, strict=True))


def data_offset(path: Path, variable: str) -> int:
    """Where in the file the values of a contiguous variable begin."""
    with h5py.File(path, "r") as file:
        return file[variable].id.get_offset()


def write_in_place(path: Path, offset: int, values: NDArray[np.float32]) -> None:
    """Put values at their place in the file and wait until they are on the disk."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        buffer = np.ascontiguousarray(values, "<f4").data.cast("B")
        while buffer:
            written = os.pwrite(descriptor, buffer, offset)
            buffer, offset = buffer[written:], offset + written
        os.fsync(descriptor)
    except OSError as error:
        raise DriftnetError(f"could not write {path}: {error.strerror}") from error
    finally:
        os.close(descriptor)
