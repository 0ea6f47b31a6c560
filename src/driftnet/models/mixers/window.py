"""Shifted-window cosine attention (Liu et al. 2022, Swin v2), with scOT's conventions.

Within a window, for the unit vectors q and k of every head and the offset d between two tokens:

    y = softmax(s <q, k> + 16 sigmoid(f(d))) v,      s = exp(min(log s, log 100)).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from driftnet.models.convolution import Padding
from driftnet.models.mixers.configs import WindowMixer
from driftnet.models.mixers.place import FINEST, Place

INITIAL_SCALE, LARGEST_SCALE = 10.0, 100.0  # Of the cosine before the softmax; Swin v2.
BIAS_WIDTH = 512  # Hidden layer of the position bias; Swin v2.
BIAS_REACH = 16.0  # The position bias lies between 0 and this; Swin v2.
OFFSET_SCALE = 8.0  # Offsets are spread over [-8, 8] before their logarithm is taken; Swin v2.
SEPARATION = -200.0  # Added between tokens that must not see each other: scOT adds Swin's -100 twice.


class WindowAttention(nn.Module):
    """(b c h w) onto itself, at any height and width."""

    def __init__(self, config: WindowMixer, channels: int, padding: Padding, place: Place = FINEST) -> None:
        super().__init__()
        self.window, self.heads, self.shifted = config.window, config.heads[place.level], place.shifted
        self.wraps = padding == "circular"
        self.query = nn.Linear(channels, channels)
        self.key = nn.Linear(channels, channels, bias=False)
        self.value = nn.Linear(channels, channels)
        self.logit_scale = nn.Parameter(torch.full((self.heads, 1, 1), log(INITIAL_SCALE)))
        self.position = nn.Sequential(nn.Linear(2, BIAS_WIDTH), nn.ReLU(), nn.Linear(BIAS_WIDTH, self.heads, bias=False))
        self.output = nn.Linear(channels, channels)

    def forward(self, x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
        """What every token gathers from its window."""
        windows = cut_into_windows(x.shape[-2], x.shape[-1], self.window, self.shifted)
        tokens = windows.split(x.permute(0, 2, 3, 1))
        value = self._by_head(self.value(tokens))
        scale = self.logit_scale.clamp(max=log(LARGEST_SCALE)).exp().repeat(tokens.shape[1], 1, 1)
        query = F.normalize(self._by_head(self.query(tokens)), dim=-1) * scale
        key = F.normalize(self._by_head(self.key(tokens)), dim=-1)
        bias = self._bias(windows).to(value.dtype)
        seen = F.scaled_dot_product_attention(query.to(value.dtype), key.to(value.dtype), value, bias, scale=1.0)
        gathered = seen.unflatten(1, (-1, self.heads)).transpose(2, 3).flatten(3)
        return windows.join(self.output(gathered)).permute(0, 3, 1, 2)

    def _by_head(self, x: Float[Tensor, "b windows n c"]) -> Float[Tensor, "b windows_and_heads n d"]:
        # Windows count as heads: the bias then broadcasts over the batch, and fused kernels take four dimensions.
        return x.unflatten(-1, (self.heads, -1)).transpose(2, 3).flatten(1, 2)

    def _bias(self, windows: Windows) -> Float[Tensor, "1 windows_and_heads n n"]:
        position = self._position_bias(windows.side)[None]
        if windows.separates(self.wraps):
            region = windows.regions(self.wraps, position.device)
            apart = region[:, None, :, None] != region[:, None, None, :]
            return (position + SEPARATION * apart).flatten(0, 1)[None]
        return position.expand(windows.grid[0] * windows.grid[1], -1, -1, -1).flatten(0, 1)[None]

    def _position_bias(self, side: tuple[int, int]) -> Float[Tensor, "heads n n"]:
        """Bias of every pair of tokens in a window; it depends on the offset between them alone."""
        table = BIAS_REACH * self.position(log_offsets(side, self.logit_scale)).sigmoid()
        # Entry i - j of the table for the pair (i, j), along both axes: three times as fast as indexing.
        pairs = table.permute(2, 0, 1).unfold(1, side[0], 1).unfold(2, side[1], 1).flip(3, 4)
        return pairs.flatten(3).flatten(1, 2)


def log_offsets(side: tuple[int, int], like: Tensor) -> Float[Tensor, "rows columns 2"]:
    """All offsets within a window on a logarithmic scale, -1 to 1 but for a constant."""
    axes = []
    for length in side:
        offset = torch.arange(1 - length, length, dtype=like.dtype, device=like.device) * OFFSET_SCALE / max(length - 1, 1)
        axes.append(offset.sign() * (offset.abs() + 1).log2() / log(OFFSET_SCALE, 2))
    return torch.stack(torch.meshgrid(*axes, indexing="ij"), -1)


@dataclass(frozen=True)
class Windows:
    """A grid of tokens cut into windows: padded to whole ones, and rolled where the windows are shifted."""

    size: tuple[int, int]
    side: tuple[int, int]
    shift: tuple[int, int]

    @property
    def grid(self) -> tuple[int, int]:
        """Windows along each axis."""
        (height, width), (rows, columns) = self.size, self.side
        return (height + rows - 1) // rows, (width + columns - 1) // columns

    @property
    def padded(self) -> tuple[int, int]:
        """Height and width in whole windows."""
        return self.grid[0] * self.side[0], self.grid[1] * self.side[1]

    def split(self, x: Float[Tensor, "b h w c"]) -> Float[Tensor, "b windows n c"]:
        """Tokens of every window."""
        if self.padded != self.size:
            x = F.pad(x, (0, 0, 0, self.padded[1] - self.size[1], 0, self.padded[0] - self.size[0]))
        if any(self.shift):
            x = x.roll((-self.shift[0], -self.shift[1]), (1, 2))
        square = x.unflatten(2, (self.grid[1], self.side[1])).unflatten(1, (self.grid[0], self.side[0]))
        return square.transpose(2, 3).flatten(3, 4).flatten(1, 2)

    def join(self, tokens: Float[Tensor, "b windows n c"]) -> Float[Tensor, "b h w c"]:
        """The grid again; undoes `split`."""
        square = tokens.unflatten(2, self.side).unflatten(1, self.grid)
        x = square.transpose(2, 3).flatten(3, 4).flatten(1, 2)
        if any(self.shift):
            x = x.roll(self.shift, (1, 2))
        return x[:, : self.size[0], : self.size[1]]

    def separates(self, wraps: bool) -> bool:
        """Whether some window holds tokens that must not see each other."""
        return self.padded != self.size or (any(self.shift) and not wraps)

    def regions(self, wraps: bool, device: torch.device) -> Float[Tensor, "windows n"]:
        """A number for every token; those of a window that differ in it are not neighbours on the domain."""
        rows, columns = (self._along(axis, wraps, device) for axis in (0, 1))
        grid = 3 * rows[:, None] + columns
        return Windows(self.padded, self.side, (0, 0)).split(grid[None, :, :, None])[0, :, :, 0]

    def _along(self, axis: int, wraps: bool, device: torch.device) -> Float[Tensor, " n"]:
        """Along one axis, after the roll: 0 for most tokens, 1 for those across the boundary, 2 for padding."""
        place = torch.arange(self.padded[axis], device=device).roll(-self.shift[axis])
        across = (place < self.shift[axis]) & (not wraps)
        return across.float() + 2.0 * (place >= self.size[axis])


def cut_into_windows(height: int, width: int, window: int, shifted: bool) -> Windows:
    """Windows clipped to the grid; along an axis that one window spans there is nothing to shift."""
    shift = tuple(window // 2 if shifted and length > window else 0 for length in (height, width))
    return Windows((height, width), (min(window, height), min(window, width)), (shift[0], shift[1]))


def build(config: WindowMixer, channels: int, padding: Padding, place: Place = FINEST) -> nn.Module:
    """Window attention with the heads of its level; on a periodic domain the shifted windows reach across the boundary."""
    return WindowAttention(config, channels, padding, place)
