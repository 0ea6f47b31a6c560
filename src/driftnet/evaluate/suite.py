"""Several runs and the baselines of their data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from driftnet.data.trajectories import Trajectories
from driftnet.devices import device_named, exact_arithmetic
from driftnet.evaluate.baselines import NotMade
from driftnet.evaluate.results import open_metrics, require_published, summary_of_runs
from driftnet.evaluate.run import baseline, evaluate, metrics_file, trained_run
from driftnet.models.saved import describe, recipe_of, require_lead_times
from driftnet.options.evaluate import EvaluateOptions


def evaluate_runs(runs: Sequence[Path], options: EvaluateOptions) -> str:
    """Measure every run, and once per data file every baseline, kept at <task>/<baseline> beside the models."""
    _refuse(runs, options)
    exact_arithmetic()
    said, measured = [], set()
    for run in runs:
        subject = trained_run(run, options.device)
        test = _test_split(run, options.data)
        for name in (name for name in options.baselines if name in test.task.baselines):
            folder = run.resolve().parent.parent / name
            if (folder, test.stored.path) not in measured:
                measured.add((folder, test.stored.path))
                said.append(_baseline_row(name, folder, test, options))
        said.append(evaluate(subject, test, options))
    return "\n".join((*said, *_over_seeds(runs, options)))


def _refuse(runs: Sequence[Path], options: EvaluateOptions) -> None:
    """Say what cannot be before anything is measured."""
    device_named(options.device)
    for run in runs:
        if options.evaluation.direct:
            require_lead_times(run)
        if options.convention == "published":
            trained_run(run, options.device)
            require_published(describe(run)[0])


def _over_seeds(runs: Sequence[Path], options: EvaluateOptions) -> Iterator[str]:
    """A line for every model of which several runs were measured, with the interval over runs and trajectories."""
    models: dict[Path, list[Path]] = {}
    for run in dict.fromkeys(run.resolve() for run in runs):
        models.setdefault(run.parent, []).append(run)
    for model, seeds in models.items():
        if len(seeds) > 1:
            measured = [open_metrics(seed / metrics_file(options.evaluation)) for seed in seeds]
            yield f"{model}: {summary_of_runs(measured)}"


def _baseline_row(name: str, folder: Path, test: Trajectories, options: EvaluateOptions) -> str:
    try:
        return evaluate(baseline(name, folder, test, options.evaluation), test, options)
    except NotMade as reason:
        return f"{folder}: left out, {reason}"


def _test_split(run: Path, data: Path | None) -> Trajectories:
    task, _ = describe(run)
    return Trajectories(data or Path(recipe_of(run).data), task, "test")
