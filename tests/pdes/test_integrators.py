import pytest
import torch

from driftnet.pdes.integrators import SCHEMES


def solve(scheme: str, steps: int) -> float:
    """du/dt = -3 u + cos(t) - u^2 with t as a second unknown, over one unit of time."""
    linear = torch.tensor([-3.0, 0.0], dtype=torch.float64)
    step = SCHEMES[scheme](linear, 1.0 / steps)

    def nonlinear(state):
        u, t = state
        return torch.stack((torch.cos(t) - u * u, torch.ones_like(t)))

    state = torch.tensor([1.0, 0.0], dtype=torch.complex128)
    for _ in range(steps):
        state = step(state, nonlinear)
    return state[0].real.item()


@pytest.mark.parametrize(("scheme", "order"), [("etdrk2", 2), ("etdrk4", 4)])
def test_halving_the_step_divides_the_error_by_two_to_the_order(scheme, order):
    exact = solve("etdrk4", 2000)
    errors = [abs(solve(scheme, steps) - exact) for steps in (20, 40)]
    measured = torch.tensor(errors[0] / errors[1]).log2().item()
    assert measured == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_linear_part_is_exact_at_any_step(scheme):
    linear = torch.tensor([-1e6, -1.0, -1e-9, 0.0], dtype=torch.float64)
    after = SCHEMES[scheme](linear, 2.0)(torch.ones(4, dtype=torch.complex128), torch.zeros_like)
    assert torch.allclose(after.real, (2.0 * linear).exp(), rtol=1e-14)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_constant_slope_without_damping_is_integrated_exactly(scheme):
    slope = torch.tensor([2.0 + 1.0j], dtype=torch.complex128)
    after = SCHEMES[scheme](torch.zeros(1, dtype=torch.float64), 0.5)(torch.zeros_like(slope), lambda _: slope)
    assert torch.allclose(after, 0.5 * slope, rtol=1e-14)
