"""From a run folder to metrics.nc: a closed-loop rollout over the test split, beside the baselines."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from driftnet import registry
from driftnet.configs import Evaluation
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError, UsageError
from driftnet.evaluate.rollout import states
from driftnet.files import checksum, machine, read_json, versions, written_aside
from driftnet.metrics.spectra import energy_spectrum
from driftnet.models.operator import Operator
from driftnet.models.saved import WEIGHTS, load
from driftnet.progress import progress
from driftnet.tasks.base import Task

METRICS_FILE = "metrics.nc"
EXAMPLE_TIMES = 5


@dataclass(frozen=True)
class Subject:
    """What is evaluated, and what is to be said of it."""

    name: str
    folder: Path
    operator: Callable[[], Operator]
    facts: dict[str, Any]


def trained_run(folder: Path, device: str) -> Subject:
    """The model of a finished run."""
    provenance = folder / "provenance.json"
    if not provenance.is_file():
        raise DriftnetError(f"{folder} is not a finished run: it has no provenance.json")
    facts = read_json(provenance)
    name = folder.parent.name
    return Subject(name, folder, lambda: load(folder, device), {**facts, "weights": checksum(folder / WEIGHTS)})


def baseline(name: str, folder: Path, test: Trajectories) -> Subject:
    """A row without training."""
    make = registry.lookup("baseline", registry.BASELINES, name)
    return Subject(name, folder, lambda: make(test.task, test.stored), {"parameters": 0, "seconds": 0.0})


def evaluate(subject: Subject, test: Trajectories, config: Evaluation, device: str, overwrite: bool) -> str:
    """Write the subject's metrics.nc, or find it written under the same settings; returns what happened."""
    path = subject.folder / METRICS_FILE
    settings = _settings(subject, test, config)
    if path.exists() and not overwrite:
        return _already_there(path, settings)
    results = measure(subject, test, config, device).assign_attrs(settings=settings)
    with written_aside(path) as aside:
        results.to_netcdf(aside, engine="h5netcdf")
    return f"{path}: relative L1 at snapshot {results.attrs['final_snapshot']} {final_error(results):.4g}"


def final_error(results: xr.Dataset) -> float:
    """Mean relative L1 at T*, averaged over the quantities."""
    return float(results.relative_l1.sel(snapshot=results.attrs["final_snapshot"]).mean())


def open_metrics(path: Path) -> xr.Dataset:
    """A metrics.nc in memory; a damaged one is named in one line."""
    try:
        with xr.open_dataset(path, engine="h5netcdf") as results:
            return results.load()
    except (OSError, ValueError) as error:
        raise DriftnetError(f"could not read {path}: {str(error).splitlines()[0]}") from error


def _settings(subject: Subject, test: Trajectories, config: Evaluation) -> str:
    stored = test.stored
    protocol = {
        "evaluation": asdict(config),
        "data": stored.attributes.get("recipe", stored.path.name),
        "test": [test.indices.start, test.indices.stop],
        "weights": subject.facts.get("weights"),
    }
    return json.dumps(protocol, sort_keys=True)


def _already_there(path: Path, settings: str) -> str:
    if open_metrics(path).attrs.get("settings") != settings:
        raise UsageError(f"{path} was measured under other settings; give --overwrite to replace it")
    return f"{path} is already measured"


@torch.no_grad()
def measure(subject: Subject, test: Trajectories, config: Evaluation, device: str) -> xr.Dataset:
    """All metrics of a subject over the test split."""
    steps = config.steps or test.snapshots - 1
    if steps >= test.snapshots:
        raise UsageError(f"evaluation.steps: {steps} is more than the {test.snapshots - 1} steps of {test.stored.path}")
    tally, operator = Tally(test.task, steps, config.examples), subject.operator()
    seconds, done = 0.0, 0
    with progress(f"evaluate {subject.name}", len(test) * steps) as advance:
        for truth in test.batches(config.batch):
            truth = truth.to(device)
            static = test.static(range(done, done + len(truth))).to(device)
            done += len(truth)
            rolled = states(operator, truth[:, 0], static, steps)
            for step in range(1, steps + 1):
                began = time.perf_counter()
                state = next(rolled)
                seconds += time.perf_counter() - began
                tally.add(step, state, truth[:, step])
                advance(len(truth))
    return tally.dataset().assign_attrs(_facts(subject, test, steps, seconds))


class Tally:
    """Collects the metrics of one step of a batch at a time."""

    def __init__(self, task: Task, steps: int, examples: int) -> None:
        self.task, self.steps, self.examples = task, steps, examples
        self.metrics = {name: registry.resolve(reference) for name, reference in registry.METRICS.items()}
        self.values: dict[str, list[list[Tensor]]] = {name: [[] for _ in range(steps)] for name in self.metrics}
        self.spectra: dict[str, list[list[Tensor]]] = {kind: [[] for _ in range(steps)] for kind in ("prediction", "truth")}
        shown = np.unique(np.linspace(1, steps, EXAMPLE_TIMES).round().astype(int))
        self.fields: dict[str, dict[int, Tensor]] = {"prediction": {}, "truth": {}}
        self.shown = [int(step) for step in shown]

    def add(self, step: int, prediction: Float[Tensor, "b c h w"], truth: Float[Tensor, "b c h w"]) -> None:
        """Take in a batch of predictions after `step` steps."""
        pairs = [(prediction[:, g], truth[:, g]) for g in map(self.task.channels, self.task.quantities)]
        for name, metric in self.metrics.items():
            self.values[name][step - 1].append(torch.stack([metric(*pair) for pair in pairs], -1).cpu())
        for position, kind in enumerate(self.spectra):
            self.spectra[kind][step - 1].append(torch.stack([energy_spectrum(pair[position]) for pair in pairs], 1).cpu())
        if step in self.shown and step not in self.fields["truth"]:
            for kind, fields in (("prediction", prediction), ("truth", truth)):
                self.fields[kind][step] = fields[: self.examples].cpu()

    def dataset(self) -> xr.Dataset:
        """Everything under named dimensions."""
        errors = {name: (["sample", "snapshot", "quantity"], self._joined(steps)) for name, steps in self.values.items()}
        spectra = {
            f"spectrum_{kind}": (["snapshot", "quantity", "wavenumber"], np.nanmean(self._joined(steps), axis=0))
            for kind, steps in self.spectra.items()
        }
        examples = {
            f"example_{kind}": (["example", "shown", "channel", "x", "y"], torch.stack(list(fields.values()), 1).numpy())
            for kind, fields in self.fields.items()
        }
        coordinates = {
            "snapshot": np.arange(1, self.steps + 1),
            "time": ("snapshot", np.array(self.task.times[1] * np.arange(1, self.steps + 1))),
            "quantity": [quantity.name for quantity in self.task.quantities],
            "channel": list(self.task.components),
            "shown": self.shown,
        }
        return xr.Dataset({**errors, **spectra, **examples}, coordinates)

    def _joined(self, steps: list[list[Tensor]]) -> np.ndarray:
        """(sample, snapshot, ...) in float64; what is not a number has blown up."""
        return torch.stack([torch.cat(batches) for batches in steps], 1).double().nan_to_num(nan=np.inf).numpy()


def _facts(subject: Subject, test: Trajectories, steps: int, seconds: float) -> dict[str, Any]:
    """What a report has to state, as attributes that NetCDF can hold."""
    task = test.task
    facts = {
        "task": task.name,
        "model": subject.name,
        "final_snapshot": min(task.final_snapshot, steps),
        "test_trajectories": len(test),
        "resolution": list(test.stored.size),
        "rollout_seconds_per_trajectory": seconds / len(test),
        "threads": torch.get_num_threads(),
        "evaluated_on": json.dumps(machine()),
        "evaluated_with": json.dumps(versions()),
        "convention": "relative L1 of fields in physical units, per quantity",
    }
    kept = (
        "parameters",
        "parameters_as_reals",
        "seed",
        "seconds",
        "steps",
        "best_step",
        "training_trajectories",
        "training_pairs",
    )
    return {
        **facts,
        **{f"training_{k}" if k in ("seconds", "steps") else k: subject.facts[k] for k in kept if k in subject.facts},
    }
