"""`driftnet bench rollout`: what a step in closed loop costs beside a bare forward pass, and whether memory stays flat."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor

from driftnet import registry
from driftnet.bench.models import as_text, spread
from driftnet.bench.process import ask
from driftnet.evaluate.predict import predict
from driftnet.memory import resident
from driftnet.models.operator import Normalized, build, states, unit_statistics
from driftnet.options.bench import BenchRolloutOptions
from driftnet.options.evaluate import PredictOptions
from driftnet.tasks.base import Task

HEAD = ("model", "forward ms", "spread", "step ms", "spread", "step/forward", "grew MB", "predict grew MB", "states MB")


def bench(names: list[str], options: BenchRolloutOptions) -> str:
    """Measure every model in a process of its own; returns the table."""
    chosen = names or ["drift-net-tiny", "scot-tiny", "conv-unet-tiny"]
    for name in chosen:
        registry.model(name)
    found = [measured(name, options) for name in chosen]
    return as_text([_cells(name, each) for name, each in zip(chosen, found, strict=True)], HEAD) + "\n\n" + _notes(options)


def measured(name: str, options: BenchRolloutOptions) -> dict[str, Any]:
    """Seconds of every bare forward pass and of every step of a rollout, and bytes by which the process grew."""
    return ask("driftnet.bench.rollout:measure", {"model": name, **asdict(options)}, options.threads)


def ratio(found: dict[str, Any]) -> float:
    """Median of a step of the rollout in those of a bare forward pass."""
    return median(found["step"]) / median(found["forward"])


@torch.no_grad()
def measure(question: dict[str, Any]) -> dict[str, Any]:
    """The answer of a process."""
    torch.manual_seed(0)
    task: Task = registry.task(question["task"])
    channels, points, steps = (len(task.components), len(task.static)), question["resolution"], question["steps"]
    model = build(registry.model(question["model"]), task, unit_statistics(*channels)).eval()
    initial, static = (torch.randn(question["batch"], count, points, points) for count in channels)
    found = _in_turn(model, initial, static, steps)
    return {**found, "predict_grew": _growth_of_predict(model, torch.cat((initial, static), 1), steps)}


def _in_turn(model: Normalized, initial: Tensor, static: Tensor, steps: int) -> dict[str, Any]:
    """A bare forward pass, a step of the rollout, and so on: a busy minute falls on both."""
    entering, rolled = torch.cat((initial, static), 1), states(model, initial, static, steps)
    model.network(entering)
    forward, step, memory = [], [], []
    for _ in range(steps):
        forward.append(_seconds(lambda: model.network(entering)))
        step.append(_seconds(lambda: next(rolled)))
        memory.append(resident("VmRSS"))
    return {"forward": forward, "step": step, "grew": memory[-1] - memory[steps // 2], "states": steps * 4 * initial.numel()}


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _growth_of_predict(model: Normalized, given: Tensor, steps: int) -> int:
    """Bytes by which the peak of `driftnet predict` over all steps is above that over half of them."""
    with tempfile.TemporaryDirectory(prefix="driftnet-bench-") as name:
        folder = Path(name)
        model.save_pretrained(folder)
        np.save(folder / "initial.npy", given.numpy())
        half = max(1, steps // 2)
        _, shorter, longer = _peaks(folder, (half, half, steps))  # The first finds room for what every one needs.
    return longer - shorter


def _peaks(folder: Path, lengths: tuple[int, ...]) -> Iterator[int]:
    for number, length in enumerate(lengths):
        predict(folder, folder / "initial.npy", PredictOptions(steps=length, output=folder / f"{number}.nc"))
        yield resident("VmHWM")


def _cells(name: str, found: dict[str, Any]) -> tuple[str, ...]:
    times = (f"{1000 * value:.1f}" for side in ("forward", "step") for value in (median(found[side]), spread(found[side])))
    sizes = (f"{found[key] / 1e6:.1f}" for key in ("grew", "predict_grew", "states"))
    return (name, *times, f"{ratio(found):.3f}", *sizes)


def _notes(options: BenchRolloutOptions) -> str:
    return (
        f"{options.steps} steps of {options.batch} states on {options.resolution} x {options.resolution} points, single "
        f"precision, {options.threads} threads, allocator fixed.\nA bare forward pass of the network and a step of the rollout "
        "in turn: medians of processor time, half the interquartile range.\ngrew: resident memory from half of the steps on. "
        "predict grew: peak of 'driftnet predict' over all steps above that\nover half of them. states: what all states "
        "together take."
    )
