"""Errors of predicted fields: (..., c, h, w) twice, one number a sample. Formulas, units and sources: docs/metrics.md."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

GRID = (-3, -2, -1)


def relative_l1(prediction: Float[Tensor, "*b c h w"], truth: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b"]:
    """|prediction - truth|_1 / |truth|_1 over channels and grid."""
    return (prediction - truth).abs().sum(GRID) / truth.abs().sum(GRID)


def nrmse(prediction: Float[Tensor, "*b c h w"], truth: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b"]:
    """Root of the mean square error over that of the truth; others call it relative L2."""
    return ((prediction - truth).square().sum(GRID) / truth.square().sum(GRID)).sqrt()


def vrmse(prediction: Float[Tensor, "*b c h w"], truth: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b"]:
    """Root of the mean square error over the truth's spread: 1 for predicting every channel's spatial mean."""
    return ((prediction - truth).square().sum(GRID) / _centred(truth).square().sum(GRID)).sqrt()


def correlation(prediction: Float[Tensor, "*b c h w"], truth: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b"]:
    """Pearson correlation over channels and grid, each channel's mean removed; 0 where there is none to speak of."""
    a, b = _centred(prediction), _centred(truth)
    return _cosine((a * b).sum(GRID), a.square().sum(GRID), b.square().sum(GRID))


def channel_correlation(prediction: Float[Tensor, "*b c h w"], truth: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b"]:
    """Cosine of the angle between the fields, no mean removed, averaged over channels: APEBench's correlation."""
    grid = (-2, -1)
    return _cosine((prediction * truth).sum(grid), prediction.square().sum(grid), truth.square().sum(grid)).mean(-1)


def _centred(field: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b c h w"]:
    return field - field.mean((-2, -1), keepdim=True)


def _cosine(product: Float[Tensor, "*b"], left: Float[Tensor, "*b"], right: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    """The product over sqrt(left right), and 0 where a field is nothing or not finite."""
    scale = left.sqrt() * right.sqrt()
    sound = (scale > 0) & product.isfinite() & scale.isfinite()
    return torch.where(sound, product / scale, 0.0)
