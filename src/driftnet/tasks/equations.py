"""What is simulated: parameters of each equation and of its random initial data, torch-free."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from driftnet.configs import require


@dataclass(frozen=True)
class NavierStokes:
    """Incompressible flow on the unit torus: u_t + (u . grad) u + grad p = viscosity + drag u + forcing."""

    solver: ClassVar[str] = "driftnet.pdes.navier_stokes:NavierStokesSolver"
    viscosity: Literal["smooth", "quadratic"] = "smooth"
    """Form of the spectral viscosity; which of the two made the published files is undecided."""
    strength: float = 0.05
    """Spectral viscosity is strength / viscosity_resolution."""
    viscosity_resolution: int | None = None
    """Grid whose viscosity is meant; the grid of the data where not given. A coarser solver keeps it."""
    drag: float = 0.0
    """Rate added to every mode; negative damps."""
    forcing: float = 0.0
    """Amplitude A of the steady force A sin(2 pi (x + y))."""
    forcing_direction: tuple[float, float] = (1.0, 0.0)
    """Components of the force's direction."""
    dealiasing: Literal["3/2", "2/3"] = "3/2"
    """3/2: products on a finer grid; 2/3: the upper third of the modes is left empty."""
    scheme: Literal["etdrk2", "etdrk4"] = "etdrk2"
    """Exponential Runge-Kutta method of order 2 or 4."""
    substeps: int | None = None
    """Time steps between two snapshots; chosen from the resolution where not given."""

    def __post_init__(self) -> None:
        """Refuse an equation that cannot be integrated."""
        require(self.strength >= 0, f"equation.strength: {self.strength} is negative")
        require(self.substeps is None or self.substeps > 0, f"equation.substeps: {self.substeps} is not positive")


@dataclass(frozen=True)
class PiecewiseConstantVorticity:
    """Vorticity constant on square blocks, independent and uniform, with its mean removed."""

    sampler: ClassVar[str] = "driftnet.pdes.initial:piecewise_constant_vorticity"
    blocks: int = 10
    """Blocks along an axis."""
    amplitude: float = 10.0
    """Values are uniform in [-amplitude, amplitude]; 10 is inferred from the published velocity's spread."""
    tracer: bool = True
    """Carry a passive tracer, a disc of radius 1/4 at the centre, as the published file does."""

    def __post_init__(self) -> None:
        """Refuse empty patterns."""
        require(self.blocks > 0, f"initial.blocks: {self.blocks} is not positive")


@dataclass(frozen=True)
class Simulation:
    """An equation and where it starts from."""

    equation: NavierStokes = field(default_factory=NavierStokes)
    initial: PiecewiseConstantVorticity = field(default_factory=PiecewiseConstantVorticity)
