"""The U-shaped neural operator on two levels (Rahman et al. 2022; sizes of the paper's appendix F)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from driftnet.models.configs import UNO
from driftnet.models.convolution import padding_mode
from driftnet.models.grids import with_positions
from driftnet.models.spectral import FourierLayer, resample
from driftnet.tasks.base import Boundary


def build(config: UNO, channels_in: int, channels_out: int, boundary: Boundary) -> nn.Module:
    """A U-NO; where its periodic kernels do not fit the boundary, it is told the position, as the official code does."""
    return UShapedOperator(config, channels_in, channels_out, positions=padding_mode(config.frame, boundary) == "zeros")


class UShapedOperator(nn.Module):
    """A Fourier layer on the grid, one on half the grid, and one that fuses both; at any height and width."""

    def __init__(self, config: UNO, channels_in: int, channels_out: int, positions: bool) -> None:
        super().__init__()
        self.positions, width = positions, config.width
        self.enter = FourierLayer(channels_in + 2 * positions, width, config.modes)
        self.coarse = FourierLayer(width, 2 * width, config.modes)
        self.fuse = FourierLayer(3 * width, width, config.modes)
        self.project = nn.Conv2d(width, channels_out, 1)

    def forward(self, x: Float[Tensor, "b c_in h w"]) -> Float[Tensor, "b c_out h w"]:
        """The network's output."""
        height, width = x.shape[-2:]
        fine = F.gelu(self.enter(with_positions(x) if self.positions else x))
        # Fourier resampling, where the official code has bicubic: an operator that does not depend on the grid.
        coarse = F.gelu(self.coarse(resample(fine, (height + 1) // 2, (width + 1) // 2)))
        both = torch.cat((fine, resample(coarse, height, width)), 1)
        return self.project(F.gelu(self.fuse(both)))
