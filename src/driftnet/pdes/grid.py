"""Equispaced grids: wavenumbers, dealiased products, resampling; periodic but where a name says `closed`.

Fields are (..., x, y): the first grid axis is x, the second y, as in the published files. Spectra lie in memory with x
fastest, as the transform along x leaves them; factors of spectra are stored in the same order by `along_x`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import torch
import torch.nn.functional as F
from jaxtyping import Complex, Float, Num
from torch import Tensor
from torch.fft import fft, ifft, irfft, rfft


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


def to_spectrum(field: Float[Tensor, "*b x y"], columns: int | None = None) -> Complex[Tensor, "*b x columns"]:
    """Fourier coefficients: a constant field has its value at mode 0; of the modes along y the first `columns`, or all."""
    return fft(rfft(field, norm="forward")[..., :columns], dim=-2, norm="forward")


def to_field(spectrum: Complex[Tensor, "*b {size} columns"], size: int) -> Float[Tensor, "*b {size} {size}"]:
    """The field on `size` x `size` points that has these Fourier coefficients; columns that are left out are zero."""
    return irfft(ifft(spectrum, dim=-2, norm="forward"), n=size, norm="forward")


def along_x(spectrum: Num[Tensor, "*b x columns"]) -> Num[Tensor, "*b x columns"]:
    """The same, with x fastest in memory."""
    return spectrum.transpose(-1, -2).contiguous().transpose(-1, -2)


def resize_spectrum(
    spectrum: Complex[Tensor, "*b x old_columns"], size: int, columns: int | None = None
) -> Complex[Tensor, "*b {size} columns"]:
    """Coefficients on a finer or coarser grid; modes from the smaller grid's Nyquist on are zero.

    Where `columns` are given, they are the first that the result has.
    """
    kept = min(spectrum.shape[-2], size) // 2  # Modes 0 .. kept - 1 and their negatives.
    width = size // 2 + 1 if columns is None else columns
    filled = min(kept, width, spectrum.shape[-1])
    resized = spectrum.new_zeros((*spectrum.shape[:-2], width, size)).transpose(-1, -2)
    resized[..., :kept, :filled] = spectrum[..., :kept, :filled]
    if kept > 1:
        resized[..., 1 - kept :, :filled] = spectrum[..., 1 - kept :, :filled]
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
