"""What full disks, torn files, flipped bits and strangers' files do to a run that has to go on."""

import os
import pickle
import resource
import shutil
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from driftnet.cli import main
from driftnet.errors import DriftnetError
from driftnet.files import checksum
from driftnet.status import status
from driftnet.train import fit
from driftnet.train.checkpoints import LAST, PREVIOUS, State, keep, newest, read_state, tidy
from driftnet.train.signals import Preempted
from tests.conftest import FAST_TRAINING

MODEL = "conv-unet-tiny"
FLIPS = 40


def command(data: Path, runs: Path) -> list[str]:
    return ["train", "NS-PwC", MODEL, "--data", str(data), "--runs", str(runs), *FAST_TRAINING]


def folder(runs: Path) -> Path:
    return runs / "NS-PwC" / MODEL / "0"


@contextmanager
def stopped_at(last: int):
    """Every step ends with a checkpoint, and step `last` is not taken."""
    taken, seconds = fit.Fit._step, fit.CHECKPOINT_SECONDS

    def step(self, number):
        if number == last:
            raise Preempted("stop")
        return taken(self, number)

    fit.Fit._step, fit.CHECKPOINT_SECONDS = step, 0.0
    try:
        with pytest.raises(SystemExit):
            yield
    finally:
        fit.Fit._step, fit.CHECKPOINT_SECONDS = taken, seconds


@pytest.fixture(scope="module")
def whole(small_data, tmp_path_factory) -> str:
    """The checksum of what an undisturbed run ends with."""
    runs = tmp_path_factory.mktemp("whole")
    main(command(small_data, runs))
    return checksum(folder(runs) / "model.safetensors")


@pytest.fixture(scope="module")
def begun(small_data, tmp_path_factory) -> Path:
    """A run that stopped after step 7."""
    runs = tmp_path_factory.mktemp("begun")
    with stopped_at(7):
        main(command(small_data, runs))
    assert [read_state(folder(runs) / name).step for name in (LAST, PREVIOUS)] == [7, 6]
    return runs


@pytest.fixture
def runs(begun, tmp_path) -> Path:
    shutil.copytree(begun, tmp_path / "runs")
    return tmp_path / "runs"


def goes_on(data: Path, runs: Path, capsys) -> tuple[int, str]:
    """Exit code, and what was said to the person."""
    try:
        main(command(data, runs))
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("driftnet:")]
    assert len(said) < 2
    return code, "".join(said)


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def test_a_flipped_bit_in_a_checkpoint_is_found_wherever_it_is(begun, tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / LAST
    size = (folder(begun) / LAST).stat().st_size
    for bit in [*rng.integers(8 * size, size=FLIPS // 2), *rng.integers(8 * 2048, size=FLIPS // 2)]:
        shutil.copy(folder(begun) / LAST, path)
        flip(path, int(bit))
        with pytest.raises(DriftnetError) as refused:
            read_state(path)
        assert str(path) in str(refused.value)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_truncated_checkpoint_is_named_and_the_one_before_leads_to_the_same_bits(share, runs, whole, small_data, capsys):
    path = folder(runs) / LAST
    os.truncate(path, int(share * path.stat().st_size))
    code, said = goes_on(small_data, runs, capsys)
    assert code == 0
    assert str(path) in said
    assert said.endswith("; going on from step 6 in previous.ckpt")
    assert checksum(folder(runs) / "model.safetensors") == whole


def test_a_flipped_bit_in_the_last_checkpoint_costs_a_step_and_no_bit_of_the_result(runs, whole, small_data, capsys):
    flip(folder(runs) / LAST, 8 * 1_000_000)
    code, said = goes_on(small_data, runs, capsys)
    assert code == 0
    assert "its values do not agree with its checksum; going on from step 6" in said
    assert checksum(folder(runs) / "model.safetensors") == whole


def test_two_damaged_checkpoints_are_refused_in_one_line_with_the_remedy(runs, small_data, capsys):
    for name in (LAST, PREVIOUS):
        os.truncate(folder(runs) / name, 1000)
    code, said = goes_on(small_data, runs, capsys)
    assert code == 1
    assert said.endswith("and there is no other checkpoint; give --overwrite to train again")
    main([*command(small_data, runs), "--overwrite"])


class Harm:
    """Unpickling it makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("write", [pickle.dumps, "torch"], ids=["pickle", "torch.save"])
def test_a_checkpoint_that_is_a_malicious_pickle_is_refused_and_not_executed(write, runs, small_data, tmp_path, capsys):
    for name in (LAST, PREVIOUS):
        if write == "torch":
            torch.save(Harm(tmp_path / "harm"), folder(runs) / name)
        else:
            (folder(runs) / name).write_bytes(write(Harm(tmp_path / "harm")))
    code, said = goes_on(small_data, runs, capsys)
    assert code == 1
    assert str(folder(runs) / LAST) in said
    assert not (tmp_path / "harm").exists()
    if write != "torch":  # That it would have been executed.
        pickle.loads((folder(runs) / LAST).read_bytes())
        assert (tmp_path / "harm").exists()


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"training: [", b"seed: 0\n"], ids=["empty", "bytes", "torn", "other"])
def test_a_damaged_configuration_of_a_run_is_refused_in_one_line(content, runs, small_data, capsys):
    before = checksum(folder(runs) / LAST)
    (folder(runs) / "config.yaml").write_bytes(content)
    code, said = goes_on(small_data, runs, capsys)
    assert code == 2
    assert "was begun with other settings (see its config.yaml); give --overwrite to replace it" in said
    assert checksum(folder(runs) / LAST) == before


@contextmanager
def full_disk(free: int):
    """No file grows beyond `free` bytes: the system itself refuses to write more, as it does on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_disk_that_is_full_during_a_checkpoint_leaves_the_last_one_and_the_run_goes_on(runs, whole, small_data, capsys):
    run, size = folder(runs), (folder(runs) / LAST).stat().st_size
    before = checksum(run / LAST)
    with full_disk(size - 1000):
        code, said = goes_on(small_data, runs, capsys)
    assert code == 1
    assert said.startswith(f"driftnet: could not write {run / 'next.ckpt'}: ")
    assert "File too large" in said
    assert checksum(run / LAST) == before
    assert {path.name for path in run.iterdir() if "ckpt" in path.name or path.name.startswith(".")} == {
        LAST,
        PREVIOUS,
        ".lock",
    }
    assert status(run).state == "failed"
    assert goes_on(small_data, runs, capsys) == (0, "")
    assert checksum(run / "model.safetensors") == whole


@pytest.mark.parametrize("free", [0, 60, 300, 700, 100_000, 1_900_000])
def test_a_disk_that_is_full_from_the_start_is_told_in_one_line(free, small_data, tmp_path, whole, capsys):
    with full_disk(free):
        code, said = goes_on(small_data, tmp_path, capsys)
    assert code == 1
    assert "File too large" in said
    assert goes_on(small_data, tmp_path, capsys) == (0, "")
    assert checksum(folder(tmp_path) / "model.safetensors") == whole


def test_what_a_process_left_when_it_was_killed_within_safetensors_is_removed(tmp_path):
    """safetensors writes under a name of its own choice first."""
    child = os.fork()
    if not child:
        while True:
            save_file({"a": torch.zeros(30_000_000)}, tmp_path / "big.safetensors")
    while not list(tmp_path.glob(".tmp*")):
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    left = list(tmp_path.glob(".tmp*"))
    (tmp_path / ".tmp").write_text("a person's own")
    tidy(tmp_path)
    assert left
    assert {path.name for path in tmp_path.iterdir()} <= {"big.safetensors", ".tmp"}


def test_files_of_a_run_can_be_read_by_whom_the_system_lets(begun):
    assert {path.stat().st_mode for path in folder(begun).iterdir()} == {(folder(begun) / "config.yaml").stat().st_mode}


def test_a_kill_between_the_two_renames_leaves_a_checkpoint(tmp_path):
    keep(tmp_path, State(1, {}))
    keep(tmp_path, State(2, {}))
    (tmp_path / LAST).replace(tmp_path / PREVIOUS)
    assert newest(tmp_path).step == 2
    (tmp_path / PREVIOUS).unlink()
    assert newest(tmp_path) is None
