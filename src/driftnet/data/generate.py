"""Make the data of a task: trajectories in parallel, each decided by the seed and its index alone."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path

import torch

from driftnet import registry
from driftnet.configs import require
from driftnet.data.store import Layout, data_offset, lay_out, write_in_place
from driftnet.errors import DriftnetError, UsageError
from driftnet.files import locked, publish, versions
from driftnet.pdes.grid import Grid
from driftnet.pdes.initial import trajectory_generator
from driftnet.progress import progress
from driftnet.tasks.base import Split, Task
from driftnet.tasks.equations import Simulation


@dataclass(frozen=True)
class Job:
    """One data file to be made; everything here but the last four fields decides its bytes."""

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

    @property
    def recipe(self) -> str:
        """What decides the bytes, as one line of JSON."""
        kept = {key: value for key, value in asdict(self).items() if key not in ("output", "workers", "batch", "device")}
        return json.dumps(kept, sort_keys=True)

    @property
    def partial(self) -> Path:
        """The file while it is being written."""
        return self.output.with_name(self.output.name + ".partial")

    @property
    def journal(self) -> Path:
        """The recipe, then a line for every finished range of trajectories."""
        return self.output.with_name(self.output.name + ".journal")


def generate(job: Job, overwrite: bool) -> str:
    """Make the file, or go on making it; returns what happened in one line."""
    with locked(job.output.with_name(f".{job.output.name}.lock"), str(job.output)):
        if job.output.exists() and not overwrite:
            return _already_there(job)
        if overwrite:
            _forget(job)
        task: Task = registry.task(job.task)
        layout = _layout(job, task)
        finished = _resume(job, layout)
        _simulate_missing(job, layout, task, finished)
        publish(job.partial, job.output)
        job.journal.unlink()
    return f"{job.output}: {job.split.total} trajectories of {job.task} at {job.resolution} x {job.resolution}"


def _already_there(job: Job) -> str:
    import h5py

    with h5py.File(job.output, "r") as file:
        if file.attrs.get("recipe") == job.recipe:
            return f"{job.output} is already complete"
    raise UsageError(f"{job.output} exists and was made by another recipe; give --overwrite to replace it")


def _forget(job: Job) -> None:
    job.journal.unlink(missing_ok=True)
    job.partial.unlink(missing_ok=True)


def _layout(job: Job, task: Task) -> Layout:
    components = list(task.components)
    if getattr(job.simulation.initial, "tracer", False):
        components.append("tracer")
    attributes = {
        "task": task.name,
        "channels": json.dumps(components),
        "split": json.dumps(asdict(job.split)),
        "recipe": job.recipe,
        "seed": str(job.seed),
        "versions": json.dumps(versions()),
        "title": f"{task.name}: {task.equation}",
        "Conventions": "CF-1.10",
    }
    shape = (job.split.total, job.snapshots, len(components), job.resolution, job.resolution)
    duration = task.duration * (job.snapshots - 1) / (task.snapshots - 1)
    return Layout(task.source.variable, shape, duration, attributes)


def _resume(job: Job, layout: Layout) -> set[int]:
    """Indices of the trajectories that an earlier, interrupted run has finished."""
    if not (job.partial.exists() and job.journal.exists()):
        _begin(job, layout)
        return set()
    recipe, _, lines = job.journal.read_text().partition("\n")
    if recipe != job.recipe:
        raise UsageError(f"{job.partial} was begun by another recipe; give --overwrite to start again")
    whole = lines[: lines.rfind("\n") + 1].splitlines()  # The last line may be torn.
    ranges = [range(*map(int, line.split())) for line in whole]
    return {index for finished in ranges for index in finished}


def _begin(job: Job, layout: Layout) -> None:
    _forget(job)
    job.output.parent.mkdir(parents=True, exist_ok=True)
    needed = layout.trajectory_bytes * layout.shape[0]
    space = os.statvfs(job.output.parent)
    if needed > space.f_bavail * space.f_frsize:
        raise DriftnetError(f"{job.output} needs {needed / 1e9:.1f} GB; the disk has less left")
    lay_out(job.partial, layout)
    job.journal.write_text(job.recipe + "\n")


def _simulate_missing(job: Job, layout: Layout, task: Task, finished: set[int]) -> None:
    missing = _batches(job, finished)
    work = _Work(job, task.duration / (task.snapshots - 1), data_offset(job.partial, layout.variable), layout.trajectory_bytes)
    workers = min(job.workers, len(missing))
    with (
        job.journal.open("a") as journal,
        progress(f"generate {job.task}", job.split.total, len(finished)) as advance,
        _runner(workers) as run,
    ):
        for done in run(work, missing):
            journal.write(f"{done.start} {done.stop}\n")
            journal.flush()
            advance(len(done))


def _batches(job: Job, finished: set[int]) -> list[range]:
    whole = [range(start, min(start + job.batch, job.split.total)) for start in range(0, job.split.total, job.batch)]
    return [batch for batch in whole if not finished.issuperset(batch)]


@dataclass(frozen=True)
class _Work:
    """Simulates a range of trajectories and puts it where it belongs."""

    job: Job
    interval: float
    offset: int
    trajectory_bytes: int

    def __call__(self, indices: range) -> range:
        torch.set_num_threads(1)  # Two threads on a busy machine are several times slower than one.
        job = self.job
        initial, equation = job.simulation.initial, job.simulation.equation
        generators = [trajectory_generator(job.seed, index) for index in indices]
        states = registry.resolve(initial.sampler)(initial, generators, job.resolution)
        grid = Grid(job.resolution, dtype=getattr(torch, job.precision), device=job.device)
        solver = registry.resolve(equation.solver)(equation, grid, self.interval)
        fields = solver.trajectory(states, job.snapshots).float().cpu().numpy()
        write_in_place(job.partial, self.offset + indices.start * self.trajectory_bytes, fields)
        return indices


@contextmanager
def _runner(workers: int) -> Iterator:
    """A way to run the work on ranges: here, or in processes that end when this one does."""
    if workers <= 1:
        yield lambda work, ranges: map(work, ranges)
        return
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_end_with_parent)

    def run(work: _Work, ranges: list[range]) -> Iterator[range]:
        futures: list[Future[range]] = [pool.submit(work, indices) for indices in ranges]
        for future in as_completed(futures):
            yield future.result()

    try:
        yield run
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """A killed parent must not leave workers behind; a Ctrl-C is the parent's to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def plan(task: Task, **changes: object) -> Job:
    """A job with the task's own sizes where `changes` does not give others."""
    defaults = Job(
        task=task.name,
        split=task.split,
        resolution=task.resolution,
        snapshots=task.snapshots,
        seed=0,
        simulation=task.source.simulation,  # pyright: ignore[reportArgumentType]
        precision="float32",
        output=Path("data") / task.source.file,
        workers=len(os.sched_getaffinity(0)),
        batch=8,
        device="cpu",
    )
    job = replace(defaults, **changes)  # pyright: ignore[reportArgumentType]
    for name in ("workers", "batch"):
        require(getattr(job, name) > 0, f"{name}: {getattr(job, name)} is not positive")
    require(job.resolution >= 8 and job.resolution % 2 == 0, f"resolution: {job.resolution} is not even and at least 8")
    require(job.snapshots >= 2, f"snapshots: {job.snapshots} leaves no step")
    return job
