from __future__ import annotations

from itertools import product
from math import log

import pytest
import torch
from torch import nn

from driftnet.models.mixers import convolution, drift, window
from driftnet.models.mixers.configs import ConvolutionMixer, DriftMixer, WindowMixer
from driftnet.models.mixers.place import Place

CHANNELS, HEADS, WINDOW = 6, 2, 4
CASES = [
    *product([(8, 8), (8, 12), (4, 8), (3, 4)], [False, True], ["zeros", "circular"]),
    *product([(6, 7), (5, 9)], [False, True], ["zeros"]),
]


def mixer_with_random_weights(shifted: bool, padding: str) -> nn.Module:
    torch.manual_seed(0)
    mixer = window.build(WindowMixer(WINDOW, (1, HEADS)), CHANNELS, padding, Place(1, shifted)).double()
    for parameter in mixer.parameters():
        nn.init.normal_(parameter, std=0.5)
    nn.init.uniform_(mixer.logit_scale, 0, 6)  # On both sides of the clamp at log 100.
    return mixer


def windows_along(length: int, shifted: bool, wraps: bool) -> torch.Tensor:
    """The window of every token along an axis: cuts every 4 tokens, from the shift on."""
    shift = WINDOW // 2 if shifted and length > WINDOW else 0
    position = torch.arange(length) - shift
    if wraps:
        position = position % length
    return position.div(min(WINDOW, length), rounding_mode="floor")


def offsets_along(length: int, shifted: bool, wraps: bool) -> torch.Tensor:
    """Distance of every pair along an axis, the short way round where windows wrap; log-spaced as Swin v2 has it."""
    offset = torch.arange(length)[:, None] - torch.arange(length)
    if wraps and shifted and length > WINDOW:
        offset = (offset + length // 2) % length - length // 2
    scaled = 8 * offset.double() / max(min(WINDOW, length) - 1, 1)
    return scaled.sign() * torch.log2(1 + scaled.abs()) / 3


def written_out(mixer: nn.Module, x: torch.Tensor, shifted: bool, padding: str) -> torch.Tensor:
    """Attention over the whole grid at once, every pair of tokens judged by itself."""
    height, width = x.shape[-2:]
    wraps = padding == "circular"
    row, column = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    row, column = row.flatten(), column.flatten()
    rows, columns = (windows_along(n, shifted, wraps) for n in (height, width))
    together = (rows[row][:, None] == rows[row]) & (columns[column][:, None] == columns[column])
    down, right = (offsets_along(n, shifted, wraps) for n in (height, width))
    offset = torch.stack((down[row][:, row], right[column][:, column]), -1)
    tokens = x.flatten(2).transpose(1, 2)
    gathered = []
    for head, part in enumerate(torch.arange(CHANNELS).chunk(HEADS)):
        query, key, value = (layer(tokens)[..., part] for layer in (mixer.query, mixer.key, mixer.value))
        cosine = (query / query.norm(dim=-1, keepdim=True)) @ (key / key.norm(dim=-1, keepdim=True)).transpose(1, 2)
        scale = mixer.logit_scale[head, 0, 0].clamp(max=log(100)).exp()
        logits = scale * cosine + 16 * torch.sigmoid(mixer.position(offset)[..., head])
        gathered.append(logits.masked_fill(~together, -torch.inf).softmax(-1) @ value)
    return mixer.output(torch.cat(gathered, -1)).transpose(1, 2).view_as(x)


@pytest.mark.parametrize(("size", "shifted", "padding"), CASES)
def test_window_attention_is_the_written_out_formula(size, shifted, padding):
    mixer = mixer_with_random_weights(shifted, padding)
    x = torch.randn(2, CHANNELS, *size, dtype=torch.float64)
    torch.testing.assert_close(mixer(x), written_out(mixer, x, shifted, padding), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [(8, 12), (5, 7)])
def test_gradients_of_window_attention_are_those_of_finite_differences(size):
    mixer = mixer_with_random_weights(True, "zeros")
    nn.init.constant_(mixer.logit_scale, 1.0)
    x = torch.randn(1, CHANNELS, *size, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(mixer, x, fast_mode=True)


def test_shifted_windows_of_a_periodic_domain_commute_with_translation_by_a_window():
    mixer = mixer_with_random_weights(True, "circular")
    x = torch.randn(1, CHANNELS, 12, 8, dtype=torch.float64)
    torch.testing.assert_close(mixer(x.roll(WINDOW, -2)), mixer(x).roll(WINDOW, -2))


def test_without_periodicity_no_token_sees_across_the_boundary():
    mixer = mixer_with_random_weights(True, "zeros")
    x = torch.randn(1, CHANNELS, 8, 8, dtype=torch.float64)
    changed = x.clone()
    changed[..., -1, :] += 1
    assert torch.equal(mixer(x)[..., 0, :], mixer(changed)[..., 0, :])


def test_tokens_that_pad_a_window_are_never_seen():
    mixer = mixer_with_random_weights(False, "zeros")
    constant = torch.ones(1, CHANNELS, 6, 7, dtype=torch.float64)
    torch.testing.assert_close(mixer(constant), mixer(constant[..., :4, :4])[..., :1, :1].expand_as(constant))


def test_half_precision_stays_near_single_precision():
    mixer = mixer_with_random_weights(True, "zeros").float()
    nn.init.constant_(mixer.logit_scale, log(10))
    x = torch.randn(1, CHANNELS, 8, 12)
    with torch.autocast("cpu", torch.bfloat16):
        half = mixer(x)
    assert half.dtype == torch.bfloat16
    assert (half - mixer(x)).norm() < 0.05 * mixer(x).norm()


@pytest.mark.parametrize(
    ("build", "config"),
    [(drift.build, DriftMixer()), (convolution.build, ConvolutionMixer()), (window.build, WindowMixer(4, (3,)))],
)
def test_every_mixer_can_be_made_without_a_backbone(build, config):
    x = torch.randn(1, 6, 8, 12)
    assert build(config, 6, "circular")(x).shape == x.shape
