"""What is there: tasks, models, metrics, a run; torch-free."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from driftnet import registry
from driftnet.configs import require, to_dict
from driftnet.errors import DriftnetError, unknown
from driftnet.files import read_json
from driftnet.tasks.base import Task
from driftnet.tasks.equations import Simulation


def describe(names: list[str]) -> str:
    """The answer to `driftnet info TOPIC [NAME]`."""
    topic, *rest = names or ["topics"]
    if topic not in TOPICS:
        raise unknown("topic", topic, TOPICS)
    return TOPICS[topic](rest)


def topics(_: list[str]) -> str:
    """What can be asked."""
    return "\n".join(f"driftnet info {name:10} {answer.__doc__}" for name, answer in TOPICS.items() if name != "topics")


def tasks(names: list[str]) -> str:
    """The tasks; with a name, all of one."""
    if names:
        return _task(registry.task(names[0]))
    return "\n".join(f"{name:22} {registry.task(name).equation}" for name in registry.TASKS)


def task(names: list[str]) -> str:
    """All of one task: equation, parameters, split, statistics, source and confidence."""
    require(bool(names), f"which task? Known: {', '.join(registry.TASKS)}")
    return tasks(names)


def _task(task: Task) -> str:
    split = task.split
    quantities = ", ".join(f"{q.name} ({', '.join(q.components)})" for q in task.quantities)
    snapshots = "steady, one step" if task.steady else f"{task.snapshots} snapshots to t = {task.duration:g}"
    return "\n".join(
        (
            f"{task.name}: {task.equation}",
            f"quantities   {quantities}",
            f"given        {', '.join(task.static) or 'nothing else'}",
            f"boundary     {task.boundary}",
            f"grid         {task.resolution} x {task.resolution}, {snapshots}",
            f"T*           snapshot {task.final_snapshot}",
            f"split        {split.train} training, {split.validation} validation, {split.test} test trajectories",
            f"baselines    {', '.join(task.baselines)}",
            *_origin(task),
        )
    )


def _origin(task: Task) -> tuple[str, ...]:
    source, published = task.source, task.normalization
    if published is None or source.simulation is None:
        return (f"data         {source.file}, read as {source.format}",)
    whose = "published" if published.published else "of data made here: none were published"
    static = f"; given: {_moments(published.static_mean, published.static_std)}" if task.static else ""
    variables = ", ".join(f"{variable.name} ({', '.join(variable.dimensions)})" for variable in source.variables)
    return (
        f"file         {source.file}: {variables}",
        f"statistics   {_moments(published.mean, published.std)}{static} ({whose})",
        f"source       {source.reference}",
        f"confidence   {source.confidence}, that the simulation is the one behind the published data",
        f"inferred     {source.inferred}",
        *_parameters(source.simulation),
    )


def _moments(mean: tuple[float, ...], std: tuple[float, ...]) -> str:
    return f"mean {', '.join(map(str, mean))}, standard deviation {', '.join(map(str, std))}"


def _parameters(simulation: Simulation) -> list[str]:
    """Every parameter by the name of its option."""
    lines = [f"--simulation.warmup {simulation.warmup}"]
    for group in ("equation", "initial"):
        values = vars(getattr(simulation, group)).items()
        lines += [f"--simulation.{group}.{name} {value}" for name, value in values]
    return ["simulation   the options of 'driftnet generate', explained by its --help:", *(f"  {line}" for line in lines)]


def models(names: list[str]) -> str:
    """The model presets and what they cost, with a number N on N x N points; with a name, the settings of one."""
    if names and not names[0].isdigit():
        config = registry.model(names[0])
        return json.dumps({type(config).__name__: to_dict(config)}, indent=2)
    size = int(names[0]) if names else None
    require(size != 0, "a grid of 0 points has nothing to count")
    from driftnet.costs import table

    return table(size)


def metrics(_: list[str]) -> str:
    """The metrics that an evaluation measures: docs/metrics.md."""
    tables = {
        "at every step": registry.METRICS,
        "of an error curve": registry.CURVES,
        "physical checks": registry.CHECKS,
    }
    return "\n".join(f"{kind:18} {', '.join(table)}" for kind, table in tables.items())


def baselines(_: list[str]) -> str:
    """The rows that stand beside trained models."""
    return "\n".join(registry.BASELINES)


def run(names: list[str]) -> str:
    """What a run folder holds and where it came from."""
    folder = _path("run", names)
    if not (folder / "config.yaml").is_file():
        raise DriftnetError(f"{folder} is not a run folder: it has no config.yaml")
    said = [(folder / "config.yaml").read_text(errors="replace").rstrip()]
    finished = (folder / "provenance.json").is_file()
    said.append(json.dumps(read_json(folder / "provenance.json"), indent=2) if finished else "not finished")
    return "\n".join(said)


def bounds(names: list[str]) -> str:
    """Lipschitz and defect bounds of one or more runs, beside what is measured."""
    _path("run", names)
    from driftnet.evaluate.bounds import compare

    return compare([Path(name) for name in names])


def _path(kind: str, names: list[str]) -> Path:
    if not names:
        raise DriftnetError(f"which {kind}? Give its path")
    return Path(names[0])


TOPICS: dict[str, Callable[[list[str]], str]] = {
    "topics": topics,
    "tasks": tasks,
    "task": task,
    "models": models,
    "metrics": metrics,
    "baselines": baselines,
    "run": run,
    "bounds": bounds,
}
