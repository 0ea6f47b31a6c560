"""A run folder: it belongs to the recipe that began it, and to one job at a time."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import yaml

from driftnet.configs import Recipe, to_dict
from driftnet.errors import UsageError
from driftnet.files import locked, read_json
from driftnet.train.checkpoints import tidy


def claim(held: ExitStack, folder: Path, recipe: Recipe, overwrite: bool) -> str | None:
    """Lock the folder for as long as the stack holds; what there is to say where nothing is left to do."""
    held.enter_context(locked(folder / ".lock", str(folder)))
    if overwrite:
        _empty(folder)
    tidy(folder)
    _refuse_others(folder / "config.yaml", settings_of(recipe))
    if not (folder / "provenance.json").exists():
        return None
    best = read_json(folder / "provenance.json").get("best_validation", float("nan"))
    return f"{folder} is already trained (validation {best:.4g}); give --overwrite to train it again"


def _empty(folder: Path) -> None:
    """Remove all but the lock."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != ".lock":
            path.unlink()


def settings_of(recipe: Recipe) -> str:
    """config.yaml, which can be given again."""
    settings = {key: value for key, value in to_dict(recipe).items() if key not in ("task", "preset")}
    command = f"# driftnet train {recipe.task} {recipe.preset} --config config.yaml"
    return f"{command}\n{yaml.safe_dump(settings, sort_keys=False)}"


def _refuse_others(path: Path, settings: str) -> None:
    """A folder belongs to the recipe that began it."""
    if path.exists() and path.read_bytes() != settings.encode():
        raise UsageError(f"{path.parent} was begun with other settings (see its config.yaml); give --overwrite to replace it")
