from dataclasses import replace

import pytest
import torch

from driftnet import registry
from driftnet.configs import Frame
from driftnet.errors import UsageError
from driftnet.models import unet
from driftnet.models.configs import Levels, UNet
from driftnet.models.operator import build, count_parameters, unit_statistics

SMALL = UNet(levels=Levels(widths=(8, 12, 16), depth=1))
STRIDE = 4


def make(config=SMALL, boundary="periodic"):
    """With layer scales of 1, because 1e-6 hides what blocks do."""
    torch.manual_seed(0)
    network = unet.build(config, 2, 3, boundary).double()
    for name, parameter in network.named_parameters():
        if name.endswith("scale"):
            torch.nn.init.ones_(parameter)
    return network


def shift_error(network, shift):
    x = torch.randn(1, 2, 16, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        there, back = network(x.roll(shift, (-2, -1))), network(x).roll(shift, (-2, -1))
    return ((there - back).norm() / back.norm()).item()


def test_parameters_are_the_papers_twenty_million():
    with torch.device("meta"):
        model = build(registry.model("unet"), registry.task("NS-PwC"), unit_statistics(2))
    assert count_parameters(model) == pytest.approx(20e6, rel=0.01)


def test_a_periodic_network_commutes_with_shifts_by_its_stride():
    network = make()
    assert shift_error(network, (STRIDE, 2 * STRIDE)) < 1e-12
    assert shift_error(network, (1, 0)) > 1e-3


@pytest.mark.parametrize(
    ("config", "boundary"), [(SMALL, "absorbing"), (replace(SMALL, frame=Frame(padding="zeros")), "periodic")]
)
def test_zeros_beyond_the_boundary_are_seen(config, boundary):
    assert shift_error(make(config, boundary), (STRIDE, 0)) > 1e-3


@pytest.mark.parametrize(("size", "why"), [((18, 16), "multiples of 4"), ((8, 6), "multiples of 4")])
def test_a_size_that_does_not_fit_is_named_in_one_line(size, why):
    with pytest.raises(UsageError, match=rf"{size[0]} x {size[1]} points does not fit .* {why}"):
        make()(torch.zeros(1, 2, *size, dtype=torch.float64))


def test_levels_without_blocks_are_refused():
    with pytest.raises(UsageError, match=r"levels\.depth"):
        Levels(widths=(8,), depth=0)
