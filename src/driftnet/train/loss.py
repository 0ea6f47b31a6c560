"""The training loss: a relative norm per quantity plus the frequency-weighted error (paper, section 4.4)."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.configs import Loss
from driftnet.tasks.base import Task


def training_loss(
    prediction: Float[Tensor, "b c h w"], target: Float[Tensor, "b c h w"], task: Task, config: Loss
) -> Float[Tensor, ""]:
    """Mean over the quantities of the relative error, plus lambda times the weighted error spectrum."""
    error = prediction - target
    groups = [task.channels(quantity) for quantity in task.quantities]
    base = torch.stack([relative_norm(error[:, g], target[:, g], config.p, config.reduction) for g in groups]).mean()
    if config.frequency == 0:
        return base
    return base + config.frequency * frequency_term(error, config.power, config.scaling)


def relative_norm(
    error: Float[Tensor, "b c h w"], target: Float[Tensor, "b c h w"], p: int, reduction: Literal["batch", "sample"]
) -> Float[Tensor, ""]:
    """|error|_p / |target|_p, over the whole batch or averaged over its samples."""
    dims = (0, 1, 2, 3) if reduction == "batch" else (1, 2, 3)
    smallest = torch.finfo(target.dtype).tiny
    ratio = torch.linalg.vector_norm(error, p, dims) / torch.linalg.vector_norm(target, p, dims).clamp(min=smallest)
    return ratio.mean()


def frequency_term(
    error: Float[Tensor, "b c h w"], power: float, scaling: Literal["parseval", "published"]
) -> Float[Tensor, ""]:
    """Mean over batch and channels of sum_k r^power |E_k|^2, r the distance from the origin over the largest one.

    With `parseval` every mode counts as often as it stands in the full spectrum, so that power 0 gives the mean
    square of the error; `published` averages over the stored half, which is smaller by the number of modes.
    """
    height, width = error.shape[-2:]
    error_hat = torch.fft.rfft2(error.to(torch.promote_types(error.dtype, torch.float32)), norm="forward")
    energy = error_hat.real.square() + error_hat.imag.square()
    weight = radial_weight(height, width, power, energy)
    if scaling == "published":
        return (weight * energy).mean()
    return (weight * hermitian_count(width, energy) * energy).sum((-2, -1)).mean()


def radial_weight(height: int, width: int, power: float, like: Tensor) -> Float[Tensor, "h half_w"]:
    """r^power at every rFFT2 mode, r in units of each axis's Nyquist frequency and at most 1."""
    rows = torch.arange(height, device=like.device, dtype=like.dtype)
    ky = torch.minimum(rows, height - rows)[:, None] / (height // 2)
    kx = torch.arange(width // 2 + 1, device=like.device, dtype=like.dtype)[None, :] / (width // 2)
    return (torch.hypot(ky, kx) / 2**0.5) ** power


def hermitian_count(width: int, like: Tensor) -> Float[Tensor, " half_w"]:
    """How often a column of the half spectrum stands in the full one."""
    count = like.new_full((width // 2 + 1,), 2.0)
    count[0] = 1
    if width % 2 == 0:
        count[-1] = 1
    return count
