"""The suite: what is missing is run, on as many processes as are wanted, until it is done or time is up."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from driftnet.data.jobs import Job
from driftnet.errors import DriftnetError
from driftnet.files import locked
from driftnet.options.reproduce import ReproduceOptions
from driftnet.progress import Advance, progress
from driftnet.reproduce.parts import Entry, Need, data_file
from driftnet.reproduce.plan import Estimate
from driftnet.reproduce.store import Store


@dataclass(frozen=True)
class Group:
    """Parts that one worker makes together, because they share a training."""

    needs: tuple[Need, ...]
    seconds: float

    @property
    def job(self) -> Job | None:
        """The data they wait for."""
        fit = self.needs[0].fit
        return fit.job if fit else self.needs[0].job


def groups(entries: Sequence[Entry], store: Store, estimate: Estimate, any_code: bool) -> list[Group]:
    """What has to be run, each part once: all of one seed first, and within it the experiments in their order."""
    missing = {entry.need.part.name: entry for entry in entries if not store.has(entry.need.part, any_code)}
    bundles: dict[Any, list[Need]] = {}
    for entry in sorted(missing.values(), key=lambda entry: entry.seed):
        need = entry.need
        bundles.setdefault(need.fit.folder if need.fit else need.part.name, []).append(need)
    return [Group(tuple(needs), estimate.group(needs)) for needs in bundles.values()]


def run_suite(entries: Sequence[Entry], store: Store, estimate: Estimate, options: ReproduceOptions) -> list[str]:
    """Run what is missing; returns what could not be made, a line each."""
    work = (options.work / options.scale).resolve()  # A run folder holds the path of its data.
    with locked(store.folder / ".lock", str(store.folder)):
        waiting = groups(entries, store, estimate, options.code == "any")
        if not waiting:
            return []
        total = sum(group.seconds for group in waiting)
        with progress("reproduce", round(total)) as advance, _pool(options, work) as pool:
            failures = _Run(pool, store, options, work, advance).all(waiting)
        store.tidy()
        return failures


@contextmanager
def _pool(options: ReproduceOptions, work: Path) -> Iterator[ProcessPoolExecutor]:
    from driftnet.reproduce.work import begin

    pool = ProcessPoolExecutor(options.workers, get_context("spawn"), begin, (work / "logs",))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass
class _Run:
    """Hands work out as workers become free: data first for those that wait for it, costs alone at the end."""

    pool: ProcessPoolExecutor
    store: Store
    options: ReproduceOptions
    work: Path
    advance: Advance
    began: float = field(default_factory=time.monotonic)
    running: dict[Future[Any], Group | Job] = field(default_factory=dict)
    ready: set[Path] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)

    def all(self, waiting: list[Group]) -> list[str]:
        """Everything that shares the machine, then what must have it to itself."""
        shared = [group for group in waiting if group.needs[0].part.kind != "costs"]
        alone = [group for group in waiting if group.needs[0].part.kind == "costs"]
        try:
            self._through(shared, self.options.workers)
            self._through(alone, 1)
        except BrokenProcessPool as error:
            raise DriftnetError("a worker was killed; the same command goes on from what is done") from error
        return self.failures

    def _through(self, waiting: list[Group], workers: int) -> None:
        while True:
            while len(self.running) < workers and self._in_time() and self._start_one(waiting):
                pass
            if not self.running:
                return
            done, _ = wait(self.running, return_when=FIRST_COMPLETED)
            for future in done:
                self._finish(future, self.running.pop(future), waiting)

    def _in_time(self) -> bool:
        return self.options.until is None or time.monotonic() - self.began < self.options.until

    def _start_one(self, waiting: list[Group]) -> bool:
        """Begin the first thing that can be begun: a group whose data are there, or the data of one."""
        from driftnet.reproduce.work import Workshop, make_data, make_parts

        shop = Workshop(self.work, self.options.device, self.options.workers)
        being_made = {data_file(each) for each in self.running.values() if isinstance(each, Job)}
        for position, group in enumerate(waiting):
            job = group.job
            if job is None or data_file(job) in self.ready:
                self.running[self.pool.submit(make_parts, group.needs, shop)] = waiting.pop(position)
                return True
            if data_file(job) not in being_made:
                self.running[self.pool.submit(make_data, job, shop)] = job
                return True
        return False

    def _finish(self, future: Future[Any], what: Group | Job, waiting: list[Group]) -> None:
        error = future.exception()
        if isinstance(error, BrokenProcessPool | KeyboardInterrupt):
            raise error
        if error is not None:
            self._fail(error, what, waiting)
        elif isinstance(what, Job):
            self.ready.add(data_file(what))
        else:
            for need, found in zip(what.needs, future.result(), strict=True):
                self.store.add(need.task, need.part, found)
            self.advance(round(what.seconds), note=_name(what))

    def _fail(self, error: BaseException, what: Group | Job, waiting: list[Group]) -> None:
        """Go on with the rest; what needs data that could not be made is given up."""
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        self.failures.append(f"{_name(what)}: {said}")
        if isinstance(what, Job):
            waiting[:] = [group for group in waiting if group.job is None or data_file(group.job) != data_file(what)]


def _name(what: Group | Job) -> str:
    if isinstance(what, Job):
        return f"data of {what.task}"
    need = what.needs[0]
    detail = f"{need.fit.label}, seed {need.fit.recipe.seed}" if need.fit else need.baseline or need.preset
    return f"{need.task}, {detail}"
