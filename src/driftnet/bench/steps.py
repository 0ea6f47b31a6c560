"""One process of `driftnet bench solvers`: every solver and what it is compared with, in turn on one core."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch

from driftnet import registry
from driftnet.bench import references
from driftnet.bench.references import Missing, Problem, Run, Show
from driftnet.pdes.initial import trajectory_generator
from driftnet.pdes.solver import solver_of
from driftnet.tasks.base import Task

ANSWERED = ("name", "beside", "skipped", "difference", "seconds")


@dataclass
class Row:
    """A solver, what it is compared with, and the seconds of a step of both."""

    name: str
    problem: Problem
    ours: Run
    beside: str = ""
    theirs: Run | None = None
    skipped: str = ""
    difference: float | None = None
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"ours": [], "theirs": []})


@dataclass(frozen=True)
class Size:
    """How much is solved at a time."""

    resolution: int
    batch: int
    steps: int


def measure(question: dict[str, Any]) -> list[dict[str, Any]]:
    """Seconds of a step in every repeat, and how far the results of both are apart."""
    if hasattr(os, "sched_setaffinity"):  # Before JAX counts the cores.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    repeats = question.pop("repeats")
    size = Size(**question)
    rows = _rows(size)
    for repeat in range(repeats + 1):
        for row in rows:
            for side, run in (("ours", row.ours), ("theirs", row.theirs)):
                if run:
                    seconds = _processor_seconds(run) / size.steps
                    row.seconds[side].extend([seconds] if repeat else [])  # The first warms up.
    return [{name: value for name, value in vars(row).items() if name in ANSWERED} for row in rows]


def _processor_seconds(run: Run) -> float:
    """Of all threads of the process: what else the machine does is not counted."""
    began = time.process_time()
    run()
    return time.process_time() - began


def _rows(size: Size) -> list[Row]:
    vorticity = _row("Kolmogorov flow, 2/3 mask", _problem("KF-Long-turbulent", size))
    _compare(vorticity, "exponax, the same", references.exponax)
    velocity = _row("Navier-Stokes, 2/3 mask", _problem("NS-PwC", size, scheme="etdrk2", dealiasing="2/3"))
    # The same mask and scheme in velocities: another formula for the same slope.
    velocity.beside, velocity.theirs = "exponax, as vorticity", vorticity.theirs
    padded = _row("Navier-Stokes, 3/2 padding", _problem("NS-PwC", size, scheme="etdrk2"))
    wave, phases = _row("wave", _problem("Wave-Gauss", size)), _row("Allen-Cahn", _problem("ACE", size))
    finer = _row("Allen-Cahn", phases.problem)
    _compare(wave, "C, the same", references.wave)
    _compare(phases, "C, differences", references.allen_cahn)
    _compare(finer, "C, on 2 x 2 the points", partial(references.allen_cahn, finer=2))
    return [vorticity, velocity, padded, wave, phases, finer]


def _row(name: str, problem: Problem) -> Row:
    state = problem.solver.start(problem.initial)
    return Row(name, problem, lambda: problem.solver.advance(state))


def _problem(task_name: str, size: Size, **changes: str) -> Problem:
    """The initial data of a task, and a solver with the time step that it would choose for the task."""
    task: Task = registry.task(task_name)
    simulation: Any = task.source.simulation
    equation = replace(simulation.equation, **changes)
    usual: Any = solver_of(equation, size.resolution, task.interval, torch.float32)
    dt = task.interval / usual.substeps
    solver = solver_of(replace(equation, substeps=size.steps), size.resolution, size.steps * dt, torch.float32)
    draws = [trajectory_generator(0, index) for index in range(size.batch)]
    sampled = registry.resolve(simulation.initial.sampler)(simulation.initial, draws, size.resolution).float()
    components = len(task.components) + len(task.static)
    return Problem(equation, solver, sampled[:, :components], size.steps, dt)  # Without the tracer of another task.


def _compare(row: Row, beside: str, reference: Callable[[Problem], tuple[Run, Show]]) -> None:
    """Put a reference beside a solver, or say why there is none."""
    row.beside, solver = beside, row.problem.solver
    try:
        row.theirs, show = reference(row.problem)
    except Missing as missing:
        row.skipped = str(missing)
        return
    ours, theirs = solver.fields(solver.advance(solver.start(row.problem.initial)))[:, :1], show()
    row.difference = ((ours - theirs.reshape_as(ours)).abs().max() / ours.abs().max()).item()
