"""From a recipe to a run folder: resumable at any moment, finished once."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from driftnet import registry
from driftnet.configs import Recipe, to_dict
from driftnet.data.loading import Loading
from driftnet.data.pairs import Pairs, consecutive, order_of
from driftnet.data.sources import Source, sources
from driftnet.data.statistics import fit_statistics
from driftnet.data.trajectories import Trajectories
from driftnet.data.windows import Window, validation_windows
from driftnet.errors import UsageError
from driftnet.files import locked, machine, read_json, versions, write_json, write_text
from driftnet.metrics.errors import relative_l1
from driftnet.models.operator import Normalized, build, count_parameters, unit_statistics
from driftnet.models.operator_norms import project
from driftnet.models.saved import save_model
from driftnet.progress import progress
from driftnet.tasks.base import Task
from driftnet.train.average import Average
from driftnet.train.engine import Engine, StopRequest, stop_on_signals
from driftnet.train.logs import Log, Row, failure_noted, require_writers
from driftnet.train.loss import training_loss
from driftnet.train.objectives import learned, require_suited

CHECKPOINT_SECONDS = 30.0
LOG_ROWS = 200


@dataclass
class Watch:
    """What is noted of a run beside its weights."""

    best: float = float("inf")
    best_step: int = 0
    seconds: float = 0.0


class Interrupted(KeyboardInterrupt):
    """Training stopped because it was asked to; the checkpoint is written."""


def run_folder(root: Path, recipe: Recipe) -> Path:
    """runs/<task>/<model>/<seed>."""
    return root / registry.task(recipe.task).name / recipe.preset / str(recipe.seed)


def train(recipe: Recipe, folder: Path, device: str, loading: Loading, overwrite: bool, log: Sequence[str] = ()) -> str:
    """Train, or go on training, or find it done; returns what happened in one line."""
    require_writers(log)
    with locked(folder / ".lock", str(folder)):
        if overwrite:
            _empty(folder)
        settings = _settings(recipe)
        _refuse_others(folder / "config.yaml", settings)
        if (folder / "provenance.json").exists():
            best = read_json(folder / "provenance.json")["best_validation"]
            return f"{folder} is already trained (validation {best:.4g}); give --overwrite to train it again"
        fit = Fit(recipe, folder, device, loading)  # Refuses unusable data before anything is written.
        write_text(folder / "config.yaml", settings)
        with failure_noted(folder):
            return fit.run(log)


def _empty(folder: Path) -> None:
    """Remove all but the lock."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != ".lock":
            path.unlink()


def _settings(recipe: Recipe) -> str:
    """config.yaml, which can be given again."""
    settings = {key: value for key, value in to_dict(recipe).items() if key not in ("task", "preset")}
    command = f"# driftnet train {recipe.task} {recipe.preset} --config config.yaml"
    return f"{command}\n{yaml.safe_dump(settings, sort_keys=False)}"


def _refuse_others(path: Path, settings: str) -> None:
    """A folder belongs to the recipe that began it."""
    if path.exists() and path.read_text() != settings:
        raise UsageError(f"{path.parent} was begun with other settings (see its config.yaml); give --overwrite to replace it")


class Fit:
    """One training run."""

    def __init__(self, recipe: Recipe, folder: Path, device: str, loading: Loading) -> None:
        self.recipe, self.folder, self.device = recipe, folder, torch.device(device)
        self.task: Task = registry.task(recipe.task)
        training = Trajectories(Path(recipe.data), self.task, "train", recipe.trajectories)
        validation = Trajectories(Path(recipe.data), self.task, "validation")
        self.training, self.validation = sources((training, validation), loading, self.device)
        pinned = self.device.type == "cuda"
        settings = recipe.training
        order = order_of(training, recipe.seed, settings.buffer, settings.objective)
        self.pairs = Pairs(self.training, settings.batch, order, loading.prefetch, pinned)
        self.total = settings.steps or -(-len(self.pairs) * settings.epochs // settings.batch)
        self.watch = Watch()
        self.model, self.engine, self.average = self._start()

    def _start(self) -> tuple[Normalized, Engine, Average]:
        torch.manual_seed(self.recipe.seed)
        checkpoint = self.folder / "last.ckpt"
        resuming = checkpoint.exists()
        statistics = (
            unit_statistics(len(self.task.components), len(self.task.static)) if resuming else fit_statistics(self.training)
        )
        model = build(self.recipe.model, self.task, statistics).to(self.device)
        require_suited(model, self.recipe.training.objective, self.task.steady)
        engine, average = Engine(model, self.recipe.training, self.total), Average(model, self.recipe.training.ema)
        if resuming:
            self.watch = Watch(**engine.restore(checkpoint, average.tensors))
        return model, engine, average

    def run(self, writers: Sequence[str] = ()) -> str:
        """Train to the end."""
        with Log(self.folder, self.engine.step, writers) as log, stop_on_signals() as stop:
            self._loop(log, stop)
        write_json(self.folder / "provenance.json", self._provenance())
        done = f"{self.folder}: validation {self.watch.best:.4g} at step {self.watch.best_step} of {self.total}"
        return "\n".join((done, *self.training.trajectories.stored.notes))

    def _loop(self, log: Log, stop: StopRequest) -> None:
        every = max(1, self.total // self.recipe.training.validations)
        rows = max(1, self.total // LOG_ROWS)
        began = saved = time.monotonic()
        earlier, losses = self.watch.seconds, []
        with progress(f"train {self.recipe.preset}", self.total, self.engine.step) as advance:
            while self.engine.step < self.total:
                loss, norm = self._step(self.engine.step)
                losses.append(loss)
                now = time.monotonic()
                self.watch.seconds = earlier + now - began
                due = self.engine.step % every == 0 or self.engine.step == self.total
                error = self._validate() if due else None
                if due or self.engine.step % rows == 0:
                    rate = self.engine.optimizer.param_groups[0]["lr"]
                    mean = sum(losses) / len(losses)
                    log.write(Row(self.engine.step, self.total, mean, error, rate, norm, self.watch.seconds))
                    losses = []
                if due or stop or now - saved > CHECKPOINT_SECONDS:
                    self.engine.save(self.folder / "last.ckpt", vars(self.watch), self.average.tensors)
                    saved = now
                advance(note=f"loss {loss:.4f} validation {self.watch.best:.4f}")
                if stop:
                    raise Interrupted(
                        f"stopped at step {self.engine.step} of {self.total}; the same command goes on from there"
                    )

    def _step(self, step: int) -> tuple[float, float]:
        self.model.train()
        # What a network draws at random is a function of seed and step, so a resumed run draws the same.
        torch.manual_seed(int(np.random.default_rng((self.recipe.seed, step)).integers(2**63)))
        prediction, target = learned(self.model, self.pairs[step].to(self.device), self.recipe.training.objective)
        done = self.engine.update(training_loss(prediction, target, self.task, self.recipe.training.loss))
        if self.recipe.training.project:
            project(self.model, self.recipe.training.project)
        self.average.update(self.engine.step)
        return done

    def _validate(self) -> float:
        """Mean relative L1 over the validation part, in physical units; the best weights, or their mean, are kept."""
        settings = self.recipe.training
        chosen = validation_windows(settings.objective, self.validation.trajectories.snapshots)
        with self.average.applied():
            error = validation_error(self.model, self.validation, chosen, settings.batch, self.device)
            if error < self.watch.best:
                self.watch.best, self.watch.best_step = error, self.engine.step
                save_model(self.folder, self.model, self.recipe.model, self.task)
        return error

    def _provenance(self) -> dict[str, Any]:
        return {
            "steps": self.total,
            "seed": self.recipe.seed,
            "best_validation": self.watch.best,
            "best_step": self.watch.best_step,
            "seconds": round(self.watch.seconds, 1),
            "parameters": count_parameters(self.model),
            "parameters_as_reals": count_parameters(self.model, complex_once=False),
            "training_trajectories": len(self.training.trajectories),
            "training_pairs": len(self.pairs),
            "resolution": list(self.training.trajectories.stored.size),
            "device": str(self.device),
            "threads": torch.get_num_threads(),
            "machine": machine(),
            "versions": versions(),
            "data_recipe": self.training.trajectories.stored.attributes.get("recipe"),
            "data_notes": list(self.training.trajectories.stored.notes),
        }


@torch.no_grad()
def validation_error(model: Normalized, source: Source, chosen: Sequence[Window], batch: int, device: torch.device) -> float:
    """Relative L1 of single applications to true states, averaged over pairs and quantities."""
    model.eval()
    task = source.trajectories.task
    groups = [task.channels(quantity) for quantity in task.quantities]
    errors = []
    for pair in consecutive(source, batch, chosen):
        (state, following), lead, static = pair.to(device)
        prediction = model(state, static, lead if model.takes_lead_time else None)
        errors.append(torch.stack([relative_l1(prediction[:, g], following[:, g]) for g in groups]).mean(0))
    return torch.cat(errors).mean().item()
