"""Operations, memory and reach where they can be counted by hand."""

from math import log2

import pytest
import torch
from torch import nn

from driftnet import costs, registry
from driftnet.models.cost import activations, flops, reach
from tests.oracles import presets


class Apply(nn.Module):
    """A function as a network."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def test_a_real_transform_costs_half_a_complex_one():
    x, points = torch.randn(1, 3, 8, 16), 8 * 16
    assert flops(Apply(torch.fft.rfft2), x) == 2.5 * 3 * points * log2(points)
    assert flops(Apply(lambda z: torch.fft.fft2(torch.complex(z, z))), x) == 5 * 3 * points * log2(points)
    assert flops(Apply(lambda z: torch.fft.irfft2(torch.fft.rfft2(z))), x) == 2 * 2.5 * 3 * points * log2(points)


def test_a_complex_product_costs_four_real_ones():
    x = torch.randn(1, 5, 8, 8)
    assert flops(Apply(lambda z: z @ z), x) == 2 * 5 * 8**3
    assert flops(Apply(lambda z: torch.complex(z, z) @ torch.complex(z, z)), x) == 4 * 2 * 5 * 8**3


def test_a_convolution_costs_its_kernel_at_every_point():
    assert flops(nn.Conv2d(3, 4, 5, padding=2, bias=False), torch.randn(1, 3, 8, 8)) == 2 * 4 * 3 * 25 * 64


def test_what_is_saved_twice_is_kept_once_and_parameters_are_not_counted():
    x = torch.randn(1, 4, 8, 8)
    assert activations(nn.Conv2d(4, 4, 3, padding=1), x) == x.numel() * 4
    assert activations(nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.GELU(), nn.GELU()), x) == 3 * x.numel() * 4


def test_one_convolution_reaches_its_kernel_and_a_transform_everything():
    x = torch.randn(1, 1, 8, 8)
    assert reach(nn.Conv2d(1, 1, 3, padding=1, padding_mode="circular"), x) == 9 / 64
    assert reach(Apply(lambda z: torch.fft.rfft2(z).abs()), x) == 1


def test_the_table_names_presets_what_they_were_measured_with_and_what_is_missing(monkeypatch):
    presets = {name: registry.MODELS[name] for name in ("drift-net-tiny", "conv-unet-tiny")}
    monkeypatch.setattr(registry, "MODELS", presets)
    shown = costs.table()
    assert all(f"{name:22}   64" in shown for name in presets)
    assert torch.__version__ in shown
    monkeypatch.setattr(costs, "cost", lambda *_: (_ for _ in ()).throw(ImportError("pip install something")))
    assert costs.row("drift-net-tiny").endswith("pip install something")


def test_the_table_is_made_for_a_given_size_and_says_which_models_do_not_fit_it(monkeypatch):
    monkeypatch.setattr(registry, "MODELS", {name: registry.MODELS[name] for name in ("drift-net-tiny", "fno-tiny")})
    fits, odd = costs.table(96).splitlines(), costs.table(30).splitlines()
    assert [line.split()[:2] for line in fits[1:3]] == [["drift-net-tiny", "96"], ["fno-tiny", "96"]]
    assert "a field of 30 x 30 points does not fit this model" in odd[1]
    assert float(fits[2].split()[4]) > float(odd[2].split()[4])


@pytest.mark.parametrize("name", presets("-tiny"))
def test_few_channels_see_as_far_as_many(name):
    config, task = registry.model(name), registry.task("NS-PwC")
    network = registry.resolve(config.builder)(config, 2, 2, task.boundary)
    assert reach(network, torch.randn(1, 2, 64, 64)) == costs.cost(config, task, 64).reach


@pytest.mark.parametrize("name", ["drift-net-tiny", "conv-unet-tiny"])
def test_the_tiny_presets_see_the_whole_grid(name):
    assert costs.cost(registry.model(name), registry.task("NS-PwC"), 64).reach == 1
