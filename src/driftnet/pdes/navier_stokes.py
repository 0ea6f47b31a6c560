"""Incompressible flow on the torus, in velocity form: a pseudo-spectral method with an exponential integrator."""

from __future__ import annotations

from math import ceil, pi
from typing import Literal

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from driftnet.pdes.grid import Grid, resize_spectrum, to_field, to_spectrum
from driftnet.pdes.integrators import SCHEMES
from driftnet.pdes.solver import Solver, refuse_large_courant
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
        linear = spectral_viscosity(grid, equation.viscosity, equation.strength, resolution) + equation.drag
        self.step = SCHEMES[equation.method](linear, self.dt)
        self.product_size = grid.size * 3 // 2 if equation.dealiasing == "3/2" else grid.size
        limit = grid.size / 2 if equation.dealiasing == "3/2" else grid.size / 3
        self.resolved = grid.below(limit)
        self.forcing, self.force_hat = equation.forcing, self._force(equation)

    def _wave(self) -> Float[Tensor, "x y"]:
        """The phase 2 pi (x + y)."""
        x, y = self.grid.points
        return 2 * pi / self.grid.length * (x + y)

    def _force(self, equation: NavierStokes) -> Complex[Tensor, "2 x half_y"]:
        wave = self._wave()
        forms = {"cosine-sine": (wave.cos(), wave.sin()), "sine": (wave.sin(), torch.zeros_like(wave))}
        return project(to_spectrum(equation.forcing * torch.stack(forms[equation.forcing_form])), self.grid)

    def constants(self) -> dict[str, Float[Tensor, "x y"]]:
        """The force as one number a point, as the published loader gives it to a model: A sin(2 pi (x + y))."""
        return {"forcing": self.forcing * self._wave().sin()}

    def start(self, initial: Float[Tensor, "b c x y"]) -> Complex[Tensor, "b c x half_y"]:
        """The spectrum of the divergence-free part of the flow, and of the tracer."""
        state = to_spectrum(initial) * self.resolved
        return torch.cat((project(state[:, :2], self.grid), state[:, 2:]), 1)

    def advance(self, state: Complex[Tensor, "b c x half_y"]) -> Complex[Tensor, "b c x half_y"]:
        """The spectrum at the next snapshot."""
        for _ in range(self.substeps):
            state = self.step(state, self._explicit_terms)
        return state

    def fields(self, state: Complex[Tensor, "b c x half_y"]) -> Float[Tensor, "b c x y"]:
        """Velocity and tracer."""
        return to_field(state, self.grid.size)

    def _explicit_terms(self, state: Complex[Tensor, "b c x half_y"]) -> Complex[Tensor, "b c x half_y"]:
        """-div(u u) and -div(u c) as products on the dealiasing grid, and the force."""
        kx, ky = self.grid.wavenumbers
        u, v, *tracers = to_field(resize_spectrum(state, self.product_size), self.product_size).unbind(1)
        # The projection removes gradients, so grad(v^2) may be taken off: two products in place of three.
        products = torch.stack([u * u - v * v, u * v, *(w * c for c in tracers for w in (u, v))], 1)
        difference, uv, *fluxes = resize_spectrum(to_spectrum(products), self.grid.size).unbind(1)
        advection = torch.stack((kx * difference + ky * uv, kx * uv), 1)
        velocity_slope = project(-1j * advection, self.grid) + self.force_hat
        tracer_slope = [-1j * (kx * x + ky * y)[:, None] for x, y in zip(fluxes[::2], fluxes[1::2], strict=True)]
        return torch.cat((velocity_slope, *tracer_slope), 1) * self.resolved

    def guard(self, fields: Float[Tensor, "b c x y"], index: int) -> None:
        """Refuse a flow that is too fast for the time step."""
        refuse_large_courant(fields[:, :2].abs().amax().item(), self.dt, self.substeps, self.grid, index)
