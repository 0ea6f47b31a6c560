"""The command line: names first, then typed options; what a command needs is imported inside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from driftnet import registry
from driftnet.configs import require
from driftnet.errors import DriftnetError, UsageError, unknown
from driftnet.options import (
    BENCH,
    EvaluateOptions,
    FetchOptions,
    GenerateOptions,
    InspectOptions,
    MergeOptions,
    PredictOptions,
    ReportOptions,
    TrainOptions,
)
from driftnet.tasks.base import Task

FAILURE, USAGE, INTERRUPTED = 1, 2, 130


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
    _limit_threads(options.threads)
    from driftnet.configs import Recipe
    from driftnet.train.fit import run_folder
    from driftnet.train.fit import train as run

    recipe = Recipe(task_name, preset, str(options.data), options.seed, options.model, options.training, options.trajectories)
    return run(recipe, run_folder(options.runs, recipe), options.device, options.loading, options.overwrite)


def evaluate(names: list[str], flags: list[str]) -> str:
    """Measure runs in closed loop, beside the baselines."""
    options = _options("evaluate", EvaluateOptions(), flags)
    for name in options.baselines:
        if name not in registry.BASELINES:
            raise unknown("baseline", name, registry.BASELINES)
    _limit_threads(options.threads)
    from driftnet.evaluate.suite import evaluate_runs

    return evaluate_runs([Path(name) for name in names], options)


def predict(names: list[str], flags: list[str]) -> str:
    """Roll a person's own initial states out."""
    options = _options("predict", PredictOptions(), flags)
    _limit_threads(options.threads)
    from driftnet.evaluate.predict import predict as run

    folder, source = names
    return run(Path(folder), Path(source), options)


def report(names: list[str], flags: list[str]) -> str:
    """Write one HTML page of results."""
    options = _options("report", ReportOptions(), flags)
    from driftnet.report.page import write_report

    return write_report([Path(name) for name in names], options)


def bench(names: list[str], flags: list[str]) -> str:
    """Measure what things cost."""
    topic, *rest = names or ["models"]
    if topic not in BENCH:
        raise unknown("bench topic", topic, BENCH)
    options = _options("bench", BENCH[topic](), flags)
    _limit_threads(options.threads)
    return registry.resolve(registry.BENCHES[topic])(rest, options)


def info(names: list[str], flags: list[str]) -> str:
    """Show what is there."""
    if flags:
        raise UsageError(f"driftnet info takes no option {flags[0]}")
    from driftnet.info import describe

    return describe(names)


COMMANDS = {
    "generate": Command("TASK", "Make the data file of a task; go on where an interrupted run stopped.", generate),
    "fetch": Command("TASK", "Download the published data of a task; go on where an interrupted download stopped.", fetch),
    "merge": Command("SHARD...", "Join the shards of a data set into the file that one run would have made.", merge),
    "inspect": Command("FILE", "Look at a data file: shapes, axes, values, and the YAML that makes it a task.", inspect),
    "train": Command("TASK MODEL", "Train a model on a task; go on where an interrupted run stopped.", train),
    "evaluate": Command("RUN...", "Roll trained models out over the test split, beside the baselines.", evaluate),
    "predict": Command("RUN INPUT", "Roll out initial states from a NetCDF or npy file; write NetCDF.", predict),
    "report": Command("RUN...", "Write one self-contained HTML page of all results under the folders.", report),
    "bench": Command("TOPIC...", "Measure: data (pairs a second), models [NAME...] (time and memory).", bench),
    "info": Command("[TOPIC [NAME]]", "Show tasks, models, metrics, baselines or a run.", info),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; leave with 0, with 1 after a failure, with 2 where the command itself is wrong."""
    try:
        print(_dispatch(list(sys.argv[1:] if arguments is None else arguments)))
    except DriftnetError as error:
        print(f"driftnet: {error}", file=sys.stderr)
        sys.exit(USAGE if isinstance(error, UsageError) else getattr(error, "exit_code", FAILURE))
    except OSError as error:
        if error.filename is None:
            raise
        print(f"driftnet: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(FAILURE)
    except KeyboardInterrupt as interrupt:
        print(f"driftnet: {str(interrupt) or 'interrupted; the same command goes on from there'}", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _dispatch(arguments: list[str]) -> str:
    if not arguments or arguments[0] in ("-h", "--help"):
        return _overview()
    if arguments[0] == "--version":
        from importlib.metadata import version

        return version("driftnet")
    verb, rest = arguments[0], arguments[1:]
    if verb not in COMMANDS:
        raise unknown("command", verb, COMMANDS)
    first_flag = next((index for index, argument in enumerate(rest) if argument.startswith("-")), len(rest))
    names, flags = rest[:first_flag], rest[first_flag:]
    if not names and flags in (["-h"], ["--help"]) and verb == "info":
        return f"driftnet info {COMMANDS[verb].names}\n\n{COMMANDS[verb].summary}"
    _check_names(verb, names, flags)
    return COMMANDS[verb].run(names, flags)


def _check_names(verb: str, names: list[str], flags: list[str]) -> None:
    wanted = COMMANDS[verb].names
    asks_for_help = any(flag in ("-h", "--help") for flag in flags)
    if wanted.startswith("[") or (asks_for_help and not names):
        return
    enough = bool(names) if wanted.endswith("...") else len(names) == len(wanted.split())
    require(enough, f"driftnet {verb} needs {wanted}, then options; 'driftnet info' lists the names it knows")


def _options(verb: str, defaults, flags: list[str]):  # noqa: ANN001, ANN202 - the type of `defaults` is the type returned
    from driftnet.parsing import parse

    command = COMMANDS[verb]
    return parse(f"{verb} {command.names}", command.summary, defaults, flags)


def _limit_threads(threads: int) -> None:
    require(threads >= 0, f"threads: {threads} is negative")
    if threads:
        import torch

        torch.set_num_threads(threads)


def _overview() -> str:
    width = max(len(f"{verb} {command.names}") for verb, command in COMMANDS.items())
    verbs = "\n".join(f"  {f'{verb} {command.names}':{width}}  {command.summary}" for verb, command in COMMANDS.items())
    return (
        "Neural surrogates of PDEs, from the equation to the report.\n\n"
        f"usage: driftnet COMMAND NAME... [--config FILE] [--option value]...\n\n{verbs}\n\n"
        "Every command has --help and, but for info, --print_config. Exit codes: 0, 1 a failure, 2 a wrong command,\n"
        "75 another process is at work on the same files, 130 interrupted."
    )
