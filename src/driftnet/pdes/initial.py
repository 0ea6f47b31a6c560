"""Random initial data: functions of one random generator a trajectory, the same for every batch and device."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.pdes.grid import Grid, to_field, to_spectrum
from driftnet.pdes.navier_stokes import velocity_from_vorticity
from driftnet.tasks.equations import PiecewiseConstantVorticity


def trajectory_generator(seed: int, index: int) -> np.random.Generator:
    """Random numbers of trajectory `index`: they depend on the seed and the index alone."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(index,))))


def piecewise_constant_vorticity(
    parameters: PiecewiseConstantVorticity, generators: list[np.random.Generator], size: int
) -> Float[Tensor, "b c {size} {size}"]:
    """Velocity of a vorticity that is constant on blocks, and the tracer where asked for."""
    grid = Grid(size)
    blocks = parameters.blocks
    values = np.stack([rng.uniform(-1, 1, (blocks, blocks)) for rng in generators]) * parameters.amplitude
    block = (torch.arange(size) * blocks) // size
    vorticity = torch.from_numpy(values)[:, block[:, None], block[None, :]]
    vorticity_hat = to_spectrum(vorticity) * grid.below(size / 2)
    vorticity_hat[..., 0, 0] = 0
    velocity = to_field(velocity_from_vorticity(vorticity_hat, grid), size)
    if not parameters.tracer:
        return velocity
    return torch.cat((velocity, disc(grid).expand(len(generators), 1, size, size)), 1)


def disc(grid: Grid) -> Float[Tensor, "x y"]:
    """1 within a quarter of the domain's centre, boundary included, else 0."""
    x, y = grid.points
    return ((x - 0.5) ** 2 + (y - 0.5) ** 2 <= 1 / 16).to(grid.dtype)
