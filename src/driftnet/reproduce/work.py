"""What a worker does: make data, train, measure. Everything lands in the folder of work; what is worth keeping is returned."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from driftnet import registry
from driftnet.bench.models import Case, run, summarise
from driftnet.configs import Evaluation
from driftnet.data.generate import generate
from driftnet.data.jobs import Job
from driftnet.data.loading import Loading
from driftnet.data.trajectories import Trajectories
from driftnet.devices import exact_arithmetic
from driftnet.evaluate.baselines import NotMade
from driftnet.evaluate.bounds import examine
from driftnet.evaluate.measure import Subject
from driftnet.evaluate.results import open_metrics
from driftnet.evaluate.run import baseline, evaluate, metrics_file, trained_run
from driftnet.files import machine, versions
from driftnet.options.evaluate import EvaluateOptions
from driftnet.processes import end_with_parent
from driftnet.reproduce.condense import condense, numbers
from driftnet.reproduce.parts import Fit, Need, data_file
from driftnet.reproduce.provenance import provenance
from driftnet.train.engine import NotFinite
from driftnet.train.fit import train

TOGETHER = {"cpu": 8, "cuda": 256}  # Trajectories solved at once: enough to fill the device.
WHOLE = ("network", "network, any state", "one step", "defect")  # Rows of the bounds that are of a whole model.

Found = dict[str, Any]


@dataclass(frozen=True)
class Workshop:
    """Where the work is done."""

    folder: Path
    device: str
    workers: int = 1
    """How many share the device."""

    def data(self, job: Job) -> Path:
        """Where the data of a job are."""
        return self.folder / data_file(job)


def begin(logs: Path) -> None:
    """Set a worker up: one thread, its messages in a file of their own, its end with that of the suite."""
    end_with_parent()
    logs.mkdir(parents=True, exist_ok=True)
    log = os.open(logs / f"worker-{os.getpid()}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 2)
    torch.set_num_threads(1)
    exact_arithmetic()


def make_data(job: Job, shop: Workshop) -> None:
    """Make a data file, or go on, or find it there."""
    kind = torch.device(shop.device).type
    generate(replace(job, output=shop.data(job), device=shop.device, batch=TOGETHER.get(kind, 8)), overwrite=False)


def make_parts(needs: tuple[Need, ...], shop: Workshop) -> list[Found]:
    """The results of parts that share a training, or need none; the seconds of the training count in the first."""
    began, results = time.monotonic(), []
    diverged = _train(needs[0].fit, shop) if needs[0].fit else ""
    for need in needs:
        found = {"task": need.task, "diverged": diverged} if diverged else MAKERS[need.part.kind](need, shop)
        results.append(_told(need, shop, found, time.monotonic() - began))
        began = time.monotonic()
    return results


def _train(fit: Fit, shop: Workshop) -> str:
    """Train, or find it done; returns how it diverged, if it did."""
    recipe, loading = replace(fit.recipe, data=str(shop.data(fit.job))), Loading(resident=shop.device.startswith("cuda"))
    try:
        train(recipe, shop.folder / fit.folder, shop.device, loading, overwrite=False)
    except NotFinite as error:
        return str(error).partition(";")[0]
    return ""


def _told(need: Need, shop: Workshop, found: Found, seconds: float) -> Found:
    """What was found, and where it comes from."""
    workers = 1 if need.part.kind == "costs" else shop.workers
    return {
        "machine": machine(),
        "versions": versions(),
        **found,
        "provenance": provenance(_where(need, shop), workers, seconds),
    }


def _where(need: Need, shop: Workshop) -> str:
    """Bounds are worked out on the CPU, wherever the model was trained."""
    return "cpu" if need.part.kind == "bounds" else shop.device


def _errors(need: Need, shop: Workshop) -> Found:
    fit, config = need.fit, need.evaluation
    assert fit is not None
    assert config is not None
    subject = trained_run(shop.folder / fit.folder, shop.device)
    found = _measured(subject, need.task, shop.data(fit.job), config, shop)
    return condense(found, "fields" in need.part.spec)


def _baseline(need: Need, shop: Workshop) -> Found:
    job, config = need.job, need.evaluation
    assert job is not None
    assert config is not None
    test = Trajectories(shop.data(job), registry.task(need.task), "test")
    folder = shop.folder / "baselines" / shop.data(job).stem / need.task / need.baseline
    try:
        found = _measured(baseline(need.baseline, folder, test, config), need.task, shop.data(job), config, shop)
    except NotMade as reason:
        return {"task": need.task, "left_out": str(reason)}
    return condense(found, with_fields=False)


def _measured(subject: Subject, task: str, data: Path, config: Evaluation, shop: Workshop) -> Any:
    test = Trajectories(data, registry.task(task), "test")
    evaluate(subject, test, EvaluateOptions(config, (), data, device=shop.device))
    return open_metrics(subject.folder / metrics_file(config))


def _bounds(need: Need, shop: Workshop) -> Found:
    assert need.fit is not None
    column = examine(shop.folder / need.fit.folder)
    names = ("lemma", "bound", "measured")
    rows = {name: dict(zip(names, map(numbers, column.rows[name]), strict=True)) for name in WHOLE if name in column.rows}
    return {"task": need.task, "rows": rows, "gates_held": column.held}


def _costs(need: Need, shop: Workshop) -> Found:
    spec = need.part.spec
    sizes = {name: spec[name] for name in ("resolution", "batch", "steps", "forward_batch")}
    case = Case(model=need.preset, task=need.task, device=shop.device, **sizes)
    pairs = registry.task(need.task).split.train * (registry.task(need.task).snapshots - 1)
    found = summarise(case, [run(case, threads=1) for _ in range(spec["repeats"])], pairs)
    kept = {name: value for name, value in found.items() if name not in spec and name != "device"}
    return {"task": need.task, **{name: numbers(value) for name, value in kept.items() if not isinstance(value, list)}}


MAKERS: dict[str, Callable[[Need, Workshop], Found]] = {
    "errors": _errors,
    "baseline": _baseline,
    "bounds": _bounds,
    "costs": _costs,
}
