"""Equispaced grids: wavenumbers, dealiased products, resampling; periodic but where a name says `closed`.

Fields are (..., x, y): the first grid axis is x, the second y, as in the published files.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import torch
import torch.nn.functional as F
from jaxtyping import Complex, Float
from torch import Tensor
from torch.fft import irfft2, rfft2


@dataclass(frozen=True)
class Grid:
    """size x size points x_i = i length / size on the torus."""

    size: int
    length: float = 1.0
    dtype: torch.dtype = torch.float64
    device: str = "cpu"

    @property
    def modes(self) -> tuple[Float[Tensor, "x 1"], Float[Tensor, "1 half_y"]]:
        """Signed integer wavenumbers of an rFFT2 along x and y."""
        kx = torch.fft.fftfreq(self.size, 1 / self.size, dtype=self.dtype, device=self.device)
        ky = torch.fft.rfftfreq(self.size, 1 / self.size, dtype=self.dtype, device=self.device)
        return kx[:, None], ky[None, :]

    @property
    def wavenumbers(self) -> tuple[Float[Tensor, "x 1"], Float[Tensor, "1 half_y"]]:
        """2 pi n / length along x and y."""
        return tuple(2 * pi / self.length * mode for mode in self.modes)  # pyright: ignore[reportReturnType]

    @property
    def points(self) -> tuple[Float[Tensor, "x 1"], Float[Tensor, "1 y"]]:
        """Coordinates along x and y."""
        x = torch.arange(self.size, dtype=self.dtype, device=self.device) * (self.length / self.size)
        return x[:, None], x[None, :]

    def below(self, limit: float) -> Float[Tensor, "x half_y"]:
        """1 where both integer wavenumbers are strictly below `limit`, else 0."""
        kx, ky = self.modes
        return ((kx.abs() < limit) & (ky < limit)).to(self.dtype)


def to_spectrum(field: Float[Tensor, "*b x y"]) -> Complex[Tensor, "*b x half_y"]:
    """Fourier coefficients: a constant field has its value at mode 0."""
    return rfft2(field, norm="forward")


def to_field(spectrum: Complex[Tensor, "*b x half_y"], size: int) -> Float[Tensor, "*b {size} {size}"]:
    """The field on `size` x `size` points that has these Fourier coefficients."""
    return irfft2(spectrum, s=(size, size), norm="forward")


def resize_spectrum(spectrum: Complex[Tensor, "*b x half_y"], size: int) -> Complex[Tensor, "*b {size} half_size"]:
    """Coefficients on a finer or coarser grid; modes from the smaller grid's Nyquist on are zero."""
    old = spectrum.shape[-2]
    kept = min(old, size) // 2  # Modes 0 .. kept - 1 and their negatives.
    resized = spectrum.new_zeros((*spectrum.shape[:-2], size, size // 2 + 1))
    resized[..., :kept, :kept] = spectrum[..., :kept, :kept]
    if kept > 1:
        resized[..., 1 - kept :, :kept] = spectrum[..., 1 - kept :, :kept]
    return resized


def resample(field: Float[Tensor, "*b x y"], size: int) -> Float[Tensor, "*b {size} {size}"]:
    """The band-limited interpolant of a field on another grid."""
    if field.shape[-1] == size:
        return field
    return to_field(resize_spectrum(to_spectrum(field), size), size)


def closed_points(
    size: int, dtype: torch.dtype = torch.float64, device: str = "cpu"
) -> tuple[Float[Tensor, "{size} 1"], Float[Tensor, "1 {size}"]]:
    """Coordinates i / (size - 1) of a unit square with both its ends, along x and y."""
    x = torch.arange(size, dtype=dtype, device=device) / (size - 1)
    return x[:, None], x[None, :]


def resample_closed(field: Float[Tensor, "b c x y"], size: int) -> Float[Tensor, "b c {size} {size}"]:
    """The bicubic interpolant of a field on another grid of the same square, its ends included."""
    return F.interpolate(field, (size, size), mode="bicubic", align_corners=True)
