"""Means and spreads of streams of fields, in float64 and one pass."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Statistics:
    """Per channel, in physical units; the components of a quantity share one standard deviation."""

    mean: Float[Tensor, " c"]
    std: Float[Tensor, " c"]
    increment_mean: Float[Tensor, " c"]
    increment_std: Float[Tensor, " c"]


class Moments:
    """Mean and sum of squared deviations of a stream of fields (Chan, Golub and LeVeque 1983)."""

    def __init__(self, channels: int) -> None:
        self.count = 0
        self.mean = torch.zeros(channels, dtype=torch.float64)
        self.deviations = torch.zeros(channels, dtype=torch.float64)

    def add(self, fields: Float[Tensor, "t c x y"]) -> None:
        """Take in a block of values."""
        values = fields.double().transpose(0, 1).flatten(1)
        count, mean = values.shape[1], values.mean(1)
        shift, total = mean - self.mean, self.count + count
        self.deviations += (values - mean[:, None]).square().sum(1) + shift**2 * self.count * count / total
        self.mean += shift * count / total
        self.count = total

    @property
    def variance(self) -> Float[Tensor, " c"]:
        """Population variance."""
        return self.deviations / self.count
