import csv
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from driftnet.cli import main
from driftnet.configs import Training
from driftnet.files import checksum, locked, read_json
from driftnet.models.bounds import mixing_norm
from driftnet.models.mixers.drift import Drift
from driftnet.models.operator_norms import convolution_norm, matrix_norm
from driftnet.models.saved import load
from driftnet.train import fit
from driftnet.train.checkpoints import read_state
from driftnet.train.engine import Engine, NotFinite, learning_rate
from tests.conftest import FAST_TRAINING

MODEL = "conv-unet-tiny"


def command(data: Path, runs: Path, *more: str) -> list[str]:
    return ["train", "NS-PwC", MODEL, "--data", str(data), "--runs", str(runs), *FAST_TRAINING, *more]


def folder(runs: Path) -> Path:
    return runs / "NS-PwC" / MODEL / "0"


@pytest.fixture(scope="module")
def finished(small_data, tmp_path_factory) -> Path:
    runs = tmp_path_factory.mktemp("finished")
    main(command(small_data, runs))
    return folder(runs)


def test_a_run_folder_holds_what_later_steps_read(finished):
    files = {path.name for path in finished.iterdir()}
    assert files == {
        ".lock",
        "config.json",
        "config.yaml",
        "last.ckpt",
        "previous.ckpt",
        "log.csv",
        "model.safetensors",
        "provenance.json",
    }
    assert read_json(finished / "config.json")["task"] == "NS-PwC"
    with safe_open(finished / "model.safetensors", "pt") as weights:
        assert {"mean", "std", "increment_mean", "increment_std"} <= set(weights.keys())


def test_the_configuration_of_a_run_can_be_given_to_another(finished, tmp_path):
    main(["train", "NS-PwC", MODEL, "--config", str(finished / "config.yaml"), "--runs", str(tmp_path)])
    assert checksum(folder(tmp_path) / "model.safetensors") == checksum(finished / "model.safetensors")


@pytest.mark.parametrize("where", [("memory", "0"), ("resident", "true"), ("prefetch", "false")])
def test_where_the_data_wait_changes_no_weight(where, finished, small_data, tmp_path):
    name, value = where
    main(command(small_data, tmp_path, f"--loading.{name}", value))
    assert checksum(folder(tmp_path) / "model.safetensors") == checksum(finished / "model.safetensors")


def test_the_shuffle_buffer_decides_the_order(finished, small_data, tmp_path):
    main(command(small_data, tmp_path, "--training.buffer", "2"))
    assert checksum(folder(tmp_path) / "model.safetensors") != checksum(finished / "model.safetensors")


def test_training_lowers_the_loss(finished):
    with (finished / "log.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["step"]) for row in rows] == list(range(1, 13))
    losses = [float(row["loss"]) for row in rows]
    assert sum(losses[-4:]) < sum(losses[:4])


def test_the_kept_weights_are_those_of_the_best_validation(finished):
    with (finished / "log.csv").open() as stream:
        measured = {int(row["step"]): float(row["validation"]) for row in csv.DictReader(stream) if row["validation"]}
    facts = read_json(finished / "provenance.json")
    assert list(measured) == [4, 8, 12]
    assert facts["best_validation"] == pytest.approx(min(measured.values()), rel=1e-5)
    assert measured[facts["best_step"]] == min(measured.values())


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(finished, small_data, tmp_path):
    main(command(small_data, tmp_path))
    main(command(small_data, tmp_path, "--seed", "1"))
    weights = [checksum(run / "model.safetensors") for run in (finished, folder(tmp_path), folder(tmp_path).parent / "1")]
    assert weights[0] == weights[1] != weights[2]


SLOWED = """
import time
from driftnet.models.bounds import mixing_norm
from driftnet.models.mixers.drift import Drift
from driftnet.models.operator_norms import convolution_norm, matrix_norm
from driftnet.models.saved import load
from driftnet.train import fit
step = fit.Fit._step
fit.Fit._step = lambda *a: (step(*a), time.sleep(0.1))[0]
fit.CHECKPOINT_SECONDS = 0.15
from driftnet.cli import main
main()
"""


CODES = {signal.SIGKILL: -signal.SIGKILL, signal.SIGINT: 130, signal.SIGTERM: 75, signal.SIGUSR1: 75}


@pytest.mark.parametrize("how", CODES, ids=lambda number: number.name)
def test_interrupted_and_started_again_it_ends_with_the_same_bits(how, finished, small_data, tmp_path):
    arguments = command(small_data, tmp_path)
    victim = subprocess.Popen([sys.executable, "-c", SLOWED, *arguments], stderr=subprocess.PIPE, text=True)
    checkpoint = folder(tmp_path) / "last.ckpt"
    while not checkpoint.exists() and victim.poll() is None:
        time.sleep(0.01)
    victim.send_signal(how)
    said = victim.communicate()[1]
    assert victim.returncode == CODES[how]
    assert how == signal.SIGKILL or "the same command goes on from there" in said
    with safe_open(checkpoint, "pt") as file:
        assert 0 < int(file.metadata()["step"]) < 12
    main(arguments)
    for name in ("model.safetensors", "config.json"):
        assert checksum(folder(tmp_path) / name) == checksum(finished / name)
    with (folder(tmp_path) / "log.csv").open() as stream:
        assert [int(row["step"]) for row in csv.DictReader(stream)] == list(range(1, 13))


def test_a_finished_run_says_so_and_is_left_alone(finished, small_data, capsys):
    before = checksum(finished / "last.ckpt")
    main(command(small_data, finished.parents[2]))
    assert "is already trained" in capsys.readouterr().out
    assert checksum(finished / "last.ckpt") == before


def test_other_settings_in_the_same_folder_are_refused(finished, small_data, capsys):
    with pytest.raises(SystemExit) as stop:
        main(command(small_data, finished.parents[2], "--training.clip", "1"))
    assert stop.value.code == 2
    assert "was begun with other settings" in capsys.readouterr().err


def test_overwriting_starts_from_nothing(small_data, tmp_path):
    main(command(small_data, tmp_path))
    before = checksum(folder(tmp_path) / "model.safetensors")
    main(command(small_data, tmp_path, "--training.clip", "0.1", "--overwrite"))
    assert checksum(folder(tmp_path) / "model.safetensors") != before


def test_a_second_process_on_the_same_run_is_refused(small_data, tmp_path, capsys):
    with locked(folder(tmp_path) / ".lock", "it"), pytest.raises(SystemExit) as stop:
        main(command(small_data, tmp_path))
    assert stop.value.code == 75
    assert "another process is working on" in capsys.readouterr().err


def sums(model, x):
    return model(x).square().sum()[None]


def test_a_loss_that_is_not_finite_changes_no_weight():
    layer = torch.nn.Linear(1, 1)
    engine = Engine(layer, Training(), total=10)
    before = layer.weight.clone()
    with pytest.raises(NotFinite, match="the loss is nan and its gradient nan at batch 0"):
        engine.update([torch.tensor([[float("nan")]])], sums, torch.sum)
    assert torch.equal(layer.weight, before)


def test_a_loss_that_is_not_finite_stops_in_one_line_with_the_batch_and_a_state_to_look_into(
    small_data, tmp_path, monkeypatch, capsys
):
    def poisoned(self, step):
        if step == 5:
            next(self.model.parameters()).data.fill_(torch.nan)
        return taken(self, step)

    taken = fit.Fit._step
    monkeypatch.setattr(fit.Fit, "_step", poisoned)
    with pytest.raises(SystemExit) as stop:
        main(command(small_data, tmp_path))
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("driftnet:")]
    state = read_state(folder(tmp_path) / "not-finite.ckpt")
    assert stop.value.code == 1
    assert len(said) == 1
    assert "the loss is nan and its gradient nan at batch 5" in said[0]
    assert str(folder(tmp_path) / "not-finite.ckpt") in said[0]
    assert state.step == 5
    assert any(value.isnan().all() for value in state.tensors.values())
    assert read_state(folder(tmp_path) / "last.ckpt").step == 4


def test_the_rate_warms_up_and_falls_to_zero_along_a_cosine():
    config = Training(rate=1.0, warmup=0.1)
    rates = [learning_rate(step, 100, config) for step in range(101)]
    assert rates[:10] == pytest.approx([0.1 * (step + 1) for step in range(10)])
    assert max(rates) == rates[10] == 1.0
    assert rates[55] == pytest.approx(0.5)
    assert rates[100] == pytest.approx(0.0)


def test_a_step_schedule_falls_to_a_tenth_at_half_and_to_a_hundredth_at_three_quarters():
    config = Training(rate=1.0, warmup=0.1, schedule="step")
    rates = [learning_rate(step, 100, config) for step in (9, 10, 49, 50, 74, 75, 99)]
    assert rates == pytest.approx([1, 1, 1, 0.1, 0.1, 0.01, 0.01])


def test_one_step_is_that_of_torch_without_clipping():
    torch.manual_seed(0)
    ours, theirs = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
    theirs.load_state_dict(ours.state_dict())
    config = Training(rate=0.1, warmup=0.0, clip=0.0)
    engine = Engine(ours, config, total=1000)
    reference = torch.optim.AdamW(theirs.parameters(), lr=0.1, weight_decay=1e-6)
    x = torch.randn(5, 3)
    engine.update([x], sums, torch.sum)
    theirs(x).square().sum().backward()
    reference.step()
    assert torch.allclose(ours.weight, theirs.weight, rtol=1e-6)


def test_operators_are_projected_after_every_step_where_asked_for(small_data, tmp_path, monkeypatch):
    limit, project, before = 0.05, fit.project, []

    def seen(model, most):
        before.append(max(map(mixing_norm, mixers(model))))
        project(model, most)

    monkeypatch.setattr(fit, "project", seen)
    flags = [*FAST_TRAINING, "--training.project", str(limit)]
    main(["train", "NS-PwC", "drift-net-tiny", "--data", str(small_data), "--runs", str(tmp_path), *flags])
    run = tmp_path / "NS-PwC" / "drift-net-tiny" / "0"
    assert len(before) == 12
    assert min(before) > limit  # Every step leaves the limit.
    for mixer in mixers(load(run)):
        norms = mixing_norm(mixer), matrix_norm(mixer.pointwise.weight), convolution_norm(mixer.depthwise, 16, 16)
        assert max(norms) <= limit * (1 + 1e-5)


def mixers(model) -> list[Drift]:
    return [module for module in model.modules() if isinstance(module, Drift)]
