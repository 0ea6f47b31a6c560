"""The published Poseidon layout: assembled files, the chunks they are assembled from, and what `generate` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from driftnet.data.formats.containers import find_array, open_container
from driftnet.data.formats.fields import Channels, Field, Fixed, Piece, piece
from driftnet.data.formats.reader import Contents, FieldReader, common
from driftnet.errors import DriftnetError
from driftnet.tasks.base import Source, Split, Variable

TRANSPOSED = ("NS-SL.nc",)
"""Published files whose first grid axis is y, with u and v in their places (published loader, `transpose`)."""
PUBLISHED = ("NS-SL", "NS-PwC", "FNS-KF", "ACE", "Wave-Gauss", "Poisson-Gauss")
"""Data sets of the collection that tasks here use."""
FORCING = "forcing"
"""The static channel that stands in the published loader and not in its file."""


def open_poseidon(path: Path, source: Source, channels: tuple[str, ...]) -> FieldReader:
    """A file, or a folder of chunks such as velocity_0.nc; `channels` are the first of those stored."""
    files = _files(path, source)
    states, *given = source.variables
    field = Field(tuple(_piece(file, source, states, len(channels)) for file in files), len(channels))
    size = common(path, [field], "x"), common(path, [field], "y")
    static = [_static(files, source, variable, field, size) for variable in given]
    steady = "time" not in states.dimensions
    contents = Contents(
        path=path,
        format="poseidon",
        trajectories=field.trajectories,
        snapshots=2 if steady else common(path, [field], "time"),
        channels=channels,
        size=size,
        static=tuple(name for variable in given for name in variable.channels),
        steady=steady,
        **_stated(files[0], open_container(files[0])),
    )
    return FieldReader(contents, [field], static)


def _files(path: Path, source: Source) -> list[Path]:
    folder = path if path.is_dir() else path.with_suffix("")
    if not path.is_file() and not folder.is_dir():
        name = Path(source.file).stem
        fetched = f", 'driftnet fetch {name}' downloads the published one" if name in PUBLISHED else ""
        raise DriftnetError(f"there is no data file {path}; 'driftnet generate {name}' makes one{fetched}")
    return [path] if path.is_file() else _chunks(folder, source.variable)


def _chunks(folder: Path, variable: str) -> list[Path]:
    """Chunks in the order of their names (0, 1, 10, ..., 2), as the published script assembles them."""
    chunks = sorted(folder.glob(f"{variable}_*.nc"), key=lambda chunk: chunk.name)
    numbers = {int(match[1]) for chunk in chunks if (match := re.search(r"_(\d+)\.nc$", chunk.name))}
    missing = sorted(set(range(max(numbers, default=0) + 1)) - numbers)
    if missing:
        raise DriftnetError(f"{folder} lacks the chunk {variable}_{missing[0]}.nc")
    return chunks


def _piece(file: Path, source: Source, variable: Variable, wanted: int) -> Piece:
    """A variable of a file, in the layout of the task."""
    container, axes = open_container(file), variable.dimensions
    shape = find_array(file, container, variable.name).shape
    channels = shape[axes.index("channel")] if "channel" in axes and len(shape) == len(axes) else 1
    if len(shape) != len(axes) or channels < wanted:
        needed = ", ".join(f"channel >= {wanted}" if axis == "channel" else axis for axis in axes)
        raise DriftnetError(f"{file}: '{variable.name}' has shape {shape}; {Path(source.file).stem} needs ({needed})")
    if source.file in TRANSPOSED and "recipe" not in _attributes(container):
        axes = tuple({"x": "y", "y": "x"}.get(axis, axis) for axis in axes)
    return piece(file, container, variable.name, axes)


def _static(files: list[Path], source: Source, variable: Variable, states: Field, size: tuple[int, int]) -> Channels:
    """A variable of the same files, or of chunks of its own, or the forcing that no published file holds."""
    if variable.name not in open_container(files[0]):
        if variable.name == FORCING:
            return Fixed(kolmogorov_forcing(size)[None])
        apart = (files[0].parent / f"{variable.name}_0.nc").exists()
        files = _chunks(files[0].parent, variable.name) if apart else files
    field = Field(tuple(_piece(file, source, variable, len(variable.channels)) for file in files))
    if "sample" in variable.dimensions and field.trajectories != states.trajectories:
        counts = f"{field.trajectories} trajectories, '{source.variable}' {states.trajectories}"
        raise DriftnetError(f"{files[0]}: '{variable.name}' has {counts}")
    # What is the same for all trajectories stands in every file: the first will do.
    return field if "sample" in variable.dimensions else Field(field.pieces[:1])


def kolmogorov_forcing(size: tuple[int, int]) -> Float32[np.ndarray, "x y"]:
    """0.1 sin(2 pi (x + y)) on a grid that includes the end point, as the published loader has it (paper, app. F)."""
    x, y = (np.linspace(0, 1, points) for points in size)
    return (0.1 * np.sin(2 * np.pi * (x[:, None] + y))).astype(np.float32)


def _attributes(container: Mapping[str, Any]) -> dict[str, str]:
    return {key: value for key, value in getattr(container, "attrs", {}).items() if isinstance(value, str)}


def _stated(path: Path, container: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes, and the split that a generated file was made for."""
    attributes = _attributes(container)
    stated = attributes.get("split")
    try:
        split = Split(**{part: index(size) for part, size in json.loads(stated).items()}) if stated else None
    except (ValueError, TypeError, AttributeError) as error:
        raise DriftnetError(f"{path}: its attribute split does not hold the sizes of three parts: {stated}") from error
    return {"attributes": attributes, "split": split}
