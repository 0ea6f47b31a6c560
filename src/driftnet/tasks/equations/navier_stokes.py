"""Incompressible flow on the unit torus, and where it starts from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from driftnet.configs import require
from driftnet.tasks.equations.base import Equation, Initial, Simulation, finite, ordered, positive


@dataclass(frozen=True)
class NavierStokes(Equation):
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
    """Amplitude A of the steady force, a wave in w = 2 pi forcing_mode (x + y)."""
    forcing_mode: int = 1
    """Wavenumber of the force along each axis."""
    forcing_form: Literal["cosine-sine", "sine"] = "cosine-sine"
    """cosine-sine: A (cos w, sin w); sine: A (sin w, 0). Published statistics do not tell them apart."""
    dealiasing: Literal["3/2", "2/3"] = "3/2"
    """3/2: products on a finer grid; 2/3: the upper third of the modes is left empty."""
    scheme: Literal["etdrk2", "etdrk4"] | None = None
    """Exponential Runge-Kutta method of order 2 or 4; where not given, 2 for smooth viscosity, else 4."""
    substeps: int | None = None
    """Time steps between two snapshots; chosen from the resolution where not given."""

    def __post_init__(self) -> None:
        """Refuse an equation that cannot be integrated."""
        require(self.strength >= 0, f"equation.strength: {self.strength} is negative")
        positive("equation", self, "substeps", "viscosity_resolution", "forcing_mode")

    @property
    def method(self) -> Literal["etdrk2", "etdrk4"]:
        """The scheme that is used: order 2 amplifies waves that nothing damps, and quadratic viscosity damps little."""
        return self.scheme or ("etdrk2" if self.viscosity == "smooth" else "etdrk4")


@dataclass(frozen=True)
class PiecewiseConstantVorticity(Initial):
    """Vorticity constant on square blocks, independent and uniform, with its mean removed."""

    sampler: ClassVar[str] = "driftnet.pdes.initial:piecewise_constant_vorticity"
    blocks: int = 10
    """Blocks along an axis."""
    amplitude: float = 10.0
    """Values are uniform in [-amplitude, amplitude]; inferred: 1 makes a velocity with a tenth of the published spread."""
    tracer: bool = True
    """Carry a passive tracer, a disc, as the published file does."""
    tracer_radius: float = 0.25
    """Radius of the disc."""
    tracer_centre: tuple[float, float] = (0.5, 0.5)
    """Its centre; what sticks out of the domain comes in on the other side."""
    tracer_height: float = 1.0
    """Value of the tracer in the disc; it is 0 elsewhere."""

    def __post_init__(self) -> None:
        """Refuse empty patterns, and a disc that does not fit into the domain."""
        positive("initial", self, "blocks")
        require(0 < self.tracer_radius <= 0.5, f"initial.tracer_radius: {self.tracer_radius} is not in (0, 0.5]")
        for place in self.tracer_centre:
            require(0 <= place <= 1, f"initial.tracer_centre: {place} is not in [0, 1]")
        finite("initial", self, "tracer_height")

    @property
    def channels(self) -> tuple[str, ...]:
        """Velocity, and the tracer where asked for."""
        return ("u", "v", "tracer") if self.tracer else ("u", "v")


@dataclass(frozen=True)
class ShearLayer(Initial):
    """Two opposite shear layers along x, shifted by a random wave s(x)."""

    sampler: ClassVar[str] = "driftnet.pdes.initial:shear_layer"
    modes: tuple[int, int] = (7, 12)
    """Range of the number p of waves in s(x) = xi + perturbation sum a_k sin(2 pi k x - b_k), k = 1 .. p."""
    perturbation: float = 0.025
    """Size of the waves; their phases b_k are uniform in [0, 2 pi]."""
    coefficients: tuple[float, float] = (0.0, 1.0)
    """Range of a_k."""
    layers: tuple[float, float] = (0.25, 0.75)
    """Places y_1 and y_2 of the layers, before they are shifted."""
    speed: float = 1.0
    """Speed U of the two streams."""
    thickness: tuple[float, float] = (0.08, 0.12)
    """Range of rho in u_x = U tanh(2 pi (y - y_1) / rho)."""
    shift: tuple[float, float] = (-0.0625, 0.0625)
    """Range of xi."""

    def __post_init__(self) -> None:
        """Refuse ranges that are none."""
        ordered("initial", self, "modes", "coefficients", "thickness", "shift")
        low, high = self.layers
        require(0 < low < high < 1, f"initial.layers: {low} and {high} are not two places in (0, 1), the lower first")
        finite("initial", self, "speed")
        require(self.modes[0] >= 0, f"initial.modes: {self.modes[0]} is negative")
        require(self.thickness[0] > 0, f"initial.thickness: {self.thickness[0]} is not positive")

    @property
    def channels(self) -> tuple[str, ...]:
        """Velocity."""
        return ("u", "v")


@dataclass(frozen=True)
class BlockVorticityFlow(Simulation):
    """Navier-Stokes from vorticity that is constant on blocks."""

    equation: NavierStokes = field(default_factory=NavierStokes)
    initial: PiecewiseConstantVorticity = field(default_factory=PiecewiseConstantVorticity)


@dataclass(frozen=True)
class ShearLayerFlow(Simulation):
    """Navier-Stokes from two shear layers."""

    equation: NavierStokes = field(default_factory=NavierStokes)
    initial: ShearLayer = field(default_factory=ShearLayer)
