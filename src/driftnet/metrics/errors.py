"""Errors of predicted fields: (..., c, h, w) twice, one number a sample."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

GRID = (-3, -2, -1)


def relative_l1(prediction: Float[Tensor, "*b c h w"], truth: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b"]:
    """|prediction - truth|_1 / |truth|_1 over channels and grid."""
    return (prediction - truth).abs().sum(GRID) / truth.abs().sum(GRID)


def relative_l2(prediction: Float[Tensor, "*b c h w"], truth: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b"]:
    """|prediction - truth|_2 / |truth|_2 over channels and grid."""
    return ((prediction - truth).square().sum(GRID) / truth.square().sum(GRID)).sqrt()


def correlation(prediction: Float[Tensor, "*b c h w"], truth: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b"]:
    """Pearson correlation over channels and grid, each channel's mean removed; 0 where a field is constant."""
    a, b = (field - field.mean((-2, -1), keepdim=True) for field in (prediction, truth))
    scale = (a.square().sum(GRID) * b.square().sum(GRID)).sqrt()
    return torch.where(scale > 0, (a * b).sum(GRID) / scale.clamp(min=torch.finfo(scale.dtype).tiny), 0.0)
