"""Means and spreads of streams of fields, in float64 and one pass."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.errors import DriftnetError


@dataclass(frozen=True)
class Statistics:
    """Per channel, in physical units; the components of a quantity share one standard deviation."""

    mean: Float[Tensor, " c"]
    std: Float[Tensor, " c"]
    increment_mean: Float[Tensor, " c"]
    increment_std: Float[Tensor, " c"]
    static_mean: Float[Tensor, " s"]
    static_std: Float[Tensor, " s"]
    """Of the channels that are given; 1 for a channel that never changes."""

    def __post_init__(self) -> None:
        """Refuse what nothing can be normalised by; tensors without values are taken as they are."""
        for name, value in vars(self).items():
            usable = value.isfinite() & (value > 0) if name.endswith("std") else value.isfinite()
            if not value.is_meta and not usable.all():
                raise DriftnetError(f"nothing can be normalised by these statistics: {name} is {value.tolist()}")


class Moments:
    """Mean and sum of squared deviations of a stream of fields (Chan, Golub and LeVeque 1983)."""

    def __init__(self, channels: int) -> None:
        self.count = 0
        self.mean = torch.zeros(channels, dtype=torch.float64)
        self.deviations = torch.zeros(channels, dtype=torch.float64)

    def add(self, fields: Float[Tensor, "t c x y"]) -> None:
        """Take in a block of values."""
        means, deviations = _moments(fields)
        mean, points = means.mean(0), fields[0, 0].numel()
        count = points * len(fields)
        shift, total = mean - self.mean, self.count + count
        self.deviations += deviations.sum(0) + points * (means - mean).square().sum(0)
        self.deviations += shift**2 * self.count * count / total
        self.mean += shift * count / total
        self.count = total

    @property
    def variance(self) -> Float[Tensor, " c"]:
        """Population variance."""
        return self.deviations / self.count


def _moments(fields: Float[Tensor, "t c x y"]) -> list[Float[Tensor, "t c"]]:
    """Mean and sum of squared deviations of every snapshot, on the CPU.

    One snapshot in float64 stays in a processor's cache, a trajectory does not; a device takes a trajectory at once.
    """
    blocks = fields.split(1) if fields.device.type == "cpu" else (fields,)
    means, deviations = zip(*map(_moments_at_once, blocks), strict=True)
    return list(torch.stack((torch.cat(means), torch.cat(deviations))).cpu())


def _moments_at_once(fields: Float[Tensor, "t c x y"]) -> tuple[Float[Tensor, "t c"], Float[Tensor, "t c"]]:
    values = fields.flatten(2).double()
    mean = values.mean(2)
    values = values - mean[..., None]
    return mean, torch.linalg.vecdot(values, values)
