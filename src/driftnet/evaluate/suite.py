"""Several runs and the baselines of their data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from driftnet.configs import Evaluation
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError
from driftnet.evaluate.run import baseline, evaluate, trained_run
from driftnet.models.saved import describe


def evaluate_runs(
    runs: Sequence[Path], config: Evaluation, baselines: Sequence[str], data: Path | None, device: str, overwrite: bool
) -> str:
    """Measure every run, and once per data file every baseline, kept at <task>/<baseline> beside the models."""
    said, measured = [], set()
    for run in runs:
        subject = trained_run(run, device)
        test = _test_split(run, data)
        for name in (name for name in baselines if name in test.task.baselines):
            folder = run.resolve().parent.parent / name
            if (folder, test.stored.path) not in measured:
                measured.add((folder, test.stored.path))
                said.append(evaluate(baseline(name, folder, test), test, config, device, overwrite))
        said.append(evaluate(subject, test, config, device, overwrite))
    return "\n".join(said)


def _test_split(run: Path, data: Path | None) -> Trajectories:
    task, _ = describe(run)
    return Trajectories(data or _training_data(run / "config.yaml"), task, "test")


def _training_data(config: Path) -> Path:
    try:
        return Path(yaml.safe_load(config.read_text())["data"])
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise DriftnetError(f"could not read {config}: {error}") from error
