"""What is not a model of ours is refused in one line, and nothing in it is executed."""

import pickle
import re
import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from driftnet import registry
from driftnet.errors import DriftnetError
from driftnet.models.operator import build, unit_statistics
from driftnet.models.saved import load
from driftnet.models.tensors import read_tensors, write_tensors

TASK = registry.task("NS-PwC")
WEIGHTS, CONFIG = "model.safetensors", "config.json"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Two models of the same backbone."""
    folder = tmp_path_factory.mktemp("saved")
    for name in ("drift-net-tiny", "conv-unet-tiny"):
        build(registry.model(name), TASK, unit_statistics(2)).save_pretrained(folder / name)
    return folder


@pytest.fixture
def model(saved, tmp_path):
    """A copy to be spoiled."""
    return shutil.copytree(saved / "drift-net-tiny", tmp_path / "model")


class Bomb:
    executed = False

    def __reduce__(self):
        return setattr, (Bomb, "executed", True)


def refused(folder) -> str:
    with pytest.raises(DriftnetError) as error:
        load(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_missing_weights_are_named(model):
    (model / WEIGHTS).unlink()
    assert "model.safetensors: No such file" in refused(model)


def test_weights_of_another_model_are_refused_with_what_they_lack(model, saved):
    shutil.copy(saved / "conv-unet-tiny" / WEIGHTS, model)
    said = refused(model)
    assert re.search(r"lacks \d+ tensors, such as network\.decoder\.0\.blocks\.0\.mixer\.", said)
    assert "not of the DriftNet that config.json describes" in said


def test_weights_with_a_tensor_too_many_or_misshapen_are_refused(model):
    weights, _ = read_tensors(model / WEIGHTS)
    write_tensors(model / WEIGHTS, weights | {"network.more": torch.ones(2)})
    assert "holds foreign 1 tensors, such as network.more" in refused(model)
    write_tensors(model / WEIGHTS, weights | {"network.smooth.weight": torch.ones(2)})
    assert "has another shape in 1 tensors, such as network.smooth.weight" in refused(model)


def test_foreign_weights_are_refused(model):
    save_file(load_file(model / WEIGHTS), model / WEIGHTS)  # The same tensors, without our notes.
    assert "was not written by driftnet" in refused(model)


@pytest.mark.parametrize("text", ['{"model_type": "swinv2"}', "[]", "nonsense"])
def test_a_foreign_configuration_is_refused(text, model):
    (model / CONFIG).write_text(text)
    assert "config.json" in refused(model)


@pytest.mark.parametrize("name", [WEIGHTS, "model.pt", "pytorch_model.bin"])
def test_a_pickle_is_never_executed(name, model):
    (model / WEIGHTS).unlink()
    (model / name).write_bytes(pickle.dumps(Bomb()))
    assert "could not read" in refused(model)
    assert not Bomb.executed


@pytest.mark.parametrize(("name", "value"), [("mean", float("nan")), ("std", float("inf")), ("increment_std", 0.0)])
def test_statistics_that_normalise_nothing_are_refused(name, value, model):
    spoilt = torch.tensor([1.0, value])
    with pytest.raises(DriftnetError, match=f"nothing can be normalised by these statistics: {name} is"):
        replace(unit_statistics(2), **{name: spoilt})
    weights, _ = read_tensors(model / WEIGHTS)
    write_tensors(model / WEIGHTS, weights | {name: spoilt[:, None, None]})
    assert f"model.safetensors: nothing can be normalised by these statistics: {name} is" in refused(model)
