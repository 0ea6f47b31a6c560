"""Join the shards of a data set into the file that a single run would have written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from driftnet.data.formats.containers import readable
from driftnet.data.store import Array, Layout, data_offsets, lay_out, read_layout, refuse_full_disk, write_in_place
from driftnet.errors import DriftnetError, UsageError
from driftnet.files import locked, publish, refuse_existing
from driftnet.progress import progress

BLOCK = 64 * 2**20  # Bytes that are copied at a time.


def merge(shards: Sequence[Path], output: Path, overwrite: bool) -> str:
    """Write the whole file, or nothing; returns what happened in one line."""
    refuse_existing(output, overwrite)
    output.parent.mkdir(parents=True, exist_ok=True)
    with locked(output.with_name(f".{output.name}.lock"), str(output)):
        ordered = _in_order({path: _read(path) for path in shards})
        whole = _whole(list(ordered.values()))
        refuse_full_disk(output, whole.bytes)
        partial = output.with_name(output.name + ".partial")
        try:
            lay_out(partial, whole)
            _copy(ordered, whole, partial, f"merge {output.name}")
            publish(partial, output)
        finally:
            partial.unlink(missing_ok=True)
    return f"{output}: {len(whole.coordinates['sample'])} trajectories of {len(ordered)} shards"


def _read(path: Path) -> Layout:
    """The layout of a finished shard."""
    if not path.is_file():
        begun = path.with_name(path.name + ".partial").exists()
        why = "it is not finished; the command that began it goes on from there" if begun else "there is no such file"
        raise DriftnetError(f"could not merge {path}: {why}")
    with readable(path):
        layout = read_layout(path)
    if "shard" not in layout.attributes or "recipe" not in layout.attributes:
        raise UsageError(f"could not merge {path}: it is not a shard that 'driftnet generate --shards' made")
    return layout


def _in_order(layouts: dict[Path, Layout]) -> dict[Path, Layout]:
    """Shards by their number: all of one data set, each there once."""
    (first, pattern), *_ = layouts.items()
    _, count = json.loads(pattern.attributes["shard"])
    found: dict[int, Path] = {}
    for path, layout in layouts.items():
        for name in ("recipe", "versions"):
            if layout.attributes.get(name) != pattern.attributes.get(name):
                raise UsageError(f"{path} and {first} were made by different {name}{'s' if name == 'recipe' else ''}")
        number, shards = json.loads(layout.attributes["shard"])
        if shards != count:
            raise UsageError(f"{path} is one of {shards} shards, {first} one of {count}")
        if number in found:
            raise UsageError(f"{path} and {found[number]} are both shard {number}")
        found[number] = path
    missing = [number for number in range(count) if number not in found]
    if missing:
        raise UsageError(f"of {count} shards, {', '.join(map(str, missing))} {'is' if len(missing) == 1 else 'are'} missing")
    return {found[number]: layouts[found[number]] for number in range(count)}


def _whole(layouts: list[Layout]) -> Layout:
    """The layout of the file that a single run would have made."""
    total = sum(len(layout.coordinates["sample"]) for layout in layouts)
    first = layouts[0]
    arrays = tuple(replace(array, shape=(total, *array.shape[1:])) if array.sampled else array for array in first.arrays)
    attributes = {name: value for name, value in first.attributes.items() if name != "shard"}
    return Layout(arrays, {**first.coordinates, "sample": range(total)}, attributes)


def _copy(layouts: dict[Path, Layout], whole: Layout, partial: Path, label: str) -> None:
    offsets = data_offsets(partial)
    rows = {array.name: 0 for array in whole.arrays}
    with progress(label, len(whole.coordinates["sample"])) as advance:
        for path, layout in layouts.items():
            for array in layout.arrays:
                start = offsets[array.name] + rows[array.name]
                write_in_place(partial, ((start + place, values) for place, values in _blocks(path, array)))
                rows[array.name] += array.bytes if array.sampled else 0
            advance(len(layout.coordinates["sample"]))


def _blocks(path: Path, array: Array) -> Iterator[tuple[int, NDArray[Any]]]:
    """The bytes of a variable, never many of them at a time."""
    with h5py.File(path, "r") as file:
        offset = file[array.name].id.get_offset()
    with path.open("rb") as stream:
        stream.seek(offset)
        for place in range(0, array.bytes, BLOCK):
            wanted = min(BLOCK, array.bytes - place)
            read = stream.read(wanted)
            if len(read) != wanted:
                raise DriftnetError(f"{path} is cut short")
            yield place, np.frombuffer(read, np.uint8)
