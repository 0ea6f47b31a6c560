"""Reaction and diffusion: separating phases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from driftnet.configs import require
from driftnet.tasks.equations.base import Equation, Initial, Simulation, ordered, positive


@dataclass(frozen=True)
class AllenCahn(Equation):
    """Two phases on the unit torus: u_t = Lap u - rate^2 u (u^2 - 1)."""

    solver: ClassVar[str] = "driftnet.pdes.allen_cahn:AllenCahnSolver"
    rate: float = 220.0
    """Interfaces are sqrt(2) / rate wide."""
    substeps: int = 10
    """Steps of Strang splitting between two snapshots."""

    def __post_init__(self) -> None:
        """Refuse an equation that cannot be integrated."""
        require(self.rate >= 0, f"equation.rate: {self.rate} is negative")
        positive("equation", self, "substeps")


@dataclass(frozen=True)
class SineSeries(Initial):
    """u = amplitude factor(K) sum over i, j <= K of a_ij (i^2 + j^2)^-r sin(pi i x) sin(pi j y)."""

    sampler: ClassVar[str] = "driftnet.pdes.initial:sine_series"
    modes: tuple[int, int] = (16, 32)
    """Range of K."""
    decay: tuple[float, float] = (0.7, 1.0)
    """Range of r."""
    coefficients: tuple[float, float] = (-1.0, 1.0)
    """Range of a_ij."""
    factor: Literal["1/K", "1/K^2"] = "1/K"
    """Factor of the sum; 1/K is inferred: with 1/K^2 the spread is 0.386, with 1/K the published 0.653."""
    amplitude: float = 1.0
    """Another factor, the same for every K."""

    def __post_init__(self) -> None:
        """Refuse ranges that are none."""
        ordered("initial", self, "modes", "decay", "coefficients")
        require(self.modes[0] > 0, f"initial.modes: {self.modes[0]} is not positive")

    @property
    def channels(self) -> tuple[str, ...]:
        """Concentration."""
        return ("u",)


@dataclass(frozen=True)
class PhaseSeparation(Simulation):
    """Allen-Cahn from a sine series."""

    equation: AllenCahn = field(default_factory=AllenCahn)
    initial: SineSeries = field(default_factory=SineSeries)
