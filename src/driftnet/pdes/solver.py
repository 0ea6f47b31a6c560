"""What every solver does: start from fields, advance from snapshot to snapshot, show fields."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import pi
from typing import Any, Generic, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.errors import DriftnetError
from driftnet.pdes.grid import Grid
from driftnet.registry import resolve
from driftnet.tasks.equations import Equation

S = TypeVar("S")

STABLE_COURANT = 2.8  # Explicit terms of pseudo-spectral flow solvers blow up at dt u_max pi N / L of 3.7 to 4.


class Solver(ABC, Generic[S]):
    """An equation on a grid; S is the solver's own state, which may hold more than its fields show."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    @abstractmethod
    def start(self, initial: Float[Tensor, "b c x y"]) -> S:
        """The state that initial fields mean; static fields stand behind the others."""

    @abstractmethod
    def advance(self, state: S) -> S:
        """The state at the next snapshot."""

    @abstractmethod
    def fields(self, state: S) -> Float[Tensor, "b c x y"]:
        """The fields of a state, static ones included."""

    def guard(self, fields: Float[Tensor, "b c x y"], index: int) -> None:
        """Refuse the fields of snapshot `index` where the next steps could not be trusted."""

    def constants(self) -> dict[str, Float[Tensor, "x y"]]:
        """Fields of the equation itself, the same for all trajectories."""
        return {}

    def trajectory(
        self, initial: Float[Tensor, "b c x y"], snapshots: int, warmup: int = 0
    ) -> Float[Tensor, "b {snapshots} c x y"]:
        """Fields at `snapshots` times an interval apart, the first after `warmup` intervals."""
        state = self.start(initial.to(self.grid.dtype).to(self.grid.device))
        kept = []
        for index in range(warmup + snapshots):
            state = self.advance(state) if index else state
            fields = self.fields(state)
            self.guard(fields, index)
            kept.extend([fields] if index >= warmup else [])
        return torch.stack(kept, 1)


def solver_of(
    equation: Equation, size: int, interval: float, dtype: torch.dtype = torch.float64, device: str = "cpu"
) -> Solver[Any]:
    """The solver of an equation on size x size points."""
    return resolve(equation.solver)(equation, Grid(size, equation.length, dtype, device), interval)


def refuse_large_courant(speed: float, dt: float, substeps: int, grid: Grid, index: int) -> None:
    """Refuse a flow that is too fast for the time step."""
    courant = dt * speed * pi * grid.size / grid.length
    if not courant <= STABLE_COURANT:  # Also true where the speed is not a number.
        raise DriftnetError(
            f"the time step is too long: at snapshot {index} the largest speed is {speed:.3g}, and "
            f"dt u pi N / L = {courant:.3g} is above {STABLE_COURANT} on {grid.size} points "
            f"with {substeps} substeps; set a larger equation.substeps"
        )


def refuse_not_finite(fields: Float[Tensor, "b c x y"], index: int) -> None:
    """Refuse what is not a number."""
    if not torch.isfinite(fields).all():
        raise DriftnetError(f"at snapshot {index} a field is not finite")
