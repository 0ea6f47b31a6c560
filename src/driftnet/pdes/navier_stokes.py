"""Incompressible flow on the torus, in velocity form: a pseudo-spectral method with an exponential integrator."""

from __future__ import annotations

from math import ceil, hypot, pi
from typing import Literal

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from driftnet.errors import DriftnetError
from driftnet.pdes.grid import Grid, resize_spectrum, to_field, to_spectrum
from driftnet.pdes.integrators import SCHEMES
from driftnet.tasks.equations import NavierStokes

STABLE_COURANT = 2.8  # The explicit terms blow up at dt u_max pi N of 3.7 to 4.
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


class NavierStokesSolver:
    """Velocity (2 channels), with a passive tracer (3) where the initial state has one."""

    def __init__(self, equation: NavierStokes, grid: Grid, interval: float) -> None:
        self.grid = grid
        self.substeps = equation.substeps or ceil(interval * USUAL_SPEED * pi * grid.size / USUAL_COURANT)
        self.dt = interval / self.substeps
        resolution = equation.viscosity_resolution or grid.size
        linear = spectral_viscosity(grid, equation.viscosity, equation.strength, resolution) + equation.drag
        self.step = SCHEMES[equation.scheme](linear, self.dt)
        self.product_size = grid.size * 3 // 2 if equation.dealiasing == "3/2" else grid.size
        limit = grid.size / 2 if equation.dealiasing == "3/2" else grid.size / 3
        self.resolved = grid.below(limit)
        self.force_hat = self._force(equation)

    def _force(self, equation: NavierStokes) -> Complex[Tensor, "2 x half_y"]:
        x, y = self.grid.points
        wave = equation.forcing * torch.sin(2 * pi / self.grid.length * (x + y))
        norm = hypot(*equation.forcing_direction) or 1.0
        force = torch.stack([component / norm * wave for component in equation.forcing_direction])
        return project(to_spectrum(force), self.grid)

    def trajectory(self, initial: Float[Tensor, "b c x y"], snapshots: int) -> Float[Tensor, "b {snapshots} c x y"]:
        """States at 0, interval, 2 interval, ...; the first is the projected initial state."""
        state = self._start(initial.to(self.grid.dtype).to(self.grid.device))
        fields = [self._guarded(state, 0)]
        for index in range(1, snapshots):
            for _ in range(self.substeps):
                state = self.step(state, self._explicit_terms)
            fields.append(self._guarded(state, index))
        return torch.stack(fields, 1)

    def _start(self, initial: Float[Tensor, "b c x y"]) -> Complex[Tensor, "b c x half_y"]:
        state = to_spectrum(initial) * self.resolved
        return torch.cat((project(state[:, :2], self.grid), state[:, 2:]), 1)

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

    def _guarded(self, state: Complex[Tensor, "b c x half_y"], index: int) -> Float[Tensor, "b c x y"]:
        """The fields of a state, refused where the next steps could not be trusted."""
        fields = to_field(state, self.grid.size)
        speed = fields[:, :2].abs().amax().item()
        courant = self.dt * speed * pi * self.grid.size / self.grid.length
        if not courant <= STABLE_COURANT:  # Also true where the speed is not a number.
            raise DriftnetError(
                f"the time step is too long: at snapshot {index} the largest speed is {speed:.3g}, and "
                f"dt u pi N / L = {courant:.3g} is above {STABLE_COURANT} on {self.grid.size} points "
                f"with {self.substeps} substeps; set a larger equation.substeps"
            )
        return fields
