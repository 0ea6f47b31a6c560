"""From a recipe to a run folder: resumable at any moment, finished once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import torch
from jaxtyping import Float
from torch import Tensor

from driftnet import registry
from driftnet.configs import Recipe
from driftnet.data.loading import Loading
from driftnet.data.pairs import Batch, Pairs, order_of
from driftnet.data.sources import sources
from driftnet.data.statistics import fit_statistics
from driftnet.data.trajectories import Trajectories
from driftnet.data.windows import validation_windows
from driftnet.files import write_json, write_text
from driftnet.metrics.statistics import Statistics
from driftnet.models.operator import Normalized, build, count_parameters, unit_statistics
from driftnet.models.operator_norms import project
from driftnet.models.saved import save_state
from driftnet.progress import Advance, progress
from driftnet.tasks.base import Task
from driftnet.train.average import Average
from driftnet.train.checkpoints import State, keep, newest, write_state
from driftnet.train.engine import Engine, NotFinite
from driftnet.train.folder import claim, settings_of
from driftnet.train.logs import Log, Row, failure_noted, require_writers
from driftnet.train.loss import loss_of, loss_sums
from driftnet.train.objectives import learned, require_suited
from driftnet.train.place import draws, place_of, refuse_empty_parts, say_changes
from driftnet.train.signals import StopRequest, stop_on_signals
from driftnet.train.spread import reduced
from driftnet.train.validation import together, validation_error
from driftnet.train.world import World, joined

CHECKPOINT_SECONDS = 30.0
LOG_ROWS = 200


@dataclass
class Watch:
    """What is noted of a run beside its weights."""

    best: float = float("inf")
    best_step: int = 0
    seconds: float = 0.0


def run_folder(root: Path, recipe: Recipe) -> Path:
    """runs/<task>/<model>/<seed>."""
    return root / registry.task(recipe.task).name / recipe.preset / str(recipe.seed)


def train(recipe: Recipe, folder: Path, device: str, loading: Loading, overwrite: bool, writers: Sequence[str] = ()) -> str:
    """Train, or go on training, or find it done; returns what happened in one line, on the first process."""
    require_writers(writers)
    with stop_on_signals() as stop, joined(device) as world, ExitStack() as held:
        said = world.agree(lambda: claim(held, folder, recipe, overwrite))
        if said is None:
            fit = Fit(recipe, folder, world, loading)  # Refuses unusable data before anything is written.
            world.agree(lambda: write_text(folder / "config.yaml", settings_of(recipe)))
            with failure_noted(folder, world.first):
                said = fit.run(stop, writers)
        return said if world.first else ""


class Fit:
    """One training run."""

    def __init__(self, recipe: Recipe, folder: Path, world: World, loading: Loading) -> None:
        self.recipe, self.folder, self.world = recipe, folder, world
        self.task: Task = registry.task(recipe.task)
        refuse_empty_parts(recipe, world)
        training = Trajectories(Path(recipe.data), self.task, "train", recipe.trajectories)
        validation = Trajectories(Path(recipe.data), self.task, "validation")
        self.training, self.validation = sources((training, validation), loading, world.device)
        pinned = world.device.type == "cuda"
        settings = recipe.training
        order = order_of(training, recipe.seed, settings.buffer, settings.objective)
        self.pairs = Pairs(self.training, settings.batch, order, loading.prefetch, pinned)
        self.total = settings.steps or -(-len(self.pairs) * settings.epochs // settings.batch)
        self.place = place_of(recipe, self.total, world)
        self.watch = Watch()
        self.model, self.engine, self.average = self._start()

    def _start(self) -> tuple[Normalized, Engine, Average]:
        torch.manual_seed(self.recipe.seed)
        state = newest(self.folder, speak=self.world.first)
        if state is None:
            fitted: dict[str, list[float]] = self.world.agree(lambda: _plain(fit_statistics(self.training)))
            statistics = Statistics(**{name: torch.tensor(values) for name, values in fitted.items()})
        else:
            statistics = unit_statistics(len(self.task.components), len(self.task.static))
        model = build(self.recipe.model, self.task, statistics).to(self.world.device)
        require_suited(model, self.recipe.training.objective, self.task.steady)
        engine = Engine(model, self.recipe.training, self.total, self.world)
        average = Average(model, self.recipe.training.ema)
        if state is not None:
            average.restore(engine.restore(state))
            self.watch = Watch(**state.notes["watch"])
            if self.world.first:
                say_changes(state.notes["place"], self.place)
        return model, engine, average

    def run(self, stop: StopRequest, writers: Sequence[str] = ()) -> str:
        """Train to the end."""
        stop.patient = True
        with ExitStack() as open_files:
            log = open_files.enter_context(Log(self.folder, self.engine.step, writers)) if self.world.first else None
            self._loop(log, stop)
        self.world.agree(lambda: write_json(self.folder / "provenance.json", self._provenance()))
        done = f"{self.folder}: validation {self.watch.best:.4g} at step {self.watch.best_step} of {self.total}"
        return "\n".join((done, *self.training.trajectories.stored.notes))

    def _loop(self, log: Log | None, stop: StopRequest) -> None:
        every = max(1, self.total // self.recipe.training.validations)
        rows = max(1, self.total // LOG_ROWS)
        saved = time.monotonic()
        began, losses = saved - self.watch.seconds, []
        with self._progress() as advance:
            while self.engine.step < self.total:
                loss, norm = self._step(self.engine.step)
                losses.append(loss)
                now = time.monotonic()
                self.watch.seconds = now - began
                due = self.engine.step % every == 0 or self.engine.step == self.total
                error = self._validate() if due else None
                if due or self.engine.step % rows == 0:
                    if log:
                        log.write(self._row(sum(losses) / len(losses), error, norm))
                    losses = []
                # Together, because all have to hand in their share of the weights, and all have to leave.
                stopping, late = self.world.any(bool(stop), self.world.first and now - saved > CHECKPOINT_SECONDS)
                if due or stopping or late:
                    self._save()
                    saved = now
                advance(note=f"loss {loss:.4f} validation {self.watch.best:.4f}")
                if stopping:
                    where = f"stopped at step {self.engine.step} of {self.total}"
                    self.world.leave(stop.error(f"{where}; the same command goes on from there"))

    def _row(self, loss: float, error: float | None, norm: float) -> Row:
        rate = self.engine.optimizer.param_groups[0]["lr"]
        return Row(self.engine.step, self.total, loss, error, rate, norm, self.watch.seconds)

    @contextmanager
    def _progress(self) -> Iterator[Advance]:
        if not self.world.first:
            yield lambda units=1, note="": None
            return
        with progress(f"train {self.recipe.preset}", self.total, self.engine.step) as advance:
            yield advance

    def _step(self, step: int) -> tuple[float, float]:
        self.model.train()
        share = self.pairs.share(step, self.world.rank, self.world.size)
        parts = share.split(self.recipe.training.accumulate)
        try:
            done = self.engine.update(list(enumerate(parts)), self._sums, partial(loss_of, config=self.recipe.training.loss))
        except NotFinite as error:
            self._leave_state(error)
        if self.recipe.training.project:
            project(self.model, self.recipe.training.project)
        self.average.update(self.engine.step)
        return done

    def _sums(self, model: Normalized, numbered: tuple[int, Batch]) -> Float[Tensor, "*steps terms 2"]:
        """What the loss of a part of the batch is made of."""
        number, part = numbered
        draws(self.recipe.seed, self.engine.step, self.world.rank, number)
        with reduced(self.recipe.training.precision, self.world.device):
            prediction, target = learned(model, part.to(self.world.device), self.recipe.training.objective)
        return loss_sums(prediction.to(target.dtype), target, self.task, self.recipe.training.loss)

    def _validate(self) -> float:
        """Mean relative L1 over the validation part, in physical units; the best weights, or their mean, are kept."""
        self.model.eval()
        settings = self.recipe.training
        chosen = validation_windows(settings.objective, self.validation.trajectories.snapshots)
        with self.average.applied():
            batch = together(settings.batch, self.world.device)
            error = validation_error(self._predict, self.validation, chosen, batch, self.world)
            if error < self.watch.best:
                self.watch.best, self.watch.best_step = error, self.engine.step
                weights = self.engine.weights()
                self.world.agree(lambda: save_state(self.folder, weights, self.recipe.model, self.task))
        return error

    def _predict(self, batch: Batch) -> Float[Tensor, "b c h w"]:
        lead = batch.lead if self.model.takes_lead_time else None
        return self.engine.call(Normalized.__call__, batch.states[0], batch.static, lead)

    def _state(self) -> State:
        return self.engine.state({"watch": vars(self.watch), "place": self.place}, self.average.tensors())

    def _save(self) -> None:
        state = self._state()
        self.world.agree(lambda: keep(self.folder, state))

    def _leave_state(self, error: NotFinite) -> NoReturn:
        """End where no step can be taken, with all that is needed to look into it."""
        state, path = self._state(), self.folder / "not-finite.ckpt"
        self.world.agree(lambda: write_state(path, state))
        self.world.leave(NotFinite(f"{error}; the state before it is in {path}. A smaller training.rate may help"))

    def _provenance(self) -> dict[str, Any]:
        return {
            **self.place,
            "best_validation": self.watch.best,
            "best_step": self.watch.best_step,
            "seconds": round(self.watch.seconds, 1),
            "parameters": count_parameters(self.model),
            "parameters_as_reals": count_parameters(self.model, complex_once=False),
            "training_trajectories": len(self.training.trajectories),
            "training_pairs": len(self.pairs),
            "resolution": list(self.training.trajectories.stored.size),
            "data_recipe": self.training.trajectories.stored.attributes.get("recipe"),
            "data_notes": list(self.training.trajectories.stored.notes),
        }


def _plain(statistics: Statistics) -> dict[str, list[float]]:
    return {name: value.tolist() for name, value in vars(statistics).items()}
