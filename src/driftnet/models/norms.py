"""Layer norms over the channels of (b h w c), plain and conditioned on the lead time."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

EPSILON = 1e-5


class PlainNorm(nn.Module):
    """A layer norm that takes no notice of the lead time."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Float[Tensor, "b h w c"], lead: Float[Tensor, " leads"]) -> Float[Tensor, "b h w c"]:
        """Normalised features."""
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, EPSILON)


class LeadTimeNorm(nn.Module):
    """Scale and shift are affine functions of the lead time, as in Poseidon and the authors' code."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels
        self.weight = nn.Linear(1, channels)
        self.bias = nn.Linear(1, channels)

    def forward(self, x: Float[Tensor, "b h w c"], lead: Float[Tensor, " leads"]) -> Float[Tensor, "b h w c"]:
        """Normalised features, scaled and shifted for every sample's lead time, or for one that all of them share."""
        lead = lead.to(x.dtype)
        if len(lead) == 1:
            scale, shift = (torch.addcmul(part.bias, part.weight.view(-1), lead) for part in (self.weight, self.bias))
            return F.layer_norm(x, (self.channels,), scale, shift, EPSILON)
        scale, shift = (part(lead[:, None])[:, None, None] for part in (self.weight, self.bias))
        return torch.addcmul(shift, scale, F.layer_norm(x, (self.channels,), eps=EPSILON))


def norm(channels: int, lead_time: bool) -> PlainNorm | LeadTimeNorm:
    """The norm of a backbone that is, or is not, conditioned on the lead time."""
    return LeadTimeNorm(channels) if lead_time else PlainNorm(channels)
