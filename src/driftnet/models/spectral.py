"""Linear maps between spectra, at any height and width: the convolution of neural operators, and resampling."""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor, nn

Spectrum = Complex[Tensor, "b c h half_w"]


class FourierLayer(nn.Module):
    """A spectral convolution plus a pointwise linear map (Li et al. 2021)."""

    def __init__(self, channels_in: int, channels_out: int, modes: int) -> None:
        super().__init__()
        self.spectral = SpectralConvolution(channels_in, channels_out, modes)
        self.pointwise = nn.Conv2d(channels_in, channels_out, 1)

    def forward(self, x: Float[Tensor, "b c_in h w"]) -> Float[Tensor, "b c_out h w"]:
        """Global and local parts, added."""
        local = self.pointwise(x)
        return self.spectral(x).to(local.dtype) + local


class SpectralConvolution(nn.Module):
    """A complex matrix over the channels for every low mode, zero for the others.

    The modes are the signed row frequencies -modes .. modes - 1 and the columns 0 .. modes - 1, both corners of the
    published implementation; on a grid with fewer of them, those that it has.
    """

    complex_pairs: ClassVar[tuple[str, ...]] = ("weight",)

    def __init__(self, channels_in: int, channels_out: int, modes: int) -> None:
        super().__init__()
        self.modes = modes
        spread = (2 * channels_in) ** -0.5  # Keeps the energy of a mode, on average.
        # Real storage of complex numbers: fused optimisers refuse complex parameters. Modes first: a batched product.
        self.weight = nn.Parameter(spread * torch.randn(2 * modes, modes, channels_in, channels_out, 2))

    def forward(self, x: Float[Tensor, "b c_in h w"]) -> Float[Tensor, "b c_out h w"]:
        """The convolution, in single precision at least."""
        height, width = x.shape[-2:]
        with torch.autocast(x.device.type, enabled=False):  # There is no FFT in half precision on a CPU.
            x_hat = spectrum(x)
            rows, columns = min(self.modes, height // 2), min(self.modes, (width + 1) // 2)
            kept = self.weight[self.modes - rows : self.modes + rows, :columns].to(x_hat.real.dtype)
            low = low_rows(height, -rows, rows, x.device)
            mixed = torch.einsum("bixy,xyio->boxy", x_hat[..., low, :columns], torch.view_as_complex(kept))
            y_hat = x_hat.new_zeros(*mixed.shape[:2], height, width // 2 + 1)
            y_hat[..., low, :columns] = mixed
            return torch.fft.irfft2(y_hat, s=(height, width), norm="forward")


def resample(x: Float[Tensor, "b c h w"], height: int, width: int) -> Float[Tensor, "b c {height} {width}"]:
    """The field on another grid: the trigonometric polynomial of the modes strictly below both Nyquist frequencies."""
    with torch.autocast(x.device.type, enabled=False):
        x_hat = spectrum(x)
        rows, columns = ((min(sizes) - 1) // 2 for sizes in zip(x.shape[-2:], (height, width), strict=True))
        here, there = (low_rows(size, -rows, rows + 1, x.device) for size in (x.shape[-2], height))
        y_hat = x_hat.new_zeros(*x.shape[:2], height, width // 2 + 1)
        y_hat[..., there, : columns + 1] = x_hat[..., here, : columns + 1]
        return torch.fft.irfft2(y_hat, s=(height, width), norm="forward").to(x.dtype)


def spectrum(x: Float[Tensor, "b c h w"]) -> Spectrum:
    """Fourier coefficients, which do not depend on the grid, in single precision at least."""
    return torch.fft.rfft2(x.to(torch.promote_types(x.dtype, torch.float32)).contiguous(), norm="forward")


def low_rows(height: int, first: int, end: int, device: torch.device) -> Int[Tensor, " rows"]:
    """Where the signed frequencies `first` .. `end` - 1 stand among the rows of an FFT."""
    return torch.arange(first, end, device=device) % height
