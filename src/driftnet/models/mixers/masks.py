"""Which modes count as low, and by how much, ring by ring."""

from __future__ import annotations

from math import ceil, log
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from driftnet.models.configs import DriftMixer
from driftnet.models.constants import constant
from driftnet.models.mixers.rings import Rings, membership

EDGE = 0.5  # Width of the soft mask's edge, in modes: nearly a step, yet its cut-off has a gradient everywhere.

Table = Float[Tensor, "modes bands"]
Region = tuple[slice, slice]  # Rows and columns of the half spectrum.
EVERYWHERE: Region = (slice(None), slice(None))


class Parts(NamedTuple):
    """What is low and what is high of every ring: tables (mode, band) of M and of 1 - M, M the mask."""

    low: list[tuple[Region, Table]]
    """M, over the modes of every rectangle in which it is not zero."""
    minus_high: Table
    """M - 1, over all modes."""
    high: Float[Tensor, "modes 1"]
    """1 - M, whatever the ring."""


class SoftMask(nn.Module):
    """A rectangle with sigmoid edges; its two cut-offs, fractions of the Nyquist frequency, learn."""

    def __init__(self, config: DriftMixer) -> None:
        super().__init__()
        self.signed = config.mask == "symmetric"
        self.logits = nn.Parameter(torch.full((2,), log(config.cutoff / (1 - config.cutoff))))

    def forward(self, height: int, width: int, like: Tensor) -> Float[Tensor, "h half_w"]:
        """1 well below the cut-offs, 0 well above, 1/2 on them."""
        reach_rows, reach_columns = self.logits.to(like.dtype).sigmoid().unbind()
        rows = constant(row_distance, height, self.signed, like=like)
        columns = constant(np.arange, width // 2 + 1, like=like)
        low_rows = ((reach_rows * (height / 2 if self.signed else height) - rows) / EDGE).sigmoid()
        low_columns = ((reach_columns * (width / 2) - columns) / EDGE).sigmoid()
        return low_rows[:, None] * low_columns

    def parts(self, height: int, width: int, rings: Rings, like: Tensor) -> Parts:
        """It is nowhere zero, so every mode is low in part."""
        low, table = self(height, width, like).flatten()[:, None], constant(membership, height, width, *rings, like=like)
        return Parts([(EVERYWHERE, table * low)], table * (low - 1), 1 - low)


class HardMask(nn.Module):
    """A rectangle with a step at the initial cut-off; it has nothing to learn."""

    def __init__(self, config: DriftMixer) -> None:
        super().__init__()
        self.signed, self.cutoff = config.mask == "symmetric", config.cutoff

    def forward(self, height: int, width: int, like: Tensor) -> Float[Tensor, "h half_w"]:
        """1 below the cut-offs, else 0; the published quadrant counts all rows, and columns of the half spectrum."""
        return constant(rectangle, height, width, self.signed, *self._sides(height, width), like=like)

    def parts(self, height: int, width: int, rings: Rings, like: Tensor) -> Parts:
        """No mode is both."""
        sides = self._sides(height, width)
        regions = rectangles(height, self.signed, *sides)
        place = (height, width, self.signed, *sides)
        low = [(region, constant(low_rings, number, *place, *rings, like=like)) for number, region in enumerate(regions)]
        minus_high, high = (constant(make, *place, *rings, like=like) for make in (minus_high_rings, high_modes))
        return Parts(low, minus_high, high)

    def _sides(self, height: int, width: int) -> tuple[int, int]:
        """How many row and column frequencies are low, 0 among them."""
        if self.signed:
            return ceil(self.cutoff * height / 2), ceil(self.cutoff * width / 2)
        return int(self.cutoff * height), int(self.cutoff * (width // 2 + 1))


def rectangles(height: int, signed: bool, rows: int, columns: int) -> list[Region]:
    """The low modes; negative row frequencies stand at the end of an FFT."""
    negative = [slice(height - rows + 1, height)] if signed and rows > 1 else []
    return [(each, slice(columns)) for each in (slice(rows), *negative)]


def rectangle(height: int, width: int, signed: bool, rows: int, columns: int) -> np.ndarray:
    """1 at the low modes, else 0."""
    low = np.zeros((height, width // 2 + 1))
    for region in rectangles(height, signed, rows, columns):
        low[region] = 1
    return low


def minus_high_rings(height: int, width: int, signed: bool, rows: int, columns: int, bands: int, by_sign: bool) -> np.ndarray:
    """Minus the membership of the modes in the rings, 0 at the low modes."""
    low = rectangle(height, width, signed, rows, columns)
    return membership(height, width, bands, by_sign) * (low - 1).reshape(-1, 1)


def high_modes(height: int, width: int, signed: bool, rows: int, columns: int, *_: int | bool) -> np.ndarray:
    """1 at the high modes, else 0."""
    return 1 - rectangle(height, width, signed, rows, columns).reshape(-1, 1)


def low_rings(
    number: int, height: int, width: int, signed: bool, rows: int, columns: int, bands: int, by_sign: bool
) -> np.ndarray:
    """Membership of the modes of one rectangle."""
    table = membership(height, width, bands, by_sign).reshape(height, -1, bands)
    return table[rectangles(height, signed, rows, columns)[number]].reshape(-1, bands)


def row_distance(height: int, signed: bool) -> np.ndarray:
    """|signed frequency| of every row of an FFT, or the bare row index."""
    index = np.arange(height)
    return np.minimum(index, height - index) if signed else index
