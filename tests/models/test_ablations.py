"""The DRIFT mixer without one of its parts: the paper's ablation table as configuration."""

from dataclasses import replace

import pytest
import torch

from driftnet.errors import UsageError
from driftnet.models.fourier import analysis
from driftnet.models.mixers.configs import DriftMixer
from driftnet.models.mixers.drift import Drift, mix_channels
from driftnet.models.mixers.rings import membership
from driftnet.models.operator import count_parameters

CHANNELS = 6
FULL = DriftMixer(bands=4, gate_width=8)
COST = {
    "mixing": 2 * CHANNELS**2,
    "gating": 4 * 8 + 8 + 8 * 4 + 4,
    "depthwise": 9 * CHANNELS,
    "pointwise": CHANNELS**2 + CHANNELS,
}
SWITCHES = [{name: False} for name in COST] + [{"mixing": False, "gating": False}]


def drift(**changes) -> Drift:
    torch.manual_seed(0)
    return Drift(replace(FULL, **changes), CHANNELS, "circular").double()


def parameters(mixer: Drift) -> int:
    return sum(parameter.numel() for parameter in mixer.parameters())


def test_complex_weights_count_once_and_none_where_mixing_is_left_out():
    assert parameters(drift()) - count_parameters(drift()) == CHANNELS**2
    assert count_parameters(drift(mixing=False)) == parameters(drift(mixing=False))


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(2, CHANNELS, 12, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", COST)
def test_leaving_a_part_out_removes_exactly_its_parameters(name):
    assert parameters(drift()) - parameters(drift(**{name: False})) == COST[name]


@pytest.mark.parametrize("changes", SWITCHES, ids="-".join)
def test_every_parameter_that_is_left_learns(changes, x):
    mixer = drift(**changes)
    mixer(x).square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().max() > 0 for parameter in mixer.parameters())


def test_without_any_part_the_mixer_is_the_identity_and_has_no_parameters(x):
    mixer = drift(**dict.fromkeys(COST, False))
    assert parameters(mixer) == 0
    torch.testing.assert_close(mixer(x), x)


def test_without_mixing_the_channels_meet_in_the_linear_map_alone(x):
    mixer = drift(mixing=False, pointwise=False)
    changed = x.clone()
    changed[:, 0] += 1
    difference = (mixer(changed) - mixer(x)).abs().amax((0, 2, 3))
    assert difference[0] > 0.1
    assert difference[1:].max() == 0


def test_without_gating_low_modes_are_mixed_and_high_modes_pass_unchanged(x):
    mixer = drift(gating=False, depthwise=False, pointwise=False, edge="hard", cutoff=0.5)
    assert mixer.mixing is not None
    before, after = torch.fft.rfft2(x), torch.fft.rfft2(mixer(x))
    matrix = torch.complex(*mixer.mixing.detach().unbind(0))
    torch.testing.assert_close(after[..., 4:-3, :], before[..., 4:-3, :])
    torch.testing.assert_close(after[..., 2, 1:3], torch.einsum("dc,bck->bdk", matrix, before[..., 2, 1:3]))


def test_without_gating_the_spectral_path_is_linear(x):
    mixer = drift(gating=False, pointwise=False)
    torch.testing.assert_close(mixer(3 * x), 3 * mixer(x))
    gated = drift(pointwise=False)
    assert (gated(30 * x) - 30 * gated(x)).abs().max() > 1e-4


def test_mixing_with_the_identity_is_no_mixing(x):
    mixer, without = drift(), drift(mixing=False)
    without.load_state_dict({name: value for name, value in mixer.state_dict().items() if name != "mixing"})
    with torch.no_grad():
        mixer.mixing.copy_(torch.stack((torch.eye(CHANNELS), torch.zeros(CHANNELS, CHANNELS))))
    torch.testing.assert_close(mixer(x), without(x))


def test_a_taper_without_a_gate_is_refused():
    with pytest.raises(UsageError, match="gating is false"):
        DriftMixer(gating=False, taper=0.2)


def test_the_taper_acts_at_evaluation_only(x):
    plain, tapered = drift(), drift(taper=0.5)
    assert torch.equal(plain.train()(x), tapered.train()(x))
    assert not torch.equal(plain.eval()(x), tapered.eval()(x))


def test_the_taper_shrinks_the_outermost_band_and_no_other(x):
    plain, tapered = (drift(depthwise=False, pointwise=False, taper=beta).eval() for beta in (0.0, 0.5))
    before, after = (torch.fft.rfft2(mixer(x)).flatten(2).abs() for mixer in (plain, tapered))
    outermost = torch.from_numpy(membership(12, 16, 4, True)[:, -1] > 0)
    torch.testing.assert_close(after[..., ~outermost], before[..., ~outermost])
    factor = after[..., outermost] / before[..., outermost]
    assert factor.max() < 1
    assert factor.min() >= 0.5


@pytest.mark.parametrize("seed", range(20))
def test_the_gated_sum_is_at_no_mode_larger_than_its_larger_part(seed):
    torch.manual_seed(seed)
    mixer = drift(edge=("soft", "hard")[seed % 2])
    with torch.no_grad():
        for parameter in mixer.parameters():
            parameter.normal_(std=10.0 ** (seed % 5 - 2))
    x_hat = analysis(10.0 ** (seed % 7 - 3) * torch.randn(2, 12, 16, mixer.mixing.shape[-1], dtype=torch.float64))
    low = mixer.mask(12, 16, x_hat)[..., None]

    def size(spectrum):
        return torch.linalg.vector_norm(spectrum, dim=1)

    larger = torch.maximum(size(mix_channels(mixer.mixing, x_hat) * low), size(x_hat * (1 - low)))
    assert (size(mixer.fused(x_hat, 16)) <= larger * (1 + 1e-12)).all()


def test_the_gate_of_a_module_stays_between_zero_and_one(x):
    gate = drift().gate
    assert gate is not None
    for scale in (0.0, 1e-6, 1.0, 1e6):
        alpha = gate(analysis(scale * x.permute(0, 2, 3, 1)), x.new_ones(12 * 9, 1), 16)
        assert alpha.min() >= 0
        assert alpha.max() <= 1
