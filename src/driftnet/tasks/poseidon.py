"""The tasks of the Poseidon collection."""

from __future__ import annotations

from driftnet.tasks.base import Normalization, Quantity, Source, Split, Task, Variable
from driftnet.tasks.equations import NavierStokes, PiecewiseConstantVorticity, Simulation

VELOCITY = Quantity("velocity", ("u", "v"))

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
    # Constants of the published loader, shared over many of its data sets.
    normalization=Normalization(mean=(0.0, 0.0), std=(0.391, 0.356)),
    source=Source(
        file="NS-PwC.nc",
        variables=(Variable("velocity", ("u", "v", "tracer")),),
        simulation=Simulation(NavierStokes(), PiecewiseConstantVorticity()),
        confidence="medium-high",
    ),
)
