"""What killed processes, torn files and flipped bits leave of an evaluation."""

import os
import pickle
import re
import shutil
import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray as xr

import driftnet
from driftnet.cli import main
from driftnet.data import store
from driftnet.errors import DriftnetError
from driftnet.evaluate.results import open_metrics

KILLS = 6
FLIPS = 40


def copied(run, folder):
    shutil.copytree(run, folder / "NS-PwC" / "model" / "0")
    (folder / "NS-PwC" / "model" / "0" / "metrics.nc").unlink(missing_ok=True)
    return folder / "NS-PwC" / "model" / "0"


def command(run) -> list[str]:
    return ["evaluate", str(run), "--baselines", "[climatology,solver]", "--evaluation.batch", "1"]


def finished(run) -> list[xr.Dataset]:
    return [open_metrics(path) for path in sorted(run.parents[1].rglob("metrics.nc"))]


@pytest.fixture(scope="module")
def whole(zygote, small_run, tmp_path_factory):
    """An evaluation that nobody disturbed, and how long it took."""
    run, began = copied(small_run, tmp_path_factory.mktemp("whole")), time.monotonic()
    assert zygote.start(command(run), run / "said").wait() == 0
    return run, time.monotonic() - began


def test_an_evaluation_killed_at_any_moment_and_started_again_gives_the_same_values(whole, zygote, small_run, tmp_path):
    undisturbed, seconds = whole
    rng, killed = np.random.default_rng(0), 0
    for number in range(KILLS):
        run = copied(small_run, tmp_path / str(number))
        child = zygote.start(command(run), tmp_path / "said")
        time.sleep(rng.uniform(0, 0.8 * seconds))
        child.send(signal.SIGKILL)
        killed += child.wait() == -signal.SIGKILL
        left = len(finished(run))  # What is there is whole.
        main(command(run))
        again, reference = finished(run), finished(undisturbed)
        assert len(again) == len(reference) == 3 >= left
        for one, other in zip(again, reference, strict=True):
            xr.testing.assert_identical(one.drop_attrs(), other.drop_attrs())
    assert killed > KILLS // 2


def flipped(content: bytes, bit: int) -> bytes:
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def places(content: bytes) -> list[int]:
    """Bits all over a file, half of them in its first two kilobytes, where the structure is."""
    rng = np.random.default_rng(0)
    return [*rng.integers(8 * len(content), size=FLIPS // 2), *rng.integers(8 * min(2048, len(content)), size=FLIPS // 2)]


def complaint(read, *arguments) -> str | None:
    """The one line with which a file is refused."""
    try:
        read(*arguments)
    except DriftnetError as error:
        return str(error)
    return None


def test_a_flipped_bit_in_metrics_is_refused_wherever_it_is(whole, tmp_path):
    content, path = (whole[0] / "metrics.nc").read_bytes(), tmp_path / "metrics.nc"
    for bit in places(content):
        path.write_bytes(flipped(content, int(bit)))
        assert complaint(open_metrics, path).startswith(f"could not read {path}: it is cut short or damaged")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_flipped_bit_in_a_model_is_refused_or_changes_nothing(name, small_run, tmp_path):
    run = copied(small_run, tmp_path)
    content = (run / name).read_bytes()
    sound, complaints = driftnet.load(small_run).state_dict(), []
    for bit in places(content):
        (run / name).write_bytes(flipped(content, int(bit)))
        said = complaint(driftnet.load, run)
        if said is None:  # A flipped bit of white space, for instance.
            found = driftnet.load(run).state_dict()
            assert all(torch.equal(found[key], value) for key, value in sound.items())
        complaints += [said] if said else []
    assert all(name in said and "\n" not in said for said in complaints)
    assert len(complaints) > FLIPS // 2


@pytest.mark.parametrize("name", ["metrics.nc", "config.json", "model.safetensors"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.99])
def test_a_truncated_file_is_refused_in_one_line(name, share, whole, tmp_path, capsys):
    run = tmp_path / "NS-PwC" / "model" / "0"
    shutil.copytree(whole[0], run)
    path = run / name
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    flags = [] if name == "metrics.nc" else ["--overwrite"]
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", str(run), "--baselines", "[]", "--evaluation.batch", "1", *flags])
    said = capsys.readouterr().err
    assert stop.value.code == 1
    assert name in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("verb", ["evaluate", "predict"])
def test_a_full_disk_is_noticed_before_hdf5_meets_it(verb, small_run, small_data, tmp_path, monkeypatch, capsys):
    """HDF5 takes the process down where it cannot close a file."""
    space = os.statvfs(tmp_path)
    monkeypatch.setattr(store.os, "statvfs", lambda _: SimpleNamespace(f_bavail=1, f_frsize=space.f_frsize))
    run, output = copied(small_run, tmp_path), tmp_path / "prediction.nc"
    with pytest.raises(SystemExit) as stop:
        main(command(run) if verb == "evaluate" else ["predict", str(run), str(small_data), "--output", str(output)])
    assert stop.value.code == 1
    assert re.search(r"driftnet: \S+\.nc needs [\d.]+ MB; the disk has less left\n$", capsys.readouterr().err)
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".nc") or ".nc." in path.name]


def test_a_model_of_another_format_is_refused_without_running_it(small_run, tmp_path):
    """A pickle in place of the weights: torch.load would execute it."""

    class Harm:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "harm"),)

    run = copied(small_run, tmp_path)
    (run / "model.safetensors").write_bytes(pickle.dumps(Harm()))
    with pytest.raises(DriftnetError, match=r"model\.safetensors"):
        driftnet.load(run)
    assert not (tmp_path / "harm").exists()
