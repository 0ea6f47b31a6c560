"""Make the data of a task: trajectories in parallel, each decided by the seed and its index alone."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape
from multiprocessing import get_context
from typing import Any

import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from driftnet import registry
from driftnet.data.formats.containers import readable
from driftnet.data.jobs import Job, layout
from driftnet.data.journal import finished_by, line_of, seal, seal_again
from driftnet.data.store import Array, data_offsets, lay_out, read_layout, refuse_full_disk, write_in_place
from driftnet.errors import DriftnetError, UsageError
from driftnet.files import locked, publish, write_text
from driftnet.pdes.initial import trajectory_generator
from driftnet.pdes.solver import Solver, solver_of
from driftnet.processes import end_with_parent, end_workers
from driftnet.progress import progress
from driftnet.tasks.base import Task


def generate(job: Job, overwrite: bool) -> str:
    """Make the file, or go on making it; returns what happened in one line."""
    with locked(job.output.with_name(f".{job.output.name}.lock"), str(job.output)):
        if job.output.exists() and not overwrite:
            return _already_there(job)
        if overwrite:
            _forget(job)
        finished = _resume(job)
        _simulate_missing(job, finished)
        publish(job.partial, job.output)
        job.journal.unlink()
    return f"{job.output}: {len(job.indices)} trajectories of {job.task} at {job.resolution} x {job.resolution}"


def _already_there(job: Job) -> str:
    import h5py

    with readable(job.output), h5py.File(job.output, "r") as file:
        if file.attrs.get("recipe") == job.recipe:
            return f"{job.output} is already complete"
    raise UsageError(f"{job.output} exists and was made by another recipe; give --overwrite to replace it")


def _forget(job: Job) -> None:
    for path in (job.journal, job.partial, *job.journal.parent.glob(f".{escape(job.journal.name)}.*")):
        path.unlink(missing_ok=True)


def _resume(job: Job) -> set[int]:
    """Indices of the trajectories that an earlier, interrupted run has finished."""
    if not (job.partial.exists() and job.journal.exists()):
        _begin(job)
        return set()
    with readable(job.journal):
        recipe, sealed, *lines = job.journal.read_text().split("\n")[:-1]  # After the last line end may be half a line.
    if recipe != job.recipe:
        raise UsageError(f"{job.partial} was begun by another recipe; give --overwrite to start again")
    if sealed != seal_again(job.partial, sealed):
        raise DriftnetError(f"{job.partial} is damaged; give --overwrite to start again")
    return {index for line in lines for index in finished_by(line)}


def _begin(job: Job) -> None:
    _forget(job)
    job.output.parent.mkdir(parents=True, exist_ok=True)
    constants = {name: field.cpu().numpy() for name, field in _solver(job).constants().items()}
    planned = layout(job, constants)
    refuse_full_disk(job.output, planned.bytes)
    lay_out(job.partial, planned)
    offsets = data_offsets(job.partial)
    for array in planned.arrays:
        if not array.sampled:
            write_in_place(job.partial, [(offsets[array.name], constants[array.name].astype(array.dtype))])
    filled = [(offsets[array.name], offsets[array.name] + array.bytes) for array in planned.arrays if array.sampled]
    write_text(job.journal, f"{job.recipe}\n{seal(job.partial, filled)}\n")


def _solver(job: Job) -> Solver[Any]:
    interval = registry.task(job.task).interval
    return solver_of(job.simulation.equation, job.resolution, interval, getattr(torch, job.precision), job.device)


def _simulate_missing(job: Job, finished: set[int]) -> None:
    missing = _batches(job, finished)
    with readable(job.partial):
        arrays = tuple(array for array in read_layout(job.partial).arrays if array.sampled)
    work = _Work(job, arrays, data_offsets(job.partial))
    workers = min(job.workers, len(missing))
    with (
        job.journal.open("a") as journal,
        progress(f"generate {job.task}", len(job.indices), len(finished)) as advance,
        _runner(workers) as run,
    ):
        for done in run(work, missing):
            journal.write(line_of(done))
            journal.flush()
            advance(len(done))


def _batches(job: Job, finished: set[int]) -> list[range]:
    first, last = job.indices.start, job.indices.stop
    whole = [range(start, min(start + job.batch, last)) for start in range(first, last, job.batch)]
    return [batch for batch in whole if not finished.issuperset(batch)]


@dataclass(frozen=True)
class _Work:
    """Simulates a range of trajectories and puts it where it belongs."""

    job: Job
    arrays: tuple[Array, ...]
    offsets: dict[str, int]

    def __call__(self, indices: range) -> range:
        torch.set_num_threads(1)  # Two threads on a busy machine are several times slower than one.
        fields = self._simulate(indices)
        row = indices.start - self.job.indices.start
        pieces = [
            (self.offsets[array.name] + row * array.trajectory_bytes, self._values(array, fields)) for array in self.arrays
        ]
        write_in_place(self.job.partial, pieces)
        return indices

    def _simulate(self, indices: range) -> Float[Tensor, "b t c x y"]:
        job, initial = self.job, self.job.simulation.initial
        generators = [trajectory_generator(job.seed, index) for index in indices]
        states = registry.resolve(initial.sampler)(initial, generators, job.resolution)
        return _solver(job).trajectory(states, job.snapshots, job.simulation.warmup).cpu()

    def _values(self, array: Array, fields: Float[Tensor, "b t c x y"]) -> NDArray[Any]:
        """The values of a variable; one without a time axis holds the last snapshot."""
        task: Task = registry.task(self.job.task)
        (variable,) = (variable for variable in task.source.variables if variable.name == array.name)
        names = self.job.simulation.initial.channels
        values = fields[:, :, [names.index(channel) for channel in variable.channels if channel in names]]
        values = values if "time" in array.dimensions else values[:, -1]
        values = values if "channel" in array.dimensions else values.squeeze(-3)
        return values.numpy().astype(array.dtype)


@contextmanager
def _runner(workers: int) -> Iterator:
    """A way to run the work on ranges: here, or in processes that end when this one does."""
    if workers <= 1:
        yield lambda work, ranges: map(work, ranges)
        return
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=end_with_parent)

    def run(work: _Work, ranges: list[range]) -> Iterator[range]:
        futures: list[Future[range]] = [pool.submit(work, indices) for indices in ranges]
        for future in as_completed(futures):
            yield future.result()

    try:
        yield run
    except BaseException:
        end_workers()  # What they were at is made again; a batch takes minutes on a fine grid.
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
