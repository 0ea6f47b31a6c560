"""What a state of a physical system has to keep: functions of one periodic field (..., c, h, w), one number a sample.

Lengths are in units of the domain, which is taken to be square.
"""

from __future__ import annotations

from math import pi

import torch
from jaxtyping import Float
from torch import Tensor

APPLIES = {"velocity": ("divergence", "energy", "enstrophy"), "tracer": ("mass",)}  # Which checks a quantity declares.

State = Float[Tensor, "*b c h w"]
Velocity = Float[Tensor, "*b 2 h w"]
Figure = Float[Tensor, "*b"]


def mass(field: State) -> Figure:
    """Mean over the domain, summed over channels: a tracer keeps its own."""
    return field.mean((-2, -1)).sum(-1)


def energy(field: State) -> Figure:
    """Half the mean square, summed over channels."""
    return 0.5 * field.square().mean((-2, -1)).sum(-1)


def enstrophy(velocity: Velocity) -> Figure:
    """Half the mean square of the vorticity dv/dx - du/dy."""
    (_, u_y), (v_x, _) = (_gradient(component) for component in velocity.unbind(-3))
    return 0.5 * (v_x - u_y).square().mean((-2, -1))


def divergence(velocity: Velocity) -> Figure:
    """Root mean square of div u over that of grad u: 0 for an incompressible flow, 1/sqrt(2) for white noise."""
    (u_x, u_y), (v_x, v_y) = (_gradient(component) for component in velocity.unbind(-3))
    gradient = sum(part.square().mean((-2, -1)) for part in (u_x, u_y, v_x, v_y))
    return ((u_x + v_y).square().mean((-2, -1)) / gradient).sqrt()


def _gradient(field: Float[Tensor, "*b h w"]) -> tuple[Float[Tensor, "*b h w"], Float[Tensor, "*b h w"]]:
    """Spectral derivatives along x and y; the Nyquist mode has none."""
    field_hat = torch.fft.fft2(field)
    parts = (torch.fft.ifft2(1j * wavenumber * field_hat).real for wavenumber in wavenumbers(field))
    return next(parts), next(parts)


def wavenumbers(field: Float[Tensor, "*b h w"]) -> tuple[Float[Tensor, "h 1"], Float[Tensor, "1 w"]]:
    """2 pi n along x and y on a domain of side 1, zero at the Nyquist mode, whose sign a real field does not tell."""
    height, width = field.shape[-2:]
    k = [2 * pi * torch.fft.fftfreq(size, 1 / size, dtype=field.dtype, device=field.device) for size in (height, width)]
    for wavenumber in k:
        if len(wavenumber) % 2 == 0:
            wavenumber[len(wavenumber) // 2] = 0
    return k[0][:, None], k[1][None, :]
