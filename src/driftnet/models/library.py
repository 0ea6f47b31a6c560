"""FNO and U-NO whose spectral convolutions are those of the neuraloperator package; all else, the weights too, is ours."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Complex, Float
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from driftnet.errors import UsageError
from driftnet.models import fno, uno
from driftnet.models.configs import LibraryFNO, LibraryUNO
from driftnet.models.spectral import FourierLayer, SpectralConvolution, resample
from driftnet.tasks.base import Boundary


def build_fno(config: LibraryFNO, channels_in: int, channels_out: int, boundary: Boundary) -> nn.Module:
    """Our FNO with the package's convolutions; the same seed gives it the same weights."""
    return with_library(fno.build(config, channels_in, channels_out, boundary))


def build_uno(config: LibraryUNO, channels_in: int, channels_out: int, boundary: Boundary) -> nn.Module:
    """Our U-NO with the package's convolutions; the same seed gives it the same weights."""
    return with_library(uno.build(config, channels_in, channels_out, boundary))


def with_library(network: nn.Module) -> nn.Module:
    """The network with the package's convolution in every Fourier layer, on the weights that it has."""
    for module in network.modules():
        if isinstance(module, FourierLayer):
            module.add_module("spectral", LibraryConvolution(module.spectral))
    return network


class LibraryConvolution(nn.Module):
    """The package's convolution on the weight of one of ours: the same state dictionary and the same output.

    In two places version 2.0.0 does something else. With an odd number of rows it moves every row of modes by one: it gets
    the same waves on one row more. On small grids it keeps the modes at the Nyquist frequency of the columns: their weight
    is zero then.
    """

    complex_pairs = SpectralConvolution.complex_pairs

    def __init__(self, own: SpectralConvolution) -> None:
        super().__init__()
        self.modes, self.weight = own.modes, own.weight
        rows, columns, channels_in, channels_out, _ = own.weight.shape
        # Its second number counts both signs: half of it and one more are kept.
        modes = rows, 2 * (columns - 1)
        with torch.device("meta"):  # A complex weight of its own is neither drawn nor kept: fused optimisers refuse those.
            self.layer = library_layer()(channels_in, channels_out, modes, bias=False, fft_norm="forward")
        del self.layer.weight
        torch.compiler.allow_in_graph(self.layer._contract)  # opt_einsum, behind it, cannot be compiled.

    def forward(self, x: Float[Tensor, "b c_in h w"]) -> Float[Tensor, "b c_out h w"]:
        """The convolution, in single precision, which is all that the package has."""
        height, width = x.shape[-2:]
        with torch.autocast(x.device.type, enabled=False):  # There is no FFT in half precision on a CPU.
            x = x.to(torch.promote_types(x.dtype, torch.float32)).contiguous()
            given = {"weight": self._kept(height, width, x.dtype)}
            if height % 2 == 0:
                return functional_call(self.layer, given, x)
            return resample(functional_call(self.layer, given, resample(x, height + 1, width)), height, width)

    def _kept(self, height: int, width: int, dtype: torch.dtype) -> Complex[Tensor, "c_in c_out rows columns"]:
        """The weight as the package stores it, zero for the modes that ours leaves out on this grid."""
        rows, columns = min(self.modes, height // 2), min(self.modes, (width + 1) // 2)
        above, beyond = self.modes - rows, self.modes - columns
        kept = self.weight[above : above + 2 * rows, :columns]
        whole = F.pad(kept, (0, 0, 0, 0, 0, 0, 0, beyond, above, above)) if above or beyond else kept
        return torch.view_as_complex(whole.to(dtype)).permute(2, 3, 0, 1)


def library_layer() -> Callable[..., nn.Module]:
    """The package's layer; imported here, because that takes a second and a thousand modules."""
    try:
        from neuralop.layers.spectral_convolution import SpectralConv  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UsageError("this model needs the package neuraloperator: pip install 'driftnet[neuralop]'") from error
    return SpectralConv
