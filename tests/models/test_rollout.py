import torch

import driftnet


def test_a_rollout_feeds_every_prediction_back():
    initial, static = torch.ones(2, 1, 4, 4), torch.zeros(2, 0, 4, 4)
    states = driftnet.rollout(lambda state, static: 2 * state, initial, static, 5)
    assert states.shape == (2, 5, 1, 4, 4)
    assert states[0, :, 0, 0, 0].tolist() == [2, 4, 8, 16, 32]


def test_static_channels_stay_as_they_are():
    initial, static = torch.zeros(1, 1, 4, 4), torch.full((1, 1, 4, 4), 3.0)
    states = driftnet.rollout(lambda state, static: state + static, initial, static, 3)
    assert states[0, :, 0, 0, 0].tolist() == [3, 6, 9]
