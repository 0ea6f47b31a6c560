"""From a run folder to metrics.nc, beside the baselines."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import xarray as xr

from driftnet import registry
from driftnet.configs import Evaluation, to_dict
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError, UsageError
from driftnet.evaluate.grids import evaluated_size
from driftnet.evaluate.measure import Subject, measure
from driftnet.evaluate.results import open_metrics, save_metrics, summary
from driftnet.files import checksum, read_json
from driftnet.models.operator import Normalized
from driftnet.models.recorded import record
from driftnet.models.saved import WEIGHTS, load, recipe_of
from driftnet.options.evaluate import EvaluateOptions


def trained_run(folder: Path, device: str) -> Subject:
    """The model of a finished run."""
    provenance = folder / "provenance.json"
    if not provenance.is_file():
        raise DriftnetError(f"{folder} is not a finished run: it has no provenance.json")
    facts = read_json(provenance)
    added = {"weights": checksum(folder / WEIGHTS), "recipe": _recipe(folder)}
    return Subject(folder.parent.name, folder, lambda: _ready(folder, device), {**facts, **added})


def _ready(folder: Path, device: str) -> Normalized:
    model = load(folder, device)
    record(model.network)
    return model


def _recipe(folder: Path) -> str:
    """What runs of one model share and others do not, as JSON: all of the recipe but seed, data and name."""
    kept = {key: value for key, value in to_dict(recipe_of(folder)).items() if key in ("model", "training", "trajectories")}
    return json.dumps(kept, sort_keys=True)


def baseline(name: str, folder: Path, test: Trajectories, config: Evaluation | None = None) -> Subject:
    """A row without training."""
    make = registry.lookup("baseline", registry.BASELINES, name)
    size = evaluated_size(test, config or Evaluation())
    return Subject(name, folder, lambda: make(test, size), {"parameters": 0, "seconds": 0.0})


def metrics_file(config: Evaluation) -> str:
    """metrics.nc, and another name for all that must not meet in one table: other grids, protocols, direct prediction."""
    direct = "-direct" if config.direct else ""
    if config.resolution is None and config.protocol == "native":
        return f"metrics{direct}.nc"
    return f"metrics-{config.resolution or 'data'}-{config.protocol}{direct}.nc"


def evaluate(subject: Subject, test: Trajectories, options: EvaluateOptions) -> str:
    """Write the subject's metrics.nc, or find it written under the same settings; returns what happened."""
    config = options.evaluation
    path = subject.folder / metrics_file(config)
    settings = _settings(subject, test, config)
    if path.exists() and not options.overwrite:
        return f"{path} is already measured: {summary(_already_there(path, settings), options.convention)}"
    results = measure(subject, test, config, options.device).assign_attrs(settings=settings)
    save_metrics(path, results)
    return f"{path}: {summary(results, options.convention)}"


def _settings(subject: Subject, test: Trajectories, config: Evaluation) -> str:
    stored = test.stored
    protocol = {
        "evaluation": asdict(config),
        "data": stored.attributes.get("recipe", stored.path.name),
        "test": [test.indices.start, test.indices.stop],
        "weights": subject.facts.get("weights"),
    }
    return json.dumps(protocol, sort_keys=True)


def _already_there(path: Path, settings: str) -> xr.Dataset:
    results = open_metrics(path)
    if results.attrs.get("settings") != settings:
        raise UsageError(f"{path} was measured under other settings; give --overwrite to replace it")
    return results
