"""Models on disk: model.safetensors with the normalisation inside, and config.json beside it; no pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from driftnet import registry
from driftnet.configs import ModelConfig, Recipe, Training, from_dict, to_dict
from driftnet.devices import device as find_device
from driftnet.errors import DriftnetError, UsageError, unknown
from driftnet.files import read_json, write_json, written_aside
from driftnet.models.configs import ARCHITECTURES
from driftnet.models.operator import Normalized, build, unit_statistics
from driftnet.tasks.base import Task

WEIGHTS, CONFIG = "model.safetensors", "config.json"
DIGEST = "sha256"  # Formats and disks let flipped bits through as wrong values; this does not.


def save_model(folder: Path, model: Normalized, config: ModelConfig, task: Task) -> None:
    """Write all that is needed to use the model again, a task that has no name here included."""
    known = task.name if task.name in registry.TASKS else to_dict(task)
    described = {"task": known, "architecture": type(config).__name__, "options": to_dict(config)}
    write_json(folder / CONFIG, {**described, DIGEST: _digest_of_json(described)})
    tensors = {name: value.contiguous() for name, value in model.state_dict().items()}
    with written_aside(folder / WEIGHTS) as aside:
        save_file(tensors, aside, {DIGEST: _digest_of_tensors(tensors)})


def _digest_of_json(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _digest_of_tensors(tensors: Mapping[str, Tensor]) -> str:
    """Of names, shapes and bytes."""
    hashed = hashlib.sha256()
    for name in sorted(tensors):
        array = tensors[name].detach().cpu().numpy()
        hashed.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return hashed.hexdigest()


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a model file, whole and as they were written."""
    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is not a mapping
            written = (file.metadata() or {}).get(DIGEST)
    except (SafetensorError, OSError) as error:
        raise DriftnetError(f"could not read {path}: {str(error).splitlines()[0]}") from error
    if written != _digest_of_tensors(tensors):
        raise DriftnetError(f"{path} is damaged: its values do not agree with its checksum")
    return tensors


def load(folder: str | Path, device: str = "cpu") -> Normalized:
    """The operator of a run: physical units in, physical units out, ready for inference."""
    folder = Path(folder)
    if not (folder / CONFIG).is_file():
        raise DriftnetError(f"there is no trained model in {folder}: it has no {CONFIG}")
    task, config = describe(folder)
    model = build(config, task, unit_statistics(len(task.components), len(task.static)))
    try:
        model.load_state_dict(read_weights(folder / WEIGHTS))
    except RuntimeError as error:
        raise DriftnetError(f"could not read {folder / WEIGHTS}: {str(error).splitlines()[0]}") from error
    return model.to(find_device(device)).eval()


def describe(folder: Path) -> tuple[Any, ModelConfig]:
    """The task and the configuration of a saved model."""
    values = read_json(folder / CONFIG)
    if values.pop(DIGEST, None) != _digest_of_json(values):
        raise DriftnetError(f"{folder / CONFIG} is damaged or was changed: it does not agree with its checksum")
    try:
        name, options, task = values["architecture"], values["options"], values["task"]
    except KeyError as error:
        raise DriftnetError(f"{folder / CONFIG} has no {error}") from error
    if name not in ARCHITECTURES:
        raise unknown("architecture", name, ARCHITECTURES)
    found = registry.task(task) if isinstance(task, str) else from_dict(Task, task)
    return found, from_dict(ARCHITECTURES[name], options)


def recipe_of(run: Path) -> Recipe:
    """The recipe that a run folder was trained by."""
    task, config = describe(run)
    path = run / "config.yaml"
    try:
        values = yaml.safe_load(path.read_text())
        training = from_dict(Training, values["training"], "training.")
        return Recipe(
            task.name, run.resolve().parent.name, values["data"], values["seed"], config, training, values.get("trajectories")
        )
    except (OSError, yaml.YAMLError, KeyError, TypeError, UsageError) as error:
        raise DriftnetError(f"could not read {path}: {error}") from error
