"""The commands: names first, then typed options; what a command needs is imported inside it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from driftnet import registry
from driftnet.configs import require
from driftnet.errors import UsageError, unknown
from driftnet.options.bench import BENCH
from driftnet.options.data import FetchOptions, GenerateOptions, InspectOptions, MergeOptions
from driftnet.options.evaluate import EvaluateOptions, PredictOptions
from driftnet.options.report import ReportOptions
from driftnet.options.reproduce import ReproduceOptions
from driftnet.options.train import StatusOptions, TrainOptions
from driftnet.tasks.base import Task

MOST_THREADS = 1024  # Beyond the cores of any machine; an absurd number would be tried.


@dataclass(frozen=True)
class Command:
    """A verb: what its names are called, what it says of itself, what runs it."""

    names: str
    summary: str
    run: Callable[[list[str], list[str]], str]


def generate(names: list[str], flags: list[str]) -> str:
    """Make the data file of a task."""
    (name,) = names or ["NS-PwC"]
    task: Task = registry.task(name)
    if task.source.simulation is None:
        raise UsageError(f"{task.name} is data of your own: there is no simulation that makes it")
    defaults = GenerateOptions(
        split=task.split,
        resolution=task.resolution,
        snapshots=task.snapshots,
        simulation=task.source.simulation,
        output=Path("data") / task.source.file,
        workers=len(os.sched_getaffinity(0)),
    )
    options = _options("generate", defaults, flags)
    _prepare(1, options.device)
    from driftnet.data.generate import generate as run
    from driftnet.data.jobs import plan

    kept = {key: value for key, value in vars(options).items() if key != "overwrite"}
    return run(plan(task, **kept), options.overwrite)


def fetch(names: list[str], flags: list[str]) -> str:
    """Download the published data of a task."""
    (name,) = names or ["NS-PwC"]
    task: Task = registry.task(name)
    options = _options("fetch", FetchOptions(Path("data") / Path(task.source.file).stem), flags)
    from driftnet.data.fetch import fetch as run

    return run(task, options.output, options.chunks)


def inspect(names: list[str], flags: list[str]) -> str:
    """Look at a data file."""
    options = _options("inspect", InspectOptions(), flags)
    from driftnet.data.inspect import inspect as run

    return run(Path(names[0]), options.header)


def merge(names: list[str], flags: list[str]) -> str:
    """Join shards into one data file."""
    options = _options("merge", MergeOptions(), flags)
    from driftnet.data.merge import merge as run

    return run([Path(name) for name in names], options.output, options.overwrite)


def train(names: list[str], flags: list[str]) -> str:
    """Train a model on a task."""
    task_name, preset = names if len(names) == 2 else ("NS-PwC", "drift-net")
    task: Task = registry.task(task_name)
    defaults = TrainOptions(data=Path("data") / task.source.file, model=registry.model(preset))
    options = _options("train", defaults, flags)
    _prepare(options.threads, options.device)
    from driftnet.configs import Recipe
    from driftnet.train.dry import dry_run
    from driftnet.train.fit import run_folder
    from driftnet.train.fit import train as run

    recipe = Recipe(task_name, preset, str(options.data), options.seed, options.model, options.training, options.trajectories)
    if options.dry_run:
        return dry_run(recipe, options.device, options.loading)
    return run(recipe, run_folder(options.runs, recipe), options.device, options.loading, options.overwrite, options.writers)


def status(names: list[str], flags: list[str]) -> str:
    """List runs and how far they are."""
    options = _options("status", StatusOptions(), flags)
    from driftnet.status import table

    return table([Path(name) for name in names], options.json)


def evaluate(names: list[str], flags: list[str]) -> str:
    """Measure runs in closed loop, beside the baselines."""
    options = _options("evaluate", EvaluateOptions(), flags)
    for name in options.baselines:
        if name not in registry.BASELINES:
            raise unknown("baseline", name, registry.BASELINES)
    _prepare(options.threads, options.device)
    from driftnet.evaluate.suite import evaluate_runs

    return evaluate_runs([Path(name) for name in names], options)


def predict(names: list[str], flags: list[str]) -> str:
    """Roll a person's own initial states out."""
    options = _options("predict", PredictOptions(), flags)
    _prepare(options.threads, options.device)
    from driftnet.evaluate.predict import predict as run

    folder, source = names
    return run(Path(folder), Path(source), options)


def report(names: list[str], flags: list[str]) -> str:
    """Write one HTML page of results."""
    options = _options("report", ReportOptions(), flags)
    from driftnet.report.page import write_report

    return write_report([Path(name) for name in names], options)


def reproduce(names: list[str], flags: list[str]) -> str:
    """Run experiments of the paper."""
    options = _options("reproduce", ReproduceOptions(), flags)
    from driftnet.reproduce.command import reproduce as run

    return run(names, options)


def bench(names: list[str], flags: list[str]) -> str:
    """Measure what things cost."""
    topic, *rest = names or ["models"]
    if topic not in BENCH:
        raise unknown("bench topic", topic, BENCH)
    options = _options("bench", BENCH[topic](), flags)
    _prepare(options.threads, getattr(options, "device", "cpu"))
    return registry.resolve(registry.BENCHES[topic])(rest, options)


def info(names: list[str], flags: list[str]) -> str:
    """Show what is there."""
    if flags:
        raise UsageError(f"driftnet info takes no option {flags[0]}")
    from driftnet.info import describe

    return describe(names)


def _options(verb: str, defaults, flags: list[str]):  # noqa: ANN001, ANN202 - the type of `defaults` is the type returned
    from driftnet.parsing import parse

    command = COMMANDS[verb]
    return parse(f"{verb} {command.names}", command.summary, defaults, flags)


def _prepare(threads: int, device: str) -> None:
    """Limit torch's threads, and refuse a device that is not there."""
    require(0 <= threads <= MOST_THREADS, f"threads: {threads} is not between 0 and {MOST_THREADS}")
    from driftnet.devices import device_named

    device_named(device)
    if threads:
        import torch

        torch.set_num_threads(threads)


COMMANDS = {
    "generate": Command("TASK", "Make the data file of a task; go on where an interrupted run stopped.", generate),
    "fetch": Command("TASK", "Download the published data of a task; go on where an interrupted download stopped.", fetch),
    "merge": Command("SHARD...", "Join the shards of a data set into the file that one run would have made.", merge),
    "inspect": Command("FILE", "Look at a data file: shapes, axes, values, and the YAML that makes it a task.", inspect),
    "train": Command("TASK MODEL", "Train a model on a task; go on where an interrupted run stopped.", train),
    "status": Command("RUNS...", "List the runs below folders: state, step, best validation and time left.", status),
    "evaluate": Command("RUN...", "Roll trained models out over the test split, beside the baselines.", evaluate),
    "predict": Command("RUN INPUT", "Roll out initial states from a NetCDF or npy file; write NetCDF.", predict),
    "report": Command("RUN...", "Write one self-contained HTML page of all results under the folders.", report),
    "reproduce": Command("EXPERIMENT...", "Run experiments of the paper, or all of them; go on where it stopped.", reproduce),
    "bench": Command(
        "TOPIC...", "Measure time and memory: all; data, solvers, speed, start; models, objectives, rollout [NAME...].", bench
    ),
    "info": Command("[TOPIC [NAME]]", "Show tasks, models, metrics, baselines or a run.", info),
}
