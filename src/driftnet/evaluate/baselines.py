"""Rows that every table needs: what doing nothing scores, and what an honest solver costs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.configs import from_dict
from driftnet.data.formats.reader import Contents
from driftnet.errors import UsageError
from driftnet.models.operator import Operator
from driftnet.pdes.grid import resample, resample_closed
from driftnet.pdes.solver import solver_of
from driftnet.tasks.base import Task
from driftnet.tasks.equations import NavierStokes, Simulation

State = Float[Tensor, "b c h w"]


def zero(task: Task, stored: Contents) -> Operator:
    """Predict that there is nothing."""
    return lambda state, static: torch.zeros_like(state)


def persistence(task: Task, stored: Contents) -> Operator:
    """Predict that nothing changes."""
    return lambda state, static: state


def coarse_solver(task: Task, stored: Contents) -> Operator:
    """The solver of the data on a grid of half the resolution, with the viscosity of the full one."""
    return CoarseSolver(task, simulation_of(task, stored), stored.size[0])


class CoarseSolver:
    """Goes on from its own state where it is given what it last returned: fields do not show the speed of a wave."""

    def __init__(self, task: Task, simulation: Simulation, size: int) -> None:
        equation = simulation.equation
        if isinstance(equation, NavierStokes):
            kept = equation.viscosity_resolution or size
            equation = replace(equation, viscosity_resolution=kept, substeps=None)
        given = (*task.components, *task.static)
        self.channels = [given.index(channel) for channel in simulation.initial.channels if channel in given]
        self.predicted, self.size = len(task.components), size
        self.resample = resample if task.boundary == "periodic" else resample_closed
        self.solver = solver_of(equation, size // 2, task.interval, torch.float32)
        self.state: Any = None
        self.returned: Tensor | None = None

    def __call__(self, state: State, static: Float[Tensor, "b s h w"]) -> State:
        """The next state."""
        if state is not self.returned:
            fields = torch.cat((state, static), 1)[:, self.channels]
            self.state = self.solver.start(self.resample(fields, self.size // 2))
        self.state = self.solver.advance(self.state)
        self.returned = self.resample(self.solver.fields(self.state)[:, : self.predicted], self.size)
        return self.returned


def simulation_of(task: Task, stored: Contents) -> Simulation:
    """The simulation that made a file, or the task's own where the file does not tell."""
    recipe = json.loads(stored.attributes.get("recipe", "null"))
    own = task.source.simulation
    if own is None:
        raise UsageError(f"{task.name} has no equation of ours to solve, so no coarse solver")
    return from_dict(type(own), recipe["simulation"]) if recipe else own
