"""Models on disk: model.safetensors with the normalisation inside, and config.json beside it; no pickle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import yaml
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from driftnet import registry
from driftnet.configs import ModelConfig, Recipe, Training, from_dict, to_dict
from driftnet.errors import DriftnetError, UsageError, unknown
from driftnet.files import read_json, write_json, written_aside
from driftnet.models.configs import ARCHITECTURES
from driftnet.models.operator import Normalized, build, unit_statistics
from driftnet.tasks.base import Task

WEIGHTS, CONFIG = "model.safetensors", "config.json"


def save_model(folder: Path, model: Normalized, config: ModelConfig, task: Task) -> None:
    """Write all that is needed to use the model again, a task that has no name here included."""
    known = task.name if task.name in registry.TASKS else to_dict(task)
    write_json(folder / CONFIG, {"task": known, "architecture": type(config).__name__, "options": to_dict(config)})
    with written_aside(folder / WEIGHTS) as aside:
        save_file({name: value.contiguous() for name, value in model.state_dict().items()}, aside)


def load(folder: str | Path, device: str = "cpu") -> Normalized:
    """The operator of a run: physical units in, physical units out, ready for inference."""
    folder = Path(folder)
    if not (folder / CONFIG).is_file():
        raise DriftnetError(f"there is no trained model in {folder}: it has no {CONFIG}")
    task, config = describe(folder)
    model = build(config, task, unit_statistics(len(task.components), len(task.static)))
    try:
        model.load_state_dict(load_file(folder / WEIGHTS))
    except (SafetensorError, OSError, RuntimeError) as error:
        raise DriftnetError(f"could not read {folder / WEIGHTS}: {str(error).splitlines()[0]}") from error
    return model.to(torch.device(device)).eval()


def describe(folder: Path) -> tuple[Any, ModelConfig]:
    """The task and the configuration of a saved model."""
    values = read_json(folder / CONFIG)
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
