"""One-step defects against the Sobolev-weighted loss (paper, appendix B).

With e_k the error's spectrum under the forward norm and k integer wavenumbers,

    eta^2 = sum_k |e_k|^2,      L = lambda sum_k (1 + |k|^2)^s |e_k|^2.

Theorem B.1 as printed says E eta <= (lambda E L)^(1 / (2 + s)). That fails, for instance, for an error in the mean alone
and lambda < 1. As every weight is at least lambda, E eta <= sqrt(E L / lambda) always holds, and it implies the printed bound
exactly where E L <= lambda^((4 + s) / s).
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def defect(error: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b"]:
    """eta: the root of the error's mean square over the grid, summed over the channels."""
    return error.square().mean((-2, -1)).sum(-1).sqrt()


def sobolev_loss(error: Float[Tensor, "*b c h w"], order: float, weight: float) -> Float[Tensor, "*b"]:
    """L, with `order` the s and `weight` the lambda of the theorem."""
    height, width = error.shape[-2:]
    error_hat = torch.fft.fft2(error, norm="forward")
    ky = torch.fft.fftfreq(height, 1 / height, device=error.device)[:, None]
    kx = torch.fft.fftfreq(width, 1 / width, device=error.device)[None, :]
    energy = error_hat.real.square() + error_hat.imag.square()
    return weight * ((1 + ky**2 + kx**2) ** order * energy).sum((-3, -2, -1))


def defect_bound(mean_loss: float, weight: float) -> float:
    """The bound of the mean defect that always holds."""
    return (mean_loss / weight) ** 0.5


def printed_defect_bound(mean_loss: float, order: float, weight: float) -> float:
    """Theorem B.1 as printed."""
    return (weight * mean_loss) ** (1 / (2 + order))


def printed_bound_applies(mean_loss: float, order: float, weight: float) -> bool:
    """Whether the bound that always holds is the smaller one, so that the printed one holds too."""
    return mean_loss <= weight ** ((4 + order) / order)
