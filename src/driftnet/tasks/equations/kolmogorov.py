"""Forced two-dimensional turbulence in vorticity form, with the conventions of exponax."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi
from typing import ClassVar, Literal

from driftnet.configs import require
from driftnet.tasks.equations.base import Equation, Initial, Simulation, finite, ordered, positive


@dataclass(frozen=True)
class KolmogorovFlow(Equation):
    """Flow driven by a wave in y: w_t + u . grad w = viscosity Lap w + rate w - k forcing cos(k y).

    As in exponax the vorticity w is minus the curl: u = (psi_y, -psi_x) with Lap psi = w.
    """

    solver: ClassVar[str] = "driftnet.pdes.kolmogorov:KolmogorovSolver"
    length: ClassVar[float] = 2 * pi
    viscosity: float = 1e-2
    """nu."""
    drag: float = -0.1
    """Rate added to every mode; negative damps, which the paper's -gamma w with gamma < 0 does not."""
    drag_convention: Literal["exponax", "plain"] = "exponax"
    """exponax: the rate counts once for each of the two dimensions, as in its version 0.1; plain: once."""
    forcing_mode: int = 4
    """Wavenumber k of the force."""
    forcing: float = 1.0
    """Amplitude of the force on the velocity."""
    dealiasing: float = 2 / 3
    """Share of the modes that enter products; exponax keeps those up to dealiasing N / 2 - 1."""
    scheme: Literal["etdrk2", "etdrk4"] = "etdrk2"
    """Exponential Runge-Kutta method of order 2 or 4; APEBench uses 2."""
    substeps: int = 20
    """Time steps between two snapshots, which are 0.1 apart; APEBench's."""

    def __post_init__(self) -> None:
        """Refuse an equation that cannot be integrated."""
        require(self.viscosity >= 0, f"equation.viscosity: {self.viscosity} is negative")
        require(0 < self.dealiasing <= 1, f"equation.dealiasing: {self.dealiasing} is not in (0, 1]")
        positive("equation", self, "substeps", "forcing_mode")

    @property
    def rate(self) -> float:
        """What the drag adds to every mode after all."""
        # exponax 0.1 builds the drag as a Laplacian of order zero: the sum of (i k)^0 = 1 over the dimensions.
        return 2 * self.drag if self.drag_convention == "exponax" else self.drag


@dataclass(frozen=True)
class TruncatedFourierSeries(Initial):
    """A random field of low modes without a mean, scaled to a given largest value."""

    sampler: ClassVar[str] = "driftnet.pdes.initial:truncated_fourier_series"
    cutoff: int = 5
    """Highest wavenumber along each axis; APEBench's 'fourier;5;true;true'."""
    coefficients: tuple[float, float] = (-1.0, 1.0)
    """Range of the sizes of the modes, before the field is scaled."""
    amplitude: float = 1.0
    """Largest value of the field, up to its sign."""

    def __post_init__(self) -> None:
        """Refuse an empty series."""
        positive("initial", self, "cutoff", "amplitude")
        finite("initial", self, "amplitude")
        ordered("initial", self, "coefficients")
        require(any(self.coefficients), "initial.coefficients: all are 0, which leaves nothing to scale")

    @property
    def channels(self) -> tuple[str, ...]:
        """Vorticity."""
        return ("vorticity",)


@dataclass(frozen=True)
class KolmogorovTurbulence(Simulation):
    """The developed flow: what came before is forgotten in the warm-up."""

    equation: KolmogorovFlow = field(default_factory=KolmogorovFlow)
    initial: TruncatedFourierSeries = field(default_factory=TruncatedFourierSeries)
    warmup: int = 500
    """Intervals between snapshots that are simulated before the first snapshot is kept."""
