import math

import pytest
import torch
from torch import nn

from driftnet.models.spectral import SpectralConvolution, resample
from tests.oracles import oracle


def convolution(channels_in=2, channels_out=3, modes=4):
    torch.manual_seed(0)
    return SpectralConvolution(channels_in, channels_out, modes).double()


def field(height, width, channels=2):
    return torch.randn(2, channels, height, width, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def mode_by_mode(layer, x):
    """The convolution as its definition: the sum over kept modes k of Re(W_k x_k exp(i k.r)), twice where -k is not kept."""
    height, width = x.shape[-2:]
    rows, columns = min(layer.modes, height // 2), min(layer.modes, (width + 1) // 2)
    y, z = (torch.arange(size, dtype=torch.float64) / size for size in (height, width))
    total = 0
    for ky in range(-rows, rows):
        for kx in range(columns):
            wave = torch.exp(2j * math.pi * (ky * y[:, None] + kx * z))
            coefficient = (x * wave.conj()).mean((-2, -1))
            real, imaginary = layer.weight[ky + layer.modes, kx].unbind(-1)
            mixed = coefficient @ torch.complex(real, imaginary)
            total = total + (2 if kx else 1) * (mixed[..., None, None] * wave).real
    return total


@pytest.mark.parametrize("size", [(16, 12), (9, 15), (4, 30), (6, 5)])
def test_a_spectral_convolution_is_the_sum_over_its_modes(size):
    layer, x = convolution(), field(*size)
    torch.testing.assert_close(layer(x), mode_by_mode(layer, x))


def test_a_spectral_convolution_commutes_with_translation():
    layer, x = convolution(), field(12, 16)
    torch.testing.assert_close(layer(x.roll((5, 3), (-2, -1))), layer(x).roll((5, 3), (-2, -1)))


def test_a_spectral_convolution_does_not_depend_on_the_grid(waves):
    layer = convolution()
    torch.testing.assert_close(layer(waves(12, 18)), layer(waves(24, 54))[..., ::2, ::3])


def test_a_spectral_convolution_keeps_the_energy_of_its_modes_on_average():
    torch.manual_seed(0)
    layer = SpectralConvolution(64, 64, 8)
    x = resample(torch.randn(4, 64, 15, 15), 32, 32)
    assert (layer(x).square().mean() / x.square().mean()).item() == pytest.approx(1, abs=0.1)


def test_a_spectral_convolution_agrees_with_the_neural_operator_library():
    layers = oracle("neuralop.layers.spectral_convolution")
    modes, ours = 4, convolution(modes=4)
    # The library's second number counts both signs, and it keeps half of it and one more.
    theirs = layers.SpectralConv(2, 3, n_modes=(2 * modes, 2 * (modes - 1)), bias=False, fft_norm="forward")
    weight = torch.view_as_complex(ours.weight.detach()).permute(2, 3, 0, 1)
    (parameter,) = theirs.parameters()
    parameter.data = weight.to(torch.complex64)
    x = field(16, 20).float()  # Theirs answers in single precision.
    torch.testing.assert_close(ours.float()(x), theirs(x))


@pytest.mark.parametrize(("old", "new"), [((16, 20), (9, 11)), ((9, 11), (16, 20)), ((16, 11), (8, 33)), ((15, 15), (15, 15))])
def test_resampling_evaluates_the_same_waves_on_another_grid(old, new, waves):
    torch.testing.assert_close(resample(waves(*old), *new), waves(*new))


def test_resampling_drops_what_the_other_grid_cannot_hold():
    y = torch.arange(16) * (2 * math.pi / 16)
    wave = torch.cos(4 * y)[:, None].expand(1, 1, 16, 16)
    assert resample(wave, 8, 16).abs().max() < 1e-6
    assert resample(wave, 9, 16).abs().max() > 0.9


def test_complex_weights_are_stored_as_reals():
    assert all(isinstance(value, nn.Parameter) and not value.is_complex() for value in convolution().parameters())
