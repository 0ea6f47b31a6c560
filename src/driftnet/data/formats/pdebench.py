"""PDEBench: .hdf5 files with a variable a field, .h5 files with a group a trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from driftnet.data.formats.containers import open_container
from driftnet.data.formats.fields import Field, Piece, piece
from driftnet.data.formats.reader import Contents, FieldReader, common
from driftnet.errors import DriftnetError
from driftnet.tasks.base import Boundary, Quantity, Source, Split

FLOW = ("density", "Vx", "Vy", "pressure")
FLOW_QUANTITIES = (Quantity("density", ("density",)), Quantity("velocity", ("Vx", "Vy")), Quantity("pressure", ("pressure",)))
TEST_SHARE = 10
"""One trajectory in ten is for testing: the first of single files, the last of grouped ones (published loaders)."""
PLANE = ("sample", "time", "x", "y")


def recognises(container: Mapping[str, Any]) -> bool:
    """Whether a file is laid out as one of PDEBench's."""
    placed = "x-coordinate" in container and ("tensor" in container or "Vx" in container)
    return placed or {"velocity", "particles", "force"} <= set(container) or _grouped(container)


def _grouped(container: Mapping[str, Any]) -> bool:
    first = next(iter(container), "")
    return first.isdigit() and hasattr(container[first], "keys") and "data" in container[first]


def open_pdebench(path: Path, source: Source, channels: tuple[str, ...]) -> FieldReader:
    """Fields of a file; the boundary is known for Darcy flow and where the file's name says periodic."""
    container = open_container(path)
    if "z-coordinate" in container:
        raise DriftnetError(f"{path} has fields along x, y, z; driftnet reads fields on two axes")
    fields, static, quantities = _fields(path, container)
    steady = "nu" in container
    count = fields[0].trajectories
    order, split = _published_order(path, count, last=_grouped(container))
    contents = Contents(
        path=path,
        format="pdebench",
        trajectories=count,
        snapshots=2 if steady else common(path, fields, "time"),
        channels=tuple(name for quantity in quantities for name in quantity.components),
        size=(common(path, fields, "x"), common(path, fields, "y")),
        static=tuple(f"{key}{index}" for key, field in static.items() for index in range(common(path, [field], "channel"))),
        quantities=quantities,
        boundary=_boundary(path, container),
        duration=_duration(container),
        steady=steady,
        split=split,
        notes=(f"PDEBench has no validation set: the last {split.validation} of its training trajectories serve as one",),
    )
    ordered = [[_reordered(field, order) for field in group] for group in (fields, list(static.values()))]
    return FieldReader(contents, *ordered)


def _fields(path: Path, container: Mapping[str, Any]) -> tuple[list[Field], dict[str, Field], tuple[Quantity, ...]]:
    if _grouped(container):
        names = sorted(container)
        field = Field(tuple(piece(path, container, f"{name}/data", ("time", "x", "y", "channel")) for name in names))
        return [field], {}, _numbered(common(path, [field], "channel"))
    if "Vx" in container:
        return [_single(path, name, PLANE) for name in FLOW], {}, FLOW_QUANTITIES
    if "force" in container:
        flow = [_single(path, "velocity", (*PLANE, "channel")), _single(path, "particles", (*PLANE, "channel"))]
        force = {"force": _single(path, "force", ("sample", "x", "y", "channel"))}
        return flow, force, (Quantity("velocity", ("Vx", "Vy")), Quantity("particles", ("particles",)))
    if len(container["tensor"].shape) < 4:
        raise DriftnetError(f"{path} has fields along x; driftnet reads fields on two axes")
    static = {"nu": _single(path, "nu", ("sample", "x", "y"))} if "nu" in container else {}
    return [_single(path, "tensor", PLANE)], static, _numbered(1)


def _single(path: Path, name: str, axes: tuple[str, ...]) -> Field:
    return Field((piece(path, open_container(path), name, axes),))


def _numbered(count: int) -> tuple[Quantity, ...]:
    names = ("u",) if count == 1 else tuple(f"u{index}" for index in range(count))
    return tuple(Quantity(name, (name,)) for name in names)


def _published_order(path: Path, count: int, last: bool) -> tuple[list[range], Split]:
    """Trajectories as training, validation, test; validation is cut from the end of training."""
    if count < 3:
        raise DriftnetError(f"{path} holds {count} trajectories, too few for training, validation and test")
    test = max(1, count // TEST_SHARE)
    validation = max(1, (count - test) // TEST_SHARE)
    order = [range(count)] if last else [range(test, count), range(test)]
    return order, Split(count - test - validation, validation, test)


def _reordered(field: Field, order: list[range]) -> Field:
    """Parts of the only piece one after the other; a file of groups is in order already."""
    if len(order) == 1:
        return field
    (whole,) = field.pieces
    parts = (Piece(whole.path, whole.name, whole.axes, whole.shape, part.start, len(part)) for part in order)
    return Field(tuple(parts), field.channels)


def _boundary(path: Path, container: Mapping[str, Any]) -> Boundary | None:
    if "nu" in container:
        return "dirichlet"
    return "periodic" if "periodic" in path.name.lower() else None


def _duration(container: Mapping[str, Any]) -> float | None:
    home = container[next(iter(container))]["grid"] if _grouped(container) else container
    times = next((home[name] for name in ("t-coordinate", "t") if name in home), None)
    if times is None or times.shape[-1] < 2 or "nu" in container:
        return None
    row = times[(0,) * (times.ndim - 1)]
    return float(row[-1] - row[0])
