"""The seven tasks of the Poseidon collection that the paper uses."""

from __future__ import annotations

from dataclasses import replace

from driftnet.tasks.base import Normalization, Quantity, Source, Split, Task, Variable
from driftnet.tasks.equations import (
    BlockVorticityFlow,
    NavierStokes,
    PhaseSeparation,
    PiecewiseConstantVorticity,
    PotentialOfSources,
    PulsesInMedium,
    ShearLayerFlow,
)

VELOCITY = Quantity("velocity", ("u", "v"))
TRACER = Quantity("tracer", ("tracer",))
WITHOUT_CHANNELS = ("sample", "time", "x", "y")
WITHOUT_TIME = ("sample", "x", "y")

# The velocity constants of the published loader are shared over many of its data sets.
SHARED_MEAN, SHARED_STD = (0.0, 0.0), (0.391, 0.356)

NS_PWC = Task(
    name="NS-PwC",
    equation="u_t + (u . grad) u + grad p = spectral viscosity, div u = 0, on the unit torus",
    quantities=(VELOCITY,),
    static=(),
    boundary="periodic",
    resolution=128,
    snapshots=21,
    final_snapshot=20,
    duration=1.0,
    split=Split(train=19640, validation=120, test=240),
    normalization=Normalization(SHARED_MEAN, SHARED_STD),
    source=Source(
        file="NS-PwC.nc",
        variables=(Variable("velocity", ("u", "v", "tracer")),),
        simulation=BlockVorticityFlow(),
        confidence="medium-high",
        inferred="the amplitude 10 of the vorticity; the form of the viscosity is undecided",
    ),
)

NS_TRACER_PWC = replace(
    NS_PWC,
    name="NS-Tracer-PwC",
    equation=f"{NS_PWC.equation}; c_t + (u . grad) c = spectral viscosity",
    quantities=(VELOCITY, TRACER),
    normalization=Normalization((*SHARED_MEAN, 0.19586183), (*SHARED_STD, 0.37)),
)

NS_SL = replace(
    NS_PWC,
    name="NS-SL",
    split=Split(train=39640, validation=120, test=240),
    source=Source(
        file="NS-SL.nc",
        variables=(Variable("velocity", ("u", "v")),),
        # Order 2 amplifies waves that a steady stream carries, and the layers are two streams.
        simulation=ShearLayerFlow(equation=NavierStokes(scheme="etdrk4")),
        confidence="high",
        inferred="nothing; the form of the viscosity is undecided",
    ),
)

FNS_KF = replace(
    NS_PWC,
    name="FNS-KF",
    equation="u_t + (u . grad) u + grad p = spectral viscosity + forcing, div u = 0, on the unit torus",
    static=("forcing",),
    # The constants of the loader; the wave has mean 0 and a spread of its amplitude / sqrt(2).
    normalization=Normalization((0.0, 0.0), (0.22017328, 0.22078253), (0.0,), (0.0707107,)),
    source=Source(
        file="FNS-KF.nc",
        variables=(Variable("solution", ("u", "v")), Variable("forcing", ("forcing",), ("x", "y"))),
        # f = 0.1 sin(2 pi (x + y)): paper, appendix F.2.
        simulation=BlockVorticityFlow(NavierStokes(forcing=0.1), PiecewiseConstantVorticity(tracer=False)),
        confidence="medium",
        inferred="the amplitude 10 of the vorticity; the forms of the force and of the viscosity are undecided",
    ),
)

ACE = Task(
    name="ACE",
    equation="u_t = Lap u - 220^2 u (u^2 - 1), on the unit torus",
    quantities=(Quantity("u", ("u",)),),
    static=(),
    boundary="periodic",
    resolution=128,
    snapshots=20,
    final_snapshot=19,
    duration=2e-4,
    split=Split(train=14700, validation=60, test=240),
    normalization=Normalization((0.002484262,), (0.65351176,)),
    source=Source(
        file="ACE.nc",
        variables=(Variable("solution", ("u",), WITHOUT_CHANNELS),),
        simulation=PhaseSeparation(),
        confidence="high",
        inferred="the factor 1/K of the initial data",
    ),
)

WAVE_GAUSS = Task(
    name="Wave-Gauss",
    equation="u_tt = c(x)^2 Lap u, u_t(0) = 0, on the unit square, open at its sides",
    quantities=(Quantity("u", ("u",)),),
    static=("c",),
    boundary="absorbing",
    resolution=128,
    snapshots=15,
    final_snapshot=14,
    duration=2.35e-4,
    split=Split(train=10212, validation=60, test=240),
    normalization=Normalization((0.0334376316,), (0.1171879068,), (2618.4593933,), (601.51658913,)),
    source=Source(
        file="Wave-Gauss.nc",
        variables=(Variable("solution", ("u",), WITHOUT_CHANNELS), Variable("c", ("c",), WITHOUT_TIME, "<f8")),
        simulation=PulsesInMedium(),
        confidence="medium",
        inferred="the final time and the scales of speed and length",
    ),
)

POISSON_GAUSS = Task(
    name="Poisson-Gauss",
    equation="-Lap u = f on the unit square, u = 0 on its boundary, steady",
    quantities=(Quantity("solution", ("solution",)),),
    static=("source",),
    boundary="dirichlet",
    resolution=128,
    snapshots=2,
    final_snapshot=1,
    duration=1.0,
    split=Split(train=19640, validation=120, test=240),
    # Those of the data; the constants in the published loader (4.755, 0.0240) are another data set's.
    normalization=Normalization((0.00233,), (0.00343,), (0.0608,), (0.180,)),
    source=Source(
        file="Poisson-Gauss.nc",
        variables=(Variable("solution", ("solution",), WITHOUT_TIME), Variable("source", ("source",), WITHOUT_TIME)),
        simulation=PotentialOfSources(),
        confidence="high",
    ),
    steady=True,
    baselines=("zero", "climatology", "solver", "solver-half", "solver-quarter"),
)
