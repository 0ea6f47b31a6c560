"""A person's own arrays: variables of .nc, .h5, .zarr or .npy, their axes in any order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from driftnet.data.formats.containers import ONLY_ARRAY, SUFFIXES, open_container
from driftnet.data.formats.fields import AXES, Field, piece
from driftnet.data.formats.reader import Contents, FieldReader, common
from driftnet.errors import DriftnetError, UsageError, unknown
from driftnet.tasks.base import Arrays, Source


def open_arrays(path: Path, source: Source, channels: tuple[str, ...]) -> FieldReader:
    """Variables stacked as channels; without a time axis, a steady map from the static inputs."""
    arrays = source.arrays or Arrays((ONLY_ARRAY,), ())
    _check_axes(path, arrays.axes)
    steady = "time" not in arrays.axes
    if steady and not arrays.static:
        raise UsageError(f"{path}: without a time axis there has to be a static input to predict from")
    fields = [_field(path, name, arrays.axes) for name in arrays.variables]
    static = {name: _field(path, name, _static_axes(path, name, arrays.axes)) for name in arrays.static}
    contents = Contents(
        path=path,
        format="arrays",
        trajectories=common(path, [*fields, *static.values()], "sample", (1,)),
        snapshots=2 if steady else common(path, fields, "time"),
        channels=tuple(
            part for name, field in zip(arrays.variables, fields, strict=True) for part in _parts(path, name, field)
        ),
        size=(common(path, [*fields, *static.values()], "x"), common(path, [*fields, *static.values()], "y")),
        static=tuple(part for name, field in static.items() for part in _parts(path, name, field)),
        duration=None if steady else _duration(open_container(path)),
        steady=steady,
    )
    return FieldReader(contents, fields, list(static.values()))


def _check_axes(path: Path, axes: tuple[str, ...]) -> None:
    for axis in axes:
        if axis not in AXES:
            raise unknown("axis", axis, AXES)
    for axis in axes:
        if axes.count(axis) > 1:
            raise UsageError(f"{path}: axis {axis} is named twice")
    if not {"x", "y"} <= set(axes):
        raise UsageError(f"{path}: axes: {', '.join(axes) or 'none'} lack x or y; driftnet reads fields on two axes")


def _field(path: Path, name: str, axes: tuple[str, ...]) -> Field:
    file, array = _place(path, name)
    return Field((piece(file, open_container(file), array, axes),))


def _place(path: Path, name: str) -> tuple[Path, str]:
    """A variable of the file, or the only array of a file beside it."""
    return (path.parent / name, ONLY_ARRAY) if Path(name).suffix in SUFFIXES else (path, name)


def _static_axes(path: Path, name: str, axes: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the fields without time, as many as the array has: one for all trajectories has no sample axis."""
    file, array = _place(path, name)
    dimensions = len(getattr(open_container(file).get(array), "shape", ()))
    candidates = [tuple(axis for axis in axes if axis not in left) for left in (("time",), ("time", "channel"))]
    candidates += [tuple(axis for axis in found if axis != "sample") for found in candidates]
    for candidate in sorted(candidates, key=len, reverse=True):
        if len(candidate) == dimensions or dimensions == 0:
            return candidate
    raise DriftnetError(f"{path}: static '{name}' has {dimensions} axes, which fits none of {candidates[0]}")


def _parts(path: Path, name: str, field: Field) -> tuple[str, ...]:
    """Names of a variable's channels."""
    stem, count = Path(name).stem, common(path, [field], "channel")
    return (stem,) if count == 1 else tuple(f"{stem}{index}" for index in range(count))


def _duration(container: Mapping[str, Any]) -> float | None:
    times = container.get("time")
    if times is None or len(getattr(times, "shape", ())) != 1 or times.shape[0] < 2 or times.dtype.kind not in "fiu":
        return None
    return float(times[-1] - times[0])
