"""Rows that every table needs: what doing nothing scores, and what an honest solver costs.

Each is made from the test split and the grid (height, width) it is measured on.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.configs import from_dict
from driftnet.data.formats.reader import Contents
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError
from driftnet.evaluate.grids import Size, resized
from driftnet.models.operator import Operator
from driftnet.pdes.grid import resample, resample_closed
from driftnet.pdes.solver import Solver, solver_of
from driftnet.progress import progress
from driftnet.tasks.base import Task
from driftnet.tasks.equations import NavierStokes, Simulation

SMALLEST_GRID = 4

State = Float[Tensor, "b c h w"]


class NotMade(DriftnetError):
    """A baseline that does not exist on this grid; the others do."""


def zero(test: Trajectories, size: Size) -> Operator:
    """Predict that there is nothing."""
    return lambda state, static: torch.zeros_like(state)


def persistence(test: Trajectories, size: Size) -> Operator:
    """Predict that nothing changes."""
    return lambda state, static: state


def climatology(test: Trajectories, size: Size) -> Operator:
    """Predict the mean of the training split over trajectories and predicted times, point by point."""
    mean = resized(training_mean(test.stored, test.task), size, test.task.boundary).float()
    return lambda state, static: mean.to(state).expand_as(state)


def training_mean(stored: Contents, task: Task) -> Float[Tensor, "c x y"]:
    """Mean of all training snapshots but the first, which are given; read a trajectory at a time."""
    training = Trajectories(stored.path, task, "train")
    total = torch.zeros(len(task.components), *stored.size, dtype=torch.float64)
    with progress("climatology", len(training)) as advance:
        for index in range(len(training)):
            total += training[index][1:].double().mean(0)
            advance()
    return total / len(training)


def solver(test: Trajectories, size: Size) -> Operator:
    """The solver of the data on the grid of the evaluation."""
    return CoarseSolver(test.task, simulation_of(test.task, test.stored), test.stored.size[0], size, 1)


def solver_half(test: Trajectories, size: Size) -> Operator:
    """The solver of the data on a grid of half the resolution, with the viscosity of the full one."""
    return CoarseSolver(test.task, simulation_of(test.task, test.stored), test.stored.size[0], size, 2)


def solver_quarter(test: Trajectories, size: Size) -> Operator:
    """The solver of the data on a grid of a quarter of the resolution, with the viscosity of the full one."""
    return CoarseSolver(test.task, simulation_of(test.task, test.stored), test.stored.size[0], size, 4)


class CoarseSolver:
    """Goes on from its own state where it is given what it last returned: fields do not show the speed of a wave."""

    def __init__(self, task: Task, simulation: Simulation, data_size: int, size: Size, divisor: int) -> None:
        points, self.coarse = size[0], size[0] // divisor
        if size[0] != size[1] or self.coarse < SMALLEST_GRID or self.coarse % 2:
            raise NotMade(f"there is no solver on a grid of 1/{divisor} of {size[0]} x {size[1]} points")
        self.equation = simulation.equation
        if isinstance(self.equation, NavierStokes):
            kept = self.equation.viscosity_resolution or data_size
            self.equation = replace(self.equation, viscosity_resolution=kept, substeps=None)
        given = (*task.components, *task.static)
        self.channels = [given.index(channel) for channel in simulation.initial.channels if channel in given]
        self.predicted, self.size, self.interval = len(task.components), points, task.interval
        self.resample = resample if task.boundary == "periodic" else resample_closed
        self.device = "cpu"
        self.state: Any = None
        self.returned: Tensor | None = None

    @cached_property
    def solver(self) -> Solver[Any]:
        """The solver on the coarse grid, where the first states are."""
        return solver_of(self.equation, self.coarse, self.interval, torch.float32, self.device)

    def __call__(self, state: State, static: Float[Tensor, "b s h w"]) -> State:
        """The next state."""
        if state is not self.returned:
            self.device = str(state.device)
            fields = torch.cat((state, static), 1)[:, self.channels]
            self.state = self.solver.start(self.resample(fields, self.coarse))
        self.state = self.solver.advance(self.state)
        self.returned = self.resample(self.solver.fields(self.state)[:, : self.predicted], self.size)
        return self.returned


def simulation_of(task: Task, stored: Contents) -> Simulation:
    """The simulation that made a file, or the task's own where the file does not tell."""
    own = task.source.simulation
    if own is None:
        raise NotMade(f"{task.name} has no equation of ours to solve")
    stated = stored.attributes.get("recipe")
    try:
        return from_dict(type(own), json.loads(stated)["simulation"]) if stated else own
    except (ValueError, TypeError, KeyError) as error:
        raise DriftnetError(f"{stored.path}: its attribute recipe does not say how {task.name} was simulated") from error
