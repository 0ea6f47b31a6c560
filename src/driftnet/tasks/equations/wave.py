"""Waves in a medium whose speed varies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from driftnet.configs import require
from driftnet.tasks.equations.base import Equation, Initial, Simulation, finite, ordered, positive

LARGEST_LATTICE = 100  # Its cells are about as narrow as the spacing of the usual grid.


@dataclass(frozen=True)
class Wave(Equation):
    """Waves from rest: u_tt = c(x)^2 Lap u, u_t(0) = 0."""

    solver: ClassVar[str] = "driftnet.pdes.wave:WaveSolver"
    boundary: Literal["absorbing", "periodic"] = "absorbing"
    """absorbing: waves leave; periodic: they come back on the other side."""
    sponge: float = 0.4
    """Width of the absorbing layer around the domain, in its side; it is not part of the data."""
    absorption: float = 4.0
    """Damping rate at the outer edge of the layer, in units of 2500 m/s divided by its width."""
    fastest: float = 8000.0
    """Largest speed of the medium, in m/s, that the time steps are short enough for."""
    substeps: int | None = None
    """Time steps between two snapshots; chosen from the resolution and `fastest` where not given."""

    def __post_init__(self) -> None:
        """Refuse an equation that cannot be integrated."""
        positive("equation", self, "sponge", "fastest", "substeps")
        require(self.absorption >= 0, f"equation.absorption: {self.absorption} is negative")


@dataclass(frozen=True)
class GaussianPulses(Initial):
    """A few pulses at rest, in a medium of smooth inclusions, one in each cell of a lattice."""

    sampler: ClassVar[str] = "driftnet.pdes.initial:gaussian_pulses"
    pulses: tuple[int, int] = (2, 6)
    """Range of the number of Gaussians."""
    centres: tuple[float, float] = (1 / 6, 5 / 6)
    """Range of their coordinates."""
    widths: tuple[float, float] = (0.0195, 0.078)
    """Range of their standard deviations."""
    pulse_heights: tuple[float, float] = (1.0, 1.0)
    """Range of their heights."""
    speed: tuple[float, float] = (1500.0, 2500.0)
    """Range of the speed c0 far from the inclusions, in m/s."""
    heights: tuple[float, float] = (1400.0, 2100.0)
    """Range of what the inclusions add to it; inferred from the published mean and spread."""
    inclusions: tuple[float, float] = (1 / 12, 1 / 6)
    """Range of their standard deviations."""
    lattice: int = 2
    """Inclusions along an axis; 0 leaves none."""
    offset: float = 0.156
    """Their centres are those of the lattice's cells, with an offset uniform in [-offset, offset]."""

    def __post_init__(self) -> None:
        """Refuse ranges that are none."""
        ordered("initial", self, "pulses", "centres", "widths", "pulse_heights", "speed", "heights", "inclusions")
        finite("initial", self, "offset")
        for name, value in (("pulses", self.pulses[0]), ("offset", self.offset)):
            require(value >= 0, f"initial.{name}: {value} is negative")
        require(0 <= self.lattice <= LARGEST_LATTICE, f"initial.lattice: {self.lattice} is not in [0, {LARGEST_LATTICE}]")
        for name in ("widths", "speed", "inclusions"):
            require(getattr(self, name)[0] > 0, f"initial.{name}: {getattr(self, name)[0]} is not positive")

    @property
    def channels(self) -> tuple[str, ...]:
        """Displacement, and the speed of the medium, which stays."""
        return ("u", "c")


@dataclass(frozen=True)
class PulsesInMedium(Simulation):
    """Waves from Gaussian pulses."""

    equation: Wave = field(default_factory=Wave)
    initial: GaussianPulses = field(default_factory=GaussianPulses)
