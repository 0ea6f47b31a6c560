"""The published numbers' convention: per cent, of fields normalised with the published constants.

mean_relative_l1_error: relative L1 of a channel group, times 100, averaged over samples, then over groups; the median likewise.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from driftnet.metrics.errors import relative_l1

AVERAGES_STATIC = ("Wave-Gauss",)  # The published mean over groups takes in the given wave speed there, whose error is 0.


def percent_l1(
    prediction: Float[Tensor, "*b c h w"],
    truth: Float[Tensor, "*b c h w"],
    mean: Float[Tensor, " c"],
    std: Float[Tensor, " c"],
) -> Float[Tensor, "*b"]:
    """Relative L1 of normalised fields in per cent."""
    scaled = [(field - mean[:, None, None]) / std[:, None, None] for field in (prediction, truth)]
    return 100 * relative_l1(*scaled)


def over_groups(per_quantity: Float[ndarray, "*b q"], static: int) -> Float[ndarray, "*b"]:
    """Mean over the groups of channels, `static` of which are given and so without error."""
    return per_quantity.sum(-1) / (per_quantity.shape[-1] + static)


def constants(values: tuple[float, ...], channels: slice, like: Tensor) -> Float[Tensor, " c"]:
    """The published constants of a group of channels."""
    return torch.tensor(values[channels], dtype=like.dtype, device=like.device)
