"""Evaluation on other grids than the data's or the training's."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import interpolate

from driftnet.configs import Evaluation
from driftnet.data.trajectories import Trajectories
from driftnet.errors import UsageError
from driftnet.models.operator import Operator
from driftnet.pdes.grid import resample
from driftnet.tasks.base import Boundary

BLOCK = 8  # Snapshots read at once: few enough to bound memory, enough to read well.

Size = tuple[int, int]


def resized(fields: Float[Tensor, "*b h w"], size: Size, boundary: Boundary) -> Float[Tensor, "*b h2 w2"]:
    """Fields on another grid: band-limited between square periodic grids, bilinear on others."""
    if tuple(fields.shape[-2:]) == size or 0 in fields.shape:
        return fields if 0 not in fields.shape else fields.new_zeros((*fields.shape[:-2], *size))
    if boundary == "periodic" and size[0] == size[1] and fields.shape[-2] == fields.shape[-1]:
        return resample(fields, size[0])
    flat = fields.reshape(-1, 1, *fields.shape[-2:])
    return interpolate(flat, size, mode="bilinear").reshape(*fields.shape[:-2], *size)


def evaluated_size(test: Trajectories, config: Evaluation) -> Size:
    """The grid on which errors are measured."""
    height, width = test.stored.size
    if config.resolution is None:
        return height, width
    if height != width:
        raise UsageError(f"evaluation.resolution: the data are on {height} x {width} points; only square grids are resampled")
    return config.resolution, config.resolution


def snapshots(test: Trajectories, samples: range, steps: int, size: Size) -> Iterator[Float[Tensor, "b c x y"]]:
    """The true states at 0 .. `steps`, one after another, never more than a block of them in memory."""
    for start in range(0, steps + 1, BLOCK):
        last = min(start + BLOCK, steps + 1)
        block = torch.stack([test.read(sample, start, last) for sample in samples], 1)
        yield from (resized(fields, size, test.task.boundary) for fields in block)


def through_grid(operator: Operator, trained: Size, boundary: Boundary) -> Operator:
    """The paper's protocol for other resolutions: to the training grid, a step there, and back."""

    def step(state: Float[Tensor, "b c h w"], static: Float[Tensor, "b s h w"], *lead: Tensor) -> Float[Tensor, "b c h w"]:
        inside = operator(resized(state, trained, boundary), resized(static, trained, boundary), *lead)
        return resized(inside, (state.shape[-2], state.shape[-1]), boundary)

    return step
