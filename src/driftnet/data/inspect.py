"""A look at any data file: what is in it, and what would make it a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from driftnet import registry
from driftnet.data.formats.containers import HDF5_SUFFIXES, SUFFIXES, Array, array_names, find_array, open_container, readable
from driftnet.data.formats.fields import AXES
from driftnet.data.formats.reader import Contents
from driftnet.data.formats.recognise import recognise
from driftnet.errors import DriftnetError
from driftnet.tasks.base import Source

BLOCK = 2**23
"""Values looked at together: 64 MB in float64."""
SHOWN = 40
"""Arrays that are described; grouped files have one a trajectory."""
MOST_CHANNELS = 16
"""An axis that is no longer than this may be one of channels."""


@dataclass
class Values:
    """What is noted of an array while it streams by."""

    least: float = float("inf")
    most: float = float("-inf")
    nan: int = 0
    infinite: int = 0

    def add(self, block: np.ndarray) -> None:
        """Take in a block."""
        block = block.astype(np.float64, copy=False)
        finite = np.isfinite(block)
        self.nan += int(np.isnan(block).sum())
        self.infinite += int(np.isinf(block).sum())
        if finite.any():
            self.least = min(self.least, float(block.min(where=finite, initial=np.inf)))
            self.most = max(self.most, float(block.max(where=finite, initial=-np.inf)))

    def __str__(self) -> str:
        """In a few words."""
        range_ = "no finite value" if self.least > self.most else f"{self.least:.6g} to {self.most:.6g}"
        constant = ", constant" if self.least == self.most else ""
        return f"{range_}{constant}, {self.nan} NaN, {self.infinite} infinite"


def inspect(path: Path, header: bool) -> str:
    """All that can be said of a file or folder of data."""
    with readable(path):
        return _inspect(path, header)


def _inspect(path: Path, header: bool) -> str:
    kind, files = recognise(path), _files(path)
    said = [f"{path}: {_names_of(kind)}"]
    for file in files:
        said += ([f"{file.relative_to(path)}:"] if file != path else []) + _contents(file, header)
    return "\n".join((*said, *_suggestion(path, kind, open_container(files[0]))))


def _files(path: Path) -> list[Path]:
    """A file, or the data files of a folder in the order of their names."""
    if not path.is_dir() or path.suffix in SUFFIXES:
        return [path]
    return sorted(file for suffix in HDF5_SUFFIXES for file in path.rglob(f"*{suffix}"))


def _contents(path: Path, header: bool) -> list[str]:
    """A line for every array and attribute of a file."""
    container = open_container(path)
    names = array_names(container)
    if not names:
        raise DriftnetError(f"{path} holds no array")
    said = [_describe(path, container, name, header) for name in names[:SHOWN]]
    said += [f"... and {len(names) - SHOWN} arrays more"] if len(names) > SHOWN else []
    return said + [f"attribute {key}: {value}" for key, value in getattr(container, "attrs", {}).items()]


def _names_of(kind: str) -> str:
    known = {"poseidon": "the Poseidon layout", "the-well": "The Well", "pdebench": "PDEBench", "arrays": "arrays"}
    return known[kind]


def _describe(path: Path, container: Mapping[str, Any], name: str, header: bool) -> str:
    array = container[name]
    shown = f"{name}  {tuple(array.shape)} {array.dtype}"
    if array.dtype.kind not in "fiub":
        return f"{shown}, not numbers"
    array = find_array(path, container, name)
    axes = f"  ({', '.join(guess_axes(array))})" if len(array.shape) > 2 else ""
    return f"{shown}{axes}" if header else f"{shown}{axes}  {_values(array)}"


def _values(array: Array) -> Values:
    values = Values()
    for block in _blocks(array):
        values.add(np.asarray(array[block]))
    return values


def _blocks(array: Array) -> Iterator[tuple[slice, ...]]:
    """Slices that cover an array, none with more than BLOCK values unless a single row of it has."""
    lengths, steps, room = array.shape, [], BLOCK
    for length in reversed(lengths):
        steps.append(max(1, min(length, room)))
        room //= max(1, length)
    ranges = [range(0, length, step) for length, step in zip(lengths, reversed(steps), strict=True)]
    for starts in product(*ranges):
        yield tuple(slice(start, start + each.step) for start, each in zip(starts, ranges, strict=True))


def guess_axes(array: Array) -> tuple[str, ...]:
    """What the axes are: as their names say, or else as their order and lengths suggest."""
    named = _named_axes(array)
    if named:
        return named
    shape = array.shape
    if len(shape) == 5:
        last = shape[4] <= MOST_CHANNELS < shape[2]
        return ("sample", "time", "x", "y", "channel") if last else AXES
    if len(shape) == 4:
        return ("sample", "time", "x", "y")
    return ("sample", "x", "y") if len(shape) == 3 else tuple(f"axis{index}" for index in range(len(shape)))


def _named_axes(array: Any) -> tuple[str, ...] | None:
    dimensions = getattr(array, "dims", None)
    if dimensions is None:
        return None
    names = tuple((Path(each[0].name).name if len(each) else each.label) for each in dimensions)
    return names if names and set(names) <= set(AXES) else None


def _suggestion(path: Path, kind: str, container: Mapping[str, Any]) -> list[str]:
    """A YAML file to begin with."""
    if kind == "poseidon":
        tasks = ", ".join(name for name in registry.TASKS if registry.task(name).source.data_set == path.stem) or "TASK"
        return ["", f"Give it to a task of the collection ({tasks}): driftnet train TASK MODEL --data {path}"]
    described: dict[str, Any] = {"data": path.name}
    if kind == "arrays":
        shape, axes = _add_arrays(described, path, container)
        count = shape[axes.index("sample")] if "sample" in axes else 1
        return [*_few(count), *_yaml(path, described | {"boundary": "periodic", "split": _split(count)})]
    contents = registry.lookup("format", registry.FORMATS, kind)(path, Source(file=str(path), format=kind), ()).contents
    if contents.boundary is None:
        described["boundary"] = "periodic"
    if contents.split is None:
        described["split"] = _split(contents.trajectories)
    return [_summary(contents), *contents.notes, *_few(contents.trajectories), *_yaml(path, described)]


def _summary(contents: Contents) -> str:
    width, height = contents.size
    kind = "steady maps" if contents.steady else f"trajectories of {contents.snapshots} snapshots"
    given = f"; given: {', '.join(contents.static)}" if contents.static else ""
    return f"{contents.trajectories} {kind} on {width} x {height} points: {', '.join(contents.channels)}{given}"


def _split(count: int) -> dict[str, int]:
    held = max(1, count // 10)
    return {"train": max(1, count - 2 * held), "validation": held, "test": held}


def _few(count: int) -> list[str]:
    return [f"{count} trajectories are too few: training, validation and test need one each"] if count < 3 else []


def _yaml(path: Path, described: dict[str, Any]) -> list[str]:
    said = f"# {path.stem}.yaml, to be checked by you; then: driftnet train {path.stem}.yaml drift-net-tiny"
    # A list around each value keeps it on one line.
    values = {
        key: yaml.safe_dump([value], default_flow_style=True, sort_keys=False, width=1000).strip()[1:-1]
        for key, value in described.items()
    }
    return ["", said, *(f"{key}: {value}" for key, value in values.items())]


def _add_arrays(described: dict[str, Any], path: Path, container: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The variables with most axes are taken for the fields, those on the same points with fewer for static."""
    arrays = {name: container[name] for name in array_names(container) if container[name].dtype.kind in "fiu"}
    deepest = max((len(array.shape) for array in arrays.values()), default=0)
    if deepest < 3:
        raise DriftnetError(f"{path}: no array has the three axes at least that fields of several trajectories need")
    variables = [name for name, array in arrays.items() if len(array.shape) == deepest]
    first = arrays[variables[0]]
    axes = guess_axes(first)
    static = [
        name for name, array in arrays.items() if 2 <= len(array.shape) < deepest and array.shape[-2:] == first.shape[-2:]
    ]
    described |= {"variable": variables, "axes": list(axes), **({"static": static} if static else {})}
    return first.shape, axes
