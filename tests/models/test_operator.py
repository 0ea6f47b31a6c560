import pytest
import torch
from torch import nn

from driftnet.errors import UsageError
from driftnet.metrics.statistics import Statistics
from driftnet.models.operator import Normalized

STATISTICS = Statistics(
    torch.tensor([1.0, -2.0]),
    torch.tensor([3.0, 0.5]),
    torch.tensor([0.1, 0.2]),
    torch.tensor([0.4, 0.8]),
    torch.tensor([2600.0]),
    torch.tensor([600.0]),
)


class Ignorant(nn.Module):
    """Says zero, whatever it sees: in normalised units, the mean."""

    def forward(self, x):
        return torch.zeros_like(x[:, :2])


def test_a_network_that_says_nothing_predicts_the_mean_state_or_the_mean_increment():
    state, static = torch.randn(3, 2, 4, 4), torch.zeros(3, 1, 4, 4)
    mean, increment = (value[:, None, None] for value in (STATISTICS.mean, STATISTICS.increment_mean))
    assert torch.allclose(Normalized(Ignorant(), "state", STATISTICS)(state, static), mean.expand(3, 2, 4, 4))
    assert torch.allclose(Normalized(Ignorant(), "increment", STATISTICS)(state, static), state + increment)


def test_a_network_that_says_its_target_predicts_the_truth():
    state, following = torch.randn(2, 3, 2, 4, 4).unbind(0)
    for predicts in ("state", "increment"):
        model = Normalized(Ignorant(), predicts, STATISTICS)
        assert torch.allclose(model.physical(model.target(state, following), state), following, atol=1e-6)


def test_the_network_sees_normalised_states_and_static_channels():
    seen = []
    network = Ignorant()
    network.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    mean, std = (value[:, None, None] for value in (STATISTICS.mean, STATISTICS.std))
    unit, static = torch.randn(1, 2, 4, 4), torch.randn(1, 1, 4, 4)
    Normalized(network, "state", STATISTICS)(unit * std + mean, 2600 + 600 * static)
    assert torch.allclose(seen[0], torch.cat((unit, static), 1), atol=1e-6)


def test_the_statistics_travel_with_the_weights():
    assert set(Normalized(Ignorant(), "state", STATISTICS).state_dict()) == set(vars(STATISTICS))


@pytest.mark.parametrize(("state", "static"), [(1, 1), (2, 0), (2, 2)])
def test_another_number_of_channels_is_refused(state, static):
    with pytest.raises(UsageError, match="this model takes 2 state and 1 static channels"):
        Normalized(Ignorant(), "state", STATISTICS)(torch.randn(1, state, 4, 4), torch.randn(1, static, 4, 4))


# The checks of shapes that tests run under come before the model's own, which are asked directly here.


@pytest.mark.parametrize("kind", [torch.float64, torch.complex64])
def test_numbers_that_the_model_cannot_hold_are_refused(kind):
    model, state, static = Normalized(Ignorant(), "state", STATISTICS), torch.randn(1, 2, 4, 4), torch.randn(1, 1, 4, 4)
    for inputs in ((state.to(kind), static), (state, static.to(kind))):
        with pytest.raises(UsageError, match=rf"this model computes in torch\.float32, its input is .*{kind}"):
            model._require_fields(*inputs)
    assert model(state.half(), static.half()).dtype == torch.float32


@pytest.mark.parametrize(
    ("state", "static", "message"),
    [
        ((2, 4, 4), (1, 4, 4), r"fields are \(batch, channel, x, y\), not of shape \(2, 4, 4\)"),
        ((1, 2, 4, 4), (1, 1, 4, 6), r"static channels of shape \(1, 1, 4, 6\) do not fit a state of shape \(1, 2, 4, 4\)"),
        ((2, 2, 4, 4), (1, 1, 4, 4), r"static channels of shape \(1, 1, 4, 4\) do not fit a state of shape \(2, 2, 4, 4\)"),
    ],
)
def test_fields_that_do_not_fit_are_refused(state, static, message):
    with pytest.raises(UsageError, match=message):
        Normalized(Ignorant(), "state", STATISTICS)._require_fields(torch.randn(state), torch.randn(static))
