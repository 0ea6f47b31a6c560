"""FNO and U-NO by the layers of the neuraloperator package, beside ours."""

import subprocess
import sys
from contextlib import nullcontext
from dataclasses import asdict

import pytest
import torch
from torch.overrides import TorchFunctionMode

from driftnet import costs, registry
from driftnet.cli import main
from driftnet.errors import UsageError
from driftnet.files import checksum
from driftnet.models import library
from driftnet.models.configs import FNO, UNO, LibraryFNO, LibraryUNO
from driftnet.models.operator import build, count_parameters, unit_statistics
from driftnet.models.saved import load
from driftnet.train import fit
from driftnet.train.checkpoints import read_state
from driftnet.train.signals import Preempted
from tests.oracles import oracle

TASK = registry.task("NS-PwC")
THEIRS = {FNO: LibraryFNO, UNO: LibraryUNO}
SMALL = [FNO(width=12, modes=4, layers=3, projection=16), UNO(width=6, modes=4)]
# Even, odd, not square; with fewer modes than are kept, in rows, in columns, at the Nyquist frequencies.
SIZES = [(16, 16), (16, 20), (18, 21), (17, 20), (9, 15), (8, 8), (7, 9), (6, 30), (31, 6), (5, 5), (3, 2)]


def theirs(config):
    return THEIRS[type(config)](**{name: getattr(config, name) for name in asdict(config)})


def network(config, boundary="periodic"):
    torch.manual_seed(0)
    return registry.resolve(config.builder)(config, 2, 1, boundary)


class Widened(TorchFunctionMode):
    """The package rounds its output spectrum to single precision; here it does not."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") is torch.complex64:
            kwargs["dtype"] = torch.complex128
        return function(*args, **kwargs)


@pytest.fixture
def package():
    return oracle("neuralop.layers.spectral_convolution")


@pytest.mark.parametrize("config", SMALL, ids=["fno", "uno"])
def test_every_spectral_convolution_is_the_packages(config, package):
    layers = [module for module in network(theirs(config)).modules() if isinstance(module, library.FourierLayer)]
    assert len(layers) == 3
    assert all(type(layer.spectral.layer) is package.SpectralConv for layer in layers)


@pytest.mark.parametrize("boundary", ["periodic", "dirichlet"])
@pytest.mark.parametrize("config", SMALL, ids=["fno", "uno"])
@pytest.mark.usefixtures("package")
def test_the_same_seed_gives_the_same_weights_by_the_same_names(config, boundary):
    own, other = (network(each, boundary).state_dict() for each in (config, theirs(config)))
    assert list(own) == list(other)
    assert all(torch.equal(own[name], other[name]) for name in own)


@pytest.mark.parametrize(("dtype", "close", "mode"), [(torch.float32, 1e-5, nullcontext), (torch.float64, 1e-10, Widened)])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("config", SMALL, ids=["fno", "uno"])
@pytest.mark.usefixtures("package")
def test_both_ways_of_building_give_the_same_output_and_gradients(config, size, dtype, close, mode):
    found = []
    for each in (network(config), network(theirs(config))):
        x = torch.randn(2, 2, *size, generator=torch.Generator().manual_seed(1), dtype=dtype, requires_grad=True)
        with mode():
            output = each.to(dtype)(x)
        output.square().mean().backward()
        found.append([output, x.grad, *(parameter.grad for parameter in each.parameters())])
    for own, other in zip(*found, strict=True):
        torch.testing.assert_close(own, other, rtol=close, atol=close * own.abs().max().item())


@pytest.mark.parametrize("config", SMALL, ids=["fno", "uno"])
@pytest.mark.usefixtures("package")
def test_in_double_precision_the_packages_spectra_are_single(config):
    x = torch.randn(2, 2, 16, 20, dtype=torch.float64)
    with torch.no_grad():
        own, other = (network(each).double()(x) for each in (config, theirs(config)))
    assert other.dtype == torch.float64
    assert 1e-10 < (own - other).abs().max() / own.abs().max() < 1e-5


@pytest.mark.parametrize("name", ["fno", "uno", "fno-tiny", "uno-tiny"])
@pytest.mark.usefixtures("package")
def test_the_presets_have_the_parameters_of_ours(name):
    with torch.device("meta"):
        ours, others = (
            build(registry.model(each), TASK, unit_statistics(2)) for each in (name, name.replace("no", "no-neuralop"))
        )
    for once in (True, False):
        assert count_parameters(ours, complex_once=once) == count_parameters(others, complex_once=once)


def train(data, runs, name, *more):
    flags = ["--training.steps", "8", "--training.batch", "2", "--training.validations", "2", "--training.rate", "1e-3"]
    main(["train", "NS-PwC", name, "--data", str(data), "--runs", str(runs), *flags, "--training.ema", "0.9", *more])
    return runs / "NS-PwC" / name / "0"


@pytest.mark.parametrize("kind", ["fno", "uno"])
@pytest.mark.usefixtures("package")
def test_a_training_ends_where_one_of_ours_does(kind, small_data, tmp_path):
    """With clipping, the fused optimiser, a mean of the weights and checkpoints."""
    more = ["--training.clip", "0.05"]
    ours, others = (load(train(small_data, tmp_path, name, *more)) for name in (f"{kind}-tiny", f"{kind}-neuralop-tiny"))
    for name, value in ours.state_dict().items():
        torch.testing.assert_close(value, others.state_dict()[name], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("kind", ["fno", "uno"])
@pytest.mark.usefixtures("package")
def test_an_interrupted_training_ends_with_the_same_bits(kind, small_data, tmp_path, monkeypatch):
    name = f"{kind}-neuralop-tiny"
    whole = train(small_data, tmp_path / "whole", name)
    taken = fit.Fit._step

    def step(self, number):
        if number == 5:
            raise Preempted("stop")
        return taken(self, number)

    with monkeypatch.context() as patched:
        patched.setattr(fit.Fit, "_step", step)
        patched.setattr(fit, "CHECKPOINT_SECONDS", 0.0)
        with pytest.raises(SystemExit):
            train(small_data, tmp_path / "resumed", name)
    assert read_state(tmp_path / "resumed" / "NS-PwC" / name / "0" / "last.ckpt").step == 5
    resumed = train(small_data, tmp_path / "resumed", name)
    assert checksum(resumed / "model.safetensors") == checksum(whole / "model.safetensors")


def test_without_the_package_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "neuralop.layers.spectral_convolution", None)
    monkeypatch.setitem(sys.modules, "neuralop", None)
    with pytest.raises(UsageError, match=r"^this model needs the package neuraloperator: pip install 'driftnet\[neuralop\]'$"):
        build(registry.model("fno-neuralop-tiny"), TASK, unit_statistics(2))


def test_the_table_of_models_names_them_without_importing_the_package():
    assert "not counted: built with what driftnet[neuralop] installs" in costs.row("fno-neuralop")
    program = """
import sys
from driftnet import registry
from driftnet.cli import main
registry.MODELS = {name: value for name, value in registry.MODELS.items() if name.startswith(("fno-tiny", "fno-neuralop"))}
main(["info", "models"])
main(["info", "models", "fno-neuralop"])
assert "torch" in sys.modules
assert not any(name.partition(".")[0] in ("neuralop", "wandb") for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
