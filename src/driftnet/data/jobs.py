"""What a data file is to be: sizes, seed and simulation, the part of it that one machine makes, and its layout."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from driftnet import registry
from driftnet.configs import require
from driftnet.data.store import Coordinates, Layout, place
from driftnet.errors import UsageError
from driftnet.files import versions
from driftnet.tasks.base import Split, Task
from driftnet.tasks.equations import Simulation

MACHINERY = ("output", "workers", "batch", "device", "shards", "shard")  # Parts of a job that its bytes do not show.


@dataclass(frozen=True)
class Job:
    """One data file to be made, or one shard of it; everything here but the last six fields decides its bytes."""

    task: str
    split: Split
    resolution: int
    snapshots: int
    seed: int
    simulation: Simulation
    precision: str
    output: Path = field(compare=False)
    workers: int = field(compare=False)
    batch: int = field(compare=False)
    device: str = field(compare=False)
    shards: int = field(compare=False)
    shard: int = field(compare=False)

    @property
    def recipe(self) -> str:
        """What decides the bytes, as one line of JSON."""
        kept = {key: value for key, value in asdict(self).items() if key not in MACHINERY}
        return json.dumps(kept, sort_keys=True)

    @property
    def indices(self) -> range:
        """Trajectories of this shard."""
        total = self.split.total
        return range(total * self.shard // self.shards, total * (self.shard + 1) // self.shards)

    @property
    def partial(self) -> Path:
        """The file while it is being written."""
        return self.output.with_name(self.output.name + ".partial")

    @property
    def journal(self) -> Path:
        """The recipe, then a line for every finished range of trajectories."""
        return self.output.with_name(self.output.name + ".journal")


def plan(task: Task, **changes: object) -> Job:
    """A job with the task's own sizes where `changes` does not give others; tasks that share a file share the job."""
    if task.source.simulation is None:
        raise UsageError(f"{task.name} is made of files alone: there is nothing to simulate")
    defaults = Job(
        task=task.source.data_set,
        split=task.split,
        resolution=task.resolution,
        snapshots=task.snapshots,
        seed=0,
        simulation=task.source.simulation,
        precision="float32",
        output=Path("data") / task.source.file,
        workers=len(os.sched_getaffinity(0)),
        batch=8,
        device="cpu",
        shards=1,
        shard=0,
    )
    job = replace(defaults, **changes)  # pyright: ignore[reportArgumentType]
    for name in ("workers", "batch", "shards"):
        require(getattr(job, name) > 0, f"{name}: {getattr(job, name)} is not positive")
    require(job.resolution >= 8 and job.resolution % 2 == 0, f"resolution: {job.resolution} is not even and at least 8")
    require(job.seed >= 0, f"seed: {job.seed} is negative")
    require(job.snapshots >= 2, f"snapshots: {job.snapshots} leaves no step")
    require(not task.steady or job.snapshots == 2, f"snapshots: {task.name} is steady, its one step has 2")
    require(0 <= job.shard < job.shards, f"shard: {job.shard} is none of 0 to {job.shards - 1}")
    require(job.shards <= job.split.total, f"shards: {job.shards} are more than the {job.split.total} trajectories")
    return job if job.shards == 1 else replace(job, output=shard_path(job.output, job.shard, job.shards))


def shard_path(output: Path, shard: int, shards: int) -> Path:
    """Where shard `shard` of a file is made."""
    return output.with_name(f"{output.stem}.shard-{shard}-of-{shards}{output.suffix}")


def layout(job: Job, constants: Iterable[str]) -> Layout:
    """The task's variables at the job's sizes, for the channels that the simulation has."""
    task: Task = registry.task(job.task)
    channels = (*job.simulation.initial.channels, *constants)
    main = [channel for channel in task.source.variables[0].channels if channel in channels]
    coordinates = _coordinates(job, task, len(main))
    arrays = tuple(place(variable, channels, coordinates) for variable in task.source.variables)
    used = {axis for array in arrays for axis in array.dimensions}
    attributes = {
        "task": task.name,
        "channels": json.dumps(main),
        "split": json.dumps(asdict(job.split)),
        "recipe": job.recipe,
        "seed": str(job.seed),
        "versions": json.dumps(versions()),
        "title": f"{task.name}: {task.equation}",
        "Conventions": "CF-1.10",
    }
    if job.shards > 1:
        attributes["shard"] = json.dumps([job.shard, job.shards])
    return Layout(arrays, {axis: values for axis, values in coordinates.items() if axis in used}, attributes)


def _coordinates(job: Job, task: Task, channels: int) -> Coordinates:
    size, length = job.resolution, job.simulation.equation.length
    intervals = size if task.boundary == "periodic" else size - 1
    return {
        "sample": job.indices,
        "time": np.linspace(0, task.interval * (job.snapshots - 1), job.snapshots),
        "channel": np.arange(channels, dtype="<i4"),
        "x": np.arange(size) * (length / intervals),
        "y": np.arange(size) * (length / intervals),
    }
