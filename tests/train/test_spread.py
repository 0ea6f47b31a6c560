"""Half precision, recomputed blocks, a compiled network: what they change, and that they resume with the same bits."""

import csv
from pathlib import Path

import pytest
import torch

import driftnet
from driftnet import registry
from driftnet.cli import main
from driftnet.configs import Training
from driftnet.files import checksum
from driftnet.models.operator import build, unit_statistics
from driftnet.train import fit, spread
from driftnet.train.signals import Preempted
from driftnet.train.world import ALONE
from tests.conftest import FAST_TRAINING

MODEL = "drift-net-tiny"
SMALL = ["--model.backbone.widths", "[8,16]", "--model.backbone.depths", "[1,1]", "--model.backbone.skips", "[1,0]"]
ALL = ["--training.precision", "bf16", "--training.recompute", "true", "--training.accumulate", "2", "--training.ema", "0.9"]


def command(data: Path, runs: Path, *flags: str) -> list[str]:
    return ["train", "NS-PwC", MODEL, "--data", str(data), "--runs", str(runs), *FAST_TRAINING, *SMALL, *flags]


def folder(runs: Path) -> Path:
    return runs / "NS-PwC" / MODEL / "0"


def train(data: Path, runs: Path, *flags: str) -> Path:
    main(command(data, runs, *flags))
    return folder(runs)


def losses(run: Path) -> list[float]:
    with (run / "log.csv").open() as stream:
        return [float(row["loss"]) for row in csv.DictReader(stream)]


@pytest.fixture(scope="module")
def plain(small_data, tmp_path_factory) -> Path:
    return train(small_data, tmp_path_factory.mktemp("plain"))


def test_recomputed_blocks_give_the_same_bits(plain, small_data, tmp_path):
    run = train(small_data, tmp_path, "--training.recompute", "true")
    assert checksum(run / "model.safetensors") == checksum(plain / "model.safetensors")


def test_recomputed_blocks_are_computed_twice_and_kept_not_at_all():
    """What autograd keeps of a forward pass, in numbers."""
    kept = {}
    for recompute in (False, True):
        task = registry.task("NS-PwC")
        torch.manual_seed(0)
        model = build(registry.model(MODEL), task, unit_statistics(2))
        module, sizes, seen = spread.prepared(model, Training(recompute=recompute), ALONE), [], set()

        def pack(tensor, sizes=sizes, seen=seen):
            if tensor.data_ptr() not in seen:
                seen.add(tensor.data_ptr())
                sizes.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            module(lambda network: network(torch.randn(2, 2, 32, 32), torch.zeros(2, 0, 32, 32)))
        kept[recompute] = sum(sizes)
    assert kept[True] < 0.5 * kept[False]


def test_half_precision_follows_single_precision_and_stores_single(plain, small_data, tmp_path):
    run = train(small_data, tmp_path, "--training.precision", "bf16")
    found, expected = losses(run), losses(plain)
    assert found != expected
    assert found == pytest.approx(expected, rel=0.02)
    assert all(value.dtype == torch.float32 for value in driftnet.load(run).state_dict().values())


EAGER = """
import torch
original = torch.nn.Module.compile
def compile(module, *arguments, **options):
    print("compiled:", type(module).__name__)
    original(module, *arguments, **options, backend="aot_eager")
torch.nn.Module.compile = compile
"""


def test_a_compiled_network_has_the_loss_curve_of_the_plain_one_and_the_same_names_of_weights(
    plain, zygote, small_data, tmp_path
):
    """Traced and differentiated as a whole, where shapes are not checked; the compiler's last stage takes minutes here."""
    child = zygote.start(command(small_data, tmp_path, "--training.compile", "true"), tmp_path / "said", EAGER)
    assert child.wait() == 0, child.said()
    assert "compiled: MultiScale" in child.said()
    assert losses(folder(tmp_path)) == pytest.approx(losses(plain), rel=1e-4)
    assert driftnet.load(folder(tmp_path)).state_dict().keys() == driftnet.load(plain).state_dict().keys()


def test_half_precision_parts_and_recomputed_blocks_together_resume_with_the_same_bits(small_data, tmp_path, monkeypatch):
    whole = train(small_data, tmp_path / "whole", *ALL)
    taken = fit.Fit._step

    def stopping(self, step):
        if step == 5:  # Between two validations, in the middle of an epoch.
            raise Preempted("stop")
        return taken(self, step)

    monkeypatch.setattr(fit, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(fit.Fit, "_step", stopping)
    with pytest.raises(SystemExit):
        train(small_data, tmp_path / "again", *ALL)
    monkeypatch.setattr(fit.Fit, "_step", taken)
    again = train(small_data, tmp_path / "again", *ALL)
    assert checksum(again / "model.safetensors") == checksum(whole / "model.safetensors")
    assert losses(again) == losses(whole)
