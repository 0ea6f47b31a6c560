"""The two long Kolmogorov flows that the paper made with APEBench."""

from __future__ import annotations

from dataclasses import replace

from driftnet.tasks.base import Normalization, Quantity, Source, Split, Task, Variable
from driftnet.tasks.equations import KolmogorovFlow, KolmogorovTurbulence

KF_LONG_TURBULENT = Task(
    name="KF-Long-turbulent",
    equation="w_t + u . grad w = 0.01 Lap w - 0.2 w - 4 cos(4 y), on a torus of side 2 pi",
    quantities=(Quantity("vorticity", ("vorticity",)),),
    static=(),
    boundary="periodic",
    resolution=128,
    snapshots=101,
    final_snapshot=100,
    duration=10.0,
    split=Split(train=3700, validation=200, test=100),
    normalization=Normalization((0.0,), (3.5,), published=False),  # Of generated data.
    source=Source(
        file="KF-Long-turbulent.nc",
        variables=(Variable("vorticity", ("vorticity",)),),
        simulation=KolmogorovTurbulence(KolmogorovFlow(viscosity=1e-2, drag=-0.1)),
        confidence="high",
        reference="paper, appendix F.2; APEBench 0.1.1, scenario phy_kolm_flow",
        inferred="that drag -0.1 and -0.15 damp, and at twice that rate, as in exponax 0.1; the paper's sign would not",
    ),
)

KF_LONG_SMOOTHER = replace(
    KF_LONG_TURBULENT,
    name="KF-Long-smoother",
    equation="w_t + u . grad w = 0.015 Lap w - 0.3 w - 4 cos(4 y), on a torus of side 2 pi",
    normalization=Normalization((0.0,), (2.9,), published=False),
    source=replace(
        KF_LONG_TURBULENT.source,
        file="KF-Long-smoother.nc",
        simulation=KolmogorovTurbulence(KolmogorovFlow(viscosity=1.5e-2, drag=-0.15)),
    ),
)
