"""A steady map: from sources to the potential they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from driftnet.configs import require
from driftnet.tasks.equations.base import Equation, Initial, Simulation, ordered, positive


@dataclass(frozen=True)
class Poisson(Equation):
    """Potential of a source: -conductivity Lap u = f on the unit square, u = 0 on its boundary."""

    solver: ClassVar[str] = "driftnet.pdes.poisson:PoissonSolver"
    conductivity: float = 1.0
    """Factor of the Laplacian."""

    def __post_init__(self) -> None:
        """Refuse what has no solution."""
        positive("equation", self, "conductivity")


@dataclass(frozen=True)
class GaussianSources(Initial):
    """A random number of Gaussians."""

    sampler: ClassVar[str] = "driftnet.pdes.initial:gaussian_sources"
    success: float = 0.4
    """The number of Gaussians is geometric, 1 at least, with this probability to stop after each."""
    widths: tuple[float, float] = (0.025, 0.1)
    """Range of their standard deviations."""
    centres: tuple[float, float] = (0.0, 1.0)
    """Range of their coordinates."""
    heights: tuple[float, float] = (1.0, 1.0)
    """Range of their heights."""

    def __post_init__(self) -> None:
        """Refuse distributions that are none."""
        ordered("initial", self, "widths", "centres", "heights")
        require(0 < self.success <= 1, f"initial.success: {self.success} is not in (0, 1]")
        require(self.widths[0] > 0, f"initial.widths: {self.widths[0]} is not positive")

    @property
    def channels(self) -> tuple[str, ...]:
        """Potential, 0 at first, and its source, which stays."""
        return ("solution", "source")


@dataclass(frozen=True)
class PotentialOfSources(Simulation):
    """Poisson's equation with Gaussian sources."""

    equation: Poisson = field(default_factory=Poisson)
    initial: GaussianSources = field(default_factory=GaussianSources)
