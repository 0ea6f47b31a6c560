"""Every model goes through files and into worker processes, and is the same on the other side."""

import io
import pickle
from dataclasses import replace

import pytest
import torch

from driftnet import registry
from driftnet.errors import UsageError
from driftnet.models.operator import Normalized, build, divergence_free, unit_statistics
from tests.oracles import presets

TASK = registry.task("NS-PwC")
TINY = presets("-tiny")


def make(name, task=TASK):
    torch.manual_seed(0)
    return build(registry.model(name), task, unit_statistics(len(task.components), len(task.static))).eval()


def some(height=32, width=64):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, 2, height, width, generator=generator), torch.empty(2, 0, height, width)


@pytest.mark.parametrize("name", TINY)
@torch.no_grad()
def test_save_pretrained_and_from_pretrained_keep_every_bit(name, tmp_path):
    model = make(name)
    model.save_pretrained(tmp_path)
    back = Normalized.from_pretrained(tmp_path)
    assert torch.equal(back(*some()), model(*some()))
    back.save_pretrained(tmp_path / "again")
    assert (tmp_path / "again" / "config.json").read_bytes() == (tmp_path / "config.json").read_bytes()


@pytest.mark.parametrize("name", TINY)
def test_a_state_dict_loads_with_weights_only_and_strictly(name):
    model, file = make(name), io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = build(registry.model(name), TASK, unit_statistics(2))
    other.load_state_dict(torch.load(file, weights_only=True), strict=True)
    assert all(torch.equal(value, model.state_dict()[key]) for key, value in other.state_dict().items())


@pytest.mark.parametrize("name", TINY)
@torch.no_grad()
def test_a_model_reaches_a_worker_process_unchanged(name):
    model = make(name)
    assert torch.equal(pickle.loads(pickle.dumps(model))(*some()), model(*some()))


TAKES_ODD_SIZES = {"fno-tiny", "fno-neuralop-tiny", "uno-tiny", "uno-neuralop-tiny"}  # The others halve their grid.


@pytest.mark.parametrize("name", TINY)
@torch.no_grad()
def test_odd_sizes_are_computed_or_refused_in_one_line(name):
    model, inputs = make(name), some(31, 45)
    if name in TAKES_ODD_SIZES:
        output = model(*inputs)
        assert output.shape == inputs[0].shape
        assert output.isfinite().all()
    else:
        with pytest.raises(UsageError, match="31 x 45") as refusal:
            model(*inputs)
        assert "\n" not in str(refusal.value)


# Attention does not look across the border of the domain, whichever side of it a shift brings a window to.
SEES_THE_BORDER = {"scot-tiny"}
# Spectra in single precision, whatever the input: the package has no others.
IN_SINGLE = {"fno-neuralop-tiny", "uno-neuralop-tiny"}
COARSEST = 16  # Points between two neighbours on the coarsest grid of any tiny model, at most.


@pytest.mark.parametrize("name", TINY)
@torch.no_grad()
def test_a_model_commutes_with_a_periodic_shift_of_its_coarsest_grid(name):
    model, (state, static) = make(name).double(), (part.double() for part in some())
    shifted = model(state.roll((COARSEST, -COARSEST), (-2, -1)), static)
    expected = model(state, static).roll((COARSEST, -COARSEST), (-2, -1))
    close = 1e-5 if name in IN_SINGLE else 1e-9
    agrees = torch.allclose(shifted, expected, rtol=close, atol=close)
    assert agrees == (name not in SEES_THE_BORDER)


@pytest.mark.parametrize("name", TINY)
@torch.no_grad()
def test_a_flow_kept_free_of_divergence_is_so_whatever_the_network_says(name):
    config = registry.model(name)
    statistics = replace(unit_statistics(2), increment_std=torch.tensor([0.5, 2.0]))
    model = build(replace(config, frame=replace(config.frame, divergence="removed")), TASK, statistics).eval()
    divergence = registry.resolve(registry.CHECKS["divergence"])
    state, static = some()
    state = divergence_free(state)
    assert divergence(model(state, static)).max() < 1e-5
    assert divergence(model(state, static) - state).max() < 1e-4
    model.flow = None
    assert divergence(model(state, static) - state).min() > 1e-2
