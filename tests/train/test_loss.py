import pytest
import torch

from driftnet import registry
from driftnet.configs import Loss
from driftnet.train.loss import frequency_term, loss_of, loss_sums, norm_sums, training_loss

TASK = registry.task("NS-PwC")


@pytest.mark.parametrize("size", [(8, 8), (8, 12), (7, 9)])
def test_without_weighting_parseval_scaling_gives_the_mean_square(size):
    error = torch.randn(3, 2, *size, dtype=torch.float64)
    assert torch.allclose(frequency_term(error, 0.0, "parseval").mean(), error.square().mean())


def test_the_published_scaling_is_a_mean_over_the_half_spectrum_of_the_authors():
    error = torch.randn(3, 2, 16, 16, dtype=torch.float64)
    error_hat = torch.fft.rfft2(error, norm="forward")
    ky, kx = torch.fft.fftfreq(16).abs() / 0.5, torch.fft.rfftfreq(16) / 0.5
    radius = torch.hypot(ky[:, None], kx[None, :])
    weight = (radius / radius.max()) ** 1.5
    expected = (weight * error_hat.abs() ** 2).mean()
    assert torch.allclose(frequency_term(error, 1.5, "published").mean(), expected, rtol=1e-6)


def test_the_frequency_term_weighs_a_high_mode_by_its_radius_to_the_power():
    x = torch.arange(16, dtype=torch.float64) / 16
    low, high = (torch.sin(2 * torch.pi * mode * x).expand(1, 1, 16, 16) for mode in (2, 4))
    ratio = frequency_term(high, 1.5, "parseval") / frequency_term(low, 1.5, "parseval")
    assert ratio.item() == pytest.approx(2**1.5)


def relative_norm(error, target, p, reduction):
    return loss_of(norm_sums(error, target, p, reduction)[None], Loss(p=p, reduction=reduction, frequency=0.0))


@pytest.mark.parametrize("p", [1, 2])
def test_reductions_agree_for_one_sample_and_differ_for_unequal_ones(p):
    error, target = torch.randn(2, 2, 2, 8, 8).unbind(0)
    target[1] *= 100
    one = [relative_norm(error[:1], target[:1], p, how) for how in ("batch", "sample")]
    assert torch.allclose(*one)
    two = [relative_norm(error, target, p, how) for how in ("batch", "sample")]
    assert two[0] < 0.5 * two[1]


@pytest.mark.parametrize("p", [1, 2])
def test_the_loss_takes_no_notice_of_the_units_of_the_target(p):
    prediction, target = torch.randn(2, 3, 2, 8, 8).unbind(0)
    config = Loss(p=p, frequency=0.0)
    assert torch.allclose(
        training_loss(prediction, target, TASK, config), training_loss(9 * prediction, 9 * target, TASK, config)
    )


def test_lambda_weighs_the_frequency_term():
    prediction, target = torch.randn(2, 3, 2, 8, 8).unbind(0)
    without, half, whole = (training_loss(prediction, target, TASK, Loss(frequency=weight)) for weight in (0.0, 0.5, 1.0))
    assert torch.allclose(whole - without, 2 * (half - without), rtol=1e-4)


@pytest.mark.parametrize("reduction", ["batch", "sample"])
@pytest.mark.parametrize("p", [1, 2])
def test_the_relative_norms_are_those_of_torch(p, reduction):
    error, target = torch.randn(2, 3, 2, 8, 8, dtype=torch.float64).unbind(0)
    dims = (0, 1, 2, 3) if reduction == "batch" else (1, 2, 3)
    norms = [torch.linalg.vector_norm(field, p, dims) for field in (error, target)]
    assert torch.allclose(relative_norm(error, target, p, reduction), (norms[0] / norms[1]).mean())


@pytest.mark.parametrize("reduction", ["batch", "sample"])
@pytest.mark.parametrize("p", [1, 2])
def test_the_sums_of_unequal_parts_have_the_loss_of_the_whole_batch(p, reduction):
    prediction, target = torch.randn(2, 5, 2, 8, 8, dtype=torch.float64).unbind(0)
    target[3:] *= 10
    config = Loss(p=p, reduction=reduction)
    parts = sum(loss_sums(prediction[part], target[part], TASK, config) for part in (slice(0, 3), slice(3, 5)))
    assert torch.allclose(loss_of(parts, config), training_loss(prediction, target, TASK, config))


@pytest.mark.parametrize("p", [1, 2])
def test_a_perfect_prediction_has_no_loss_and_a_finite_gradient(p):
    target = torch.randn(2, 2, 8, 8)
    prediction = target.clone().requires_grad_()
    loss = training_loss(prediction, target, TASK, Loss(p=p))
    loss.backward()
    assert loss.item() < 1e-15
    assert prediction.grad.isfinite().all()
