from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from driftnet import registry
from driftnet.configs import Frame, from_dict, to_dict
from driftnet.errors import UsageError
from driftnet.models.backbone import build
from driftnet.models.configs import Backbone, ScOT
from driftnet.models.mixers.configs import WindowMixer
from driftnet.models.operator import Normalized, count_parameters, unit_statistics

SMALL = ScOT(backbone=Backbone(2, (8, 16), (2, 3), (1, 0)), mixer=WindowMixer(4, (2, 4)))
SMALL_PUBLISHED = replace(SMALL, frame=Frame("state", "zeros"), backbone=replace(SMALL.backbone, lead_time=True))


def parameters(name: str, channels: int, **backbone) -> int:
    config = registry.model(name)
    with torch.device("meta"):
        network = build(replace(config, backbone=replace(config.backbone, **backbone)), channels, channels, "periodic")
    return count_parameters(network)


def small(config: ScOT = SMALL) -> Normalized:
    torch.manual_seed(0)
    return Normalized(build(config, 3, 2, "periodic"), config.frame.predicts, unit_statistics(2, 1))


def fields(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("name", "channels", "count"),
    [
        ("scot-published", 2, 20_771_070),
        ("scot-published", 4, 20_774_444),
        ("scot-base", 2, 157_723_542),
        ("scot-base", 4, 157_729_988),
        ("scot-large", 4, 628_575_524),
        ("drift-net-published", 2, 17_497_558),
    ],
)
def test_published_sizes_have_the_published_numbers_of_parameters(name, channels, count):
    assert parameters(name, channels, lead_time=True) == count


@pytest.mark.parametrize(
    ("half", "half_width", "millions"), [("scot-half", "scot-half-width", 10), ("drift-net-half", "drift-net-half-width", 9)]
)
def test_halved_depths_and_not_half_the_width_give_the_papers_count(half, half_width, millions):
    assert abs(parameters(half, 2) / 1e6 - millions) < 1
    assert abs(parameters(half_width, 2) / 1e6 - millions / 2) < 1


def test_the_tiny_preset_fits_a_laptop():
    assert 0.5e6 < parameters("scot-tiny", 2) < 1e6


def test_scot_and_drift_net_differ_in_the_mixer_alone():
    networks = (build(registry.model(name), 2, 2, "periodic") for name in ("scot-tiny", "drift-net-tiny"))
    scot, drift_net = ({key for key in network.state_dict() if ".mixer." not in key} for network in networks)
    assert scot == drift_net


def test_the_decoder_mirrors_the_shifts_of_the_encoder():
    network = build(SMALL, 3, 2, "periodic")
    shifts = [[block.mixer.shifted for block in level.blocks] for level in (*network.encoder, *network.decoder)]
    assert shifts == [[False, True], [False, True, False], [True, False], [False, True, False]]


@pytest.mark.parametrize("size", [(16, 16), (24, 16), (20, 28)])
@pytest.mark.parametrize("config", [SMALL, SMALL_PUBLISHED])
def test_every_parameter_learns_at_every_size(size, config):
    model = small(config)
    model.network.apply(lambda module: hasattr(module, "scale") and module.scale.data.fill_(1.0))
    model(fields(2, 2, *size), fields(2, 1, *size)).square().mean().backward()
    dead = [name for name, value in model.named_parameters() if value.grad is None or not value.grad.any()]
    assert dead == []


def test_the_state_depends_on_the_lead_time_and_one_step_is_a_twentieth():
    model = small(SMALL_PUBLISHED).eval()
    state, static = fields(2, 2, 16, 16), fields(2, 1, 16, 16)
    assert torch.equal(model(state, static), model(state, static, torch.full((2,), 0.05)))
    assert not torch.allclose(model(state, static), model(state, static, torch.full((2,), 1.0)))


def test_the_lead_times_of_a_batch_do_not_mix():
    model = small(SMALL_PUBLISHED).double().eval()
    state, static, lead = fields(2, 2, 16, 16).double(), fields(2, 1, 16, 16).double(), torch.tensor([0.1, 0.7]).double()
    torch.testing.assert_close(model(state, static, lead)[1:], model(state[1:], static[1:], lead[1:]))


def test_a_model_of_one_lead_time_refuses_another():
    with pytest.raises(UsageError, match="one lead time only"):
        small()(fields(1, 2, 16, 16), fields(1, 1, 16, 16), torch.ones(1))


def test_training_in_half_precision_gives_finite_gradients():
    model = small()
    with torch.autocast("cpu", torch.bfloat16):
        model(fields(1, 2, 16, 16), fields(1, 1, 16, 16)).square().mean().backward()
    assert all(value.grad.isfinite().all() for value in model.parameters())


def test_configurations_survive_being_written():
    assert from_dict(ScOT, to_dict(registry.model("scot-published"))) == registry.model("scot-published")


def test_heads_that_do_not_fit_the_levels_are_refused():
    with pytest.raises(UsageError, match="3 levels, but the backbone has 4"):
        ScOT(mixer=WindowMixer(heads=(3, 6, 12)))
    with pytest.raises(UsageError, match="5 heads cannot share 48 channels"):
        ScOT(mixer=WindowMixer(heads=(5, 6, 12, 24)))
