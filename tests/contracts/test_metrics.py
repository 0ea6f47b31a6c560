import pytest
import torch

from driftnet import registry


@pytest.fixture(params=registry.METRICS)
def metric(request):
    return registry.resolve(registry.METRICS[request.param])


def test_a_metric_gives_one_number_a_sample_whatever_is_in_front(metric):
    prediction, truth = torch.randn(2, 3, 5, 2, 8, 6)
    values = metric(prediction, truth)
    assert values.shape == (3, 5)
    assert torch.allclose(values[1, 2], metric(prediction[1, 2], truth[1, 2]))


def test_a_metric_takes_no_notice_of_the_units(metric):
    prediction, truth = torch.randn(2, 3, 2, 8, 8)
    assert torch.allclose(metric(prediction, truth), metric(1000 * prediction, 1000 * truth), rtol=1e-5)
