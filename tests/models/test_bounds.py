"""Operator norms are exact, bounds bound, and measured gains come from below (paper, appendices A and B)."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from driftnet.errors import UsageError
from driftnet.metrics.sobolev import defect, defect_bound, printed_bound_applies, printed_defect_bound, sobolev_loss
from driftnet.models.backbone import Block, MultiScale, build
from driftnet.models.bounds import Bounds, lemma, lemma_core, mixing_norm
from driftnet.models.configs import Backbone, ConvUNet, DriftNet
from driftnet.models.convolution import depthwise
from driftnet.models.mixers.configs import ConvolutionMixer, DriftMixer
from driftnet.models.mixers.drift import Drift
from driftnet.models.operator_norms import complex_matrix, convolution_norm, matrix_norm, patch_norm, project
from driftnet.models.sensitivity import jacobian_norm, visit

SMALL = Backbone(patch=2, widths=(8, 12), depths=(1, 2), skips=(1, 0))
PLAIN = DriftMixer(gating=False)


def dense(function, *shape: int) -> torch.Tensor:
    """The matrix of a linear map, or the Jacobian at zero."""
    x = torch.zeros(1, *shape, dtype=torch.float64)
    return torch.autograd.functional.jacobian(lambda z: function(z).flatten(), x).flatten(1)


def largest(matrix: torch.Tensor) -> float:
    return float(torch.linalg.svdvals(matrix)[0])


def network(config: DriftNet | ConvUNet, spread: float = 0.3) -> MultiScale:
    """A network far from its start: all weights random, some large."""
    torch.manual_seed(3)
    net = build(config, 2, 2, "periodic").double().eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(spread * torch.randn_like(parameter))
    return net.requires_grad_(False)


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(2, 2, 16, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("height", "width"), [(6, 8), (5, 7), (4, 4)])
@pytest.mark.parametrize("kernel", [3, 7])
def test_the_symbol_gives_the_exact_norm_of_a_periodic_depthwise_convolution(kernel, height, width):
    conv = depthwise(2, kernel, "circular", bias=False).double()
    exact = largest(dense(conv, 2, height, width))
    assert convolution_norm(conv, height, width) == pytest.approx(exact, rel=1e-10)


def test_the_symbol_gives_the_exact_norm_of_a_periodic_convolution_over_all_channels():
    conv = nn.Conv2d(3, 2, 5, padding=2, bias=False, padding_mode="circular").double()
    assert convolution_norm(conv, 6, 8) == pytest.approx(largest(dense(conv, 3, 6, 8)), rel=1e-10)


@pytest.mark.parametrize("kernel", [3, 7])
def test_the_symbol_bounds_a_convolution_with_zero_padding(kernel):
    conv = depthwise(2, kernel, "zeros", bias=False).double()
    exact = largest(dense(conv, 2, 6, 8))
    assert exact <= convolution_norm(conv, 6, 8) <= 2 * exact


def test_patches_have_the_norm_of_one_patch():
    embed, recover = (
        nn.Conv2d(2, 5, 4, stride=4, bias=False).double(),
        nn.ConvTranspose2d(5, 2, 4, stride=4, bias=False).double(),
    )
    assert patch_norm(embed) == pytest.approx(largest(dense(embed, 2, 8, 8)), rel=1e-10)
    assert patch_norm(recover) == pytest.approx(largest(dense(recover, 5, 2, 2)), rel=1e-10)


def spectral(cutoff: float) -> Drift:
    """A mixer without gate and local branches, whose W is random."""
    torch.manual_seed(0)
    mixer = Drift(replace(PLAIN, depthwise=False, pointwise=False, edge="hard", cutoff=cutoff), 3, "circular").double()
    with torch.no_grad():
        mixer.mixing.copy_(torch.randn(2, 3, 3))
    return mixer


def test_rho_w_is_the_norm_of_mixing_where_all_modes_are_mixed():
    mixer = spectral(cutoff=0.999)
    assert largest(dense(mixer, 3, 8, 8)) == pytest.approx(mixing_norm(mixer), rel=1e-10)


def test_the_lemma_as_printed_is_exceeded_by_a_field_inside_the_low_rectangle():
    mixer = spectral(cutoff=0.5)
    exact = largest(dense(mixer, 3, 8, 8))
    met = visit(mixer, torch.zeros(1, 3, 8, 8, dtype=torch.float64))
    assert lemma_core(mixer, met) == pytest.approx(mixing_norm(mixer) / 4)
    assert lemma_core(mixer, met) < exact <= Bounds(met).mixer(mixer) * (1 + 1e-12)


def test_the_power_method_finds_the_norm_of_a_jacobian_for_every_state():
    matrix = torch.randn(6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = torch.linspace(-1, 1, 12, dtype=torch.float64).view(2, 6)
    found = jacobian_norm(lambda z: torch.sin(z @ matrix.T), x, iterations=300)
    exact = [largest(torch.cos(matrix @ state)[:, None] * matrix) for state in x]
    torch.testing.assert_close(found, torch.tensor(exact, dtype=torch.float64), rtol=1e-6, atol=0)


@pytest.mark.parametrize("mixer", [PLAIN, replace(PLAIN, edge="hard"), ConvolutionMixer(5)], ids=str)
@pytest.mark.parametrize("lead_time", [False, True])
def test_bounds_without_gates_are_never_below_what_is_measured(mixer, lead_time, x):
    backbone = replace(SMALL, lead_time=lead_time)
    net = network(
        DriftNet(backbone=backbone, mixer=mixer) if isinstance(mixer, DriftMixer) else ConvUNet(backbone=backbone, mixer=mixer)
    )
    met = visit(net, x)
    assert len(met.inputs) == 6
    for block, (features, lead) in met.inputs.items():
        assert isinstance(block, Block)
        measured = jacobian_norm(lambda z, block=block, lead=lead: block(z, lead), features).max()
        assert measured <= Bounds(met).block(block) <= Bounds(met, anywhere=True).block(block)
    measured = jacobian_norm(net, x).max()
    assert measured <= Bounds(met).network(net) <= Bounds(met, anywhere=True).network(net)


def test_the_bound_of_the_network_is_that_of_a_linear_map_where_it_has_no_blocks_to_speak_of(x):
    net = network(ConvUNet(backbone=Backbone(patch=2, widths=(8,), depths=(1,), skips=(0,))), spread=0)
    with torch.no_grad():
        for block in (module for module in net.modules() if isinstance(module, Block)):
            block.mixer_norm.get_parameter("weight").zero_()
            block.mlp_norm.get_parameter("weight").zero_()
    met = visit(net, x)
    linear = patch_norm(net.embed) * Bounds(met).norm(net.embed_norm) * patch_norm(net.recover)
    assert Bounds(met).network(net) == pytest.approx(linear * convolution_norm(net.smooth, 16, 24))


def test_a_mixer_that_is_not_known_has_no_finite_bound(x):
    net = network(ConvUNet(backbone=SMALL))
    met = visit(net, x)
    block = next(iter(met.inputs))
    block.mixer = nn.Identity()
    assert Bounds(met).block(block) == float("inf")
    assert lemma(block, met) > 2


def test_projection_brings_every_operator_to_the_limit_and_leaves_small_ones_alone(x):
    net = network(DriftNet(backbone=SMALL))
    mixers = [module for module in net.modules() if isinstance(module, Drift)]
    small = mixers[0].pointwise.weight.mul_(1e-3).clone()
    project(net, 0.5)
    for mixer in mixers:
        local = (matrix_norm(mixer.pointwise.weight), convolution_norm(mixer.depthwise, 16, 24))
        assert max(mixing_norm(mixer), *local) <= 0.5 * (1 + 1e-12)
    assert torch.equal(mixers[0].pointwise.weight, small)
    assert Bounds(visit(net, x)).mixer(mixers[0]) <= 2
    once = {name: value.clone() for name, value in net.state_dict().items()}
    project(net, 0.5)
    for name, value in net.state_dict().items():
        torch.testing.assert_close(value, once[name], rtol=1e-12, atol=1e-12)


def test_projection_of_w_keeps_its_singular_vectors():
    torch.manual_seed(0)
    mixer = Drift(DriftMixer(), 4, "circular").double()
    with torch.no_grad():
        mixer.mixing.copy_(torch.randn(2, 4, 4))
    before = complex_matrix(mixer.mixing.detach().clone())
    project(mixer, 1.0)
    left, values, right = torch.linalg.svd(before)
    expected = (left * values.clamp(max=1)) @ right
    torch.testing.assert_close(complex_matrix(mixer.mixing.detach()), expected)


def test_there_is_nothing_to_project_in_a_network_without_drift_mixers():
    with pytest.raises(UsageError, match="no DRIFT mixer"):
        project(network(ConvUNet(backbone=SMALL)), 1.0)


def test_the_sobolev_loss_of_order_zero_is_the_squared_defect(x):
    torch.testing.assert_close(sobolev_loss(x, 0.0, 0.3), 0.3 * defect(x).square())


def test_the_sobolev_loss_weighs_a_wave_by_its_wavenumber():
    grid = torch.arange(16, dtype=torch.float64) * 2 * torch.pi / 16
    wave = torch.sin(3 * grid[:, None] + 4 * grid)[None]
    assert float(sobolev_loss(wave, 1.5, 1.0)) == pytest.approx(0.5 * 26**1.5)


def test_the_defect_bound_always_holds_and_the_printed_one_where_it_should():
    generator = torch.Generator().manual_seed(0)
    printed_held = []
    for order, weight, size in [(s, w, a) for s in (0.5, 1.0, 3.0) for w in (0.1, 1.0, 4.0) for a in (1e-4, 1e-2, 1, 10)]:
        error = size * torch.randn(8, 2, 12, 16, dtype=torch.float64, generator=generator)
        eta, loss = float(defect(error).mean()), float(sobolev_loss(error, order, weight).mean())
        assert eta <= defect_bound(loss, weight)
        printed_held.append(eta <= printed_defect_bound(loss, order, weight))
        assert printed_held[-1] or not printed_bound_applies(loss, order, weight)


def test_the_printed_defect_bound_fails_for_an_error_in_the_mean():
    error = torch.full((1, 1, 8, 8), 0.5, dtype=torch.float64)
    loss = float(sobolev_loss(error, 1.0, 0.01))
    assert float(defect(error)) > printed_defect_bound(loss, 1.0, 0.01)
    assert float(defect(error)) <= defect_bound(loss, 0.01) * (1 + 1e-12)
