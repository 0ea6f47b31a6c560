from math import pi, sqrt

import pytest
import torch

from driftnet.errors import DriftnetError
from driftnet.pdes.grid import Grid, resample, to_field, to_spectrum
from driftnet.pdes.initial import disc, piecewise_constant_vorticity, trajectory_generator
from driftnet.pdes.navier_stokes import NavierStokesSolver, project, spectral_viscosity
from driftnet.tasks.equations import NavierStokes, PiecewiseConstantVorticity


def solver(size=32, interval=0.05, dtype=torch.float64, **equation):
    return NavierStokesSolver(NavierStokes(**equation), Grid(size, dtype=dtype), interval)


def flows(size: int, count: int = 2, tracer: bool = True):
    generators = [trajectory_generator(7, index) for index in range(count)]
    return piecewise_constant_vorticity(PiecewiseConstantVorticity(tracer=tracer), generators, size)


def smooth_flow(grid: Grid):
    x, y = grid.points
    stream = torch.sin(2 * pi * x) * torch.sin(4 * pi * y) + 0.5 * torch.cos(2 * pi * (x + y))
    kx, ky = grid.wavenumbers
    stream_hat = to_spectrum(stream)
    return to_field(torch.stack((1j * ky * stream_hat, -1j * kx * stream_hat)), grid.size)[None] / (8 * pi)


def vorticity(velocity, grid: Grid):
    kx, ky = grid.wavenumbers
    u_hat, v_hat = to_spectrum(velocity).unbind(-3)
    return to_field(1j * kx * v_hat - 1j * ky * u_hat, grid.size)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 2e-5)])
def test_a_taylor_green_vortex_decays_at_its_viscous_rate(dtype, tolerance):
    grid = Grid(32, dtype=dtype)
    x, y = grid.points
    vortex = torch.stack((torch.sin(2 * pi * x) * torch.cos(2 * pi * y), -torch.cos(2 * pi * x) * torch.sin(2 * pi * y)))[None]
    strength = 0.05
    end = solver(dtype=dtype, strength=strength, substeps=20).trajectory(vortex, 21)[:, -1]
    rate = strength / 32 * (2 * pi) ** 2 * 2
    exact = vortex * torch.exp(torch.tensor(-rate, dtype=dtype))
    assert (end - exact).abs().max() < tolerance


@pytest.mark.parametrize(("form", "shape"), [("sine", torch.sin), ("cosine-sine", lambda w: torch.cos(w) - torch.sin(w))])
def test_a_forced_flow_spins_up_from_rest_as_its_closed_form_says(form, shape):
    drag, amplitude, strength = -0.1, 0.1, 0.05
    forced = solver(strength=strength, drag=drag, forcing=amplitude, forcing_form=form, substeps=10)
    end = forced.trajectory(torch.zeros(1, 2, 32, 32), 21)[0, -1]
    x, y = forced.grid.points
    damping = strength / 32 * (2 * pi) ** 2 * 2 - drag
    # Along the wave's own direction the pressure answers the force: half of its first less its second part is left.
    size = amplitude / 2 / damping * (1 - torch.exp(torch.tensor(-damping, dtype=torch.float64)))
    wave = shape(2 * pi * (x + y))
    assert (end - size * torch.stack((wave, -wave))).abs().max() < 1e-14


@pytest.mark.parametrize(("scheme", "order"), [("etdrk2", 2), ("etdrk4", 4)])
def test_the_flow_converges_in_time_at_the_order_of_its_scheme(scheme, order):
    grid = Grid(32)
    flow = smooth_flow(grid)
    reference = solver(scheme="etdrk4", substeps=160, interval=0.5).trajectory(flow, 2)[:, 1]
    errors = [
        (solver(scheme=scheme, substeps=n, interval=0.5).trajectory(flow, 2)[:, 1] - reference).abs().max() for n in (20, 40)
    ]
    assert torch.log2(errors[0] / errors[1]).item() == pytest.approx(order, abs=0.15)


def test_without_viscosity_energy_and_enstrophy_stay():
    grid = Grid(32)
    flow = smooth_flow(grid)
    states = solver(scheme="etdrk4", strength=0.0, interval=0.1, substeps=10).trajectory(flow, 6)[0]
    energy = states.square().mean((1, 2, 3))
    enstrophy = vorticity(states, grid).square().mean((1, 2))
    assert (energy / energy[0] - 1).abs().max() < 1e-8
    assert (enstrophy / enstrophy[0] - 1).abs().max() < 1e-7


@pytest.mark.parametrize("dealiasing", ["3/2", "2/3"])
def test_the_flow_stays_free_of_divergence_and_the_tracer_keeps_its_mass(dealiasing):
    grid = Grid(32)
    states = solver(dealiasing=dealiasing).trajectory(flows(32), 6)
    kx, ky = grid.wavenumbers
    u_hat, v_hat, tracer_hat = to_spectrum(states).unbind(-3)
    assert (kx * u_hat + ky * v_hat).abs().max() < 1e-13
    assert (tracer_hat[..., 0, 0].real - tracer_hat[:, :1, 0, 0].real).abs().max() < 1e-14


def test_single_precision_keeps_the_mass_of_the_tracer():
    tracer = solver(64, dtype=torch.float32).trajectory(flows(64, 1), 21)[0, :, 2]
    mass = tracer.double().mean((1, 2))
    assert (mass - mass[0]).abs().max() < 1e-7


def test_a_fluid_moving_as_a_whole_carries_the_tracer_without_changing_it():
    grid = Grid(32)
    x, y = grid.points
    wave = torch.sin(2 * pi * (x + 2 * y))
    state = torch.stack((torch.full_like(wave, 0.5), torch.full_like(wave, 0.25), wave))[None]
    end = solver(strength=0.0, scheme="etdrk4", interval=0.1, substeps=20).trajectory(state, 11)[0, -1]
    assert torch.allclose(end[:2], state[0, :2], atol=1e-14)
    # After t = 1 the wave has moved by (0.5, 0.25): its phase by 0.5 + 2 * 0.25 = 1 period.
    assert torch.allclose(end[2], wave, atol=1e-6)


def test_both_viscosities_damp_mode_twenty_as_published():
    grid = Grid(128)
    smooth, quadratic = (spectral_viscosity(grid, form, 0.05, 128)[20, 0].item() for form in ("smooth", "quadratic"))
    assert smooth == pytest.approx(-6.1685, abs=5e-5)
    assert quadratic == pytest.approx(-0.10625, abs=1e-12)


def test_the_projection_removes_gradients_and_keeps_the_rest():
    grid = Grid(16)
    x, y = grid.points
    kx, ky = grid.wavenumbers
    potential_hat = to_spectrum(torch.sin(2 * pi * (x - y)) + torch.cos(4 * pi * x) * torch.ones_like(y))
    gradient = torch.stack((1j * kx * potential_hat, 1j * ky * potential_hat))[None]
    flow = to_spectrum(smooth_flow(grid)) + torch.tensor([0.3, -0.2]).reshape(1, 2, 1, 1) * (kx == 0) * (ky == 0)
    assert torch.allclose(project(flow + gradient, grid), flow, atol=1e-13)


def test_a_coarser_grid_with_the_same_viscosity_finds_the_same_flow():
    flow = flows(128, 1, tracer=False)
    fine = solver(128, viscosity_resolution=64).trajectory(flow, 11)[:, -1]
    coarse = solver(64, viscosity_resolution=64).trajectory(resample(flow, 64), 11)[:, -1]
    error = (resample(fine, 64) - coarse).abs().sum() / coarse.abs().sum()
    assert error < 5e-3


def test_quadratic_viscosity_is_stable_with_the_steps_that_are_chosen_for_it():
    states = solver(64, dtype=torch.float32, viscosity="quadratic").trajectory(flows(64, 2, tracer=False), 21)
    assert states[:, -1].square().mean() < 1.01 * states[:, 0].square().mean()


def test_a_time_step_that_would_blow_up_is_refused_with_the_remedy():
    with pytest.raises(DriftnetError, match=r"time step is too long.* substeps; set a larger equation.substeps"):
        solver(64, substeps=1).trajectory(flows(64, 1), 3)


def test_a_state_that_is_not_a_number_is_refused():
    broken = flows(16, 1).fill_(float("nan"))
    with pytest.raises(DriftnetError, match="largest speed is nan"):
        solver(16).trajectory(broken, 2)
    broken = flows(16, 1)
    broken[:, 2] = float("inf")
    with pytest.raises(DriftnetError, match="at snapshot 0 a field is not finite"):
        solver(16).trajectory(broken, 2)


def test_a_force_of_another_wavenumber_moves_a_flow_at_rest_in_that_wave_alone():
    forced = solver(32, forcing=0.5, forcing_mode=3)
    spectrum = to_spectrum(forced.trajectory(torch.zeros(1, 2, 32, 32), 2)[0, 1]).abs()
    assert (spectrum > 1e-12).nonzero().tolist() == [[channel, 3, 3] for channel in range(2)]
    x, y = Grid(32).points
    assert torch.allclose(forced.constants()["forcing"], 0.5 * torch.sin(6 * pi * (x + y)))


@pytest.mark.parametrize(("dealiasing", "limit"), [("3/2", "16"), ("2/3", "10.67")])
def test_a_force_that_the_grid_does_not_have_is_refused_and_no_force_is_not(dealiasing, limit):
    rest = torch.zeros(1, 2, 32, 32)
    message = f"equation.forcing_mode: 16 is not below {limit}, where the modes of 32 points end"
    with pytest.raises(DriftnetError, match=message):
        solver(32, forcing=0.1, forcing_mode=16, dealiasing=dealiasing).trajectory(rest, 2)
    solver(32, forcing_mode=16, dealiasing=dealiasing).trajectory(rest, 2)


def test_the_disc_of_the_tracer_has_the_published_mean():
    assert disc(Grid(128), 0.25, (0.5, 0.5)).mean().item() == pytest.approx(3209 / 16384, abs=1e-15)


def test_the_vorticity_of_the_initial_flow_is_constant_on_its_blocks():
    size, blocks = 80, 4
    parameters = PiecewiseConstantVorticity(blocks=blocks, tracer=False)
    grid = Grid(size)
    omega = vorticity(piecewise_constant_vorticity(parameters, [trajectory_generator(0, 0)], size), grid)[0]
    values = trajectory_generator(0, 0).uniform(-1, 1, (blocks, blocks)) * parameters.amplitude
    middle = omega[size // blocks // 2 :: size // blocks, size // blocks // 2 :: size // blocks]
    # The Nyquist modes are left out, which moves a block's centre by little.
    assert torch.allclose(middle, torch.from_numpy(values - values.mean()), atol=0.15)


def test_the_spread_of_the_initial_velocity_is_the_published_one_within_sampling_error():
    samples = flows(32, 400, tracer=False)
    per_trajectory = samples.square().mean((1, 2, 3))
    sampling_error = per_trajectory.std() / sqrt(len(samples))
    assert abs(per_trajectory.mean().item() - 0.2202**2) < 4 * sampling_error.item()


@pytest.mark.parametrize("batch", [1, 3])
def test_trajectories_do_not_depend_on_those_beside_them(batch):
    states = flows(16, 4)
    together = solver(16, dtype=torch.float32).trajectory(states, 3)
    apart = [solver(16, dtype=torch.float32).trajectory(states[start : start + batch], 3) for start in range(0, 4, batch)]
    assert torch.equal(together, torch.cat(apart))
