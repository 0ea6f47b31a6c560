import math

import numpy as np
import pytest
import torch

from driftnet.metrics.bands import BANDS, band_nrmse, frmse, shells

X = torch.arange(32, dtype=torch.float64) / 32


def wave(kx: int, ky: int) -> torch.Tensor:
    return torch.cos(2 * torch.pi * (kx * X[:, None] + ky * X[None, :]))[None]


@pytest.mark.parametrize(
    ("mode", "band"), [((0, 3), "low"), ((0, 4), "mid"), ((11, 4), "mid"), ((12, 0), "high"), ((-9, 9), "high")]
)
def test_an_error_of_one_wave_is_seen_in_its_band_alone(mode, band):
    truth = wave(2, 1) + wave(5, 5) + wave(0, 14)
    seen = {name: band_nrmse(truth + 0.1 * wave(*mode), truth, name).item() for name in BANDS}
    assert seen.pop(band) == pytest.approx(0.1)
    assert all(value < 1e-12 for value in seen.values())


def naive_frmse(prediction: np.ndarray, truth: np.ndarray, first: float, last: float) -> float:
    size = truth.shape[-1]
    error_hat = np.fft.fft2(prediction - truth) / size**2
    sums = np.zeros(size // 2)
    for i in range(size):
        for j in range(size):
            shell = math.floor(math.hypot(min(i, size - i), min(j, size - j)))
            if shell < size // 2:
                sums[shell] += (np.abs(error_hat[:, i, j]) ** 2).sum()
    return float(np.mean([math.sqrt(value) for shell, value in enumerate(sums) if first <= shell < last]))


@pytest.mark.parametrize("band", BANDS)
def test_frmse_is_that_of_a_loop_over_all_modes(band):
    prediction, truth = torch.randn(2, 2, 32, 32, dtype=torch.float64)
    expected = naive_frmse(prediction.numpy(), truth.numpy(), *BANDS[band])
    assert frmse(prediction, truth, band).item() == pytest.approx(expected)


def test_all_shells_together_hold_the_mean_square_of_what_they_resolve():
    field = wave(3, 4) + wave(0, 0) + wave(15, 0)
    assert shells(field).sum().item() == pytest.approx(field.square().mean().item())


@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_every_precision_files_a_mode_in_the_same_shell(precision):
    assert shells(wave(3, 4).to(precision)).argmax().item() == 5


@pytest.mark.parametrize("metric", [band_nrmse, frmse])
def test_a_band_that_the_grid_does_not_resolve_has_no_error(metric):
    prediction, truth = torch.randn(2, 3, 2, 16, 16)
    assert metric(prediction, truth, "high").isnan().all()
    assert metric(prediction, truth, "mid").isfinite().all()
