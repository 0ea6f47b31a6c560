"""Channels out of arrays with any order of axes, pieced together over files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Shaped
from numpy.typing import NDArray

from driftnet.data.formats.containers import Handles, find_array
from driftnet.errors import DriftnetError

AXES = ("sample", "time", "channel", "x", "y")


@runtime_checkable
class Channels(Protocol):
    """Something that channels of a trajectory can be read from."""

    def read(self, handles: Handles, trajectory: int, first: int, last: int) -> Shaped[np.ndarray, "t c x y"]:
        """Snapshots first .. last - 1; a single one where nothing depends on time."""
        ...


@dataclass(frozen=True)
class Piece:
    """An array of a file, or some of its trajectories."""

    path: Path
    name: str
    axes: tuple[str, ...]
    """What each axis is: sample, time, channel (also several times), x, y; an axis that is not there has length one."""
    shape: tuple[int, ...]
    first: int = 0
    trajectories: int = 1

    def length(self, axis: str) -> int:
        """Points along an axis."""
        return prod(length for length, name in zip(self.shape, self.axes, strict=True) if name == axis)


def piece(path: Path, container: Mapping[str, Any], name: str, axes: tuple[str, ...]) -> Piece:
    """The whole of an array, checked."""
    shape = find_array(path, container, name).shape
    if len(shape) != len(axes) or 0 in shape:
        raise DriftnetError(f"{path}: '{name}' has shape {shape}, which is not ({', '.join(axes)})")
    whole = Piece(path, name, axes, shape)
    return Piece(path, name, axes, shape, 0, whole.length("sample"))


@dataclass(frozen=True)
class Field:
    """Pieces with the same channels, one after the other along the trajectories."""

    pieces: tuple[Piece, ...]
    channels: int | None = None
    """How many are wanted, the first ones; all where not given."""

    @cached_property
    def starts(self) -> list[int]:
        """The first trajectory of every piece."""
        return [0, *accumulate(each.trajectories for each in self.pieces)][:-1]

    @property
    def trajectories(self) -> int:
        """Those of all pieces."""
        return sum(each.trajectories for each in self.pieces)

    def lengths(self, axis: str) -> set[int]:
        """Points along an axis, over all pieces."""
        return {each.length(axis) for each in self.pieces}

    def read(self, handles: Handles, trajectory: int, first: int, last: int) -> Shaped[np.ndarray, "t c x y"]:
        """Snapshots first .. last - 1 of a trajectory."""
        place = bisect_right(self.starts, trajectory) - 1
        chosen = self.pieces[place]
        wanted = {"sample": chosen.first + trajectory - self.starts[place], "time": slice(first, last)}
        if chosen.axes.count("channel") == 1:
            wanted["channel"] = slice(self.channels)
        array = handles.array(chosen.path, chosen.name)
        values = np.asarray(array[tuple(wanted.get(axis, slice(None)) for axis in chosen.axes)])
        return in_order(values, tuple(axis for axis in chosen.axes if axis != "sample"))


def in_order(values: NDArray, axes: tuple[str, ...]) -> Shaped[np.ndarray, "t c x y"]:
    """Axes as (time, channel, x, y): several channel axes become one, a missing axis has length one."""
    places = {wanted: [place for place, axis in enumerate(axes) if axis == wanted] for wanted in AXES[1:]}
    shape = [prod(values.shape[place] for place in group) for group in places.values()]
    return values.transpose([place for group in places.values() for place in group]).reshape(shape)


@dataclass(frozen=True, eq=False)
class Fixed:
    """Channels that are the same for every trajectory and come from no file."""

    values: Float32[np.ndarray, "s x y"]

    def read(self, handles: Handles, trajectory: int, first: int, last: int) -> Shaped[np.ndarray, "t c x y"]:
        """The same, whatever is asked for."""
        return self.values[None]
