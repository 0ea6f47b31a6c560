from math import pi

import pytest
import torch

from driftnet.errors import DriftnetError
from driftnet.pdes.grid import Grid, closed_points
from driftnet.pdes.wave import WaveSolver, laplacian, push
from driftnet.tasks.equations import Wave


def solver(size, interval, dtype=torch.float64, **equation):
    return WaveSolver(Wave(**equation), Grid(size, dtype=dtype), interval)


def pulse(size, points, width=0.05, speed=1.0):
    x, y = points
    displacement = torch.exp(-((x - 0.5) ** 2 + (y - 0.5) ** 2) / (2 * width**2))
    return torch.stack((displacement, torch.full_like(displacement, speed)))[None]


def travelling_error(size: int, substeps: int) -> float:
    """Distance from d'Alembert's solution for a plane pulse that has split in two, as a share of the pulse."""
    x, _ = Grid(size).points
    width, time = 0.06, 0.3

    def shape(place):
        return torch.exp(-((place - place.round()) ** 2) / (2 * width**2))

    start = torch.stack((shape(x - 0.5).expand(size, size), torch.ones(size, size)))[None]
    end = solver(size, time, boundary="periodic", substeps=substeps).trajectory(start, 2)[0, 1, 0]
    exact = (shape(x - 0.5 - time) + shape(x - 0.5 + time)) / 2
    return (end - exact).abs().max().item()


def test_a_plane_pulse_splits_in_two_as_dalembert_says():
    # CFL 0.2 on 64 points.
    assert travelling_error(64, 96) < 1e-3


def test_space_and_time_converge_together_at_fourth_order():
    errors = [travelling_error(size, substeps) for size, substeps in ((64, 48), (128, 96))]
    assert torch.log2(torch.tensor(errors[0] / errors[1])).item() == pytest.approx(4, abs=0.3)


def test_the_discrete_energy_stays_in_an_uneven_medium():
    grid = Grid(32)
    x, y = grid.points
    start = pulse(32, grid.points, 0.1)
    start[:, 1] = 1 + 0.5 * torch.sin(2 * pi * x) * torch.cos(2 * pi * y)
    one = solver(32, 0.01, boundary="periodic", substeps=1)
    state, energies = one.start(start), []
    for _ in range(100):
        now, _, scale, _ = state
        state = one.advance(state)
        kinetic = ((state.now - now).square() / scale).sum()
        # -A / c^2 is symmetric, so this product of two times is the potential energy that leapfrog keeps.
        tension = -(push(now, scale) / scale * state.now).sum()
        energies.append((kinetic + tension).item())
    energies = torch.tensor(energies, dtype=torch.float64)
    assert (energies / energies[0] - 1).abs().max() < 1e-13


def test_the_laplacian_of_differences_is_exact_for_polynomials_of_fourth_degree():
    x = torch.arange(12, dtype=torch.float64)
    u = (x[:, None] ** 4 + x[:, None] * x[None, :] ** 3)[None, None]
    inside = laplacian(u)[0, 0, 3:-3, 3:-3]
    exact = (12 * x[:, None] ** 2 + 6 * x[:, None] * x[None, :])[3:-3, 3:-3]
    assert torch.allclose(inside, exact, rtol=1e-11)


def test_waves_leave_the_domain_and_do_not_come_back():
    time, speed = 2.35e-4, 4000.0  # As long and as fast as the task has it: a wave runs 0.94 sides.
    small = solver(64, time).trajectory(pulse(64, closed_points(64), speed=speed), 2)[0, 1, 0]
    # The truth: the same pulse at the same spacing in a square of three sides, whose boundary is out of reach.
    points = tuple(3 * (place - 0.5) + 0.5 for place in closed_points(190))
    wide = pulse(190, points, speed=speed / 3)
    large = solver(190, time).trajectory(wide, 2)[0, 1, 0][63:127, 63:127]
    assert (small - large).abs().max() < 5e-3  # Of a pulse of height 1.


def test_a_pulse_at_the_centre_stays_symmetric():
    states = solver(32, 1e-5).trajectory(pulse(32, closed_points(32), speed=2500.0), 6)[0, :, 0]
    for other in (states.flip(-1), states.flip(-2), states.transpose(-2, -1)):
        assert torch.allclose(states, other, atol=1e-12)


def test_a_medium_too_fast_for_the_time_step_is_refused_with_the_remedy():
    with pytest.raises(DriftnetError, match=r"time step is too long: the largest speed is 1e\+05.*equation.substeps"):
        solver(32, 1e-5).trajectory(pulse(32, closed_points(32), speed=1e5), 2)


def test_a_field_that_is_not_a_number_is_refused():
    start = pulse(16, closed_points(16), speed=2000.0)
    start[:, 0] = float("nan")
    with pytest.raises(DriftnetError, match="a field is not finite"):
        solver(16, 1e-5).trajectory(start, 2)
