"""What every model of the registry keeps; a new line there is picked up by name.

Presets of full size are built without memory; the smallest of every architecture, named *-tiny, is also run.
"""

import copy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.overrides import TorchFunctionMode

from driftnet import registry
from driftnet.configs import Frame, from_dict, to_dict
from driftnet.models.operator import build, count_parameters, unit_statistics
from driftnet.models.saved import load, save_model
from tests.oracles import presets, runs

ROOT = Path(__file__).parents[2]
PERIODIC = registry.task("NS-PwC")
BOUNDED = replace(PERIODIC, boundary="dirichlet", static=("coefficient", "forcing"))
TASKS = {"periodic": PERIODIC, "bounded": BOUNDED}
TINY = presets("-tiny")
SMALLEST, LARGEST = 0.4e6, 1.05e6  # Parameters of a laptop model.


def make(name, task=PERIODIC):
    torch.manual_seed(0)
    return build(registry.model(name), task, unit_statistics(len(task.components), len(task.static))).eval()


def some(task=PERIODIC, batch=2, dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    state = torch.randn(batch, len(task.components), 32, 64, generator=generator, dtype=dtype)
    return state, torch.randn(batch, len(task.static), 32, 64, generator=generator, dtype=dtype)


def test_every_architecture_has_a_tiny_preset():
    kinds = {name: type(registry.model(name)) for name in registry.MODELS}
    assert {kind for name, kind in kinds.items() if name.endswith("-tiny")} == set(kinds.values())


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
@pytest.mark.parametrize("name", presets())
def test_every_preset_builds_for_every_boundary(name, task):
    with torch.device("meta"):
        model = make(name, task)
    assert count_parameters(model) <= count_parameters(model, complex_once=False)


@pytest.mark.parametrize("name", registry.MODELS)
def test_every_configuration_survives_being_written(name):
    config = registry.model(name)
    assert from_dict(type(config), to_dict(config)) == config


@pytest.mark.parametrize("name", TINY)
def test_tiny_models_have_half_a_million_to_a_million_parameters(name):
    assert SMALLEST < count_parameters(make(name)) < LARGEST


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
@pytest.mark.parametrize("name", TINY)
@torch.no_grad()
def test_a_new_model_says_something_finite(name, task):
    model, inputs = make(name, task), some(task)
    for mode in (model.train(), model.eval()):
        assert mode(*inputs).isfinite().all()


@pytest.mark.parametrize("name", ["drift-net", "scot", "fno", "uno", "unet", "refiner"])
def test_half_a_model_has_about_half_the_parameters(name):
    with torch.device("meta"):
        whole, half = (count_parameters(make(each)) for each in (name, f"{name}-half"))
    assert half / whole == pytest.approx(0.51, abs=0.02)


@pytest.mark.parametrize("frame", [Frame(), Frame(predicts="state", padding="zeros")], ids=["ours", "published"])
@pytest.mark.parametrize("name", TINY)
def test_every_parameter_learns(name, frame):
    torch.manual_seed(0)
    model = build(replace(registry.model(name), frame=frame), BOUNDED, unit_statistics(2, 2)).train()
    state, static = some(BOUNDED)
    prediction, target = model.training_pair(state, static, state.roll(1, -1))
    (prediction - target).square().mean().backward()
    idle = [each for each, value in model.named_parameters() if value.grad is None or not value.grad.any()]
    assert idle == []


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
@pytest.mark.parametrize("name", TINY)
def test_double_precision_agrees_with_single(name, task):
    model = make(name, task)
    with torch.no_grad():
        single, double = model(*some(task)), model.double()(*(part.double() for part in some(task)))
    assert single.dtype == torch.float32
    assert double.dtype == torch.float64
    torch.testing.assert_close(single, double.float(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", TINY)
@torch.no_grad()
def test_static_channels_matter(name):
    model, (state, static) = make(name, BOUNDED), some(BOUNDED)
    assert not torch.equal(model(state, static), model(state, 2 * static))


@pytest.mark.parametrize("name", TINY)
@torch.no_grad()
def test_samples_of_a_batch_do_not_mix(name):
    model, (state, static) = make(name).double(), some(batch=3, dtype=torch.float64)
    alone = model(state[1:2], static[1:2])
    torch.testing.assert_close(model(state, static)[1:2], alone, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", TINY)
@torch.no_grad()
def test_the_same_input_gives_the_same_output(name):
    model, inputs = make(name), some()
    assert torch.equal(model(*inputs), model(*inputs))
    assert torch.equal(model(*inputs), copy.deepcopy(model)(*inputs))


@pytest.mark.parametrize("name", TINY)
@torch.no_grad()
def test_a_saved_model_gives_the_same_output_to_the_last_bit(name, tmp_path):
    model, inputs = make(name), some()
    save_model(tmp_path, model, registry.model(name), PERIODIC)
    assert torch.equal(load(tmp_path)(*inputs), model(*inputs))


class SpectraSeen(TorchFunctionMode):
    """Precision of every field that enters an FFT."""

    def __init__(self):
        super().__init__()
        self.precisions = set()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in (torch.fft.rfft2, torch.fft.rfftn):
            self.precisions.add(args[0].dtype)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", TINY)
@torch.no_grad()
def test_autocast_leaves_spectra_in_single_precision(name):
    model, inputs = make(name), some()
    with SpectraSeen() as seen, torch.autocast("cpu", torch.bfloat16):
        output = model(*inputs)
    assert seen.precisions <= {torch.float32}
    assert output.isfinite().all()
    reference = model(*inputs)
    assert (output - reference).norm() < 0.05 * (reference - inputs[0]).norm()


COMPILE = """
import sys, torch
from driftnet import registry
from driftnet.models.operator import build, unit_statistics
from tests.shallow import shallow
for name in sys.argv[1:]:
    torch._dynamo.reset()  # One process compiles a function eight times only.
    torch.manual_seed(0)
    model = build(shallow(registry.model(name)), registry.task("NS-PwC"), unit_statistics(2)).eval()
    inputs = torch.randn(2, 2, 32, 64), torch.randn(2, 0, 32, 64)
    with torch.no_grad():
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)(*inputs)
        exported = torch.export.export(model, inputs).module()(*inputs)
        for output in (compiled, exported):
            torch.testing.assert_close(output, model(*inputs), rtol=1e-4, atol=1e-5, msg=lambda why: f"{name}: {why}")
"""


def test_models_compile_and_export_as_one_graph_and_say_the_same():
    # In a process of its own: neither can trace the checks of shapes that tests run under.
    names = [name for name in registry.MODELS if name.endswith("-tiny") and runs(name)]
    subprocess.run([sys.executable, "-c", COMPILE, *names], check=True, cwd=ROOT, timeout=300)
