"""Exponential Runge-Kutta methods (Cox and Matthews 2002) for du/dt = L u + N(u), L diagonal and real."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Complex, Float
from torch import Tensor

Nonlinear = Callable[[Complex[Tensor, "..."]], Complex[Tensor, "..."]]
Scheme = Literal["etdrk2", "etdrk4"]

CONTOUR_POINTS = 32  # Kassam and Trefethen 2005: a mean over a circle is free of cancellation near z = 0.


@runtime_checkable
class Step(Protocol):
    """One time step."""

    def __call__(self, state: Complex[Tensor, "..."], nonlinear: Nonlinear) -> Complex[Tensor, "..."]:
        """State after one step."""
        ...


def contour_mean(
    function: Callable[[Complex[Tensor, "..."]], Complex[Tensor, "..."]], z: Float[Tensor, "*s"]
) -> Float[Tensor, "*s"]:
    """An entire function at real z, from its values on the unit circle around z."""
    angles = pi * (torch.arange(CONTOUR_POINTS, dtype=z.dtype, device=z.device) + 0.5) / CONTOUR_POINTS
    circle = z[..., None] + torch.polar(torch.ones_like(angles), angles)
    return function(circle).real.mean(-1)


def _stored_like(linear: Float[Tensor, "*s"], weight: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """A weight in the precision and in the memory order of the linear operator, which are the state's."""
    return torch.empty_like(linear).copy_(weight)


class ETDRK2:
    """Second order, two evaluations of N a step."""

    def __init__(self, linear: Float[Tensor, "*s"], dt: float) -> None:
        z = linear.double() * dt
        self.decay = _stored_like(linear, z.exp())
        self.phi1 = _stored_like(linear, dt * contour_mean(lambda c: (c.exp() - 1) / c, z))
        self.phi2 = _stored_like(linear, dt * contour_mean(lambda c: (c.exp() - 1 - c) / c**2, z))

    def __call__(self, state: Complex[Tensor, "..."], nonlinear: Nonlinear) -> Complex[Tensor, "..."]:
        """State after one step."""
        slope = nonlinear(state)
        euler = self.decay * state + self.phi1 * slope
        return euler + self.phi2 * (nonlinear(euler) - slope)


class ETDRK4:
    """Fourth order, four evaluations of N a step."""

    def __init__(self, linear: Float[Tensor, "*s"], dt: float) -> None:
        z = linear.double() * dt
        self.decay = _stored_like(linear, z.exp())
        self.half_decay = _stored_like(linear, (z / 2).exp())
        half = contour_mean(lambda c: ((c / 2).exp() - 1) / c, z)
        first = contour_mean(lambda c: (-4 - c + c.exp() * (4 - 3 * c + c**2)) / c**3, z)
        middle = contour_mean(lambda c: (2 + c + c.exp() * (c - 2)) / c**3, z)
        last = contour_mean(lambda c: (-4 - 3 * c - c**2 + c.exp() * (4 - c)) / c**3, z)
        self.half, self.first, self.middle, self.last = (
            _stored_like(linear, dt * weight) for weight in (half, first, middle, last)
        )

    def __call__(self, state: Complex[Tensor, "..."], nonlinear: Nonlinear) -> Complex[Tensor, "..."]:
        """State after one step."""
        slope = nonlinear(state)
        a = self.half_decay * state + self.half * slope
        slope_a = nonlinear(a)
        slope_b = nonlinear(self.half_decay * state + self.half * slope_a)
        slope_c = nonlinear(self.half_decay * a + self.half * (2 * slope_b - slope))
        middle = 2 * self.middle * (slope_a + slope_b)
        return self.decay * state + self.first * slope + middle + self.last * slope_c


SCHEMES: dict[Scheme, Callable[[Tensor, float], Step]] = {"etdrk2": ETDRK2, "etdrk4": ETDRK4}
