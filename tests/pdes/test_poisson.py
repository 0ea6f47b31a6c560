from math import pi

import pytest
import torch

from driftnet.errors import DriftnetError
from driftnet.pdes.grid import Grid, closed_points
from driftnet.pdes.poisson import PoissonSolver
from driftnet.tasks.equations import Poisson


def potential(source, dtype=torch.float64):
    solver = PoissonSolver(Poisson(), Grid(source.shape[-1], dtype=dtype), 1.0)
    start = torch.stack((torch.zeros_like(source), source))[None]
    return solver.trajectory(start, 2)[0, 1, 0]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-15), (torch.float32, 1e-7)])
def test_the_potential_of_a_sine_is_that_sine_over_its_eigenvalue(dtype, tolerance):
    x, y = closed_points(129)
    wave = torch.sin(3 * pi * x) * torch.sin(2 * pi * y)
    assert (potential(wave, dtype) - wave / (13 * pi**2)).abs().max() < tolerance


def test_a_gaussian_potential_is_found_from_its_source():
    x, y = closed_points(129)
    width = 0.05
    squared = (x - 0.5) ** 2 + (y - 0.5) ** 2
    u = torch.exp(-squared / (2 * width**2))
    source = -u * (squared / width**4 - 2 / width**2)
    assert (potential(source) - u).abs().max() < 1e-14


def test_the_potential_vanishes_on_the_boundary_and_is_positive_within_for_a_positive_source():
    u = potential(torch.ones(33, 33, dtype=torch.float64))
    assert torch.cat((u[0], u[-1], u[:, 0], u[:, -1])).abs().max() == 0
    assert u[1:-1, 1:-1].min() > 0


def test_a_constant_source_has_its_known_largest_potential():
    # 0.0736713: Timoshenko and Goodier, torsion of a square bar.
    assert potential(torch.ones(129, 129, dtype=torch.float64)).max().item() == pytest.approx(0.0736713, abs=2e-5)


def test_the_potential_is_linear_in_the_source_and_symmetric():
    generator = torch.Generator().manual_seed(0)
    f, g = torch.randn(2, 17, 17, generator=generator, dtype=torch.float64)
    assert torch.allclose(potential(2 * f - g), 2 * potential(f) - potential(g), atol=1e-14)
    inside = (slice(1, -1), slice(1, -1))
    assert torch.allclose((potential(f) * g)[inside].sum(), (f * potential(g))[inside].sum(), atol=1e-13)


def test_a_potential_does_not_depend_on_those_beside_it():
    solver = PoissonSolver(Poisson(), Grid(128, dtype=torch.float32), 1.0)
    fields = torch.randn(8, 2, 128, 128, generator=torch.Generator().manual_seed(0))
    together = solver.trajectory(fields, 2)
    assert torch.equal(together, torch.cat([solver.trajectory(each[None], 2) for each in fields]))


def test_a_source_that_is_not_a_number_is_refused():
    with pytest.raises(DriftnetError, match="a field is not finite"):
        potential(torch.full((9, 9), float("nan")))
