"""Radial spectra."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def energy_spectrum(field: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b modes"]:
    """Half the mean square of a field by shells of integer wavenumber |n|, 0 to the largest circle on the grid.

    Shell m holds the modes with m - 1/2 <= |n| < m + 1/2; modes in the corners beyond the last shell are left out.
    """
    height, width = field.shape[-2:]
    field_hat = torch.fft.fft2(field, norm="forward")
    energy = 0.5 * (field_hat.real.square() + field_hat.imag.square()).sum(-3).flatten(-2)
    ky = torch.fft.fftfreq(height, 1 / height, device=field.device)[:, None]
    kx = torch.fft.fftfreq(width, 1 / width, device=field.device)[None, :]
    shell = (torch.hypot(ky, kx) + 0.5).long().flatten()
    shells = min(height, width) // 2 + 1
    inside = shell < shells
    spectrum = energy.new_zeros((*energy.shape[:-1], shells))
    return spectrum.index_add_(-1, shell[inside], energy[..., inside])
