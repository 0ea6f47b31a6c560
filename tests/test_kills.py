"""Killed at random moments, again and again, every command ends with the same bits as if it had been left alone."""

import signal
import time
from pathlib import Path

import numpy as np
import pytest

from driftnet.evaluate.results import open_metrics
from driftnet.files import checksum
from tests.zygote import Zygote, reached

KILLS = {"generate": 7, "train": 9, "evaluate": 6}
SIZES = "--split.train 6 --split.validation 1 --split.test 2 --resolution 16 --snapshots 4 --batch 1 --workers 1"
TRAINING = "--training.steps 12 --training.batch 2 --training.validations 3 --training.rate 1e-3"
# Every step ends with a checkpoint, which takes as long as the step: about half of the kills meet one being written.
CHECKPOINTS = """
import time
from driftnet.models import tensors
from driftnet.train import fit
fit.CHECKPOINT_SECONDS = 0.0
save = tensors.save_file
def slowly(values, path, notes):
    with open(path, "wb") as stream:
        stream.write(b"half of it")
        stream.flush()
        time.sleep(0.04)
    save(values, path, notes)
tensors.save_file = slowly
"""
PLACES = """
import time
from driftnet.data import generate as module
write = module.write_in_place
module.write_in_place = lambda *a: (write(*a), time.sleep(0.03))
"""


def test_at_least_twenty_kills_are_spread_over_the_three_commands():
    assert sum(KILLS.values()) >= 20


def undisturbed(zygote: Zygote, arguments, output: Path, prelude="") -> float:
    """Run it once; returns how long it took."""
    began = time.monotonic()
    assert zygote.start(arguments, output, prelude).wait() == 0
    return time.monotonic() - began


def killed(zygote: Zygote, arguments, output: Path, prelude: str, delay: float) -> bool:
    """Run it and kill it after so many seconds; whether it was still running and is dead now."""
    victim = zygote.start(arguments, output, prelude)
    time.sleep(delay)
    victim.send(signal.SIGKILL)
    code = victim.wait()
    assert code in (0, -signal.SIGKILL), victim.said()
    assert not Path(f"/proc/{victim.pid}").exists()
    return code == -signal.SIGKILL


def test_generate(zygote, tmp_path):
    def command(path):
        return ["generate", "NS-PwC", *SIZES.split(), "--output", path]

    seconds = undisturbed(zygote, command(tmp_path / "whole.nc"), tmp_path / "said", PLACES)
    path, rng = tmp_path / "NS-PwC.nc", np.random.default_rng(0)
    kills = sum(
        killed(zygote, command(path), tmp_path / "said", PLACES, rng.uniform(0, 0.6 * seconds))
        for _ in range(KILLS["generate"])
    )
    if not path.exists():
        undisturbed(zygote, command(path), tmp_path / "said")
    assert kills >= 3
    assert checksum(path) == checksum(tmp_path / "whole.nc")
    assert not list(tmp_path.glob("*.partial")) + list(tmp_path.glob("*.journal"))


def half_written(run: Path) -> bool:
    """Whether a checkpoint is being written, or was when its writer was killed."""
    return any(run.glob(".*.ckpt.*"))


def test_train(zygote, small_data, tmp_path):
    def command(runs):
        return ["train", "NS-PwC", "conv-unet-tiny", "--data", small_data, "--runs", runs, *TRAINING.split()]

    seconds = undisturbed(zygote, command(tmp_path / "whole"), tmp_path / "said", CHECKPOINTS)
    run, whole = (tmp_path / name / "NS-PwC" / "conv-unet-tiny" / "0" for name in ("killed", "whole"))
    rng, steps, kills, halves = np.random.default_rng(0), [], 0, 0
    for number in range(KILLS["train"]):
        until = 1 if number == 0 else steps[-1] + (steps[-1] < 9)
        victim = zygote.start(command(tmp_path / "killed"), tmp_path / "said", CHECKPOINTS)
        while reached(run) < until and victim.poll() is None:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, seconds / 12))
        while number % 3 == 2 and not half_written(run) and victim.poll() is None:
            time.sleep(0.001)  # Every third is killed while a checkpoint is written.
        victim.send(signal.SIGKILL)
        kills += victim.wait() == -signal.SIGKILL
        halves += half_written(run)
        steps.append(reached(run))
        assert not Path(f"/proc/{victim.pid}").exists()
    assert kills == KILLS["train"]
    assert halves >= 2
    assert steps == sorted(steps)
    assert 0 < steps[0] < steps[-1] < 12
    undisturbed(zygote, command(tmp_path / "killed"), tmp_path / "said")
    for name in ("model.safetensors", "config.json"):
        assert checksum(run / name) == checksum(whole / name)
    rows = [[line.rsplit(",", 1)[0] for line in (each / "log.csv").read_text().splitlines()] for each in (run, whole)]
    assert len(rows[0]) == 13
    assert rows[0] == rows[1]  # But for the seconds.
    assert not list(run.glob(".*.[0-9]*"))


def test_evaluate(zygote, small_run, tmp_path):
    import shutil

    def copied(name):
        run = tmp_path / name / "NS-PwC" / "model" / "0"
        shutil.copytree(small_run, run, ignore=lambda *_: ["metrics.nc"])
        return run

    def command(run):
        return ["evaluate", run, "--baselines", "[climatology,solver]", "--evaluation.batch", "1"]

    whole, run = copied("whole"), copied("killed")
    seconds = undisturbed(zygote, command(whole), tmp_path / "said")
    rng = np.random.default_rng(0)
    kills = sum(
        killed(zygote, command(run), tmp_path / "said", "", rng.uniform(0, 0.7 * seconds)) for _ in range(KILLS["evaluate"])
    )
    undisturbed(zygote, command(run), tmp_path / "said")
    assert kills >= 3
    found, expected = (sorted(each.parents[1].rglob("metrics.nc")) for each in (run, whole))
    assert [path.parts[-3:] for path in found] == [path.parts[-3:] for path in expected]
    assert len(found) == 3
    for one, other in zip(found, expected, strict=True):
        with open_metrics(one) as ours, open_metrics(other) as theirs:
            assert same(ours.drop_attrs(), theirs.drop_attrs())


def same(ours, theirs) -> bool:
    """All but what was measured with a clock."""
    clocks = [name for name in ours if "seconds" in str(name)]
    return len(ours) > len(clocks) and ours.drop_vars(clocks).identical(theirs.drop_vars(clocks))


@pytest.mark.parametrize("name", KILLS)
def test_every_command_of_the_line_is_killed(name):
    assert KILLS[name] >= 5
