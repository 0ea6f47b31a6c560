"""The training loss: a relative norm per quantity plus the frequency-weighted error (paper, section 4.4).

Every term is a ratio of two sums over samples. The sums of parts of a batch add up, so a batch that is shared among
processes, or worked through in parts, has the loss of the whole one, which the mean of the parts' losses is not.
"""

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
    return loss_of(loss_sums(prediction, target, task, config), config)


def loss_sums(
    prediction: Float[Tensor, "b c h w"], target: Float[Tensor, "b c h w"], task: Task, config: Loss
) -> Float[Tensor, "terms 2"]:
    """Numerator and denominator of every quantity's term and, last, of the frequency term."""
    error = prediction - target
    groups = [task.channels(quantity) for quantity in task.quantities]
    terms = [norm_sums(error[:, group], target[:, group], config.p, config.reduction) for group in groups]
    if config.frequency:
        weighted = frequency_term(error, config.power, config.scaling)
        terms.append(torch.stack((weighted.sum(), weighted.new_full((), weighted.numel()))))
    return torch.stack(terms)


def loss_of(sums: Float[Tensor, "*steps terms 2"], config: Loss) -> Float[Tensor, ""]:
    """The loss that a batch's sums mean, averaged over leading axes."""
    smallest = torch.finfo(sums.dtype).tiny
    ratios = sums[..., 0] / sums[..., 1].clamp(min=smallest)
    quantities = ratios[..., :-1] if config.frequency else ratios
    if config.reduction == "batch" and config.p == 2:
        quantities = quantities.clamp(min=smallest).sqrt()  # The root has no slope at 0.
    base = quantities.mean()
    return base + config.frequency * ratios[..., -1].mean() if config.frequency else base


def norm_sums(
    error: Float[Tensor, "b c h w"], target: Float[Tensor, "b c h w"], p: int, reduction: Literal["batch", "sample"]
) -> Float[Tensor, " 2"]:
    """The batch's sums of |error|^p and |target|^p; for the mean over samples, the sum of their ratios and their number."""
    if reduction == "batch":
        return torch.stack([field.abs().pow(p).sum() for field in (error, target)])
    norms = [torch.linalg.vector_norm(field, p, (1, 2, 3)) for field in (error, target)]
    ratio = norms[0] / norms[1].clamp(min=torch.finfo(target.dtype).tiny)
    return torch.stack((ratio.sum(), ratio.new_full((), len(ratio))))


def frequency_term(
    error: Float[Tensor, "b c h w"], power: float, scaling: Literal["parseval", "published"]
) -> Float[Tensor, "b c"]:
    """sum_k r^power |E_k|^2 of every sample and channel, r the distance from the origin over the largest one.

    With `parseval` every mode counts as often as it stands in the full spectrum, so that power 0 gives the mean
    square of the error; `published` averages over the stored half, which is smaller by the number of modes.
    """
    height, width = error.shape[-2:]
    error_hat = torch.fft.rfft2(error.to(torch.promote_types(error.dtype, torch.float32)), norm="forward")
    energy = error_hat.real.square() + error_hat.imag.square()
    weight = radial_weight(height, width, power, energy)
    if scaling == "published":
        return (weight * energy).mean((-2, -1))
    return (weight * hermitian_count(width, energy) * energy).sum((-2, -1))


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
