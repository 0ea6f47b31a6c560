"""Experiments as parts: the smallest things that are run, and what decides each of them; torch-free."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from driftnet import registry
from driftnet.configs import Evaluation, ModelConfig, Recipe, Training
from driftnet.data.jobs import Job, plan
from driftnet.errors import UsageError
from driftnet.reproduce.digests import digest
from driftnet.reproduce.recipes import Cookbook, Data, Experiment, Grid, Row
from driftnet.reproduce.settings import changed, explicit, plain
from driftnet.tasks.base import Split, Task

KINDS = ("errors", "baseline", "bounds", "costs")  # Of parts.
MEASURING = ("evaluate.measure", "metrics.errors", "metrics.bands", "metrics.growth")
TRAINING = ("train.fit", "models.operator")


def short(value: Any) -> str:
    """A name for anything that JSON holds."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Part:
    """One result: what is measured, of what, under which settings. `spec` decides its name, `code` whether it is outdated."""

    kind: str
    spec: Mapping[str, Any]
    code: str
    full: Mapping[str, Any]
    """All settings with their defaults, so that a changed default is seen."""

    @cached_property
    def name(self) -> str:
        """Decided by the recipe alone."""
        return short([self.kind, self.spec])

    def __hash__(self) -> int:
        """Of its name: its settings are mappings."""
        return hash(self.name)


@dataclass(frozen=True)
class Fit:
    """A training that parts are measured of."""

    task: str
    label: str
    job: Job
    recipe: Recipe
    code: str

    @property
    def spec(self) -> dict[str, Any]:
        """What decides it, without what is as it is by default."""
        recipe = self.recipe
        return {
            "task": self.task,
            "data": data_spec(self.job),
            "architecture": type(recipe.model).__name__,
            "model": explicit(recipe.model),
            "training": explicit(recipe.training),
            "trajectories": recipe.trajectories,
            "seed": recipe.seed,
        }

    @property
    def folder(self) -> Path:
        """Below the folder of work: runs/<task>/<preset>-<what decides it>/<seed>."""
        return Path("runs") / self.task / f"{self.recipe.preset}-{short([self.spec, self.code])}" / str(self.recipe.seed)


@dataclass(frozen=True)
class Need:
    """A part and what it takes to make it: a training, or the data alone."""

    part: Part
    task: str
    job: Job | None = None
    fit: Fit | None = None
    evaluation: Evaluation | None = None
    baseline: str = ""
    preset: str = ""


@dataclass(frozen=True)
class Entry:
    """A place in an experiment's tables and the part that fills it."""

    experiment: str
    task: str
    frame: str
    row: str
    grid: Grid
    seed: int
    need: Need


def expand(experiment: Experiment, book: Cookbook) -> Iterator[Entry]:
    """Every entry of an experiment."""
    if experiment.kind == "costs":
        yield from _costs(experiment, book)
        return
    for task in experiment.tasks:
        for grid in experiment.grids:
            yield from _baselines(experiment, book, task, grid)
            for frame in experiment.frames:
                for row in experiment.rows:
                    yield from _fitted(experiment, book, (task, frame, row), grid)


def _fitted(experiment: Experiment, book: Cookbook, place: tuple[str, str, str], grid: Grid) -> Iterator[Entry]:
    task, frame, name = place
    evaluation = evaluation_on(book.scale.data[task], grid)
    for seed in range(experiment.seeds or book.scale.seeds):
        fit = _fit(book, task, frame, experiment.rows[name], seed)
        if experiment.kind == "bounds":
            spec, roots = {"fit": fit.spec}, ("evaluate.bounds",)
        else:
            fields = "fields" in experiment.figures
            spec = {"fit": fit.spec, "evaluation": explicit(evaluation), **({"fields": True} if fields else {})}
            roots = MEASURING
        kind = "bounds" if experiment.kind == "bounds" else "errors"
        recipe = plain(replace(fit.recipe, data=""))
        full = {"recipe": recipe, "evaluation": plain(evaluation), "data": json.loads(fit.job.recipe)}
        part = Part(kind, spec, short([fit.code, digest(roots)]), full)
        yield Entry(experiment.name, task, frame, name, grid, seed, Need(part, task, fit.job, fit, evaluation))


def _baselines(experiment: Experiment, book: Cookbook, name: str, grid: Grid) -> Iterator[Entry]:
    if experiment.kind == "bounds":
        return
    task: Task = registry.task(name)
    job, evaluation = job_of(task, book.scale.data[name]), evaluation_on(book.scale.data[name], grid)
    code = short([data_digest(job), digest((*MEASURING, "evaluate.baselines"))])
    for baseline in task.baselines:
        # A baseline has no training grid to interpolate to.
        native = replace(evaluation, protocol="native")
        spec = {"task": name, "data": data_spec(job), "baseline": baseline, "evaluation": explicit(native)}
        part = Part("baseline", spec, code, {"evaluation": plain(native), "data": json.loads(job.recipe)})
        need = Need(part, name, job, evaluation=native, baseline=baseline)
        yield Entry(experiment.name, name, "", baseline, grid, 0, need)


def _costs(experiment: Experiment, book: Cookbook) -> Iterator[Entry]:
    for task in experiment.tasks:
        for grid in experiment.grids:
            points = round(registry.task(task).resolution * grid.share)
            for name, row in experiment.rows.items():
                preset, costs = book.scale.models[row.model].preset, book.scale.costs
                case = {"task": task, "model": preset, "resolution": points, **asdict(costs)}
                code = digest((registry.model(preset).builder, "models.operator", "train.loss"))
                need = Need(Part("costs", case, code, case), task, preset=preset)
                yield Entry(experiment.name, task, "", name, grid, 0, need)


def evaluation_on(data: Data, grid: Grid) -> Evaluation:
    """The rollout on a grid; the data's own is not named, so that it is the same evaluation everywhere."""
    points = 2 * round(data.resolution * grid.share / 2)
    return Evaluation(resolution=None if points == data.resolution else points, protocol=grid.protocol)


def _fit(book: Cookbook, name: str, frame: str, row: Row, seed: int) -> Fit:
    task, data = registry.task(name), book.scale.data[name]
    job, model, training = job_of(task, data), model_of(book, frame, row), training_of(book, name, frame, row)
    trajectories = None if row.share == 1 else max(1, round(data.train * row.share))
    preset = book.scale.models[row.model].preset
    recipe = Recipe(name, preset, "", seed, model, training, trajectories)
    code = short([data_digest(job), digest((*TRAINING, model.builder))])
    return Fit(name, f"{preset}, {frame} frame", job, recipe, code)


def model_of(book: Cookbook, frame: str, row: Row) -> ModelConfig:
    """The scale's preset, in a frame, with the row's own settings."""
    chosen, around = book.scale.models[row.model], book.frames[frame]
    config: ModelConfig = registry.model(chosen.preset)
    own = around.architectures.get(type(config).__name__, {})
    for where, settings in (
        (f"scales/{book.scale.name}.yaml", chosen.set),
        (f"frames/{frame}.yaml", {**around.every, **own}),
        (f"row of {row.model}", row.set),
    ):
        config = changed(config, settings, where)
    return config


def training_of(book: Cookbook, task: str, frame: str, row: Row) -> Training:
    """The scale's training, with what the task, the frame and the row change."""
    training = Training()
    for where, settings in (
        (f"scales/{book.scale.name}.yaml", book.scale.training),
        (f"scales/{book.scale.name}.yaml: {task}", book.scale.data[task].training),
        (f"frames/{frame}.yaml", book.frames[frame].training),
        (f"row of {row.model}", row.training),
    ):
        training = changed(training, settings, where)
    return replace(training, rate=float(f"{training.rate * row.rate:.4g}"))


@cache
def _planned(name: str, data: tuple[tuple[str, Any], ...]) -> Job:
    task, sizes = registry.task(name), dict(data)
    split = Split(sizes["train"], sizes["validation"], sizes["test"])
    return plan(task, split=split, resolution=sizes["resolution"], snapshots=sizes["snapshots"] or task.snapshots, workers=1)


def job_of(task: Task, data: Data) -> Job:
    """The data file of a task at a scale."""
    if task.source.simulation is None:
        raise UsageError(f"{task.name} cannot be simulated: the suite makes its own data")
    kept = ("train", "validation", "test", "resolution", "snapshots")
    return _planned(task.name, tuple((name, getattr(data, name)) for name in kept))


def data_spec(job: Job) -> dict[str, Any]:
    """What decides a data file, without what is as it is by default."""
    kept = {"set": job.task, "split": asdict(job.split), "resolution": job.resolution, "snapshots": job.snapshots}
    simulation = {"of": type(job.simulation).__name__, **explicit(job.simulation)}
    return {**kept, "seed": job.seed, "precision": job.precision, "simulation": simulation}


def data_digest(job: Job) -> str:
    """Of the code that decides the values of a data file."""
    simulation = job.simulation
    return digest((simulation.equation.solver, simulation.initial.sampler))


def data_file(job: Job) -> Path:
    """Below the folder of work: data/<data set>-<what decides it>.nc."""
    return Path("data") / f"{job.task}-{short([job.recipe, data_digest(job)])}.nc"
