"""Errors by bands of wavenumber: low |n| < 4, mid 4 <= |n| < 12, high from 12 on, n integer.

The bounds are PDEBench's. NaN stands for a band that the grid does not resolve.
"""

from __future__ import annotations

from functools import partial
from math import inf, nan

import torch
from jaxtyping import Float
from torch import Tensor

BANDS = {"low": (0, 4), "mid": (4, 12), "high": (12, inf)}

Errors = Float[Tensor, "*b"]
Fields = Float[Tensor, "*b c h w"]


def shells(field: Fields) -> Float[Tensor, "*b shells"]:
    """Square of a field by shells m <= |n| < m + 1, summed over channels; all shells together give its mean square.

    The last shell is the largest that is whole on the grid: modes in the corners beyond are left out.
    """
    height, width = field.shape[-2:]
    field_hat = torch.fft.fft2(field, norm="forward")
    square = (field_hat.real.square() + field_hat.imag.square()).sum(-3).flatten(-2)
    shell = _squared_wavenumber(height, width, field.device).double().sqrt().long().flatten()
    inside = shell < min(height, width) // 2
    sums = square.new_zeros((*square.shape[:-1], min(height, width) // 2))
    return sums.index_add_(-1, shell[inside], square[..., inside])


def _squared_wavenumber(height: int, width: int, device: torch.device) -> Tensor:
    """|n|^2 in integers, so that every precision files a mode in the same shell."""
    rows, columns = (torch.arange(size, device=device) for size in (height, width))
    ky, kx = torch.minimum(rows, height - rows), torch.minimum(columns, width - columns)
    return ky[:, None] ** 2 + kx[None, :] ** 2


def _band(spectrum: Float[Tensor, "*b shells"], name: str) -> Float[Tensor, "*b n"]:
    first, last = BANDS[name]
    return spectrum[..., first : int(min(last, spectrum.shape[-1]))]


def band_nrmse(prediction: Fields, truth: Fields, name: str) -> Errors:
    """Root of the error's square in a band over the truth's."""
    error, reference = (_band(shells(field), name) for field in (prediction - truth, truth))
    if not reference.shape[-1]:
        return torch.full_like(reference.sum(-1), nan)
    return (error.sum(-1) / reference.sum(-1)).sqrt()


def frmse(prediction: Fields, truth: Fields, name: str) -> Errors:
    """Root of the error's square in a shell, averaged over the band's shells; in the field's own unit."""
    return _band(shells(prediction - truth), name).sqrt().mean(-1)


band_nrmse_low, band_nrmse_mid, band_nrmse_high = (partial(band_nrmse, name=name) for name in BANDS)
frmse_low, frmse_mid, frmse_high = (partial(frmse, name=name) for name in BANDS)
