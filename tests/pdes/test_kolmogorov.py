from math import exp, pi

import numpy as np
import pytest
import torch

from driftnet import registry
from driftnet.errors import DriftnetError
from driftnet.pdes.grid import Grid, to_spectrum
from driftnet.pdes.initial import trajectory_generator, truncated_fourier_series
from driftnet.pdes.kolmogorov import KolmogorovSolver
from driftnet.pdes.solver import solver_of
from driftnet.tasks.equations import KolmogorovFlow, TruncatedFourierSeries
from tests.oracles import oracle

LENGTH = 2 * pi


def solver(size=32, interval=0.1, dtype=torch.float64, **equation):
    return KolmogorovSolver(KolmogorovFlow(**equation), Grid(size, LENGTH, dtype), interval)


def vorticities(size=32, count=1, scale=3.0):
    generators = [trajectory_generator(5, index) for index in range(count)]
    return scale * truncated_fourier_series(TruncatedFourierSeries(), generators, size)


@pytest.mark.parametrize(("convention", "count"), [("plain", 1), ("exponax", 2)])
def test_the_flow_spins_up_from_rest_as_its_closed_form_says(convention, count):
    viscosity, drag, mode = 1e-2, -0.1, 4
    end = solver(viscosity=viscosity, drag=drag, drag_convention=convention).trajectory(torch.zeros(1, 1, 32, 32), 31)[0, -1, 0]
    _, y = Grid(32, LENGTH).points
    damping = viscosity * mode**2 - count * drag
    exact = -mode * torch.cos(mode * y) / damping * (1 - exp(-damping * 3.0))
    assert (end - exact).abs().max() < 1e-12


def test_a_negative_drag_damps():
    start = vorticities()
    ends = [solver(forcing=0.0, drag=drag).trajectory(start, 11)[0, -1].square().mean() for drag in (0.0, -0.5)]
    # Drag alone scales by exp(drag t); the flow around it differs, so the comparison is loose.
    assert ends[1] < exp(-0.5) * ends[0]


def test_vorticity_is_minus_the_curl_of_the_flow_that_carries_it():
    grid = Grid(32, LENGTH)
    kx, ky = grid.wavenumbers
    one = solver(dealiasing=1.0)
    omega_hat = to_spectrum(vorticities()[0, 0])
    u_hat, v_hat = one.derivatives[:2] * omega_hat
    assert torch.allclose(1j * kx * v_hat - 1j * ky * u_hat, -omega_hat, atol=1e-12)


@pytest.mark.parametrize(("scheme", "order"), [("etdrk2", 2), ("etdrk4", 4)])
def test_the_flow_converges_in_time_at_the_order_of_its_scheme(scheme, order):
    start = vorticities()
    exact = solver(scheme="etdrk4", substeps=160, interval=0.5).trajectory(start, 2)[:, 1]
    errors = [
        (solver(scheme=scheme, substeps=steps, interval=0.5).trajectory(start, 2)[:, 1] - exact).abs().max()
        for steps in (20, 40)
    ]
    assert torch.log2(errors[0] / errors[1]).item() == pytest.approx(order, abs=0.15)


def test_without_force_and_friction_energy_and_enstrophy_stay():
    free = solver(48, viscosity=0.0, drag=0.0, forcing=0.0, scheme="etdrk4")
    states = free.trajectory(vorticities(48, scale=1.0), 6)[0, :, 0]
    kx, ky = free.grid.wavenumbers
    omega_hat = to_spectrum(states)
    weight = torch.where(ky > 0, 2.0, 1.0) * free.resolved
    enstrophy = (weight * omega_hat.abs().square()).sum((-2, -1))
    energy = (weight / (kx**2 + ky**2).clamp(min=1) * omega_hat.abs().square()).sum((-2, -1))
    # The sums leave out what has passed beyond the mask, which takes no part in products.
    assert (energy / energy[0] - 1).abs().max() < 1e-5
    assert (enstrophy / enstrophy[0] - 1).abs().max() < 1e-3


def test_a_warm_up_only_leaves_out_the_first_snapshots():
    start = vorticities()
    assert torch.equal(solver().trajectory(start, 3, warmup=4), solver().trajectory(start, 7)[:, 4:])


def test_single_precision_follows_double_precision():
    single, double = (solver(dtype=dtype).trajectory(vorticities(), 11)[:, -1] for dtype in (torch.float32, torch.float64))
    assert (single - double).abs().max() < 1e-4 * double.abs().max()


def test_a_time_step_that_would_blow_up_is_refused_with_the_remedy():
    with pytest.raises(DriftnetError, match=r"time step is too long.*set a larger equation.substeps"):
        solver(64, substeps=1, interval=1.0).trajectory(vorticities(64), 2)


def test_a_start_has_low_modes_no_mean_and_a_largest_value_of_one_on_every_grid():
    coarse, fine = (vorticities(size, 3, scale=1.0) for size in (32, 64))
    assert torch.allclose(fine.abs().amax((-2, -1)), torch.ones(3, 1, dtype=torch.float64))
    spectrum = to_spectrum(fine)
    assert spectrum[..., 0, 0].abs().max() < 1e-15
    assert (spectrum * (1 - Grid(64).below(5.5))).abs().max() < 1e-15
    scale = (fine[..., ::2, ::2] / coarse).flatten(1)
    assert torch.allclose(scale, scale[:, :1].expand_as(scale), rtol=1e-8)


@pytest.mark.filterwarnings("ignore")
def test_every_step_agrees_with_exponax_to_rounding():
    exponax, jax = oracle("exponax"), oracle("jax")
    jax.config.update("jax_enable_x64", True)
    size, dt, steps = 64, 0.005, 40
    equation = {"diffusivity": 1e-2, "drag": -0.1, "injection_mode": 4, "injection_scale": 1.0, "order": 2}
    stepper = exponax.stepper.KolmogorovFlowVorticity(2, LENGTH, size, dt, **equation)
    advance = jax.jit(lambda vorticity: stepper(vorticity))
    start = vorticities(size)
    theirs = jax.numpy.asarray(start[0].numpy())
    for _ in range(steps):
        theirs = advance(theirs)
    ours = solver(size, dt * steps, substeps=steps).trajectory(start, 2)[0, 1]
    assert np.abs(np.asarray(theirs) - ours.numpy()).max() < 1e-12 * ours.abs().max().item()


@pytest.mark.parametrize("name", ["KF-Long-turbulent", "KF-Long-smoother"])
@pytest.mark.filterwarnings("ignore")
def test_an_interval_of_the_task_is_one_of_apebench_to_rounding(name):
    scenarios, jax = oracle("apebench").scenarios.scenario_dict, oracle("jax")
    jax.config.update("jax_enable_x64", True)
    task, size = registry.task(name), 64
    equation = task.source.simulation.equation
    scenario = scenarios["phy_kolm_flow"](
        num_spatial_dims=2, num_points=size, diffusivity=equation.viscosity, drag=equation.drag
    )
    assert (scenario.num_warmup_steps, scenario.dt) == (task.source.simulation.warmup, pytest.approx(task.interval))
    stepper, start = scenario.get_ref_stepper(), vorticities(size)
    theirs = jax.jit(lambda vorticity: stepper(vorticity))(jax.numpy.asarray(start[0].numpy()))
    ours = solver_of(equation, size, task.interval).trajectory(start, 2)[0, 1]
    assert np.abs(np.asarray(theirs) - ours.numpy()).max() < 1e-12 * ours.abs().max().item()


def test_a_force_that_the_grid_does_not_have_is_refused():
    rest = torch.zeros(1, 1, 32, 32, dtype=torch.float64)
    solver(32, forcing_mode=15).guard(rest, 0)
    with pytest.raises(DriftnetError, match=r"equation\.forcing_mode: 16 is not below 16, where the modes of 32 points end"):
        solver(32, forcing_mode=16).guard(rest, 0)
