"""Arrays of a file, whatever its container: HDF5 and NetCDF-4, zarr, npy. A size is believed only after a look."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from weakref import finalize

import h5py
import numpy as np
from numpy.typing import NDArray

from driftnet.errors import DriftnetError, UsageError

HDF5_SUFFIXES = (".nc", ".nc4", ".h5", ".hdf5")
SUFFIXES = (*HDF5_SUFFIXES, ".npy", ".zarr")
ONLY_ARRAY = "array"
"""What the array of a .npy, or of a .zarr without groups, is called."""
UNREADABLE = (OSError, EOFError, RuntimeError, ValueError, KeyError, TypeError, AttributeError, IndexError)
"""What HDF5, zarr and numpy raise where a byte is not what it was."""
DENSEST = 1100
"""No common compression makes numbers smaller by more: deflate reaches 1032."""


@runtime_checkable
class Array(Protocol):
    """What HDF5 datasets, zarr arrays and numpy arrays have in common."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        ...

    @property
    def dtype(self) -> Any:
        """Type of a value."""
        ...

    def __getitem__(self, key: Any) -> Any:
        """A part of the values."""
        ...


def open_container(path: Path) -> Mapping[str, Any]:
    """The arrays of a file by name; a damaged or unknown file is refused in one line."""
    if not path.exists():
        raise DriftnetError(f"there is no data file {path}")
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: driftnet reads {', '.join(SUFFIXES)}, not '{path.suffix}'")
    if path.suffix == ".npy":
        return {ONLY_ARRAY: _open_npy(path)}
    return _open_zarr(path) if path.suffix == ".zarr" else _open_hdf5(path)


def _open_hdf5(path: Path) -> h5py.File:
    try:
        with path.open("rb") as stream:
            magic = stream.read(3)
        if magic == b"CDF":
            raise DriftnetError(f"{path} is NetCDF-3; 'nccopy -k nc4 OLD NEW' turns it into NetCDF-4")
        return h5py.File(path, "r")
    except OSError as error:
        raise DriftnetError(f"could not read {path}: it is not a whole HDF5 file ({_first_line(error)})") from error


def _open_npy(path: Path) -> NDArray[Any]:
    try:
        # A pickled array would run whatever its writer put into it.
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # A damaged header fails in numpy's parser in many ways.
        raise DriftnetError(f"could not read {path}: it is not a whole .npy file of numbers ({_first_line(error)})") from error


def _open_zarr(path: Path) -> Mapping[str, Any]:
    try:
        import zarr  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UsageError(f"{path} needs the package zarr: pip install 'driftnet[zarr]'") from error
    try:
        opened = zarr.open(str(path), mode="r")
    except (OSError, ValueError, KeyError) as error:
        raise DriftnetError(f"could not read {path}: it is not a zarr store ({_first_line(error)})") from error
    return {ONLY_ARRAY: opened} if isinstance(opened, zarr.Array) else dict(_zarr_arrays(opened))


def _zarr_arrays(group: Any) -> Iterator[tuple[str, Any]]:
    return ((name, member) for name, member in group.members(max_depth=None) if hasattr(member, "shape"))


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Whatever a library says of a file that is cut short or damaged, in one line."""
    try:
        yield
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # It is missing, or another's: the file itself may be whole.
        raise DriftnetError(f"could not read {path}: it is cut short or damaged ({_first_line(error)})") from error


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def array_names(container: Mapping[str, Any]) -> list[str]:
    """Names of all arrays, those in groups with their path."""
    if not isinstance(container, h5py.File):
        return sorted(container)
    names: list[str] = []
    container.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return names


def find_array(path: Path, container: Mapping[str, Any], name: str) -> Array:
    """The array called `name`, of numbers and really there."""
    array = container.get(name)
    if array is None or not hasattr(array, "dtype"):
        raise DriftnetError(f"{path} has no variable '{name}'; it has {_some(array_names(container))}")
    if array.dtype.kind not in "fiub":
        raise DriftnetError(f"{path}: '{name}' holds {array.dtype}, not real numbers")
    believe_size(path, name, array)
    return array


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "") or "none"


def believe_size(path: Path, name: str, array: Any) -> None:
    """A few bytes can claim terabytes: only what has room in the file is read."""
    claimed = int(np.prod(array.shape, dtype=object)) * array.dtype.itemsize
    held, densest = _held(path, array)
    if claimed > held * densest:
        raise DriftnetError(f"{path} is cut short: '{name}' claims {claimed // 10**6} MB and holds {held // 10**6} MB")


def _held(path: Path, array: Any) -> tuple[int, int]:
    """Bytes in the file, and how much smaller than its values an array may be."""
    if isinstance(array, np.ndarray):
        return path.stat().st_size, 1  # Mapping it has already checked the length.
    if isinstance(array, h5py.Dataset):
        held = min(array.id.get_storage_size(), path.stat().st_size)
        return held, DENSEST if array.id.get_create_plist().get_nfilters() else 1
    return array.nbytes_stored(), DENSEST


def refuse_more_than_memory(path: Path, count: int) -> None:
    """One trajectory is read at a time and has to fit."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if count > memory:
        raise DriftnetError(
            f"{path}: a trajectory takes {count / 1e9:.0f} GB; this machine has {memory / 1e9:.0f} GB of memory"
        )


class Contiguous:
    """An HDF5 dataset that stands in its file in one piece: read past HDF5, which lets no other thread run meanwhile."""

    def __init__(self, dataset: h5py.Dataset) -> None:
        self.dataset, self.shape, self.dtype = dataset, dataset.shape, dataset.dtype
        self._descriptor = os.open(dataset.file.filename, os.O_RDONLY)
        finalize(self, os.close, self._descriptor)

    def __getitem__(self, key: tuple[int | slice, ...]) -> NDArray[Any]:
        """A part of the values; HDF5 reads those that are not one piece."""
        run = _run(self.shape, key)
        if run is None:
            return self.dataset[key]
        first, shape = run
        values = np.empty(shape, self.dtype)
        _fill(self._descriptor, self.dataset.id.get_offset() + first * self.dtype.itemsize, values)
        return values


def in_one_piece(array: Any) -> bool:
    """Whether an array's values stand one after the other in a file, as they are in memory."""
    if not isinstance(array, h5py.Dataset) or array.id.get_offset() is None or not hasattr(os, "preadv"):
        return False
    whole = array.chunks is None and not array.is_virtual and not array.external and array.file.userblock_size == 0
    return whole and array.dtype.kind in "fiu" and array.dtype.isnative


def _run(shape: tuple[int, ...], key: tuple[int | slice, ...]) -> tuple[int, tuple[int, ...]] | None:
    """The first element and the shape of what a key asks for, where it is one piece: numbers, then a range, then all."""
    first, kept, strides = 0, list[int](), [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    for length, stride, wanted in zip(shape, strides, key, strict=True):
        start, stop, step = wanted.indices(length) if isinstance(wanted, slice) else (wanted, wanted + 1, 1)
        inside = 0 <= start < stop <= length and step == 1
        if not inside or (any(count > 1 for count in kept) and stop - start < length):
            return None
        first += start * stride
        if isinstance(wanted, slice):
            kept.append(stop - start)
    return first, tuple(kept)


def _fill(descriptor: int, offset: int, values: NDArray[Any]) -> None:
    buffer = values.reshape(-1).view(np.uint8).data
    while buffer:
        count = os.preadv(descriptor, [buffer], offset)
        if count == 0:
            raise EOFError("it ends before its values do")
        buffer, offset = buffer[count:], offset + count


class Handles:
    """Open files, each opened when first asked for; another process opens its own."""

    def __init__(self) -> None:
        self._forget()

    def array(self, path: Path, name: str) -> Array:
        """An array whose name and size were checked before."""
        if self._owner != os.getpid():
            self._forget()
        if path not in self._open:
            self._open[path] = open_container(path)
        if (path, name) not in self._arrays:
            array = self._open[path][name]
            self._arrays[path, name] = Contiguous(array) if in_one_piece(array) else array
        return self._arrays[path, name]

    def __getstate__(self) -> dict[str, Any]:
        """Open files stay behind."""
        return {"_owner": 0, "_open": {}, "_arrays": {}}

    def _forget(self) -> None:
        self._owner = os.getpid()
        self._open: dict[Path, Mapping[str, Any]] = {}
        self._arrays: dict[tuple[Path, str], Array] = {}
