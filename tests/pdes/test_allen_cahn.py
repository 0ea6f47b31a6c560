from math import pi, sqrt

import pytest
import torch

from driftnet.errors import DriftnetError
from driftnet.pdes.allen_cahn import AllenCahnSolver, react
from driftnet.pdes.grid import Grid, to_field, to_spectrum
from driftnet.tasks.equations import AllenCahn


def solver(size=64, interval=1e-5, dtype=torch.float64, **equation):
    return AllenCahnSolver(AllenCahn(**equation), Grid(size, dtype=dtype), interval)


def wavy(size=64):
    x, y = Grid(size).points
    return (0.8 * torch.sin(2 * pi * x) * torch.cos(4 * pi * y) + 0.3 * torch.cos(2 * pi * (x - y)))[None, None]


def test_a_uniform_state_reacts_as_its_closed_form_says():
    rate, time = 220.0, 2e-4
    start = torch.full((1, 1, 16, 16), 0.1, dtype=torch.float64)
    end = solver(16, time, rate=rate, substeps=20).trajectory(start, 2)[0, 1]
    decay = torch.exp(torch.tensor(-2 * rate**2 * time, dtype=torch.float64))
    assert (end - 0.1 / torch.sqrt(decay + 0.01 * (1 - decay))).abs().max() < 1e-14


def test_without_reaction_a_wave_decays_as_the_heat_equation_says():
    x, _ = Grid(32).points
    wave = torch.sin(2 * pi * 3 * x).expand(1, 1, 32, 32)
    end = solver(32, 1e-3, rate=0.0).trajectory(wave, 2)[:, 1]
    assert (end - wave * torch.exp(torch.tensor(-((6 * pi) ** 2) * 1e-3))).abs().max() < 1e-7


def test_splitting_is_of_second_order():
    exact = solver(interval=5e-5, rate=100.0, substeps=400).trajectory(wavy(), 2)[:, 1]
    errors = [(solver(interval=5e-5, rate=100.0, substeps=n).trajectory(wavy(), 2)[:, 1] - exact).abs().max() for n in (10, 20)]
    assert torch.log2(errors[0] / errors[1]).item() == pytest.approx(2, abs=0.1)


def test_the_free_energy_never_grows():
    rate, states = 60.0, solver(interval=2e-5, rate=60.0).trajectory(wavy(), 30)[0, :, 0]
    kx, ky = Grid(64).wavenumbers
    spectrum = to_spectrum(states)
    slopes = to_field(torch.stack((1j * kx * spectrum, 1j * ky * spectrum)), 64)
    energy = (slopes.square().sum(0) / 2 + rate**2 * (states.square() - 1).square() / 4).mean((-2, -1))
    assert (energy.diff() < 0).all()


def test_a_disc_shrinks_by_the_curvature_of_its_edge():
    size, rate, radius, time = 128, 100.0, 0.3, 0.01
    x, y = Grid(size).points
    distance = torch.hypot(x - 0.5, y - 0.5) - radius
    disc = torch.tanh(-rate * distance / sqrt(2))[None, None]
    end = solver(size, time, rate=rate, substeps=200).trajectory(disc, 2)[0, 1, 0]
    squared_radius = ((end + 1) / 2).mean().item() / pi
    # R^2 = R0^2 - 2 t for a thin edge.
    assert squared_radius == pytest.approx(radius**2 - 2 * time, abs=3e-4)


def test_resolved_values_stay_between_the_two_phases():
    states = solver(dtype=torch.float32, rate=60.0, interval=5e-5).trajectory(wavy().clamp(-1, 1), 20)
    assert states[:, 1:].abs().max() <= 1 + 1e-6


def test_reactions_of_two_halves_are_that_of_the_whole():
    u = torch.linspace(-2, 2, 64, dtype=torch.float64).reshape(1, 8, 8)
    assert torch.allclose(react(react(u, 0.6), 0.6), react(u, 0.36), rtol=1e-14)


def test_steps_too_long_for_the_splitting_are_refused_with_the_remedy():
    with pytest.raises(DriftnetError, match=r"time step is too long: rate\^2 dt = 4\.84.*set a larger equation.substeps"):
        solver(interval=1e-4, substeps=1)


def test_a_state_that_is_not_a_number_is_refused():
    with pytest.raises(DriftnetError, match="at snapshot 0 a field is not finite"):
        solver().trajectory(wavy().fill_(float("nan")), 2)
