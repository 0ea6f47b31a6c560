"""Random initial data: functions of one random generator a trajectory, the same for every batch and device."""

from __future__ import annotations

from math import pi

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.pdes.grid import Grid, closed_points, resize_spectrum, to_field, to_spectrum
from driftnet.pdes.navier_stokes import velocity_from_vorticity
from driftnet.tasks.equations import (
    GaussianPulses,
    GaussianSources,
    PiecewiseConstantVorticity,
    ShearLayer,
    SineSeries,
    TruncatedFourierSeries,
)

Generators = list[np.random.Generator]


def trajectory_generator(seed: int, index: int) -> np.random.Generator:
    """Random numbers of trajectory `index`: they depend on the seed and the index alone."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(index,))))


def piecewise_constant_vorticity(
    parameters: PiecewiseConstantVorticity, generators: Generators, size: int
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
    tracer = parameters.tracer_height * disc(grid, parameters.tracer_radius, parameters.tracer_centre)
    return torch.cat((velocity, tracer.expand(len(generators), 1, size, size)), 1)


def disc(grid: Grid, radius: float, centre: tuple[float, float]) -> Float[Tensor, "x y"]:
    """1 within a radius of a point of the unit torus, boundary included, else 0."""
    x, y = ((place - middle).abs() for place, middle in zip(grid.points, centre, strict=True))
    return (torch.minimum(x, 1 - x) ** 2 + torch.minimum(y, 1 - y) ** 2 <= radius**2).to(grid.dtype)


def shear_layer(parameters: ShearLayer, generators: Generators, size: int) -> Float[Tensor, "b 2 {size} {size}"]:
    """Velocity along x that changes its sign at two wavy lines."""
    x, y = Grid(size).points
    low, high = parameters.layers
    flows = []
    for rng in generators:
        count = int(rng.integers(parameters.modes[0], parameters.modes[1], endpoint=True))
        size_of_wave, phase = (torch.from_numpy(rng.uniform(*ends, count)) for ends in (parameters.coefficients, (0, 2 * pi)))
        thickness, shift = rng.uniform(*parameters.thickness), rng.uniform(*parameters.shift)
        modes = torch.arange(1, count + 1)
        wave = (size_of_wave * torch.sin(2 * pi * modes * x - phase)).sum(-1, keepdim=True)
        place = y + shift + parameters.perturbation * wave
        distance = torch.where(place <= (low + high) / 2, place - low, high - place)
        flows.append(parameters.speed * torch.tanh(2 * pi * distance / thickness))
    along_x = torch.stack(flows)
    return torch.stack((along_x, torch.zeros_like(along_x)), 1)


def truncated_fourier_series(
    parameters: TruncatedFourierSeries, generators: Generators, size: int
) -> Float[Tensor, "b 1 {size} {size}"]:
    """Low modes of uniform size and any phase, without a mean, scaled to a largest value."""
    cutoff = parameters.cutoff
    grid = Grid(2 * cutoff + 2)
    kx, ky = grid.modes
    # exponax draws the amplitude of a wave: each of its two (four) coefficients gets a half (a quarter).
    share = torch.where(kx == 0, 1.0, 0.5) * torch.where(ky == 0, 1.0, 0.5) * grid.below(cutoff + 0.5)
    share[0, 0] = 0
    shape, ends = tuple(share.shape), parameters.coefficients
    draws = np.stack([rng.uniform(*ends, shape) * np.exp(1j * rng.uniform(0, 2 * pi, shape)) for rng in generators])
    series = to_field(resize_spectrum(torch.from_numpy(draws) * share, size), size)[:, None]
    return parameters.amplitude * (series / series.abs().amax((-2, -1), keepdim=True))


def sine_series(parameters: SineSeries, generators: Generators, size: int) -> Float[Tensor, "b 1 {size} {size}"]:
    """Sines that vanish on the sides of the unit square, their amplitudes decaying with the wavenumber."""
    x, _ = Grid(size).points
    fields = []
    for rng in generators:
        count = int(rng.integers(parameters.modes[0], parameters.modes[1], endpoint=True))
        decay = rng.uniform(*parameters.decay)
        modes = torch.arange(1, count + 1, dtype=torch.float64)
        amplitudes = torch.from_numpy(rng.uniform(*parameters.coefficients, (count, count)))
        weights = amplitudes * (modes[:, None] ** 2 + modes[None, :] ** 2) ** -decay
        sines = torch.sin(pi * modes * x)
        fields.append(sines @ weights @ sines.T / (count if parameters.factor == "1/K" else count**2))
    return parameters.amplitude * torch.stack(fields)[:, None]


def gaussian_pulses(parameters: GaussianPulses, generators: Generators, size: int) -> Float[Tensor, "b 2 {size} {size}"]:
    """Displacement at rest, and the speed of the medium."""
    fields = []
    places = (np.arange(parameters.lattice) + 0.5) / parameters.lattice
    cells = np.stack(np.meshgrid(places, places, indexing="ij"), -1).reshape(-1, 2)
    for rng in generators:
        count = int(rng.integers(parameters.pulses[0], parameters.pulses[1], endpoint=True))
        centres, widths = rng.uniform(*parameters.centres, (count, 2)), rng.uniform(*parameters.widths, count)
        speed = rng.uniform(*parameters.speed)
        middles = cells + rng.uniform(-parameters.offset, parameters.offset, cells.shape)
        spreads, added = (rng.uniform(*ends, len(cells)) for ends in (parameters.inclusions, parameters.heights))
        # Drawn last: the other numbers are those of files made before pulses could differ in height.
        heights = rng.uniform(*parameters.pulse_heights, count)
        medium = speed + gaussians(middles, spreads, added, size)
        fields.append(torch.stack((gaussians(centres, widths, heights, size), medium)))
    return torch.stack(fields)


def gaussian_sources(parameters: GaussianSources, generators: Generators, size: int) -> Float[Tensor, "b 2 {size} {size}"]:
    """No potential yet, and its source."""
    sources = []
    for rng in generators:
        count = int(rng.geometric(parameters.success))
        centres, widths = rng.uniform(*parameters.centres, (count, 2)), rng.uniform(*parameters.widths, count)
        sources.append(gaussians(centres, widths, rng.uniform(*parameters.heights, count), size))
    source = torch.stack(sources)
    return torch.stack((torch.zeros_like(source), source), 1)


def gaussians(centres: np.ndarray, widths: np.ndarray, heights: np.ndarray, size: int) -> Float[Tensor, "{size} {size}"]:
    """Sum of h exp(-|x - centre|^2 / (2 width^2)) on the unit square with both its ends."""
    x, _ = closed_points(size)
    place, width, height = (torch.from_numpy(values) for values in (centres, widths, heights))
    along_x, along_y = (torch.exp(-((x - centre) ** 2) / (2 * width**2)) for centre in place.unbind(1))
    return (along_x * height) @ along_y.T
