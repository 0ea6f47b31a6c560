"""One way to read trajectories, whatever file they are in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32

from driftnet import registry
from driftnet.data.formats.containers import Handles, readable, refuse_more_than_memory
from driftnet.data.formats.fields import Channels, Field
from driftnet.errors import DriftnetError
from driftnet.tasks.base import Boundary, Quantity, Split, Task

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Contents:
    """What the files of a data set say of themselves, their sizes checked against their lengths."""

    path: Path
    format: str
    trajectories: int
    snapshots: int
    channels: tuple[str, ...]
    size: tuple[int, int]
    """Points along x, points along y."""
    static: tuple[str, ...] = ()
    quantities: tuple[Quantity, ...] = ()
    """Channels that belong together, where the files tell."""
    boundary: Boundary | None = None
    duration: float | None = None
    steady: bool = False
    """Fields without a time axis: two snapshots, nothing and then the solution; what it follows from is static."""
    split: Split | None = None
    """Where the files, or the folders they are in, state one."""
    attributes: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What a person should be told about the choices made in reading."""


@runtime_checkable
class Reader(Protocol):
    """Trajectories in physical units, in the order training, validation, test."""

    contents: Contents

    def read(self, trajectory: int, first: int, last: int) -> Float32[np.ndarray, "t c x y"]:
        """Snapshots first .. last - 1 of a trajectory."""
        ...

    def static(self, trajectory: int) -> Float32[np.ndarray, "s x y"]:
        """Channels that are given and never predicted."""
        ...


class FieldReader:
    """A reader of fields that are stacked as channels."""

    def __init__(self, contents: Contents, fields: Sequence[Channels], static: Sequence[Channels]) -> None:
        self.contents, self.fields, self.given = contents, tuple(fields), tuple(static)
        self.handles = Handles()
        count = 4 * contents.snapshots * max(len(contents.channels), 1) * contents.size[0] * contents.size[1]
        refuse_more_than_memory(contents.path, count)

    def read(self, trajectory: int, first: int, last: int) -> Float32[np.ndarray, "t c x y"]:
        """Snapshots first .. last - 1 of a trajectory."""
        if not self.contents.steady:
            return self._stack(self.fields, trajectory, first, last)
        solution = self._stack(self.fields, trajectory, 0, 1)
        return np.concatenate((np.zeros_like(solution), solution))[first:last]

    def static(self, trajectory: int) -> Float32[np.ndarray, "s x y"]:
        """Channels that are given and never predicted."""
        if not self.given:
            return np.zeros((0, *self.contents.size), np.float32)
        return self._stack(self.given, trajectory, 0, 1)[0]

    def _stack(self, parts: Sequence[Channels], trajectory: int, first: int, last: int) -> Float32[np.ndarray, "t c x y"]:
        with readable(self.contents.path):
            blocks = [part.read(self.handles, trajectory, first, last) for part in parts]
        if len(blocks) > 1 or blocks[0].shape[2:] != self.contents.size:
            blocks = [np.broadcast_to(block, (*block.shape[:2], *self.contents.size)) for block in blocks]
        joined = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
        with np.errstate(over="ignore"):  # What does not fit into float32 becomes infinite and is refused as such.
            return np.require(joined, np.float32, ["C", "W"])


def common(path: Path, fields: Sequence[Field], axis: str, also: tuple[int, ...] = ()) -> int:
    """The number of points along an axis, on which all fields have to agree; a length in `also` is broadcast."""
    lengths = set().union(*(each.lengths(axis) for each in fields))
    proper = lengths - set(also) or lengths
    if len(proper) != 1:
        raise DriftnetError(f"{path}: the fields have {', '.join(map(str, sorted(proper)))} points along {axis}")
    return proper.pop()


def open_reader(path: Path, task: Task) -> Reader:
    """The trajectories of a task in a file or folder; files of something else are refused in one line."""
    opened = registry.lookup("format", registry.FORMATS, task.source.format)
    with readable(path):
        reader: Reader = opened(path, task.source, task.components)
    contents = reader.contents
    if len(contents.channels) != len(task.components) or len(contents.static) != len(task.static):
        held, needed = _listed(contents.channels, contents.static), _listed(task.components, task.static)
        raise DriftnetError(f"{path} holds {held}; {task.name} needs {needed}")
    return reader


def _listed(channels: tuple[str, ...], static: tuple[str, ...]) -> str:
    given = f" and, given, {', '.join(static)}" if static else ""
    return f"{', '.join(channels)}{given}"
