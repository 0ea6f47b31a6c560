"""One real optimiser step of every configuration at its full size, on random fields: it says nothing of accuracy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from driftnet import registry
from driftnet.errors import DriftnetError
from driftnet.models.operator import Normalized, build, count_parameters, unit_statistics
from driftnet.progress import progress
from driftnet.reproduce.parts import Entry, Fit, short
from driftnet.tasks.base import Task
from driftnet.train.engine import Engine
from driftnet.train.loss import loss_of, loss_sums

BATCH = 1  # The size of a model and of its fields is what is tried; more samples try nothing else.


def configurations(entries: Sequence[Entry]) -> dict[str, Fit]:
    """One training of every kind: seeds, rates and shares of the data change no shape."""
    found: dict[str, Fit] = {}
    for entry in entries:
        if (fit := entry.need.fit) is not None:
            found.setdefault(
                short([fit.task, fit.spec["architecture"], fit.spec["model"], fit.spec["training"].get("loss.frequency")]), fit
            )
    return found


def smoke(entries: Sequence[Entry], device: str) -> str:
    """Take the steps; refuse a loss that is not finite or a parameter without a gradient."""
    fits = list(configurations(entries).values())
    rows = []
    with progress("smoke", len(fits)) as advance:
        for fit in fits:
            began = time.perf_counter()
            loss, count = one_step(fit, device)
            seconds = time.perf_counter() - began
            rows.append(f"{fit.task:20} {fit.label:32} {count:12,} parameters  loss {loss:7.4f}  {seconds:6.2f} s")
            advance(note=f"{fit.task}, {fit.label}")
    return "\n".join((*rows, f"one step of {len(rows)} configurations, batch {BATCH}, on {device}"))


def one_step(fit: Fit, device: str) -> tuple[float, int]:
    """The loss of a step, and the model's parameters."""
    task: Task = registry.task(fit.task)
    torch.manual_seed(0)
    model = build(fit.recipe.model, task, unit_statistics(len(task.components), len(task.static))).to(device)
    engine = Engine(model, fit.recipe.training, total=1)
    size = fit.job.resolution
    state, target = (torch.randn(BATCH, len(task.components), size, size).to(device) for _ in range(2))
    static = torch.randn(BATCH, len(task.static), size, size).to(device)
    terms = fit.recipe.training.loss
    model.train()

    def sums(model: Normalized, given: tuple[Tensor, ...]) -> Tensor:
        return loss_sums(*model.training_pair(*given), task, terms)

    loss, _ = engine.update([(state, static, target)], sums, partial(loss_of, config=terms))
    without = [name for name, value in model.named_parameters() if value.grad is None or not value.grad.any()]
    if without:
        raise DriftnetError(f"{fit.task}, {fit.label}: {len(without)} parameters have no gradient, the first is {without[0]}")
    return loss, count_parameters(model)
