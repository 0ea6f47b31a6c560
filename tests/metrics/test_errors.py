import numpy as np
import pytest
import torch

from driftnet.metrics.errors import channel_correlation, correlation, nrmse, relative_l1, vrmse
from driftnet.metrics.spectra import energy_spectrum


def test_the_relative_errors_are_the_ratios_of_norms():
    truth = torch.tensor([[[[3.0, -4.0]]]])
    prediction = torch.tensor([[[[3.0, 0.0]]]])
    assert relative_l1(prediction, truth).item() == pytest.approx(4 / 7)
    assert nrmse(prediction, truth).item() == pytest.approx(4 / 5)
    assert vrmse(prediction, truth).item() == pytest.approx(4 / (24.5**0.5))


@pytest.mark.parametrize("metric", [relative_l1, nrmse])
def test_predicting_nothing_scores_one_and_the_truth_scores_nothing(metric):
    truth = torch.randn(3, 2, 8, 8)
    assert torch.allclose(metric(torch.zeros_like(truth), truth), torch.ones(3))
    assert torch.equal(metric(truth, truth), torch.zeros(3))


def test_predicting_the_mean_scores_one_in_vrmse_however_large_it_is():
    truth = 100 + torch.randn(3, 2, 8, 8, dtype=torch.float64)
    assert torch.allclose(vrmse(truth.mean((-2, -1), keepdim=True).expand_as(truth), truth), torch.ones(3).double())


def test_correlation_takes_no_notice_of_scale_and_offset():
    field = torch.randn(3, 2, 8, 8)
    assert torch.allclose(correlation(2 * field + 5, field), torch.ones(3))
    assert torch.allclose(correlation(-field, field), -torch.ones(3))
    assert torch.equal(correlation(torch.zeros_like(field), field), torch.zeros(3))


def test_correlation_is_numpys():
    prediction, truth = torch.randn(2, 1, 8, 8, dtype=torch.float64)
    expected = np.corrcoef(prediction.flatten(), truth.flatten())[0, 1]
    assert correlation(prediction, truth).item() == pytest.approx(expected)


def test_the_channel_correlation_is_the_mean_cosine_and_sees_offsets():
    prediction, truth = 3 + torch.randn(2, 2, 8, 8, dtype=torch.float64)
    cosines = [float((p * t).sum() / (p.norm() * t.norm())) for p, t in zip(prediction, truth, strict=True)]
    assert channel_correlation(prediction, truth).item() == pytest.approx(np.mean(cosines))
    assert channel_correlation(-2 * truth, truth).item() == pytest.approx(-1)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_has_no_correlation_and_no_finite_error(value):
    truth = torch.randn(1, 2, 8, 8)
    broken = truth.clone()
    broken[0, 0, 0, 0] = value
    assert correlation(broken, truth).item() == 0
    assert not relative_l1(broken, truth).isfinite()


def test_a_plane_wave_has_its_energy_in_its_own_shell():
    x = torch.arange(16) / 16
    wave = torch.sin(2 * torch.pi * (3 * x[:, None] + 4 * x[None, :]))[None]
    spectrum = energy_spectrum(wave)
    assert spectrum[5].item() == pytest.approx(0.25, rel=1e-6)
    assert spectrum.sum().item() == pytest.approx(0.25, rel=1e-6)


def test_the_spectrum_of_a_field_without_corner_modes_sums_to_half_its_mean_square():
    coarse = torch.randn(4, 2, 6, 6, dtype=torch.float64)
    coarse_hat = torch.fft.rfft2(coarse, norm="forward")[..., :3]
    field_hat = torch.zeros(4, 2, 16, 9, dtype=torch.complex128)
    field_hat[..., :3, :3], field_hat[..., -2:, :3] = coarse_hat[..., :3, :], coarse_hat[..., -2:, :]
    field = torch.fft.irfft2(field_hat, s=(16, 16), norm="forward")
    assert torch.allclose(energy_spectrum(field).sum(-1), 0.5 * field.square().sum(1).mean((1, 2)))
