"""A closed-loop rollout over the test split, and what was measured of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import xarray as xr
from torch import Tensor

from driftnet.configs import Evaluation
from driftnet.data.trajectories import Trajectories
from driftnet.errors import UsageError
from driftnet.evaluate.derived import derive
from driftnet.evaluate.grids import Size, evaluated_size, resized, snapshots, through_grid
from driftnet.evaluate.tally import Tally
from driftnet.files import machine, versions
from driftnet.models.operator import Operator, direct_states, states
from driftnet.progress import Advance, progress

PHYSICAL = "relative L1 of fields in physical units, per quantity, as a fraction"
KEPT = ("parameters", "parameters_as_reals", "seed", "best_step", "training_trajectories", "training_pairs", "recipe")


@dataclass(frozen=True)
class Subject:
    """What is evaluated, and what is to be said of it."""

    name: str
    folder: Path
    operator: Callable[[], Operator]
    facts: dict[str, Any]

    @property
    def trained_size(self) -> Size | None:
        """The grid a model was trained on; baselines have none."""
        size = self.facts.get("resolution")
        return (int(size[0]), int(size[1])) if size else None


@torch.no_grad()
def measure(subject: Subject, test: Trajectories, config: Evaluation, device: str) -> xr.Dataset:
    """All metrics of a subject over the test split."""
    steps = config.steps or test.snapshots - 1
    if steps >= test.snapshots:
        raise UsageError(f"evaluation.steps: {steps} is more than the {test.snapshots - 1} steps of {test.stored.path}")
    predicted = direct_states if config.direct and subject.trained_size else states
    work = _Rollouts(test, config, device, Tally(test.task, len(test), steps, config.examples), predicted)
    with progress(f"evaluate {subject.name}", len(test) * steps) as advance, torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)  # Some models draw at random in a rollout.
        work.run(_on_grid(subject, test, config), advance)
    facts = {**_facts(subject, test, config, steps), "device": _device_name(device)}
    results = work.tally.dataset().assign_attrs(facts, rollout_seconds_per_trajectory=work.seconds / len(test))
    return derive(results, test.task, facts["final_snapshot"])


def _on_grid(subject: Subject, test: Trajectories, config: Evaluation) -> Operator:
    operator = subject.operator()
    if config.protocol == "native" or subject.trained_size is None:
        return operator
    return through_grid(operator, subject.trained_size, test.task.boundary)


@dataclass
class _Rollouts:
    """Rolls out batch by batch, with one state of prediction and a block of truth in memory."""

    test: Trajectories
    config: Evaluation
    device: str
    tally: Tally
    predicted: Callable[..., Iterator[Tensor]] = states
    seconds: float = 0.0

    def run(self, operator: Operator, advance: Advance) -> None:
        """All batches in order."""
        size = evaluated_size(self.test, self.config)
        for first in range(0, len(self.test), self.config.batch):
            samples = range(first, min(first + self.config.batch, len(self.test)))
            static = resized(self.test.static(samples), size, self.test.task.boundary).to(self.device)
            truths = (truth.to(self.device) for truth in snapshots(self.test, samples, self.tally.steps, size))
            rolled = self.predicted(operator, next(truths), static, self.tally.steps)
            for step, truth in enumerate(truths, 1):
                began = self._now()
                state = next(rolled)
                self.seconds += self._now() - began
                self.tally.add(first, step, state, truth)
                advance(len(samples))

    def _now(self) -> float:
        if torch.device(self.device).type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def _facts(subject: Subject, test: Trajectories, config: Evaluation, steps: int) -> dict[str, Any]:
    """What a report has to state, as attributes that NetCDF can hold."""
    facts, given = subject.facts, test.task
    training = {f"training_{name}": facts[name] for name in ("seconds", "steps") if name in facts}
    return {
        "task": given.name,
        "equation": given.equation,
        "model": subject.name,
        "final_snapshot": min(given.final_snapshot, steps),
        "test_trajectories": len(test),
        "resolution": list(evaluated_size(test, config)),
        "protocol": _protocol(subject, test, config),
        "threads": torch.get_num_threads(),
        "evaluated_on": json.dumps(machine()),
        "evaluated_with": json.dumps(versions()),
        "convention": PHYSICAL,
        **training,
        **{name: facts[name] for name in KEPT if name in facts},
    }


def _device_name(device: str) -> str:
    return torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else device


def _protocol(subject: Subject, test: Trajectories, config: Evaluation) -> str:
    """On which grids it was measured, in words."""
    grids = {"measured": evaluated_size(test, config), "data": test.stored.size, "trained": subject.trained_size}
    said = ", ".join(f"{name} {size[0]} x {size[1]}" for name, size in grids.items() if size)
    direct = ", every snapshot directly from the first" if config.direct and subject.trained_size else ""
    return f"{config.protocol}: {said}{direct}"
