import csv

import pytest
import torch
from safetensors.torch import load_file

import driftnet
from driftnet import registry
from driftnet.cli import main
from driftnet.data.trajectories import Trajectories
from driftnet.metrics.errors import relative_l1
from driftnet.train.average import Average


def test_the_mean_counts_every_step_by_the_decay_and_the_first_weights_not_at_all():
    layer = torch.nn.Linear(3, 2)
    average, seen = Average(layer, 0.8), []
    for step in range(1, 6):
        with torch.no_grad():
            layer.weight.normal_()
        average.update(step)
        seen.append(layer.weight.detach().clone())
    shares = torch.tensor([0.8 ** (4 - step) for step in range(5)])
    expected = sum(share * weight for share, weight in zip(shares / shares.sum(), seen, strict=True))
    torch.testing.assert_close(average.means["weight"], expected)


def test_the_mean_stands_in_the_models_place_for_a_while_and_no_bit_of_the_weights_is_lost():
    layer = torch.nn.Linear(3, 2)
    average = Average(layer, 0.5)
    with torch.no_grad():
        layer.weight.mul_(3)
    kept = layer.weight.detach().clone()
    with average.applied():
        assert torch.equal(layer.weight, average.means["weight"])
        assert not torch.equal(layer.weight, kept)
    assert torch.equal(layer.weight, kept)


def test_without_a_decay_nothing_is_kept():
    assert not Average(torch.nn.Linear(3, 2), 0.0).tensors


def test_the_mean_is_what_is_validated_and_saved(small_data, tmp_path):
    steps = ["--training.steps", "6", "--training.batch", "2", "--training.validations", "1", "--training.ema", "0.9"]
    main(["train", "NS-PwC", "conv-unet-tiny", "--data", str(small_data), "--runs", str(tmp_path), *steps])
    run = tmp_path / "NS-PwC" / "conv-unet-tiny" / "0"
    checkpoint, saved = load_file(run / "last.ckpt"), load_file(run / "model.safetensors")
    averages = {name.removeprefix("extra.average."): value for name, value in checkpoint.items() if "average." in name}
    assert averages
    for name, value in averages.items():
        assert torch.equal(saved[name], value)
    assert any(not torch.equal(saved[name], checkpoint[f"model.{name}"]) for name in averages)
    truth = Trajectories(small_data, registry.task("NS-PwC"), "validation")[0]
    with torch.no_grad():
        error = relative_l1(driftnet.load(run)(truth[:-1], truth[:-1, :0]), truth[1:]).mean().item()
    with (run / "log.csv").open() as stream:
        assert float(list(csv.DictReader(stream))[-1]["validation"]) == pytest.approx(error, rel=1e-4)
