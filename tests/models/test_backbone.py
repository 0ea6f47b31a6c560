from dataclasses import replace

import pytest
import torch
from torch import nn

from driftnet import registry
from driftnet.configs import Frame
from driftnet.errors import UsageError
from driftnet.models import backbone, presets
from driftnet.models.configs import Backbone, DriftNet
from driftnet.models.mixers.configs import DriftMixer
from driftnet.models.operator import build, count_parameters, unit_statistics

TASK = registry.task("NS-PwC")
SMALL = Backbone(patch=2, widths=(8, 12), depths=(1, 1), skips=(1, 0))

# Tensors of the authors' configuration T that never receive a gradient, by kind: a norm in every block that is not
# called, a projection and a convolution of the truth in every decoder stage, and two cut-offs in every block.
AUTHORS_WIDTHS = (48, 96, 192, 384)
AUTHORS_DEAD = sum(8 * 4 * width + 2 * 3 * width for width in AUTHORS_WIDTHS) + 32 * 2


def network(config=None):
    torch.manual_seed(0)
    return backbone.build(config or DriftNet(backbone=SMALL), 2, 2, "periodic")


def test_the_published_preset_has_the_authors_parameters_less_those_that_never_learn():
    with torch.device("meta"):
        model = build(presets.DRIFT_NET_PUBLISHED, TASK, unit_statistics(2))
    assert AUTHORS_DEAD == 27_424
    assert count_parameters(model) == 17_524_982 - AUTHORS_DEAD
    assert count_parameters(model, complex_once=False) == 19_091_702 - AUTHORS_DEAD


def test_appendix_f_has_about_seventeen_million_parameters():
    with torch.device("meta"):
        model = build(presets.DRIFT_NET_APPENDIX_F, TASK, unit_statistics(2))
    assert count_parameters(model) == pytest.approx(17.5e6, rel=5e-3)


def test_circular_padding_makes_the_network_commute_with_shifts_by_its_coarsest_patch():
    model = network().eval().double()
    x = torch.randn(1, 2, 16, 24, dtype=torch.float64)
    shift = SMALL.divisor
    moved = model(x.roll((shift, 2 * shift), (2, 3)))
    assert torch.allclose(moved, model(x).roll((shift, 2 * shift), (2, 3)), atol=1e-12)


def test_zero_padding_sees_the_edge():
    model = network(DriftNet(frame=Frame(padding="zeros"), backbone=SMALL)).eval().double()
    x = torch.randn(1, 2, 16, 16, dtype=torch.float64)
    assert not torch.allclose(model(x.roll(4, 2)), model(x).roll(4, 2), atol=1e-6)


@pytest.mark.parametrize("size", [(18, 16), (16, 6)])
def test_a_size_that_the_levels_do_not_divide_is_refused(size):
    with pytest.raises(UsageError, match="must be multiples of 4"):
        network()(torch.zeros(1, 2, *size))


@pytest.mark.parametrize(
    "changes",
    [{"widths": (8,)}, {"depths": (1, 0)}, {"skips": (-1, 0)}, {"patch": 0}, {"mlp_ratio": 0.0}, {"widths": ()}],
)
def test_levels_that_do_not_line_up_are_refused(changes):
    with pytest.raises(UsageError, match="backbone"):
        replace(SMALL, **changes)


def test_the_skips_start_as_nearly_the_identity():
    block = network().skips[0][0]
    x = torch.randn(1, 8, 8, 8)
    assert (block(x, torch.ones(1)) - x).abs().max() < 1e-5


def test_merging_stacks_neighbours_row_offset_first():
    merge = backbone.PatchMerge(1, 4, conditioned=False)
    merge.norm = nn.Identity()
    merge.norm.forward = lambda x, lead: x
    with torch.no_grad():
        merge.reduce.weight.copy_(torch.eye(4))
    square = torch.tensor([[1.0, 3.0], [2.0, 4.0]]).reshape(1, 2, 2, 1)
    assert merge(square, torch.ones(1)).flatten().tolist() == [1.0, 2.0, 3.0, 4.0]


def test_norms_with_lead_time_tell_lead_times_apart():
    model = network(DriftNet(backbone=replace(SMALL, lead_time=True)))
    x = torch.randn(1, 2, 8, 8)
    assert not torch.allclose(model(x, torch.tensor([1.0])), model(x, torch.tensor([3.0])))


def test_the_mixers_are_the_only_difference_between_the_models_of_the_backbone():
    names = {
        preset: {name for name, _ in build(registry.model(preset), TASK, unit_statistics(2)).named_parameters()}
        for preset in ("drift-net-tiny", "conv-unet-tiny")
    }
    apart = names["drift-net-tiny"] ^ names["conv-unet-tiny"]
    assert apart
    assert all(".mixer." in name for name in apart)


def test_the_published_frame_is_the_papers():
    frame = presets.DRIFT_NET_PUBLISHED.frame
    assert (frame.predicts, frame.padding) == ("state", "zeros")
    assert presets.DRIFT_NET_PUBLISHED.mixer == DriftMixer(mask="published", edge="hard", radius="published")
