"""A task of a person's own data, from a short YAML file; `driftnet inspect` suggests one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast, get_args

import yaml

from driftnet import registry
from driftnet.configs import require
from driftnet.errors import UsageError, nearest
from driftnet.tasks.base import Arrays, Boundary, Quantity, Source, Split, Task


@dataclass(frozen=True)
class Description:
    """What a YAML file may say; what it leaves out is taken from the data file, where that tells."""

    data: str
    """Path of the data, seen from the YAML file."""
    format: str = ""
    """Recognised from the file where not given."""
    variable: tuple[str, ...] = ("array",)
    axes: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    quantities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the channels in their order, grouped."""
    boundary: str = ""
    split: Mapping[str, int] = field(default_factory=dict)
    duration: float = 0.0
    final_snapshot: int = 0
    equation: str = ""


LARGEST = 2**63  # As in parsing: what the libraries below take.


def load_task(name: str) -> Task:
    """The task that the YAML file `name` describes."""
    path = Path(name)
    described = _read(path)
    data = (path.parent / described.data).resolve()
    with registry.resolve("driftnet.data.formats.containers:readable")(data):
        kind = described.format or registry.resolve("driftnet.data.formats.recognise:recognise")(data)
        require(
            kind != "poseidon", f"{path}: {data.name} is a published Poseidon file: give the task's name instead of a YAML file"
        )
        arrays = Arrays(described.variable, described.axes, described.static) if kind == "arrays" else None
        source = Source(file=str(data), format=kind, arrays=arrays)
        contents = registry.lookup("format", registry.FORMATS, kind)(data, source, ()).contents
    return _task(path, described, source, contents)


def _task(path: Path, described: Description, source: Source, contents: Any) -> Task:
    boundary = described.boundary or contents.boundary
    known = get_args(Boundary)
    require(boundary in known, f"{path}: boundary: {boundary or 'the file does not tell; say'} one of {', '.join(known)}")
    final = described.final_snapshot or contents.snapshots - 1
    require(0 < final < contents.snapshots, f"{path}: final_snapshot: {final} is not one of 1 to {contents.snapshots - 1}")
    return Task(
        name=path.stem,
        equation=described.equation or f"data of {Path(source.file).name}",
        quantities=_quantities(path, described, contents),
        static=contents.static,
        boundary=cast(Boundary, boundary),
        resolution=contents.size[0],
        snapshots=contents.snapshots,
        final_snapshot=final,
        duration=described.duration or contents.duration or float(contents.snapshots - 1),
        split=_split(path, described, contents),
        normalization=None,
        source=source,
        steady=contents.steady,
        baselines=("zero", "climatology") if contents.steady else ("zero", "persistence", "climatology"),
    )


def _quantities(path: Path, described: Description, contents: Any) -> tuple[Quantity, ...]:
    if not described.quantities:
        return contents.quantities or tuple(Quantity(name, (name,)) for name in contents.channels)
    named = tuple(Quantity(name, components) for name, components in described.quantities.items())
    components = [name for quantity in named for name in quantity.components]
    found = len(contents.channels)
    require(len(components) == found, f"{path}: quantities name {len(components)} channels; {contents.path.name} has {found}")
    require(len(set(components)) == found, f"{path}: quantities name a channel twice")
    return named


def _split(path: Path, described: Description, contents: Any) -> Split:
    if contents.split and described.split:
        raise UsageError(f"{path}: split: {contents.path.name} states its own; '--trajectories' trains on fewer")
    if contents.split:
        return contents.split
    count, parts = contents.trajectories, ("train", "validation", "test")
    held = max(1, count // 10)
    advice = f"split: {{train: {count - 2 * held}, validation: {held}, test: {held}}}"
    require(set(described.split) == set(parts), f"{path}: split: say how many trajectories, for example {advice}")
    split = Split(**described.split)
    require(
        split.total <= count, f"{path}: split: {split.total} trajectories are more than the {count} in {contents.path.name}"
    )
    return split


def _read(path: Path) -> Description:
    try:
        values = yaml.safe_load(path.read_text())
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"could not read {path}: {' '.join(str(error).split())}") from error
    require(isinstance(values, dict) and "data" in values, f"{path} does not describe data: it needs a line 'data: FILE'")
    known = [entry.name for entry in fields(Description)]
    for key in values:
        match = nearest(str(key), known)
        hint = f" Did you mean '{match}'?" if match else ""
        require(key in known, f"{path}: no setting is called '{key}'.{hint} Known: {', '.join(known)}.")
    return Description(**{key: _typed(path, key, value) for key, value in values.items()})


def _typed(path: Path, key: str, value: Any) -> Any:
    if key in ("variable", "axes", "static"):
        return _names(path, key, value)
    if key in ("quantities", "split"):
        require(isinstance(value, dict), f"{path}: {key}: '{value}' stands where names with values belong")
        read = _names if key == "quantities" else _count
        return {str(name): read(path, f"{key}.{name}", each) for name, each in value.items()}
    if key in ("duration", "final_snapshot"):
        return float(_number(path, key, value)) if key == "duration" else _count(path, key, value)
    require(isinstance(value, str) and "\0" not in value, f"{path}: {key}: {value!r} is not text")
    return value


def _names(path: Path, key: str, value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value]
    require(bool(listed) and all(isinstance(each, str) for each in listed), f"{path}: {key}: '{value}' is not a list of names")
    return tuple(listed)


def _number(path: Path, key: str, value: Any) -> Any:
    right = isinstance(value, int | float) and not isinstance(value, bool)
    require(right and 0 < value < LARGEST, f"{path}: {key}: '{value}' is not a positive number")
    return value


def _count(path: Path, key: str, value: Any) -> int:
    require(isinstance(_number(path, key, value), int), f"{path}: {key}: '{value}' is not a whole number")
    return value
