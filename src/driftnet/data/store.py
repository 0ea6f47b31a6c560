"""Layout of a data file: NetCDF-4 with contiguous variables, named coordinates and its provenance.

The file is laid out first and its values are written in place afterwards, straight to where they belong, without
touching its structure again: a writer that is killed leaves a file that can be continued, and the finished file is
the same whatever happened on the way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from driftnet.errors import DriftnetError
from driftnet.tasks.base import Variable

Coordinates = Mapping[str, range | NDArray[Any]]
"""Values along every axis by its name; those of the samples are a range, for there may be very many."""


@dataclass(frozen=True)
class Array:
    """A variable of a file; one without a sample axis is the same for all trajectories."""

    name: str
    dimensions: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str = "<f4"

    @property
    def sampled(self) -> bool:
        """Whether every trajectory has its own values."""
        return self.dimensions[0] == "sample"

    @property
    def bytes(self) -> int:
        """Size of all values."""
        return np.dtype(self.dtype).itemsize * prod(self.shape)

    @property
    def trajectory_bytes(self) -> int:
        """Size of the values of one trajectory."""
        return self.bytes // self.shape[0]


@dataclass(frozen=True)
class Layout:
    """Everything that the structure of a file depends on."""

    arrays: tuple[Array, ...]
    coordinates: Coordinates
    attributes: dict[str, str]

    @property
    def bytes(self) -> int:
        """Size of all arrays."""
        return sum(array.bytes for array in self.arrays)


def place(variable: Variable, channels: Iterable[str], coordinates: Coordinates) -> Array:
    """A task's variable at the sizes of a file; of its channels, only those among `channels` are in the file."""
    kept = [channel for channel in variable.channels if channel in channels]
    sizes = {**{name: len(values) for name, values in coordinates.items()}, "channel": len(kept)}
    shape = tuple(sizes[dimension] for dimension in variable.dimensions)
    return Array(variable.name, variable.dimensions, shape, variable.dtype)


def lay_out(path: Path, layout: Layout) -> None:
    """Create the file with its space reserved and no values in it; the order of its parts is that of their names."""
    arrays = sorted(layout.arrays, key=lambda array: array.name)
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        for array in arrays:
            file.create_dataset(array.name, array.shape, array.dtype, dcpl=_contiguous())
        for name, values in sorted(layout.coordinates.items()):
            values = np.arange(values.start, values.stop, dtype="<i4") if isinstance(values, range) else values
            file.create_dataset(name, data=values).make_scale(name)
        for array in arrays:
            variable: Any = file[array.name]
            for axis, name in enumerate(array.dimensions):
                variable.dims[axis].attach_scale(file[name])
        file.attrs.update(sorted(layout.attributes.items()))


def _contiguous() -> h5py.h5p.PropDCID:
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.CONTIGUOUS)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    return properties


def read_layout(path: Path) -> Layout:
    """The layout of a file that `lay_out` made; a file that was cut short is refused."""
    try:
        with h5py.File(path, "r") as file:
            items: dict[str, Any] = dict(file.items())
            arrays = tuple(_read_array(path, name, item) for name, item in items.items() if not item.is_scale)
            coordinates = {name: item[:] for name, item in items.items() if item.is_scale}
            attributes = {key: value for key, value in file.attrs.items() if isinstance(value, str)}
            return Layout(arrays, coordinates, attributes)
    except (OSError, AttributeError, ValueError, IndexError) as error:
        raise DriftnetError(f"could not read {path}: it is not a whole data file ({error})") from error


def _read_array(path: Path, name: str, variable: Any) -> Array:
    _believe_size(path, variable)
    dimensions = tuple(Path(axis[0].name).name for axis in variable.dims)
    return Array(name, dimensions, variable.shape, variable.dtype.str)


def data_offsets(path: Path) -> dict[str, int]:
    """Where in the file the values of every variable begin."""
    with h5py.File(path, "r") as file:
        return {name: variable.id.get_offset() for name, variable in file.items()}


def write_in_place(path: Path, pieces: Iterable[tuple[int, NDArray[Any]]]) -> None:
    """Put every piece at its offset in the file and wait until they are on the disk."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        for offset, values in pieces:
            _write(descriptor, offset, values)
        os.fsync(descriptor)
    except OSError as error:
        raise DriftnetError(f"could not write {path}: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _write(descriptor: int, offset: int, values: NDArray[Any]) -> None:
    buffer = np.ascontiguousarray(values).data.cast("B")
    while buffer:
        written = os.pwrite(descriptor, buffer, offset)
        buffer, offset = buffer[written:], offset + written


def refuse_full_disk(path: Path, needed: int) -> None:
    """Nothing is begun that cannot be finished; `path` is in a folder that exists."""
    space = os.statvfs(path.parent)
    if needed > space.f_bavail * space.f_frsize:
        raise DriftnetError(f"{path} needs {needed / 1e6:,.1f} MB; the disk has less left")


def _believe_size(path: Path, variable: h5py.Dataset) -> None:
    """A few bytes can claim terabytes: only what has room in the file is read."""
    held = min(variable.id.get_storage_size(), path.stat().st_size)
    if held == 0 or (variable.chunks is None and held < variable.nbytes):
        name, claimed = Path(str(variable.name)).name, variable.nbytes
        raise DriftnetError(f"{path} is cut short: '{name}' claims {claimed // 10**6} MB and holds {held // 10**6} MB")
