import pytest
import torch

from driftnet.metrics.physics import divergence, energy, enstrophy, mass

PI = torch.pi
X = torch.arange(16, dtype=torch.float64) / 16
x, y = X[:, None], X[None, :]


def taylor_green(n: int) -> torch.Tensor:
    """A flow without divergence, of unit amplitude."""
    k = 2 * PI * n
    return torch.stack((torch.sin(k * x) * torch.cos(k * y), -torch.cos(k * x) * torch.sin(k * y)))


@pytest.mark.parametrize("n", [1, 3])
def test_taylor_green_vortices_have_their_known_energy_and_enstrophy(n):
    flow = taylor_green(n)
    assert energy(flow).item() == pytest.approx(1 / 4)
    assert enstrophy(flow).item() == pytest.approx(0.5 * (2 * PI * n) ** 2)
    assert divergence(flow).item() == pytest.approx(0, abs=1e-12)


def test_a_gradient_field_is_all_divergence_and_has_no_enstrophy():
    field = torch.stack((torch.cos(2 * PI * x) * torch.sin(2 * PI * y), torch.sin(2 * PI * x) * torch.cos(2 * PI * y)))
    assert enstrophy(field).item() == pytest.approx(0, abs=1e-12)
    assert divergence(field).item() == pytest.approx(1)


def test_half_of_white_noise_is_divergence():
    noise = torch.randn(2, 256, 256, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert divergence(noise).item() == pytest.approx(0.5**0.5, rel=0.01)


def test_mass_is_kept_by_shifting_and_changed_by_adding():
    field = torch.rand(1, 16, 16, dtype=torch.float64)
    assert mass(field + 0.25).item() == pytest.approx(mass(field).item() + 0.25)
    assert mass(field.roll(3, -1)).item() == pytest.approx(field.mean().item())
