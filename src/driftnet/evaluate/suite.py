"""Several runs and the baselines of their data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from driftnet.data.trajectories import Trajectories
from driftnet.evaluate.baselines import NotMade
from driftnet.evaluate.results import require_published
from driftnet.evaluate.run import baseline, evaluate, trained_run
from driftnet.models.saved import describe, recipe_of, require_lead_times
from driftnet.options.evaluate import EvaluateOptions


def evaluate_runs(runs: Sequence[Path], options: EvaluateOptions) -> str:
    """Measure every run, and once per data file every baseline, kept at <task>/<baseline> beside the models."""
    if options.evaluation.direct:
        for run in runs:
            require_lead_times(run)
    said, measured = [], set()
    for run in runs:
        subject = trained_run(run, options.device)
        test = _test_split(run, options.data)
        if options.convention == "published":
            require_published(test.task)
        for name in (name for name in options.baselines if name in test.task.baselines):
            folder = run.resolve().parent.parent / name
            if (folder, test.stored.path) not in measured:
                measured.add((folder, test.stored.path))
                said.append(_baseline_row(name, folder, test, options))
        said.append(evaluate(subject, test, options))
    return "\n".join(said)


def _baseline_row(name: str, folder: Path, test: Trajectories, options: EvaluateOptions) -> str:
    try:
        return evaluate(baseline(name, folder, test, options.evaluation), test, options)
    except NotMade as reason:
        return f"{folder}: left out, {reason}"


def _test_split(run: Path, data: Path | None) -> Trajectories:
    task, _ = describe(run)
    return Trajectories(data or Path(recipe_of(run).data), task, "test")
