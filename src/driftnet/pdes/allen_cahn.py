"""Allen-Cahn on the torus by Strang splitting: reaction and diffusion each solved exactly, in turn."""

from __future__ import annotations

from math import exp

import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.errors import DriftnetError
from driftnet.pdes.grid import Grid, along_x, to_field, to_spectrum
from driftnet.pdes.solver import Solver, refuse_not_finite
from driftnet.tasks.equations import AllenCahn

LONGEST_REACTION = 1.0  # rate^2 dt above which splitting no longer follows an interface.


class AllenCahnSolver(Solver[Tensor]):
    """Concentration, -1 in one phase and 1 in the other."""

    def __init__(self, equation: AllenCahn, grid: Grid, interval: float) -> None:
        super().__init__(grid)
        self.substeps, dt = equation.substeps, interval / equation.substeps
        reaction = equation.rate**2 * dt
        if reaction > LONGEST_REACTION:
            raise DriftnetError(
                f"the time step is too long: rate^2 dt = {reaction:.3g} is above {LONGEST_REACTION:g} "
                f"with {equation.substeps} substeps; set a larger equation.substeps"
            )
        self.half, self.whole = exp(-reaction), exp(-2 * reaction)
        kx, ky = grid.wavenumbers
        self.diffusion = along_x(torch.exp(-dt * (kx**2 + ky**2)))

    def start(self, initial: Float[Tensor, "b 1 x y"]) -> Float[Tensor, "b 1 x y"]:
        """The concentration as it is."""
        return initial

    def advance(self, state: Float[Tensor, "b 1 x y"]) -> Float[Tensor, "b 1 x y"]:
        """Half a reaction, then diffusion and reaction in turn, the last reaction a half again."""
        state = react(state, self.half)
        for step in range(1, self.substeps + 1):
            state = to_field(to_spectrum(state).mul_(self.diffusion), self.grid.size)
            state = react(state, self.half if step == self.substeps else self.whole)
        return state

    def fields(self, state: Float[Tensor, "b 1 x y"]) -> Float[Tensor, "b 1 x y"]:
        """Concentration."""
        return state

    def guard(self, fields: Float[Tensor, "b c x y"], index: int) -> None:
        """Refuse what is not a number."""
        refuse_not_finite(fields, index)


def react(u: Float[Tensor, "*b x y"], decay: float) -> Float[Tensor, "*b x y"]:
    """Solution of u' = -rate^2 u (u^2 - 1) after a time t with decay = exp(-2 rate^2 t)."""
    return torch.addcmul(u.new_full((), decay), u, u, value=1 - decay).rsqrt_().mul_(u)
