"""Kolmogorov flow in vorticity form: a pseudo-spectral method, term by term as exponax 0.1 has it."""

from __future__ import annotations

from math import pi

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from driftnet.errors import DriftnetError
from driftnet.pdes.grid import Grid, along_x, to_field, to_spectrum
from driftnet.pdes.integrators import SCHEMES
from driftnet.pdes.solver import Solver, refuse_large_courant
from driftnet.tasks.equations import KolmogorovFlow


class KolmogorovSolver(Solver[Tensor]):
    """Vorticity, minus the curl of the flow: u = (psi_y, -psi_x) with Lap psi = w."""

    def __init__(self, equation: KolmogorovFlow, grid: Grid, interval: float) -> None:
        super().__init__(grid)
        self.substeps, self.dt = equation.substeps, interval / equation.substeps
        kx, ky = grid.wavenumbers
        minus_laplacian = kx**2 + ky**2
        self.step = SCHEMES[equation.scheme](along_x(equation.rate - equation.viscosity * minus_laplacian), self.dt)
        # exponax masks what enters a product and leaves the product as it is: nothing beyond the mask comes back.
        highest = equation.dealiasing * (grid.size // 2) - 1
        self.columns = int(highest) + 1  # The transforms leave out the others, which are empty.
        mode_x, mode_y = grid.modes
        self.resolved = ((mode_x.abs() <= highest) & (mode_y <= highest)).to(grid.dtype)
        inverse = torch.where(minus_laplacian > 0, -1 / minus_laplacian.clamp(min=1e-30), 0.0)
        # Of a vorticity spectrum: u, v, dw/dx, dw/dy.
        factors = (ky * inverse, -kx * inverse, kx.expand_as(inverse), ky.expand_as(inverse))
        self.derivatives = along_x(1j * torch.stack([factor * self.resolved for factor in factors]))
        self.mode, self.force_hat = equation.forcing_mode, self._force(equation)

    def _force(self, equation: KolmogorovFlow) -> Complex[Tensor, "x half_y"]:
        """-k A cos(k y), the curl (with its sign) of a force A sin(k y) along x."""
        _, y = self.grid.points
        wave = torch.cos(2 * pi / self.grid.length * equation.forcing_mode * y).expand(self.grid.size, -1)
        return to_spectrum(-equation.forcing_mode * equation.forcing * wave)

    def start(self, initial: Float[Tensor, "b 1 x y"]) -> Complex[Tensor, "b 1 x half_y"]:
        """The spectrum of the vorticity."""
        return to_spectrum(initial)

    def advance(self, state: Complex[Tensor, "b 1 x half_y"]) -> Complex[Tensor, "b 1 x half_y"]:
        """The spectrum at the next snapshot."""
        for _ in range(self.substeps):
            state = self.step(state, self._explicit_terms)
        return state

    def fields(self, state: Complex[Tensor, "b 1 x half_y"]) -> Float[Tensor, "b 1 x y"]:
        """Vorticity."""
        return to_field(state, self.grid.size)

    def _explicit_terms(self, state: Complex[Tensor, "b 1 x half_y"]) -> Complex[Tensor, "b 1 x half_y"]:
        """-(u . grad) w and the force."""
        u, v, slope_x, slope_y = self._derived(state, slice(None)).unbind(1)
        return self.force_hat - to_spectrum(torch.addcmul(u * slope_x, v, slope_y))[:, None]

    def _derived(self, state: Complex[Tensor, "b 1 x half_y"], which: slice) -> Float[Tensor, "b derived x y"]:
        """Of a vorticity: u, v, dw/dx, dw/dy."""
        return to_field(self.derivatives[which, :, : self.columns] * state[..., : self.columns], self.grid.size)

    def guard(self, fields: Float[Tensor, "b c x y"], index: int) -> None:
        """Refuse a flow that is too fast for the time step, and a force that the grid does not have."""
        if self.mode >= self.grid.size / 2:
            end = f"{self.grid.size / 2:.4g}, where the modes of {self.grid.size} points end"
            raise DriftnetError(f"equation.forcing_mode: {self.mode} is not below {end}")
        velocity = self._derived(to_spectrum(fields), slice(2))
        refuse_large_courant(velocity.abs().amax().item(), self.dt, self.substeps, self.grid, index)
