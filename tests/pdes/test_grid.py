from math import pi

import pytest
import torch

from driftnet.pdes.grid import Grid, resample, resize_spectrum, to_field, to_spectrum
from driftnet.pdes.solver import solver_of
from driftnet.tasks.equations import KolmogorovFlow, NavierStokes


def test_the_first_axis_is_x():
    grid = Grid(16)
    x, y = grid.points
    kx, ky = grid.wavenumbers
    field = torch.sin(2 * pi * x) + torch.cos(4 * pi * y)
    along_x = to_field(1j * kx * to_spectrum(field), 16)
    along_y = to_field(1j * ky * to_spectrum(field), 16)
    assert torch.allclose(along_x, (2 * pi * torch.cos(2 * pi * x)).expand(16, 16), atol=1e-12)
    assert torch.allclose(along_y, (-4 * pi * torch.sin(4 * pi * y)).expand(16, 16), atol=1e-12)


@pytest.mark.parametrize("sizes", [(16, 24), (24, 16), (16, 16)])
def test_resampling_a_resolved_field_is_exact(sizes):
    def field(size):
        x, y = Grid(size).points
        return 1 + torch.sin(2 * pi * (3 * x - 2 * y)) + torch.cos(2 * pi * 5 * y)

    assert torch.allclose(resample(field(sizes[0]), sizes[1]), field(sizes[1]), atol=1e-12)


def test_products_on_the_padded_grid_have_no_aliases():
    size = 16
    x, _ = Grid(size).points
    wave = torch.sin(2 * pi * 6 * x).expand(size, size)
    fine = resample(wave, size * 3 // 2)
    product_hat = resize_spectrum(to_spectrum(fine * fine), size)
    # sin^2 = 1/2 - cos(2 pi 12 x) / 2, and mode 12 does not fit: on 16 points it would appear as mode 4.
    assert product_hat[0, 0].real == pytest.approx(0.5)
    assert product_hat.abs().flatten()[1:].max() < 1e-14


def test_columns_that_are_left_out_of_a_spectrum_are_zero():
    field = torch.rand(2, 16, 16, dtype=torch.float64)
    spectrum = to_spectrum(field)
    assert torch.allclose(to_spectrum(field, 5), spectrum[..., :5], atol=1e-15)
    emptied = torch.cat((spectrum[..., :5], torch.zeros_like(spectrum[..., 5:])), -1)
    assert torch.allclose(to_field(spectrum[..., :5], 16), to_field(emptied, 16), atol=1e-15)


@pytest.mark.parametrize(("equation", "channels"), [(NavierStokes(substeps=2), 3), (KolmogorovFlow(substeps=2), 1)])
def test_spectra_keep_the_memory_order_in_which_the_transform_along_x_leaves_them(equation, channels):
    solver = solver_of(equation, 16, 1e-3)
    state = solver.start(torch.rand(2, channels, 16, 16, dtype=torch.float64))
    assert solver.advance(state).stride()[-2:] == (1, 16)
