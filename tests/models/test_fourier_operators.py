from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from driftnet import registry
from driftnet.configs import Frame
from driftnet.models import fno, uno
from driftnet.models.configs import FNO, UNO
from driftnet.models.operator import build, count_parameters, unit_statistics

BUILD = {FNO: fno.build, UNO: uno.build}
SMALL = [FNO(width=12, modes=4, layers=3, projection=16), UNO(width=6, modes=4)]


def make(config, boundary="periodic"):
    torch.manual_seed(0)
    return BUILD[type(config)](config, 2, 1, boundary).double()


def count(name, **kwargs):
    with torch.device("meta"):
        model = build(registry.model(name), registry.task("NS-PwC"), unit_statistics(2))
    return count_parameters(model, **kwargs)


@pytest.mark.parametrize(("name", "millions"), [("fno", 18.92), ("fno-5", 23.65), ("uno", 19.954)])
def test_parameters_are_the_published_ones_with_complex_counted_once(name, millions):
    assert count(name) / 1e6 == pytest.approx(millions, rel=1e-3)


@pytest.mark.parametrize("name", ["fno", "uno"])
def test_nearly_all_parameters_are_complex(name):
    assert count(name, complex_once=False) / count(name) == pytest.approx(2, rel=3e-3)


@pytest.mark.parametrize("config", SMALL)
@torch.no_grad()
def test_the_output_converges_as_the_grid_is_refined(config, waves):
    """A pointwise nonlinearity makes waves that a coarse grid aliases, so equality is a limit."""
    network = make(config)
    outputs = [network(waves(size, size))[..., :: size // 16, :: size // 16] for size in (16, 32, 64, 128)]
    changes = [(fine - coarse).norm() / fine.norm() for coarse, fine in pairwise(outputs)]
    assert changes[2] < 0.1 * changes[1] < 0.1 * changes[0]
    assert changes[2] < 1e-3


@pytest.mark.parametrize("config", SMALL)
@torch.no_grad()
def test_without_a_boundary_a_shift_of_the_input_shifts_the_output(config):
    network, x = make(config), torch.randn(1, 2, 24, 16, dtype=torch.float64)
    shifted = network(x.roll((4, 6), (-2, -1)))
    torch.testing.assert_close(shifted, network(x).roll((4, 6), (-2, -1)))


@pytest.mark.parametrize("config", SMALL)
@torch.no_grad()
def test_positions_are_seen_where_there_is_a_boundary_or_as_published(config):
    x = torch.zeros(1, 2, 16, 16, dtype=torch.float64)
    published = replace(config, frame=Frame(padding="zeros"))
    assert make(config)(x).std() < 1e-12
    assert make(config, "dirichlet")(x).std() > 1e-3
    assert torch.equal(make(published)(x), make(config, "dirichlet")(x))


@pytest.mark.parametrize("config", SMALL)
@pytest.mark.parametrize("size", [(7, 15), (5, 32), (30, 9)])
@torch.no_grad()
def test_any_size_will_do(config, size):
    assert make(config)(torch.randn(1, 2, *size, dtype=torch.float64)).shape[-2:] == size
