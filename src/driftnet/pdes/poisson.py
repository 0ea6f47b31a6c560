"""Poisson's equation on the unit square with u = 0 around it, by sine series."""

from __future__ import annotations

from math import pi

import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.pdes.grid import Grid
from driftnet.pdes.solver import Solver, refuse_not_finite
from driftnet.tasks.equations import Poisson


class PoissonSolver(Solver[Tensor]):
    """Potential (channel 0) of a source (channel 1); one interval leads from any potential to the right one."""

    def __init__(self, equation: Poisson, grid: Grid, interval: float) -> None:
        super().__init__(grid)
        mode = torch.arange(1, grid.size - 1, dtype=torch.float64, device=grid.device)
        angles = pi * mode[:, None] * mode[None, :] / (grid.size - 1)
        # Orthogonal and symmetric, so its own inverse: points inside the square <-> sine coefficients.
        self.sines = (torch.sin(angles) * (2 / (grid.size - 1)) ** 0.5).to(grid.dtype)
        self.eigenvalues = (equation.conductivity * pi**2 * (mode[:, None] ** 2 + mode[None, :] ** 2)).to(grid.dtype)

    def start(self, initial: Float[Tensor, "b 2 x y"]) -> Float[Tensor, "b 2 x y"]:
        """Potential and source as they are."""
        return initial

    def advance(self, state: Float[Tensor, "b 2 x y"]) -> Float[Tensor, "b 2 x y"]:
        """The potential that belongs to the source."""
        source = state[:, 1]
        source_hat = self.sines @ source[:, 1:-1, 1:-1] @ self.sines
        inside = self.sines @ (source_hat / self.eigenvalues) @ self.sines
        return torch.stack((torch.nn.functional.pad(inside, (1, 1, 1, 1)), source), 1)

    def fields(self, state: Float[Tensor, "b 2 x y"]) -> Float[Tensor, "b 2 x y"]:
        """Potential and source."""
        return state

    def guard(self, fields: Float[Tensor, "b c x y"], index: int) -> None:
        """Refuse what is not a number."""
        refuse_not_finite(fields, index)
