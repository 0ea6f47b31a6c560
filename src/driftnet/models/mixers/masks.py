"""Which modes count as low, and by how much, ring by ring."""

from __future__ import annotations

from math import ceil, log
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from driftnet.models.constants import constant
from driftnet.models.mixers.configs import DriftMixer
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
        return constant(rectangle, self._low(height, width), like=like)

    def parts(self, height: int, width: int, rings: Rings, like: Tensor) -> Parts:
        """No mode is both."""
        place = self._low(height, width)
        regions = enumerate(rectangles(place))
        low = [(region, constant(low_rings, number, place, rings, like=like)) for number, region in regions]
        return Parts(low, constant(minus_high_rings, place, rings, like=like), constant(high_modes, place, like=like))

    def _low(self, height: int, width: int) -> LowModes:
        if self.signed:
            return LowModes(height, width, True, ceil(self.cutoff * height / 2), ceil(self.cutoff * width / 2))
        return LowModes(height, width, False, int(self.cutoff * height), int(self.cutoff * (width // 2 + 1)))


class LowModes(NamedTuple):
    """A grid, and how many row and column frequencies of it are low, 0 among them; rows of both signs, or of one."""

    height: int
    width: int
    signed: bool
    rows: int
    columns: int


def rectangles(low: LowModes) -> list[Region]:
    """The low modes, none on a grid that is too small; negative row frequencies stand at the end of an FFT."""
    if not (low.rows and low.columns):
        return []
    negative = [slice(low.height - low.rows + 1, low.height)] if low.signed and low.rows > 1 else []
    return [(each, slice(low.columns)) for each in (slice(low.rows), *negative)]


def rectangle(low: LowModes) -> np.ndarray:
    """1 at the low modes, else 0."""
    table = np.zeros((low.height, low.width // 2 + 1))
    for region in rectangles(low):
        table[region] = 1
    return table


def minus_high_rings(low: LowModes, rings: Rings) -> np.ndarray:
    """Minus the membership of the modes in the rings, 0 at the low modes."""
    return -membership(low.height, low.width, *rings) * high_modes(low)


def high_modes(low: LowModes) -> np.ndarray:
    """1 at the high modes, else 0."""
    return 1 - rectangle(low).reshape(-1, 1)


def low_rings(number: int, low: LowModes, rings: Rings) -> np.ndarray:
    """Membership of the modes of one rectangle."""
    table = membership(low.height, low.width, *rings).reshape(low.height, -1, rings.bands)
    return table[rectangles(low)[number]].reshape(-1, rings.bands)


def row_distance(height: int, signed: bool) -> np.ndarray:
    """|signed frequency| of every row of an FFT, or the bare row index."""
    index = np.arange(height)
    return np.minimum(index, height - index) if signed else index
