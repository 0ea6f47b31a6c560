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
from driftnet.errors import DriftnetError
from driftnet.models.operator import Operator
from driftnet.pdes.grid import Grid, resample
from driftnet.registry import resolve
from driftnet.tasks.base import Task
from driftnet.tasks.equations import Simulation

State = Float[Tensor, "b c h w"]


def zero(task: Task, stored: Contents) -> Operator:
    """Predict that there is nothing."""
    return lambda state, static: torch.zeros_like(state)


def persistence(task: Task, stored: Contents) -> Operator:
    """Predict that nothing changes."""
    return lambda state, static: state


def coarse_solver(task: Task, stored: Contents) -> Operator:
    """The solver of the data on a grid of half the resolution, with the viscosity of the full one."""
    equation = simulation_of(task, stored).equation
    size = stored.size[0]
    coarse_equation = replace(equation, viscosity_resolution=equation.viscosity_resolution or size, substeps=None)
    interval = task.duration / (task.snapshots - 1)
    solver: Any = resolve(equation.solver)(coarse_equation, Grid(size // 2, dtype=torch.float32), interval)

    def advance(state: State, static: Float[Tensor, "b s h w"]) -> State:
        coarse = resample(state, size // 2)
        return resample(solver.trajectory(coarse, 2)[:, 1], size)

    return advance


def simulation_of(task: Task, stored: Contents) -> Simulation:
    """The simulation that made a file, or the task's own where the file does not tell."""
    recipe = json.loads(stored.attributes.get("recipe", "null"))
    if recipe:
        return from_dict(Simulation, recipe["simulation"])
    if task.source.simulation is None:
        raise DriftnetError(f"no solver is known for {task.name}; leave out the baseline coarse-solver")
    return task.source.simulation
