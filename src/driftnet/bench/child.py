"""One measurement of `driftnet bench models`, alone in its process: a case comes in as JSON, what was found goes out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from driftnet import registry
from driftnet.configs import ONE_STEP, ModelConfig, Objective, Training
from driftnet.data.pairs import Batch
from driftnet.devices import device_named, exact_arithmetic
from driftnet.memory import resident
from driftnet.models.cost import flops
from driftnet.models.operator import Normalized, build, count_parameters, unit_statistics
from driftnet.models.recorded import record
from driftnet.tasks.base import Task
from driftnet.train.average import Average
from driftnet.train.loss import training_loss
from driftnet.train.objectives import learned, require_suited


def measure(case: dict[str, Any]) -> dict[str, Any]:
    """Sizes, times of steps and of forward passes, and the peak of memory."""
    torch.manual_seed(0)
    task: Task = registry.task(case["task"])
    device = device_named(case["device"])
    exact_arithmetic()
    start = resident("VmRSS")
    objective = Objective(**case.get("objective", {}))
    unit = unit_statistics(len(task.components), len(task.static))
    model = build(_config(case["model"], objective), task, unit).to(device)
    require_suited(model, objective, task.steady)
    batch = _inputs(task, objective, (case["batch"], case["resolution"])).to(device)
    operations = flops(model.network.eval(), torch.cat((batch.states[0], batch.static), 1)[:1])
    record(model.network)
    step = _training_step(model, task, batch, Training(objective=objective, ema=case.get("ema", 0.0)))
    steps = timed(step, case["steps"], device)
    # Taken before anything else is measured: it is the training step's.
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else resident("VmHWM") - start
    return {
        "parameters": count_parameters(model),
        "parameters_as_reals": count_parameters(model, complex_once=False),
        "peak_bytes": peak,
        "step_seconds": steps,
        "forward_seconds": timed(_forward(model, *_first(batch, case.get("forward_batch"))), case["steps"], device),
        "flops": operations,
    }


def _config(name: str, objective: Objective) -> ModelConfig:
    """The preset, with norms that take lead times where the objective needs them."""
    config = registry.model(name)
    if objective.kind == "all-to-all" and hasattr(config, "backbone"):
        return replace(config, backbone=replace(config.backbone, lead_time=True))
    return config


def _first(batch: Batch, size: int | None) -> tuple[Tensor, Tensor]:
    """What a forward pass is given: the states and static channels of the first samples, or of all."""
    return batch.states[0][:size], batch.static[:size]


def _inputs(task: Task, objective: Objective, size: tuple[int, int]) -> Batch:
    batch, points = size
    static, *states = (
        torch.randn(batch, count, points, points)
        for count in (len(task.static), *[len(task.components)] * (objective.horizon + 1))
    )
    return Batch(tuple(states), torch.full((batch,), ONE_STEP), static)


def _training_step(model: Normalized, task: Task, batch: Batch, config: Training) -> Callable[[], None]:
    optimizer, average = torch.optim.AdamW(model.parameters(), fused=True), Average(model, config.ema)

    def step() -> None:
        model.train()
        optimizer.zero_grad()
        training_loss(*learned(model, batch, config.objective), task, config.loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimizer.step()
        average.update(1)

    return step


def _forward(model: Normalized, state: Tensor, static: Tensor) -> Callable[[], None]:
    @torch.no_grad()
    def forward() -> None:
        model.eval()
        model(state, static)

    return forward


def timed(work: Callable[[], None], times: int, device: torch.device) -> list[float]:
    """Seconds of every call after a first that is not counted."""
    seconds = []
    for _ in range(times + 1):
        began = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - began)
    return seconds[1:]
