"""What every mixer of the multi-scale backbone keeps; a new line in MIXERS is picked up by itself."""

import pytest
import torch

from driftnet.models.backbone import MIXERS
from driftnet.models.mixers.configs import DriftMixer, WindowMixer
from driftnet.models.mixers.place import Place

PUBLISHED = DriftMixer(mask="published", edge="hard", radius="published")
SMALL = {kind: kind(window=4, heads=(2,)) if kind is WindowMixer else kind() for kind in MIXERS}
CASES = {**{kind.__name__: config for kind, config in SMALL.items()}, "published": PUBLISHED}


def make(config, place=Place()):  # noqa: B008 - it is frozen
    torch.manual_seed(0)
    return MIXERS[type(config)](config, 4, padding="circular", place=place).double()


@pytest.mark.parametrize("place", [Place(), Place(shifted=True)], ids=["plain", "shifted"])
@pytest.mark.parametrize("config", CASES.values(), ids=CASES)
def test_the_gradients_of_a_mixer_are_those_of_finite_differences(config, place):
    mixer = make(config, place)
    x = torch.randn(2, 4, 8, 8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(mixer, x, fast_mode=True)
    names, values = zip(*mixer.named_parameters(), strict=True)

    def of_parameters(*values):
        return torch.func.functional_call(mixer, dict(zip(names, values, strict=True)), (x.detach(),))

    assert torch.autograd.gradcheck(of_parameters, values, fast_mode=True)


@pytest.mark.parametrize("config", CASES.values(), ids=CASES)
@pytest.mark.parametrize("size", [(8, 8), (8, 16), (4, 12)])
def test_a_mixer_keeps_the_shape_and_the_dtype_of_a_field(config, size):
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(1, 4, *size, dtype=dtype)
        output = make(config).to(dtype)(x)
        assert (output.shape, output.dtype) == (x.shape, dtype)
