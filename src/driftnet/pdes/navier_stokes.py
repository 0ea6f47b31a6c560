"""Incompressible flow on the torus, in velocity form: a pseudo-spectral method with an exponential integrator."""

from __future__ import annotations

from math import ceil, pi
from typing import Literal

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from driftnet.errors import DriftnetError
from driftnet.pdes.grid import Grid, along_x, resize_spectrum, to_field, to_spectrum
from driftnet.pdes.integrators import SCHEMES
from driftnet.pdes.solver import Solver, refuse_large_courant, refuse_not_finite
from driftnet.tasks.equations import NavierStokes

USUAL_COURANT = 1.8
USUAL_SPEED = 1.6  # Above the largest initial speed of the piecewise-constant flows.


def spectral_viscosity(
    grid: Grid, form: Literal["smooth", "quadratic"], strength: float, resolution: int
) -> Float[Tensor, "x half_y"]:
    """Damping rate of every mode, at most 0; at n = 20 and resolution 128: -6.1685 and -0.10625."""
    kx, ky = grid.modes
    n_squared = kx**2 + ky**2
    epsilon = strength / resolution
    if form == "quadratic":
        return -epsilon * (n_squared - resolution).clamp(min=0)
    # The smooth cut-off 1 - exp(-(2 pi n)^18) is 1 to machine precision at every mode but the mean.
    return -epsilon * (2 * pi) ** 2 * n_squared


def project(velocity_hat: Complex[Tensor, "*b 2 x half_y"], grid: Grid) -> Complex[Tensor, "*b 2 x half_y"]:
    """Leray projection: the divergence-free part, the mean flow kept."""
    kx, ky = grid.wavenumbers
    k_squared = (kx**2 + ky**2).clamp(min=(2 * pi / grid.length) ** 2 / 2)
    u_hat, v_hat = velocity_hat.unbind(-3)
    potential = (kx * u_hat + ky * v_hat) / k_squared
    return torch.stack((u_hat - kx * potential, v_hat - ky * potential), -3)


def velocity_from_vorticity(vorticity_hat: Complex[Tensor, "*b x half_y"], grid: Grid) -> Complex[Tensor, "*b 2 x half_y"]:
    """Biot-Savart with omega = dv/dx - du/dy and no mean flow."""
    kx, ky = grid.wavenumbers
    k_squared = (kx**2 + ky**2).clamp(min=(2 * pi / grid.length) ** 2 / 2)
    stream_hat = vorticity_hat / k_squared
    return torch.stack((1j * ky * stream_hat, -1j * kx * stream_hat), -3)


class NavierStokesSolver(Solver[Tensor]):
    """Velocity (2 channels), with a passive tracer (3) where the initial state has one."""

    def __init__(self, equation: NavierStokes, grid: Grid, interval: float) -> None:
        super().__init__(grid)
        self.substeps = equation.substeps or ceil(interval * USUAL_SPEED * pi * grid.size / USUAL_COURANT)
        self.dt = interval / self.substeps
        resolution = equation.viscosity_resolution or grid.size
        limit = grid.size / 2 if equation.dealiasing == "3/2" else grid.size / 3
        self.columns = ceil(limit)  # The others are empty: no state holds them, no transform sees them.
        self.resolved = along_x(grid.below(limit)[:, : self.columns])
        linear = spectral_viscosity(grid, equation.viscosity, equation.strength, resolution) + equation.drag
        self.step = SCHEMES[equation.method](along_x(linear[:, : self.columns]), self.dt)
        self.product_size = grid.size * 3 // 2 if equation.dealiasing == "3/2" else grid.size
        self.forcing, self.mode, self.limit = equation.forcing, equation.forcing_mode, limit
        self.force_hat = self._force(equation)
        self._set_derivatives()

    def _set_derivatives(self) -> None:
        """Factors of product spectra, within what is resolved."""
        kx, ky = self.grid.wavenumbers
        ky = ky[:, : self.columns]
        k_squared = (kx**2 + ky**2).clamp(min=(2 * pi / self.grid.length) ** 2 / 2)
        self.turn = along_x(self.resolved * torch.stack(torch.broadcast_tensors(ky, -kx)))
        self.curl = along_x(-1j * torch.stack((kx * ky, ky**2 - kx**2)) / k_squared)
        self.inflow = along_x(-1j * self.resolved * torch.stack(torch.broadcast_tensors(kx, ky)))

    def _wave(self) -> Float[Tensor, "x y"]:
        """The phase 2 pi k (x + y) of the force."""
        x, y = self.grid.points
        return 2 * pi / self.grid.length * self.mode * (x + y)

    def _force(self, equation: NavierStokes) -> Complex[Tensor, "2 x half_y"]:
        wave = self._wave()
        forms = {"cosine-sine": (wave.cos(), wave.sin()), "sine": (wave.sin(), torch.zeros_like(wave))}
        force_hat = project(to_spectrum(equation.forcing * torch.stack(forms[equation.forcing_form])), self.grid)
        return along_x(force_hat[..., : self.columns] * self.resolved)

    def constants(self) -> dict[str, Float[Tensor, "x y"]]:
        """The force as one number a point, as the published loader gives it to a model: A sin(2 pi k (x + y))."""
        return {"forcing": self.forcing * self._wave().sin()}

    def start(self, initial: Float[Tensor, "b c x y"]) -> Complex[Tensor, "b c x columns"]:
        """The spectrum of the divergence-free part of the flow, and of the tracer."""
        state = to_spectrum(initial)
        whole = torch.cat((project(state[:, :2], self.grid), state[:, 2:]), 1)
        return along_x(whole[..., : self.columns] * self.resolved)

    def advance(self, state: Complex[Tensor, "b c x columns"]) -> Complex[Tensor, "b c x columns"]:
        """The spectrum at the next snapshot."""
        for _ in range(self.substeps):
            state = self.step(state, self._explicit_terms)
        return state

    def fields(self, state: Complex[Tensor, "b c x columns"]) -> Float[Tensor, "b c x y"]:
        """Velocity and tracer."""
        return to_field(state, self.grid.size)

    def _explicit_terms(self, state: Complex[Tensor, "b c x columns"]) -> Complex[Tensor, "b c x columns"]:
        """-div(u u) and -div(u c) as products on the dealiasing grid, and the force."""
        difference, uv, *fluxes = self._products(state).unbind(1)
        # A divergence-free slope is its curl, turned: the pressure, which has no curl, never appears.
        turning = self.curl[0] * difference + self.curl[1] * uv
        slope = torch.empty_like(state)
        slope[:, :2] = self.turn * turning[:, None] + self.force_hat
        for index, (x, y) in enumerate(zip(fluxes[::2], fluxes[1::2], strict=True), 2):
            slope[:, index] = self.inflow[0] * x + self.inflow[1] * y
        return slope

    def _products(self, state: Complex[Tensor, "b c x columns"]) -> Complex[Tensor, "b products x columns"]:
        """Spectra of u^2 - v^2, u v and, of every tracer c, u c and v c."""
        u, v, *tracers = to_field(self._resized(state, self.product_size), self.product_size).unbind(1)
        # A gradient has no curl, so grad(v^2) may be taken off: two products in place of three.
        products = torch.stack([u * u - v * v, u * v, *(w * c for c in tracers for w in (u, v))], 1)
        return self._resized(to_spectrum(products, self.columns), self.grid.size)

    def _resized(self, spectrum: Complex[Tensor, "b c old_x columns"], size: int) -> Complex[Tensor, "b c x columns"]:
        return spectrum if spectrum.shape[-2] == size else resize_spectrum(spectrum, size, self.columns)

    def guard(self, fields: Float[Tensor, "b c x y"], index: int) -> None:
        """Refuse a flow that is too fast for the time step, a force that the grid does not have, and what is not a number."""
        if self.forcing and self.mode >= self.limit:
            end = f"{self.limit:.4g}, where the modes of {self.grid.size} points end"
            raise DriftnetError(f"equation.forcing_mode: {self.mode} is not below {end}")
        refuse_large_courant(fields[:, :2].abs().amax().item(), self.dt, self.substeps, self.grid, index)
        refuse_not_finite(fields[:, 2:], index)
