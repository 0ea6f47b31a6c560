import numpy as np
import pytest
import torch

from driftnet import registry
from driftnet.metrics.physics import APPLIES


def resolved(table):
    return [pytest.param(registry.resolve(reference), id=name) for name, reference in table.items()]


@pytest.fixture(params=resolved(registry.METRICS))
def metric(request):
    return request.param


@pytest.fixture(params=resolved(registry.CHECKS))
def check(request):
    return request.param


@pytest.fixture(params=resolved(registry.CURVES))
def curve(request):
    return request.param


def some(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_a_metric_gives_one_number_a_sample_whatever_is_in_front(metric):
    prediction, truth = some(2, 3, 5, 2, 32, 28)
    values = metric(prediction, truth)
    assert values.shape == (3, 5)
    assert torch.allclose(values[1, 2], metric(prediction[1, 2], truth[1, 2]))


def test_a_metric_is_a_pure_number_or_in_the_unit_of_the_field(metric):
    prediction, truth = some(2, 3, 2, 32, 32)
    ratio = metric(1000 * prediction, 1000 * truth) / metric(prediction, truth)
    assert torch.allclose(ratio, torch.ones(3).double()) or torch.allclose(ratio, torch.full((3,), 1000.0).double())


def test_a_metric_takes_its_best_value_at_the_truth(metric):
    prediction, truth = some(2, 3, 2, 32, 32)
    best, other = metric(truth, truth), metric(prediction, truth)
    assert torch.allclose(best, torch.zeros(3).double()) or torch.allclose(best, torch.ones(3).double())
    assert ((best - other).abs() > 0.05).all()


def test_a_check_gives_one_number_a_sample_whatever_is_in_front(check):
    state = some(3, 5, 2, 16, 12)
    assert check(state).shape == (3, 5)
    assert torch.allclose(check(state)[1, 2], check(state[1, 2]))


def test_a_check_takes_no_notice_of_where_the_origin_is(check):
    state = some(3, 2, 16, 12)
    assert torch.allclose(check(state.roll((3, 5), (-2, -1))), check(state))


def test_what_quantities_declare_is_registered():
    assert {name for names in APPLIES.values() for name in names} <= set(registry.CHECKS)


def test_a_curve_is_summed_up_sample_by_sample_and_quantity_by_quantity(curve):
    errors = np.abs(np.random.default_rng(0).standard_normal((4, 6, 2)))
    values = curve(errors)
    assert values.shape in ((4, 2), (4, 6, 2))
    np.testing.assert_allclose(curve(errors[2:3, :, 1:])[0, ..., 0], values[2, ..., 1])
