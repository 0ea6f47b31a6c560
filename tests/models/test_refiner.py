from dataclasses import replace

import pytest
import torch

from driftnet import registry
from driftnet.errors import UsageError
from driftnet.models import refiner
from driftnet.models.configs import Levels, Refiner
from driftnet.models.operator import build, count_parameters, unit_statistics

SMALL = Refiner(levels=Levels(widths=(8, 16), depth=1))
NOISE = replace(SMALL, training="noise", smallest_noise=1e-3)


def make(config=SMALL):
    torch.manual_seed(0)
    return refiner.build(config, 3, 2, "periodic").double()


def batch(samples=2, channels=3):
    return torch.randn(samples, channels, 8, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_parameters_are_the_papers_twenty_million():
    with torch.device("meta"):
        model = build(registry.model("refiner"), registry.task("NS-PwC"), unit_statistics(2))
    assert count_parameters(model) == pytest.approx(20e6, rel=0.01)


def test_a_step_more_costs_only_the_vector_that_names_it():
    more = make(replace(SMALL, steps=4))
    assert count_parameters(more) - count_parameters(make()) == more.steps.embedding_dim


@torch.no_grad()
def test_at_the_start_refinement_leaves_the_first_prediction():
    network, x = make(), batch()
    first = network.base(network._features(x, torch.zeros_like(x[:, :2]), torch.zeros(2, dtype=torch.long)))
    assert torch.equal(network(x), first)


@torch.no_grad()
def test_every_step_adds_what_the_same_network_says_of_the_current_prediction():
    network, x = make(), batch()
    torch.nn.init.normal_(network.update.weight, std=0.1)
    refined = network(x)
    network.config = replace(SMALL, steps=0)
    prediction = network(x)
    for step in (1, 2, 3):
        said = network.update(network._features(x, prediction, torch.full((2,), step)))
        prediction = prediction + said
    assert said.abs().max() > 1e-3
    torch.testing.assert_close(refined, prediction)


def test_groups_must_divide_the_widths():
    with pytest.raises(UsageError, match="multiples of 8"):
        Refiner(levels=Levels(widths=(12,), depth=1))


def test_noise_levels_fall_geometrically_to_the_smallest():
    levels = [make(NOISE)._level(step) for step in range(4)]
    assert levels == pytest.approx([1, 0.1, 0.01, 0.001])


@torch.no_grad()
def test_a_step_that_sees_its_noise_gives_the_prediction_back(monkeypatch):
    network, x, prediction, noise = make(NOISE), batch(), batch(channels=2), batch(channels=2).flip(0)
    monkeypatch.setattr(torch, "randn_like", lambda _: noise)
    network.update = torch.nn.Module()
    network.update.forward = lambda _: noise
    torch.testing.assert_close(network.refined(x, prediction, 2), prediction)


def test_training_asks_for_the_target_at_the_first_step_and_for_noise_at_the_others():
    network = make(NOISE)
    target = 100 + batch(64, 2)
    _, asked = network.training_pair(batch(64), target)
    first = (asked == target).flatten(1).all(1)
    assert 0 < first.sum() < 40
    noise = asked[~first]
    assert noise.mean().item() == pytest.approx(0, abs=0.05)
    assert noise.std().item() == pytest.approx(1, abs=0.05)


def test_the_step_is_told_only_of_the_noisy_target(monkeypatch):
    """What the network is given at a step holds the target at that step's noise level, and at the first nothing."""
    network, target, given = make(NOISE), 100 + batch(64, 2), []
    features = network._features
    monkeypatch.setattr(network, "_features", lambda x, p, step: (given.append((p, step)), features(x, p, step))[1])
    network.training_pair(batch(64), target)
    ((prediction, step),) = given
    assert prediction[step == 0].abs().max() == 0
    for level in (1, 2, 3):
        spread = (prediction - target)[step == level].std().item()
        assert spread == pytest.approx(network._level(level), rel=0.1)


def test_a_model_trains_on_what_its_network_asks_for():
    task = registry.task("NS-PwC")
    state = torch.randn(4, 2, 8, 12)
    static, following = state[:, :0], state + 1
    plain, noisy = (build(config, task, unit_statistics(2)) for config in (SMALL, NOISE))
    prediction, target = plain.training_pair(state, static, following)
    assert torch.equal(prediction, plain.prediction(state, static))
    assert torch.equal(target, plain.target(state, following))
    torch.manual_seed(0)
    own = noisy.network.training_pair(state, following - state)
    torch.manual_seed(0)
    for mine, models in zip(own, noisy.training_pair(state, static, following), strict=True):
        torch.testing.assert_close(mine, models)
