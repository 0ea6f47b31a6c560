"""Pairs a second from the disk and from the page cache: this package's loading beside a plain h5py loop."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import h5py
import numpy as np
import torch

from driftnet import registry
from driftnet.bench.cache import cached_share, drop
from driftnet.configs import require
from driftnet.data.pairs import Pairs, order_of
from driftnet.data.sources import Disk
from driftnet.data.statistics import fit_statistics
from driftnet.data.store import Layout, data_offsets, lay_out, place, write_in_place
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError
from driftnet.files import machine, versions
from driftnet.options.bench import BenchDataOptions
from driftnet.progress import progress
from driftnet.tasks.base import Quantity, Task

SNAPSHOTS, CHANNELS, POINTS = 21, 3, 128
SNAPSHOT_BYTES = 4 * CHANNELS * POINTS**2
PAIRS = SNAPSHOTS - 1  # Of a trajectory.
LARGER = "the same, file larger than memory"


@dataclass(frozen=True)
class Row:
    """One way to read: pairs a second of every repeat, from the disk and (if it can be) from the page cache."""

    name: str
    cold: list[float]
    warm: list[float]
    cached_when_cold: float
    """Largest share of the file that was in memory when a cold repeat began."""


def bench(names: list[str], options: BenchDataOptions) -> str:
    """Measure everything in turns, a table and the same as JSON."""
    require(not names, "driftnet bench data takes no names")
    try:
        with _trajectories(options) as trajectories:
            rows = _measure(trajectories, _ways(trajectories, options), options.repeats)
    except OSError as error:
        raise DriftnetError(f"could not measure in {options.folder or tempfile.gettempdir()}: {error.strerror}") from error
    facts = {"size_mb": options.size, "batch": options.batch, "buffer": options.buffer, "threads": torch.get_num_threads()}
    whole = {"bench": "data", **facts, "machine": machine(), "versions": versions(), "rows": [asdict(row) for row in rows]}
    return f"{_table(rows, options)}\n\n{json.dumps(whole)}"


@contextmanager
def _trajectories(options: BenchDataOptions) -> Iterator[Trajectories]:
    """A temporary file of noise, gone afterwards."""
    task: Task = registry.task("NS-PwC")
    task = replace(task, quantities=(*task.quantities, Quantity("tracer", ("tracer",))))
    count = max(1, options.size * 10**6 // (SNAPSHOTS * SNAPSHOT_BYTES))
    split = json.dumps({"train": count, "validation": 1, "test": 1})
    with tempfile.TemporaryDirectory(prefix="driftnet-bench-", dir=options.folder) as folder:
        path = Path(folder) / "bench.nc"
        sizes = {
            "sample": range(count + 2),
            "time": range(SNAPSHOTS),
            "channel": range(CHANNELS),
            "x": range(POINTS),
            "y": range(POINTS),
        }
        array = place(task.source.variables[0], ("u", "v", "tracer"), sizes)
        lay_out(path, Layout((array,), sizes, {"split": split}))
        offset, random = data_offsets(path)[array.name], np.random.default_rng(0)
        with progress("write", count) as advance:
            for index in range(count):
                noise = random.random(array.shape[1:], np.float32)  # Compressing disks find nothing in it.
                write_in_place(path, [(offset + index * array.trajectory_bytes, noise)])
                advance()
        yield Trajectories(path, task, "train")


def _ways(trajectories: Trajectories, options: BenchDataOptions) -> dict[str, Callable[[], None]]:
    """What is compared; each goes once over all pairs."""

    def ours() -> None:
        pairs = Pairs(Disk(trajectories), options.batch, order_of(trajectories, 0, options.buffer))
        for step in range(len(pairs) // options.batch):
            pairs[step]

    return {
        "raw sequential read": lambda: _read_raw(trajectories.stored.path),
        "plain loop, one slice a pair": lambda: _plain(trajectories, options.batch),
        LARGER: lambda: _plain(trajectories, options.batch, forgetful=True),
        "driftnet": ours,
        "driftnet, statistics": lambda: fit_statistics(Disk(trajectories)) and None,
    }


def _read_raw(path: Path) -> None:
    """The disk's own rate: nothing is done with the bytes."""
    buffer = bytearray(SNAPSHOTS * SNAPSHOT_BYTES)
    with path.open("rb", buffering=0) as stream:
        while stream.readinto(buffer):
            pass


def _plain(trajectories: Trajectories, batch: int, forgetful: bool = False) -> None:
    """What one writes first: shuffled pairs, each a slice of its own, stacked to batches.

    Every snapshot is asked for twice, and the second time a file of a few hundred MB has it in the page cache;
    `forgetful` drops that before every batch, as happens by itself with a file that is larger than memory.
    """
    path, variable = trajectories.stored.path, trajectories.task.source.variable
    order = np.random.default_rng(0).permutation(len(trajectories) * PAIRS)
    with h5py.File(path, "r") as file:
        fields: h5py.Dataset = file[variable]  # pyright: ignore[reportAssignmentType]
        for start in range(0, len(order) - batch + 1, batch):
            if forgetful:
                drop(path)
            places = [divmod(int(pair), PAIRS) for pair in order[start : start + batch]]
            both = torch.stack([torch.from_numpy(fields[index, first : first + 2]) for index, first in places])
            _ = both[:, 0].contiguous(), both[:, 1].contiguous()


def _measure(trajectories: Trajectories, ways: dict[str, Callable[[], None]], repeats: int) -> list[Row]:
    """Every way once a repeat, in turns: whatever else the machine does meets all of them."""
    rows, path = [Row(name, [], [], 0.0) for name in ways], trajectories.stored.path
    pairs = len(trajectories) * PAIRS
    with progress("measure", repeats * len(ways)) as advance:
        for _ in range(repeats):
            for place, way in enumerate(ways.values()):
                drop(path)
                cached = max(rows[place].cached_when_cold, cached_share(path))
                rows[place] = replace(rows[place], cached_when_cold=cached)
                rows[place].cold.append(pairs / _seconds(way))
                if rows[place].name != LARGER:
                    path.read_bytes()  # Warm is warm for all.
                    rows[place].warm.append(pairs / _seconds(way))
                advance(note=rows[place].name)
    return rows


def _seconds(way: Callable[[], None]) -> float:
    began = time.perf_counter()
    way()
    return time.perf_counter() - began


def _table(rows: list[Row], options: BenchDataOptions) -> str:
    width = max(len(row.name) for row in rows)
    title = (
        f"Pairs a second, median [least, most] of {options.repeats}; {POINTS} x {POINTS} points, {CHANNELS} channels, "
        f"{options.size} MB, batches of {options.batch}, {os.cpu_count()} cores, {torch.get_num_threads()} thread(s)"
    )
    lines = [f"{row.name:{width}}  {_cell(row.cold)}  {_cell(row.warm)}  {_rate(row.cold):9.0f}" for row in rows]
    head = f"{'':{width}}  {'cold':>23}  {'warm':>23}  {'cold MB/s':>9}"
    return "\n".join((title, head, *lines, *_remarks(rows)))


def _cell(values: list[float]) -> str:
    return f"{'-':>23}" if not values else f"{median(values):7.0f} [{min(values):6.0f},{max(values):7.0f}]"


def _rate(values: list[float]) -> float:
    """MB/s of file; a pair costs 1/20 of a trajectory where nothing is read twice."""
    return median(values) * SNAPSHOTS * SNAPSHOT_BYTES / PAIRS / 1e6


def _remarks(rows: list[Row]) -> list[str]:
    by_name = {row.name: median(row.cold) for row in rows}
    _, plain, larger, ours, _ = by_name.values()
    said = [f"driftnet, cold: {ours / plain:.2f} times the plain loop, {ours / larger:.2f} times it on a larger file"]
    cached = max(row.cached_when_cold for row in rows)
    if cached > 0.01:
        said.append(f"Cold is not cold here: {cached:.0%} of the file stayed in memory though it was dropped")
    return said
