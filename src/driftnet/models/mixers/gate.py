"""The radial gate: how much of every band comes from the mixed low modes, and how much from the untouched high ones."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from driftnet.models.constants import constant
from driftnet.models.fourier import Spectrum
from driftnet.models.frugal import Amplitude, call
from driftnet.models.mixers.configs import DriftMixer
from driftnet.models.mixers.rings import Rings, membership, pooling

LOW_PASS_START = 3.0  # Logit of the gate in the lowest band where it starts as a low-pass; minus that in the highest.

Shares = Float[Tensor, "b c bands"]


class RadialGate(nn.Module):
    """A weight in (0, 1) for every sample, channel and radial band, from what the bands hold."""

    def __init__(self, config: DriftMixer) -> None:
        super().__init__()
        self.rings = Rings(config.bands, config.radius == "signed")
        self.feature, self.beta = config.feature, config.taper
        self.mlp = nn.Sequential(
            nn.Linear(config.bands, config.gate_width), nn.ReLU(), nn.Linear(config.gate_width, config.bands), nn.Sigmoid()
        )
        self.starts_low_pass = config.gate_start == "low-pass"

    def start(self) -> None:
        """Set the gate's first values, once all weights have theirs."""
        if self.starts_low_pass:
            last: nn.Linear = self.mlp[2]  # pyright: ignore[reportAssignmentType]
            with torch.no_grad():
                last.bias.copy_(torch.linspace(LOW_PASS_START, -LOW_PASS_START, self.rings.bands))

    def forward(self, x_hat: Spectrum, high: Float[Tensor, "modes 1"], width: int) -> Shares:
        """The gate alpha of every band; `high` says how much of every mode is high."""
        return self.mlp(self._features(x_hat, high, width))

    def tapered(self, y_hat: Spectrum, alpha: Shares, width: int) -> Spectrum:
        """In evaluation, the outermost band less a share of the mean gate (appendix C)."""
        if self.training or self.beta == 0:
            return y_hat
        table = constant(membership, y_hat.shape[2], width, *self.rings, like=y_hat)
        outermost = table[:, -1].view(*y_hat.shape[2:4], 1)
        return y_hat * (1 - self.beta * alpha[..., -1].mean(1)[:, None, None, None, None] * outermost)

    def _features(self, x_hat: Spectrum, high: Float[Tensor, "modes 1"], width: int) -> Shares:
        place = (x_hat.shape[2], width, *self.rings)
        amplitude = call(Amplitude, x_hat.flatten(2, 3))
        if self.feature == "amplitude":
            # With disjoint low and high parts, | |X_high| - |X_low| | of the paper's appendix E is |X|.
            return pooled(amplitude, constant(pooling, *place, like=x_hat))
        table, energy = constant(membership, *place, like=x_hat), amplitude.square()
        return pooled(energy, table * high.square()) / pooled(energy, table)


def pooled(x: Float[Tensor, "b modes c"], table: Float[Tensor, "modes bands"]) -> Shares:
    """Sums over the modes, weighted for every band."""
    return torch.bmm(x.transpose(1, 2), table.expand(x.shape[0], -1, -1))
