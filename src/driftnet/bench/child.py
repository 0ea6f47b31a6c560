"""One measurement of `driftnet bench models`, alone in its process: a case comes in as JSON, what was found goes out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from driftnet import registry
from driftnet.configs import Loss, Training
from driftnet.errors import DriftnetError
from driftnet.memory import resident
from driftnet.models.cost import flops
from driftnet.models.devices import device_named, without_tf32
from driftnet.models.operator import Normalized, build, count_parameters, unit_statistics
from driftnet.tasks.base import Task
from driftnet.train.loss import training_loss


def main() -> None:
    """Read a case, measure, answer."""
    case = json.load(sys.stdin)
    try:
        print(json.dumps(measure(case)))
    except (DriftnetError, RuntimeError, ImportError) as error:
        sys.exit(str(error).splitlines()[0])


def measure(case: dict[str, Any]) -> dict[str, Any]:
    """Sizes, times of steps and of forward passes, and the peak of memory."""
    torch.manual_seed(0)
    task: Task = registry.task(case["task"])
    device = device_named(case["device"])
    without_tf32()
    start = resident("VmRSS")
    model = build(registry.model(case["model"]), task, unit_statistics(len(task.components), len(task.static))).to(device)
    state, target, static = _inputs(task, case["batch"], case["resolution"], device)
    step = _training_step(model, task, state, target, static)
    steps = timed(step, case["steps"], device)
    # Taken before anything else is measured: it is the training step's.
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else resident("VmHWM") - start
    return {
        "parameters": count_parameters(model),
        "parameters_as_reals": count_parameters(model, complex_once=False),
        "peak_bytes": peak,
        "step_seconds": steps,
        "forward_seconds": timed(_forward(model, state, static), case["steps"], device),
        "flops": flops(model.network.eval(), torch.cat((state, static), 1)[:1]),
    }


def _inputs(task: Task, batch: int, resolution: int, device: torch.device) -> tuple[Tensor, ...]:
    channels = (len(task.components), len(task.components), len(task.static))
    return tuple(torch.randn(batch, count, resolution, resolution).to(device) for count in channels)


def _training_step(model: Normalized, task: Task, state: Tensor, target: Tensor, static: Tensor) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)

    def step() -> None:
        model.train()
        optimizer.zero_grad()
        training_loss(*model.training_pair(state, static, target), task, Loss()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), Training().clip)
        optimizer.step()

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
