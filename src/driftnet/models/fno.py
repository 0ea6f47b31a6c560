"""The Fourier neural operator (Li et al. 2021)."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from driftnet.models.configs import FNO
from driftnet.models.convolution import padding_mode
from driftnet.models.grids import with_positions
from driftnet.models.spectral import FourierLayer
from driftnet.tasks.base import Boundary


def build(config: FNO, channels_in: int, channels_out: int, boundary: Boundary) -> nn.Module:
    """An FNO; where its periodic kernels do not fit the boundary, it is told the position, as the official code does."""
    return FourierOperator(config, channels_in, channels_out, positions=padding_mode(config.frame, boundary) == "zeros")


class FourierOperator(nn.Module):
    """Lift, Fourier layers, project; at any height and width."""

    def __init__(self, config: FNO, channels_in: int, channels_out: int, positions: bool) -> None:
        super().__init__()
        self.positions = positions
        self.lift = nn.Conv2d(channels_in + 2 * positions, config.width, 1)
        self.layers = nn.ModuleList(FourierLayer(config.width, config.width, config.modes) for _ in range(config.layers))
        self.project = nn.Sequential(
            nn.Conv2d(config.width, config.projection, 1), nn.GELU(), nn.Conv2d(config.projection, channels_out, 1)
        )

    def forward(self, x: Float[Tensor, "b c_in h w"]) -> Float[Tensor, "b c_out h w"]:
        """The network's output."""
        x = self.lift(with_positions(x) if self.positions else x)
        *inner, last = self.layers
        for layer in inner:
            x = F.gelu(layer(x))
        return self.project(last(x))
