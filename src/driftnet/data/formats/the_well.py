"""The Well, HDF5 version 1.2: one file, or a data set's folder with data/{train,valid,test}."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py

from driftnet.data.formats.containers import open_container
from driftnet.data.formats.fields import Field, Piece, piece
from driftnet.data.formats.reader import Contents, FieldReader, common
from driftnet.errors import DriftnetError
from driftnet.tasks.base import Boundary, Quantity, Source, Split

PARTS = ("train", "valid", "test")
BOUNDARIES: dict[str, Boundary] = {"PERIODIC": "periodic", "OPEN": "absorbing", "WALL": "dirichlet"}
PRECEDENCE = ("WALL", "OPEN", "PERIODIC")
"""Which one stands for a domain whose sides differ: a model must not wrap around a wall."""
ORDERS = ("t0_fields", "t1_fields", "t2_fields")


def recognises(container: Mapping[str, Any]) -> bool:
    """Whether a file is laid out as The Well's."""
    return all(group in container for group in (*ORDERS, "dimensions"))


def open_the_well(path: Path, source: Source, channels: tuple[str, ...]) -> FieldReader:
    """All fields that vary in time; those that do not are static."""
    files = _files(path)
    first = open_container(files[0][0])
    axes = _spatial_axes(path, first)
    varying = _fields([file for part in files for file in part], axes, varying=True)
    fixed = _fields([file for part in files for file in part], axes, varying=False)
    if not varying:
        raise DriftnetError(f"{path} has no field that varies in time")
    fields = list(varying.values())
    quantities = tuple(Quantity(name, _components(name, field, axes)) for name, field in varying.items())
    contents = Contents(
        path=path,
        format="the-well",
        trajectories=common(path, fields, "sample") if len(fields[0].pieces) == 1 else fields[0].trajectories,
        snapshots=common(path, fields, "time"),
        channels=tuple(name for quantity in quantities for name in quantity.components),
        size=(common(path, fields, "x", (1,)), common(path, fields, "y", (1,))),
        static=tuple(name for key, field in fixed.items() for name in _components(key, field, axes)),
        quantities=quantities,
        boundary=_boundary(first),
        duration=_duration(first),
        split=_split(files, fields[0]),
    )
    return FieldReader(contents, fields, list(fixed.values()))


def _files(path: Path) -> list[list[Path]]:
    """Files of every part, or the one file."""
    if not path.is_dir():
        return [[path]]
    base = path / "data" if (path / "data").is_dir() else path
    files = [sorted((*(base / part).glob("*.hdf5"), *(base / part).glob("*.h5"))) for part in PARTS]
    for part, found in zip(PARTS, files, strict=True):
        if not found:
            raise DriftnetError(f"{path} has no .hdf5 file in {part}; The Well keeps them in data/train, data/valid, data/test")
    return files


def _split(files: list[list[Path]], field: Field) -> Split | None:
    if len(files) == 1:
        return None
    counts = {each.path: each.trajectories for each in field.pieces}
    return Split(*(sum(counts[file] for file in part) for part in files))


def _spatial_axes(path: Path, file: Mapping[str, Any]) -> tuple[str, ...]:
    axes = tuple(_text(name) for name in file["dimensions"].attrs.get("spatial_dims", ("x", "y")))
    if len(axes) != 2:
        raise DriftnetError(f"{path} has fields along {', '.join(axes)}; driftnet reads fields on two axes")
    return axes


def _fields(files: list[Path], axes: tuple[str, ...], varying: bool) -> dict[str, Field]:
    pieces: dict[str, list[Piece]] = {}
    for file in files:
        container = open_container(file)
        for order, group in enumerate(ORDERS):
            for name in _listed(container.get(group)):
                if _flag(container[f"{group}/{name}"], "time_varying") == varying:
                    pieces.setdefault(name, []).append(_piece(file, container, f"{group}/{name}", order, axes))
    if any(len(found) != len(files) for found in pieces.values()):
        lacking = next(name for name, found in pieces.items() if len(found) != len(files))
        raise DriftnetError(f"{files[0].parent}: not every file has the field '{lacking}'")
    return {name: Field(tuple(found)) for name, found in pieces.items()}


def _listed(group: Any) -> list[str]:
    """Names of a group's fields, in the order that the file states."""
    if group is None:
        return []
    stated = [_text(name) for name in group.attrs.get("field_names", ())]
    return sorted(group, key=lambda name: stated.index(name) if name in stated else len(stated))


def _piece(file: Path, container: Mapping[str, Any], name: str, order: int, axes: tuple[str, ...]) -> Piece:
    """A field that is the same in all samples is one for each of them."""
    array = container[name]
    along = [axis for axis, varies in zip(("x", "y"), array.attrs.get("dim_varying", (True, True)), strict=True) if varies]
    samples = ["sample"] if _flag(array, "sample_varying") else []
    times = ["time"] if _flag(array, "time_varying") else []
    found = piece(file, container, name, (*samples, *times, *along, *["channel"] * order))
    if samples:
        return found
    attributes: Mapping[str, Any] = container.attrs  # pyright: ignore[reportAttributeAccessIssue]
    if "n_trajectories" not in attributes:
        raise DriftnetError(f"{file}: '{name}' is the same in all trajectories, and the file does not say how many those are")
    return Piece(file, name, found.axes, found.shape, 0, int(attributes["n_trajectories"]))


def _flag(array: h5py.Dataset, name: str) -> bool:
    return bool(array.attrs.get(name, True))


def _components(name: str, field: Field, axes: tuple[str, ...]) -> tuple[str, ...]:
    order = field.pieces[0].axes.count("channel")
    names = [name]
    for _ in range(order):
        names = [f"{stem}_{axis}" for stem in names for axis in axes]
    return tuple(names)


def _boundary(file: Mapping[str, Any]) -> Boundary | None:
    conditions = file.get("boundary_conditions", {})
    kinds = {_text(each.attrs.get("bc_type", "")).upper() for each in conditions.values()}
    for kind in PRECEDENCE:
        if kind in kinds:
            return BOUNDARIES[kind]
    return None


def _duration(file: Mapping[str, Any]) -> float | None:
    times = file["dimensions"].get("time")
    if times is None or times.shape[-1] < 2:
        return None
    row = times[(0,) * (times.ndim - 1)]
    return float(row[-1] - row[0])


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
