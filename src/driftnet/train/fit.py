"""From a recipe to a run folder: resumable at any moment, finished once."""

from __future__ import annotations

import csv
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from driftnet import registry
from driftnet.configs import Recipe, to_dict
from driftnet.data.loading import Loading
from driftnet.data.pairs import Pairs, consecutive
from driftnet.data.sources import Source, sources
from driftnet.data.statistics import fit_statistics
from driftnet.data.trajectories import Trajectories
from driftnet.errors import UsageError
from driftnet.files import locked, machine, read_json, versions, write_json, write_text, written_aside
from driftnet.metrics.errors import relative_l1
from driftnet.models.operator import Normalized, build, count_parameters, unit_statistics
from driftnet.models.operator_norms import project
from driftnet.models.saved import save_model
from driftnet.progress import progress
from driftnet.tasks.base import Task
from driftnet.train.engine import Engine, StopRequest, stop_on_signals
from driftnet.train.loss import training_loss

CHECKPOINT_SECONDS = 30.0
LOG_ROWS = 200
LOG_FIELDS: tuple[str, ...] = ("step", "loss", "validation", "rate", "gradient_norm", "seconds")


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


def train(recipe: Recipe, folder: Path, device: str, loading: Loading, overwrite: bool) -> str:
    """Train, or go on training, or find it done; returns what happened in one line."""
    with locked(folder / ".lock", str(folder)):
        if overwrite:
            for path in folder.iterdir():
                if path.name != ".lock":
                    path.unlink()
        settings = _settings(recipe)
        _refuse_others(folder / "config.yaml", settings)
        if (folder / "provenance.json").exists():
            best = read_json(folder / "provenance.json")["best_validation"]
            return f"{folder} is already trained (validation {best:.4g}); give --overwrite to train it again"
        fit = Fit(recipe, folder, device, loading)  # Refuses unusable data before anything is written.
        write_text(folder / "config.yaml", settings)
        return fit.run()


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
        self.pairs = Pairs(self.training, recipe.training.batch, recipe.seed, recipe.training.buffer, loading.prefetch, pinned)
        epochs = -(-len(self.pairs) * recipe.training.epochs // recipe.training.batch)
        self.total = recipe.training.steps or epochs
        self.watch = Watch()
        self.model, self.engine = self._start()

    def _start(self) -> tuple[Normalized, Engine]:
        torch.manual_seed(self.recipe.seed)
        checkpoint = self.folder / "last.ckpt"
        resuming = checkpoint.exists()
        statistics = (
            unit_statistics(len(self.task.components), len(self.task.static)) if resuming else fit_statistics(self.training)
        )
        model = build(self.recipe.model, self.task, statistics).to(self.device)
        engine = Engine(model, self.recipe.training, self.total)
        if resuming:
            self.watch = Watch(**engine.restore(checkpoint))
        return model, engine

    def run(self) -> str:
        """Train to the end."""
        with Log(self.folder / "log.csv", self.engine.step) as log, stop_on_signals() as stop:
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
                    log.row(self.engine, sum(losses) / len(losses), error, norm, self.watch.seconds)
                    losses = []
                if due or stop or now - saved > CHECKPOINT_SECONDS:
                    self.engine.save(self.folder / "last.ckpt", vars(self.watch))
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
        state, following, static = (part.to(self.device, non_blocking=True) for part in self.pairs[step])
        prediction, target = self.model.training_pair(state, static, following)
        done = self.engine.update(training_loss(prediction, target, self.task, self.recipe.training.loss))
        if self.recipe.training.project:
            project(self.model, self.recipe.training.project)
        return done

    def _validate(self) -> float:
        """Mean one-step relative L1 over the validation part, in physical units; the best weights are kept."""
        error = one_step_error(self.model, self.validation, self.recipe.training.batch, self.device)
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
def one_step_error(model: Normalized, source: Source, batch: int, device: torch.device) -> float:
    """Relative L1 of single steps from true states, averaged over pairs and quantities."""
    model.eval()
    task = source.trajectories.task
    groups = [task.channels(quantity) for quantity in task.quantities]
    errors = []
    for pair in consecutive(source, batch):
        state, following, static = (part.to(device) for part in pair)
        prediction = model(state, static)
        errors.append(torch.stack([relative_l1(prediction[:, g], following[:, g]) for g in groups]).mean(0))
    return torch.cat(errors).mean().item()


class Log:
    """log.csv: rows past the step that training resumes from are dropped."""

    def __init__(self, path: Path, step: int) -> None:
        self.path, self.step = path, step

    def __enter__(self) -> Log:
        """Open for appending, at the right place."""
        kept = []
        if self.path.exists():
            with self.path.open(newline="") as stream:
                kept = [
                    row for row in csv.DictReader(stream) if (row["step"] or "").isdigit() and int(row["step"]) <= self.step
                ]
        with written_aside(self.path) as aside, aside.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, LOG_FIELDS)
            writer.writeheader()
            writer.writerows(kept)
        self._stream = self.path.open("a", newline="")
        self._writer = csv.writer(self._stream)
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._stream.close()

    def row(self, engine: Engine, loss: float, validation: float | None, norm: float, seconds: float) -> None:
        """Write one row at once."""
        rate = engine.optimizer.param_groups[0]["lr"]
        shown = "" if validation is None else f"{validation:.6g}"
        self._writer.writerow((engine.step, f"{loss:.6g}", shown, f"{rate:.6g}", f"{norm:.6g}", f"{seconds:.2f}"))
        self._stream.flush()
