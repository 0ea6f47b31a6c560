"""What is simulated: parameters of each equation and of its random initial data, torch-free."""

from driftnet.tasks.equations.allen_cahn import AllenCahn, PhaseSeparation, SineSeries
from driftnet.tasks.equations.base import Equation, Initial, Simulation
from driftnet.tasks.equations.kolmogorov import KolmogorovFlow, KolmogorovTurbulence, TruncatedFourierSeries
from driftnet.tasks.equations.navier_stokes import (
    BlockVorticityFlow,
    NavierStokes,
    PiecewiseConstantVorticity,
    ShearLayer,
    ShearLayerFlow,
)
from driftnet.tasks.equations.poisson import GaussianSources, Poisson, PotentialOfSources
from driftnet.tasks.equations.wave import GaussianPulses, PulsesInMedium, Wave

__all__ = [
    "AllenCahn",
    "BlockVorticityFlow",
    "Equation",
    "GaussianPulses",
    "GaussianSources",
    "Initial",
    "KolmogorovFlow",
    "KolmogorovTurbulence",
    "NavierStokes",
    "PhaseSeparation",
    "PiecewiseConstantVorticity",
    "Poisson",
    "PotentialOfSources",
    "PulsesInMedium",
    "ShearLayer",
    "ShearLayerFlow",
    "Simulation",
    "SineSeries",
    "TruncatedFourierSeries",
    "Wave",
]
