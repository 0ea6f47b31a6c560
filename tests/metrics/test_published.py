import numpy as np
import pytest
import torch

from driftnet.metrics.published import over_groups, percent_l1


def naive(prediction: np.ndarray, truth: np.ndarray, mean: list[float], std: list[float]) -> float:
    """Poseidon's figure for one sample and channel group, as a loop."""
    error = norm = 0.0
    for channel in range(len(mean)):
        error += np.abs(
            (prediction[channel] - mean[channel]) / std[channel] - (truth[channel] - mean[channel]) / std[channel]
        ).sum()
        norm += np.abs((truth[channel] - mean[channel]) / std[channel]).sum()
    return 100 * error / norm


def test_the_published_error_is_relative_to_normalised_fields_in_per_cent():
    prediction, truth = 2 + torch.randn(2, 3, 2, 8, 8, dtype=torch.float64)
    mean, std = [1.5, 2.5], [0.4, 3.0]
    found = percent_l1(prediction, truth, torch.tensor(mean).double(), torch.tensor(std).double())
    expected = [naive(prediction[i].numpy(), truth[i].numpy(), mean, std) for i in range(3)]
    assert found.numpy() == pytest.approx(np.array(expected))


def test_given_channels_take_part_in_the_mean_over_groups_without_error():
    assert over_groups(np.array([[6.0], [4.0]]), static=1).tolist() == [3.0, 2.0]
    assert over_groups(np.array([[6.0, 2.0]]), static=0).tolist() == [4.0]
