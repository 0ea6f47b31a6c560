"""The DRIFT block: low modes mixed across channels, fused with the high modes by a radial gate, plus local branches.

With X the spectrum, M the low-frequency mask, W a complex matrix over channels and alpha the gate (paper, 4.2-4.3):

    Y = alpha W (M X) + (1 - alpha) (1 - M) X,      y = irfft2(Y) + depthwise3x3(x) + linear(x).
"""

from __future__ import annotations

from functools import lru_cache
from math import log
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor, nn

from driftnet.models.configs import DriftMixer
from driftnet.models.convolution import Padding, depthwise
from driftnet.models.mixers.place import FINEST, Place

EDGE = 0.5  # Width of the soft mask's edge, in modes: nearly a step, yet its cut-off has a gradient everywhere.
INITIAL_SPREAD = 0.02  # Standard deviation of W at the start, as published.
LOW_PASS_START = 3.0  # Logit of the gate in the lowest band where it starts as a low-pass; minus that in the highest.
TINY = 1e-24  # Keeps the gradient of sqrt finite at 0; far below the square of any float32 amplitude that matters.


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
        """Global and local branches, added."""
        local = []
        if self.pointwise is not None:
            local.append(self.pointwise(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2))
        if self.depthwise is not None:
            local.append(self.depthwise(x))
        dtype = local[0].dtype if local else x.dtype  # Under autocast the branches are narrower than the input.
        return sum(local, self._global(x).to(dtype))

    def _global(self, x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
        if self.mask is None:
            return x
        with torch.autocast(x.device.type, enabled=False):  # There is no FFT in half precision on a CPU.
            x = x.to(torch.promote_types(x.dtype, torch.float32)).contiguous()
            height, width = x.shape[-2:]
            x_hat = torch.fft.rfft2(x, norm="forward")
            low_hat = x_hat * self.mask(height, width, x.dtype)
            fused_hat = self._fused(x_hat, low_hat, width)
            return torch.fft.irfft2(fused_hat, s=(height, width), norm="forward")

    def _fused(
        self, x_hat: Complex[Tensor, "b c h half_w"], low_hat: Complex[Tensor, "b c h half_w"], width: int
    ) -> Complex[Tensor, "b c h half_w"]:
        high_hat = x_hat - low_hat
        mixed_hat = low_hat if self.mixing is None else mix_channels(self.mixing.to(low_hat.real.dtype), low_hat)
        if self.gate is None:
            return mixed_hat + high_hat
        alpha, taper = self.gate(x_hat, high_hat, width)
        return fuse(alpha, mixed_hat, high_hat) * taper


def fuse(
    alpha: Float[Tensor, "b c h half_w"],
    mixed_hat: Complex[Tensor, "b c h half_w"],
    high_hat: Complex[Tensor, "b c h half_w"],
) -> Complex[Tensor, "b c h half_w"]:
    """The gated sum, at no mode larger than the larger of the two (paper, Lemma A.3)."""
    return alpha * mixed_hat + (1 - alpha) * high_hat


def mix_channels(mixing: Float[Tensor, "2 c c"], x_hat: Complex[Tensor, "b c h half_w"]) -> Complex[Tensor, "b c h half_w"]:
    """W x at every mode, as one real matrix product."""
    real, imaginary = mixing.unbind(0)
    matrix = torch.cat((torch.cat((real, -imaginary), 1), torch.cat((imaginary, real), 1)), 0)
    parts = torch.cat((x_hat.real, x_hat.imag), 1)
    mixed = (matrix @ parts.flatten(2)).view_as(parts)
    return torch.complex(*(part.contiguous() for part in mixed.chunk(2, 1)))


class SoftMask(nn.Module):
    """A rectangle with sigmoid edges; its two cut-offs, fractions of the Nyquist frequency, learn."""

    def __init__(self, config: DriftMixer) -> None:
        super().__init__()
        self.signed = config.mask == "symmetric"
        self.logits = nn.Parameter(torch.full((2,), log(config.cutoff / (1 - config.cutoff))))

    def forward(self, height: int, width: int, dtype: torch.dtype) -> Float[Tensor, "h half_w"]:
        """1 well below the cut-offs, 0 well above, 1/2 on them."""
        rows = row_distance(height, self.signed, self.logits.device)
        columns = torch.arange(width // 2 + 1, device=self.logits.device)
        reach = self.logits.to(dtype).sigmoid() * self._scale(height, width)
        low_rows = ((reach[0] - rows) / EDGE).sigmoid()
        low_columns = ((reach[1] - columns) / EDGE).sigmoid()
        return low_rows[:, None] * low_columns

    def _scale(self, height: int, width: int) -> Float[Tensor, " 2"]:
        return self.logits.new_tensor([height / 2 if self.signed else height, width / 2])


class HardMask(nn.Module):
    """A rectangle with a step at the initial cut-off; it has nothing to learn."""

    def __init__(self, config: DriftMixer) -> None:
        super().__init__()
        self.signed, self.cutoff = config.mask == "symmetric", config.cutoff
        self.register_buffer("anchor", torch.empty(0), persistent=False)  # Knows the device.

    def forward(self, height: int, width: int, dtype: torch.dtype) -> Float[Tensor, "h half_w"]:
        """1 below the cut-offs, else 0; the published quadrant counts all rows, and columns of the half spectrum."""
        device = self.get_buffer("anchor").device
        rows = row_distance(height, self.signed, device)
        columns = torch.arange(width // 2 + 1, device=device)
        if self.signed:
            low_rows, low_columns = rows < self.cutoff * height / 2, columns < self.cutoff * width / 2
        else:
            low_rows, low_columns = rows < int(self.cutoff * height), columns < int(self.cutoff * (width // 2 + 1))
        return (low_rows[:, None] & low_columns).to(dtype)


def row_distance(height: int, signed: bool, device: torch.device) -> Int[Tensor, " h"]:
    """|signed frequency| of every row of an FFT, or the bare row index."""
    index = torch.arange(height, device=device)
    return torch.minimum(index, height - index) if signed else index


class RadialGate(nn.Module):
    """A weight in (0, 1) for every sample, channel and radial band, from what the bands hold."""

    def __init__(self, config: DriftMixer) -> None:
        super().__init__()
        self.bands, self.feature, self.beta = config.bands, config.feature, config.taper
        self.signed = config.radius == "signed"
        self.mlp = nn.Sequential(
            nn.Linear(config.bands, config.gate_width), nn.ReLU(), nn.Linear(config.gate_width, config.bands), nn.Sigmoid()
        )
        self.starts_low_pass = config.gate_start == "low-pass"

    def start(self) -> None:
        """Set the gate's first values, once all weights have theirs."""
        if self.starts_low_pass:
            last: nn.Linear = self.mlp[2]  # pyright: ignore[reportAssignmentType]
            with torch.no_grad():
                last.bias.copy_(torch.linspace(LOW_PASS_START, -LOW_PASS_START, self.bands))

    def forward(
        self, x_hat: Complex[Tensor, "b c h half_w"], high_hat: Complex[Tensor, "b c h half_w"], width: int
    ) -> tuple[Float[Tensor, "b c h half_w"], Float[Tensor, "..."]]:
        """The gate at every mode, and the factor of the evaluation-time taper."""
        table = self._table(x_hat.shape[-2], width, x_hat)
        alpha_band = self.mlp(self._features(x_hat, high_hat, table))
        alpha = (alpha_band @ table.T).unflatten(-1, x_hat.shape[-2:])
        return alpha, self._taper(alpha_band, table, x_hat.shape[-2:])

    def _features(
        self, x_hat: Complex[Tensor, "b c h half_w"], high_hat: Complex[Tensor, "b c h half_w"], table: Tensor
    ) -> Float[Tensor, "b c bands"]:
        energy = square(x_hat).flatten(2)
        if self.feature == "amplitude":
            # With disjoint low and high parts, | |X_high| - |X_low| | of the paper's appendix E is |X|.
            return (energy + TINY).sqrt() @ (table / table.sum(0).clamp(min=1))
        return (square(high_hat).flatten(2) @ table) / (energy @ table + TINY)

    def _taper(self, alpha_band: Float[Tensor, "b c bands"], table: Tensor, size: torch.Size) -> Float[Tensor, "..."]:
        if self.training or self.beta == 0:
            return alpha_band.new_ones(())
        outermost = table[:, -1].unflatten(0, size)
        return 1 - self.beta * alpha_band.mean(1)[:, -1, None, None, None] * outermost

    def _table(self, height: int, width: int, like: Tensor) -> Float[Tensor, "modes bands"]:
        """One-hot membership of the modes in the bands: pooling and spreading become matrix products."""
        band = band_table(height, width, self.bands, self.signed)
        return torch.from_numpy(band).to(like.device, like.real.dtype)


def square(x_hat: Complex[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """|x|^2."""
    return x_hat.real.square() + x_hat.imag.square()


@lru_cache(maxsize=64)
def band_table(height: int, width: int, bands: int, signed: bool) -> np.ndarray:
    """One-hot (modes, bands) table of `radial_bands` or of its published form."""
    index = (radial_bands if signed else published_bands)(height, width, bands)
    return (index.reshape(-1, 1) == np.arange(bands)).astype(np.float32)


def radial_bands(height: int, width: int, bands: int) -> np.ndarray:
    """Band of every rFFT2 mode by its distance from the origin, 0 the lowest; integers, so exact on every machine."""
    ky = np.minimum(np.arange(height), height - np.arange(height))[:, None] * width
    kx = np.arange(width // 2 + 1)[None, :] * height
    squared, largest = ky**2 + kx**2, (height // 2 * width) ** 2 + (width // 2 * height) ** 2
    edges = np.arange(1, bands).reshape(-1, 1, 1)
    return (squared * bands**2 >= edges**2 * largest).sum(0)


def published_bands(height: int, width: int, bands: int) -> np.ndarray:
    """The authors' bands: by the raw row index, in single precision, which decides the modes on an edge."""
    columns = width // 2 + 1
    ky = np.arange(height, dtype=np.float32)[:, None] / np.float32(max(height - 1, 1))
    kx = np.arange(columns, dtype=np.float32)[None, :] / np.float32(max(columns - 1, 1))
    radius = np.sqrt(ky**2 + kx**2)
    return np.minimum(np.floor(radius / (radius.max() + np.float32(1e-8)) * bands), bands - 1).astype(np.int64)


def build(config: DriftMixer, channels: int, padding: Padding, place: Place = FINEST) -> nn.Module:
    """A DRIFT block, the same at every place."""
    return Drift(config, channels, padding)
