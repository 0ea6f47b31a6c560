"""The DRIFT block: low modes mixed across channels, fused with the high modes by a radial gate, plus local branches.

With X the spectrum, M the low-frequency mask, W a complex matrix over channels and alpha the gate (paper, 4.2-4.3):

    Y = alpha W (M X) + (1 - alpha) (1 - M) X,      y = irfft2(Y) + depthwise3x3(x) + linear(x).

M is one number at every mode, so W (M X) = M (W X): only the modes where M is not zero are mixed, and M joins the gate in the
two factors alpha M and (1 - alpha) (1 - M).
"""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from driftnet.models.convolution import Padding, depthwise
from driftnet.models.fourier import Field, Spectrum, analysis, apply, full_precision, synthesis
from driftnet.models.mixers.configs import DriftMixer
from driftnet.models.mixers.gate import RadialGate
from driftnet.models.mixers.masks import HardMask, SoftMask
from driftnet.models.mixers.place import FINEST, Place
from driftnet.models.mixers.rings import Rings

INITIAL_SPREAD = 0.02  # Standard deviation of W at the start, as published.
WHOLE = Rings(1, signed=True)  # One band for all modes: without a gate they are all treated alike.


class Drift(nn.Module):
    """(b c h w) onto itself, at any height and width; what the configuration leaves out has no parameters."""

    complex_pairs: ClassVar[tuple[str, ...]] = ("mixing",)

    def __init__(self, config: DriftMixer, channels: int, padding: Padding) -> None:
        super().__init__()
        # Without mixing and gating the spectral path is the identity, and no cut-off could learn.
        spectral = config.mixing or config.gating
        self.mask = (HardMask(config) if config.edge == "hard" else SoftMask(config)) if spectral else None
        # Real storage of a complex matrix: fused optimisers and safetensors refuse complex parameters.
        self.mixing = nn.Parameter(INITIAL_SPREAD * torch.randn(2, channels, channels)) if config.mixing else None
        self.gate = RadialGate(config) if config.gating else None
        self.depthwise = depthwise(channels, config.kernel, padding, bias=False) if config.depthwise else None
        self.pointwise = nn.Linear(channels, channels) if config.pointwise else None

    def forward(self, x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
        """Global and local branches, added; in memory, channels are last."""
        last = x.permute(0, 2, 3, 1).contiguous()
        local = None if self.pointwise is None else self.pointwise(last)
        if self.depthwise is not None:
            near = self.depthwise(last.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
            local = near if local is None else local.add_(near)
        return self._with_global(last, local).permute(0, 3, 1, 2)

    def _with_global(self, x: Field, local: Field | None) -> Field:
        if self.mask is None:
            return x if local is None else x + local
        with full_precision(x):
            wide = torch.promote_types(x.dtype, torch.float32)
            onto = None if local is None else local.to(wide)
            y = synthesis(self.fused(analysis(x.to(wide)), x.shape[2]), x.shape[2], onto)
        return y.to(x.dtype if local is None else local.dtype)  # Under autocast the branches are narrower than the input.

    def fused(self, x_hat: Spectrum, width: int) -> Spectrum:
        """Y of the formula above."""
        assert self.mask is not None
        height, columns = x_hat.shape[2:4]
        low, minus_high, high = self.mask.parts(height, width, self.gate.rings if self.gate else WHOLE, x_hat)
        alpha = self.gate(x_hat, high, width).mT if self.gate else None
        # (1 - alpha) (1 - M) as one product: 1 - M from all rings, less alpha times that of every ring.
        keep_high = high if alpha is None else apply(minus_high, alpha, onto=high)
        y_hat = x_hat * keep_high.view(-1, 1, height, columns, keep_high.shape[-1])
        for region, table in low:
            low_hat = x_hat[:, :, *region]
            keep_low = table[None] if alpha is None else apply(table, alpha)
            keep_low = keep_low.view(-1, 1, *low_hat.shape[2:4], keep_low.shape[-1])
            y_hat[:, :, *region].addcmul_(mix_channels(self.mixing, low_hat), keep_low)
        return y_hat if self.gate is None or alpha is None else self.gate.tapered(y_hat, alpha.mT, width)


def mix_channels(mixing: Float[Tensor, "2 c c"] | None, x_hat: Spectrum) -> Spectrum:
    """W X at every mode, as one real matrix product; without W, X."""
    if mixing is None:
        return x_hat
    channels = x_hat.shape[-1]
    of_real, of_imaginary = F.linear(x_hat, mixing.to(x_hat.dtype).flatten(0, 1)).unbind(1)
    real = of_real[..., :channels] - of_imaginary[..., channels:]
    imaginary = of_real[..., channels:] + of_imaginary[..., :channels]
    return torch.stack((real, imaginary), 1)


def build(config: DriftMixer, channels: int, padding: Padding, place: Place = FINEST) -> nn.Module:
    """A DRIFT block, the same at every place."""
    return Drift(config, channels, padding)
