import pytest
import torch

from driftnet.configs import Frame
from driftnet.models.convolution import convolution, padding_mode, wrap


@pytest.mark.parametrize("size", [(2, 2), (1, 5), (8, 6)])
def test_circular_padding_continues_any_grid_periodically(size):
    field = torch.randn(1, 1, *size)
    tiled = field.tile(1, 1, 11, 11)
    rows, columns = 5 * size[0] - 3, 5 * size[1] - 3
    assert torch.equal(wrap(field, 3), tiled[..., rows : rows + size[0] + 6, columns : columns + size[1] + 6])


def test_a_circular_convolution_is_the_product_of_spectra():
    layer = convolution(1, 1, 3, "circular", bias=False).double()
    field = torch.randn(1, 1, 8, 8, dtype=torch.float64)
    kernel = torch.zeros(8, 8, dtype=torch.float64)
    for i in range(3):
        for j in range(3):
            kernel[(1 - i) % 8, (1 - j) % 8] = layer.weight[0, 0, i, j].detach()
    expected = torch.fft.ifft2(torch.fft.fft2(field) * torch.fft.fft2(kernel)).real
    assert torch.allclose(layer(field), expected, atol=1e-12)


def test_padding_follows_the_boundary_only_where_the_frame_says_so():
    assert padding_mode(Frame(padding="boundary"), "periodic") == "circular"
    assert padding_mode(Frame(padding="boundary"), "dirichlet") == "zeros"
    assert padding_mode(Frame(padding="zeros"), "periodic") == "zeros"
