from math import log

import numpy as np
import pytest
import torch

from driftnet.bench.naive import as_image, as_tokens, naive_drift
from driftnet.models.fourier import analysis
from driftnet.models.mixers.configs import DriftMixer
from driftnet.models.mixers.drift import Drift, mix_channels
from driftnet.models.mixers.rings import membership, published_bands, radial_bands

PUBLISHED = DriftMixer(mask="published", edge="hard", radius="published")


def block(channels=6, padding="circular", dtype=torch.float64, seed=0, **changes) -> Drift:
    torch.manual_seed(seed)
    mixer = Drift(DriftMixer(**changes), channels, padding).to(dtype)
    with torch.no_grad():  # Away from the nearly silent start, so that every part shows.
        if mixer.mixing is not None:
            mixer.mixing.normal_(std=0.5)
        for parameter in mixer.gate.parameters():
            parameter.normal_(std=0.5)
    return mixer


@pytest.mark.parametrize("size", [2, 8, 16, 32])
def test_the_published_option_is_the_authors_block(size):
    mixer = block(padding="zeros", dtype=torch.float32, mask="published", edge="hard", radius="published")
    x = torch.randn(2, 6, size, size)
    expected = as_image(naive_drift(mixer, as_tokens(x)))
    assert (mixer(x) - expected).abs().max() / expected.abs().max() < 1e-6


@pytest.mark.parametrize(("size", "rectangle"), [(32, (17, 9)), (16, (8, 5)), (8, (4, 2)), (4, (2, 1)), (1, (0, 0))])
def test_the_published_mask_is_the_quadrant_of_the_authors(size, rectangle):
    mask = Drift(PUBLISHED, 2, "zeros").mask(size, size, torch.empty(0))
    expected = torch.zeros(size, size // 2 + 1)
    expected[: rectangle[0], : rectangle[1]] = 1
    assert torch.equal(mask, expected)


@pytest.mark.parametrize("edge", ["soft", "hard"])
@pytest.mark.parametrize("mask", ["symmetric", "published"])
def test_a_single_point_has_an_output(edge, mask):
    x = torch.randn(2, 6, 1, 1, dtype=torch.float64)
    assert block(edge=edge, mask=mask)(x).isfinite().all()


@pytest.mark.parametrize("edge", ["soft", "hard"])
def test_the_block_commutes_with_translations_of_the_torus(edge):
    mixer, x = block(edge=edge), torch.randn(2, 6, 16, 12, dtype=torch.float64)
    shifted = mixer(x.roll((3, 5), (2, 3)))
    assert torch.allclose(shifted, mixer(x).roll((3, 5), (2, 3)), atol=1e-12)


def reflected(field):
    return field.flip(2).roll(1, 2)


def global_branch(mixer, x):
    return mixer._with_global(x.permute(0, 2, 3, 1), None).permute(0, 3, 1, 2)


@pytest.mark.parametrize("edge", ["soft", "hard"])
def test_the_symmetric_mask_treats_both_row_directions_alike_and_the_published_one_does_not(edge):
    x = torch.randn(2, 6, 16, 16, dtype=torch.float64)
    # With a real W, reflecting along the rows and mixing can be exchanged.
    errors = {}
    for mask, radius in (("symmetric", "signed"), ("published", "published")):
        mixer = block(mask=mask, edge=edge, radius=radius)
        with torch.no_grad():
            mixer.mixing[1] = 0
        expected = reflected(global_branch(mixer, x))
        errors[mask] = ((global_branch(mixer, reflected(x)) - expected).abs().sum() / expected.abs().sum()).item()
    assert errors["symmetric"] < 1e-12
    assert errors["published"] > 0.1


def test_mixing_with_stored_reals_is_the_complex_matrix_product():
    mixing = torch.randn(2, 5, 5, dtype=torch.float64)
    x_hat = torch.randn(3, 2, 8, 5, 5, dtype=torch.float64)
    expected = torch.einsum("ij,bhwj->bhwi", torch.complex(*mixing), torch.complex(*x_hat.unbind(1)))
    assert torch.allclose(torch.complex(*mix_channels(mixing, x_hat).unbind(1)), expected, rtol=1e-13)


@pytest.mark.parametrize("size", [8, 64])
def test_the_soft_cut_offs_learn(size):
    mixer = block(cutoff=0.4)
    mixer(torch.randn(1, 6, size, size, dtype=torch.float64)).square().sum().backward()
    assert mixer.mask.logits.grad.abs().min() > 0


def test_the_hard_mask_has_nothing_to_learn():
    assert not list(Drift(PUBLISHED, 4, "zeros").mask.parameters())


def test_the_soft_mask_is_half_at_its_cut_off_and_sharp_around_it():
    mask = Drift(DriftMixer(cutoff=0.5), 2, "circular").mask(32, 32, torch.empty(0, dtype=torch.float64))
    assert mask[8, 0].item() == pytest.approx(0.5)
    assert mask[-8, 0].item() == pytest.approx(0.5)
    assert mask[6, 6] > 0.9
    assert mask[11, 0] < 0.01


@pytest.mark.parametrize(("height", "width"), [(16, 16), (16, 24), (33, 48)])
def test_bands_are_rings_of_equal_width_around_the_origin(height, width):
    bands = radial_bands(height, width, 6)
    ky = np.fft.fftfreq(height)[:, None] / (height // 2 / height)
    kx = np.fft.rfftfreq(width)[None, :] / (width // 2 / width)
    radius = np.hypot(ky, kx) / np.hypot(1, 1) if height == width else None
    assert bands[0, 0] == 0
    assert bands.max() == 5
    assert np.array_equal(bands[1:], bands[1:][::-1])  # The same for a frequency and its negative.
    if radius is not None:
        inside = np.abs(radius * 6 - np.round(radius * 6)) > 1e-9  # On an edge, floating point may say either.
        assert np.array_equal(bands[inside], np.minimum((radius * 6).astype(int), 5)[inside])


def test_published_bands_file_the_lowest_negative_frequency_as_a_high_one():
    assert published_bands(32, 32, 6)[-1, 0] == 4
    assert radial_bands(32, 32, 6)[-1, 0] == 0


def test_every_mode_is_in_one_band():
    for signed in (True, False):
        assert np.array_equal(membership(12, 20, 5, signed).sum(1), np.ones(12 * 11))


@pytest.mark.parametrize("feature", ["amplitude", "energy"])
def test_the_gate_lies_between_zero_and_one(feature):
    mixer = block(feature=feature)
    x_hat = analysis(torch.randn(2, 16, 16, 6, dtype=torch.float64))
    alpha = mixer.gate(x_hat, torch.full((16 * 9, 1), 0.5, dtype=torch.float64), 16)
    assert alpha.shape == (2, 6, 6)
    assert alpha.min() > 0
    assert alpha.max() < 1


def test_high_modes_are_weighed_by_one_minus_the_gate_of_their_band():
    mixer, x = block(edge="hard", mixing=False), torch.randn(2, 6, 16, 16, dtype=torch.float64)
    x_hat = analysis(x.permute(0, 2, 3, 1))
    low = mixer.mask(16, 16, x).bool()
    alpha = mixer.gate(x_hat, (~low).reshape(-1, 1).double(), 16)
    ratio = (mixer.fused(x_hat, 16) / x_hat)[:, 0].permute(0, 3, 1, 2)
    bands = torch.from_numpy(radial_bands(16, 16, 6))
    for band in range(6):
        expected = alpha[..., band, None]
        assert torch.allclose(ratio[..., (bands == band) & ~low], 1 - expected)
        assert torch.allclose(ratio[..., (bands == band) & low], expected)


def test_the_fused_spectrum_never_exceeds_the_larger_of_its_sources():
    mixer, x = block(edge="hard"), torch.randn(2, 6, 16, 16, dtype=torch.float64)
    x_hat = torch.fft.rfft2(x, norm="forward")
    low_hat = x_hat * mixer.mask(16, 16, x)
    mixed_hat = torch.einsum("ij,bjhw->bihw", torch.complex(*mixer.mixing.unbind(0)), low_hat)
    high_hat = x_hat - low_hat
    fused_hat = torch.fft.rfft2(global_branch(mixer, x), norm="forward")
    # Columns 0 and Nyquist hold every mode beside its negative, and a real field takes the mean of the two.
    inner = slice(1, -1)
    limit = torch.maximum(mixed_hat.abs(), high_hat.abs())
    assert (fused_hat.abs() <= limit + 1e-12)[..., inner].all()


def test_a_low_pass_start_favours_the_low_bands():
    torch.manual_seed(0)
    mixer = Drift(DriftMixer(gate_start="low-pass"), 4, "circular")
    mixer.gate.start()
    alpha = mixer.gate.mlp(torch.zeros(1, 6))[0]
    assert alpha[0] > 0.9
    assert alpha[-1] < 0.1


def test_the_taper_acts_on_the_outermost_band_at_evaluation_only():
    tapered, plain = block(taper=0.5), block(taper=0.0)
    x = torch.randn(1, 6, 16, 16, dtype=torch.float64)
    assert torch.equal(tapered.train()(x), plain.train()(x))
    before, after = (torch.fft.rfft2(global_branch(mixer.eval(), x)) for mixer in (plain, tapered))
    ratio = (after.abs() / before.abs())[0, 0]
    outermost = torch.from_numpy(radial_bands(16, 16, 6)) == 5
    assert torch.allclose(ratio[~outermost], torch.ones_like(ratio[~outermost]))
    assert ratio[outermost].min() >= 0.5
    assert ratio[outermost].max() < 1


def test_a_spectrum_of_zeros_has_a_finite_gradient():
    mixer = block()
    x = torch.zeros(1, 6, 8, 8, dtype=torch.float64, requires_grad=True)
    mixer(x).sum().backward()
    assert torch.isfinite(x.grad).all()


def test_the_initial_cut_off_is_the_authors_constant():
    assert log(DriftMixer().cutoff / (1 - DriftMixer().cutoff)) == pytest.approx(0.25, abs=1e-6)
