"""Models on disk: model.safetensors with the normalisation inside, and config.json beside it; no pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml
from torch import Tensor

from driftnet import registry
from driftnet.configs import ModelConfig, Recipe, Training, from_dict, to_dict
from driftnet.devices import device_named
from driftnet.errors import DriftnetError, UsageError, unknown
from driftnet.files import read_json, write_json
from driftnet.metrics.statistics import Statistics
from driftnet.models.configs import ARCHITECTURES
from driftnet.models.operator import Normalized, build, unit_statistics
from driftnet.models.tensors import DIGEST, read_tensors, write_tensors
from driftnet.tasks.base import Task

WEIGHTS, CONFIG = "model.safetensors", "config.json"


def save_model(folder: Path, model: Normalized, config: ModelConfig, task: Task) -> None:
    """Write all that is needed to use the model again, a task that has no name here included."""
    save_state(folder, model.state_dict(), config, task)


def save_state(folder: Path, state: Mapping[str, Tensor], config: ModelConfig, task: Task) -> None:
    """Write a model of which only the state dictionary is at hand, as when its weights are spread over processes."""
    known = task.name if task.name in registry.TASKS else to_dict(task)
    described = {"task": known, "architecture": type(config).__name__, "options": to_dict(config)}
    write_json(folder / CONFIG, {**described, DIGEST: _digest_of_json(described)})
    write_tensors(folder / WEIGHTS, {name: value.contiguous() for name, value in state.items()})


def _digest_of_json(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a model file, whole and as they were written."""
    return read_tensors(path)[0]


def load(folder: str | Path, device: str = "cpu") -> Normalized:
    """The operator of a run: physical units in, physical units out, ready for inference."""
    folder = Path(folder)
    if not (folder / CONFIG).is_file():
        raise DriftnetError(f"there is no trained model in {folder}: it has no {CONFIG}")
    task, config = describe(folder)
    model = build(config, task, unit_statistics(len(task.components), len(task.static)))
    weights = read_weights(folder / WEIGHTS)
    misfit = mismatch(model.state_dict(), weights)
    if misfit:
        raise DriftnetError(f"{folder / WEIGHTS} {misfit}: it is not of the {type(config).__name__} that {CONFIG} describes")
    _require_statistics(folder / WEIGHTS, weights)
    model.load_state_dict(weights)
    return model.to(device_named(device)).eval()


def mismatch(wanted: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> str:
    """What keeps tensors from being those that are wanted, in a few words; empty where nothing does."""
    misshapen = {name for name in wanted.keys() & found.keys() if wanted[name].shape != found[name].shape}
    differences = {
        "lacks": wanted.keys() - found.keys(),
        "holds foreign": found.keys() - wanted.keys(),
        "has another shape in": misshapen,
    }
    return next((f"{said} {len(names)} tensors, such as {min(names)}" for said, names in differences.items() if names), "")


def _require_statistics(path: Path, weights: Mapping[str, Tensor]) -> None:
    """A model by whose statistics nothing can be normalised predicts nothing but NaN."""
    try:
        Statistics(**{entry.name: weights[entry.name].flatten() for entry in fields(Statistics)})
    except DriftnetError as error:
        raise DriftnetError(f"{path}: {error}") from error


def describe(folder: Path) -> tuple[Any, ModelConfig]:
    """The task and the configuration of a saved model."""
    values = read_json(folder / CONFIG)
    if DIGEST not in values:
        raise DriftnetError(f"{folder / CONFIG} was not written by driftnet: it states no checksum")
    if values.pop(DIGEST) != _digest_of_json(values):
        raise DriftnetError(f"{folder / CONFIG} is damaged or was changed: it does not agree with its checksum")
    try:
        name, options, task = values["architecture"], values["options"], values["task"]
    except KeyError as error:
        raise DriftnetError(f"{folder / CONFIG} has no {error}") from error
    if name not in ARCHITECTURES:
        raise unknown("architecture", name, ARCHITECTURES)
    found = registry.task(task) if isinstance(task, str) else from_dict(Task, task)
    return found, from_dict(ARCHITECTURES[name], options)


def require_lead_times(run: Path) -> None:
    """Refuse direct prediction by a run that has not learned lead times."""
    kind = recipe_of(run).training.objective.kind
    if kind != "all-to-all":
        raise UsageError(
            f"{run} was trained on {kind}, which knows one lead time; direct prediction needs a run with "
            "training.objective.kind all-to-all"
        )


def recipe_of(run: Path) -> Recipe:
    """The recipe that a run folder was trained by."""
    task, config = describe(run)
    path = run / "config.yaml"
    try:
        values = yaml.safe_load(path.read_text())
        training = from_dict(Training, values["training"], "training.")
        return Recipe(
            task.name,
            run.resolve().parent.name,
            str(values["data"]),
            values["seed"],
            config,
            training,
            values.get("trajectories"),
        )
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError, AttributeError, UsageError) as error:
        raise DriftnetError(f"could not read {path}: {' '.join(str(error).split())}") from error
