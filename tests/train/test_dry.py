import re

import pytest

from driftnet.cli import main
from tests.conftest import FAST_TRAINING


def test_a_dry_run_says_what_a_run_takes_and_writes_nothing(small_data, small_run, tmp_path, capsys):
    main(["train", "NS-PwC", "drift-net-tiny", "--data", str(small_data), "--runs", str(tmp_path), *FAST_TRAINING, "--dry-run"])
    said = dict(re.findall(r"^(\w+) {2,}(.*)$", capsys.readouterr().out, re.MULTILINE))
    assert not any(tmp_path.iterdir())
    assert said["steps"] == "12 of 2 windows; an epoch has 12 windows"
    model, checkpoint = (float(size) for size in re.findall(r"([\d.]+) MB", said["disk"]))
    sizes = [(small_run / name).stat().st_size / 1e6 for name in ("model.safetensors", "last.ckpt")]
    assert abs(model - sizes[0]) < 0.06
    assert abs(checkpoint - sizes[1]) < 0.12
    assert said["parameters"].startswith("593,838, ")
    step, least, most = (
        float(figure) for figure in re.search(r"(\d+) ms a step.*between (\d+) and (\d+)", said["time"]).groups()
    )
    assert least <= step <= most
    assert float(re.match(r"([\d.]+) (MB|GB) resident", said["memory"])[1]) > 0


def test_a_mean_of_the_weights_and_other_objectives_are_part_of_the_estimate(small_data, tmp_path, capsys):
    flags = ["--data", str(small_data), "--runs", str(tmp_path), "--training.batch", "3", "--training.epochs", "5"]
    unrolled = ["--training.objective.kind", "unrolled", "--training.objective.steps", "3", "--training.ema", "0.9"]
    main(["train", "NS-PwC", "conv-unet-tiny", *flags, *unrolled, "--dry-run"])
    said = capsys.readouterr().out
    assert "steps       7 of 3 windows; an epoch has 4 windows" in said
    model, checkpoint = (float(size) for size in re.findall(r"([\d.]+) MB for", said))
    assert abs(checkpoint - 4 * model) < 0.2


def test_a_dry_run_finds_unusable_settings(small_data, tmp_path, capsys):
    flags = ["--data", str(small_data), "--runs", str(tmp_path), "--training.objective.kind", "all-to-all", "--dry-run"]
    with pytest.raises(SystemExit) as stop:
        main(["train", "NS-PwC", "fno-tiny", *flags])
    assert stop.value.code == 2
    assert "needs a model that takes lead times" in capsys.readouterr().err
