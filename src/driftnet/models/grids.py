"""What a network asks of the grid, and what it is told about it."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.errors import UsageError


def require_size(x: Float[Tensor, "b c h w"], divisor: int, because: str) -> None:
    """Refuse a field whose height or width a network cannot divide."""
    height, width = x.shape[-2:]
    if height % divisor or width % divisor:
        raise UsageError(
            f"a field of {height} x {width} points does not fit this model: height and width must be multiples of {divisor} "
            f"({because})"
        )


def with_positions(x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c2 h w"]:
    """Two more channels: the position along each axis, from 0 to 1."""
    rows, columns = (torch.linspace(0, 1, size, device=x.device, dtype=x.dtype) for size in x.shape[-2:])
    shape = (x.shape[0], 1, *x.shape[-2:])
    return torch.cat((x, rows[:, None].expand(shape), columns.expand(shape)), 1)
