"""Data files that are cut short, have flipped bits, or values that are no numbers, in every command that reads them."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

FLIPS = 8
COMMANDS = {
    "train": "train NS-PwC conv-unet-tiny --data FILE --runs OUT --training.steps 1 --training.batch 2",
    "evaluate": "evaluate RUN --data FILE --baselines [persistence]",
    "predict": "predict RUN FILE --steps 1 --output OUT/prediction.nc",
    "inspect": "inspect FILE",
    "merge": "merge FILE --output OUT/merged.nc",
    "generate": "generate NS-PwC --output FILE --resolution 16 --snapshots 4 "
    "--split.train 4 --split.validation 1 --split.test 2",
}


@pytest.fixture
def run(small_run, tmp_path) -> Path:
    shutil.copytree(small_run, tmp_path / "runs" / "NS-PwC" / "model" / "0", ignore=lambda *_: ["metrics.nc"])
    return tmp_path / "runs" / "NS-PwC" / "model" / "0"


@pytest.fixture
def answer(zygote, run, tmp_path):
    """Exit code and words of a command on a file, in a process that HDF5 may take down."""

    def ask(verb: str, path: Path) -> tuple[int, list[str]]:
        names = {"FILE": str(path), "RUN": str(run), "OUT": str(tmp_path / "out")}
        words = [names.get(word, word.replace("OUT/", f"{tmp_path}/out/")) for word in COMMANDS[verb].split()]
        child = zygote.start(words, tmp_path / "said")
        code, said = child.wait(), child.output.read_text(errors="replace")
        assert "Traceback" not in said, said
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        for old in run.parents[1].rglob("metrics.nc"):
            old.unlink()
        return code, [line for line in said.splitlines() if line.startswith("driftnet:")]

    return ask


def structure(path: Path) -> list[int]:
    """Bits outside the values: those of the signatures, sizes and names that HDF5 goes by."""
    with h5py.File(path) as file:
        held = [(item.id.get_offset(), item.id.get_offset() + item.nbytes) for item in file.values()]
    size = path.stat().st_size
    return [8 * byte + byte % 8 for byte in range(size) if not any(start <= byte < stop for start, stop in held)]


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_flipped_bit_in_the_structure_is_refused_in_one_line_or_does_no_harm(verb, answer, small_data, tmp_path):
    path, content = tmp_path / "NS-PwC.nc", small_data.read_bytes()
    refused = 0
    for bit in [0, *np.random.default_rng(0).choice(structure(small_data), FLIPS, replace=False)]:
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        code, said = answer(verb, path)
        assert (code == 0 and not said) or (code in (1, 2) and len(said) == 1)
        assert code == 0 or path.name in said[0]
        refused += code > 0
    assert refused


@pytest.mark.parametrize("verb", COMMANDS)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.6, 0.999])
def test_a_file_that_was_cut_short_is_refused_in_one_line(verb, share, answer, small_data, tmp_path):
    path, content = tmp_path / "NS-PwC.nc", small_data.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    code, said = answer(verb, path)
    assert code in (1, 2)
    assert len(said) == 1
    assert path.name in said[0]


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("verb", "trajectory"), [("train", 0), ("train", 4), ("evaluate", 6), ("predict", 2)])
def test_a_value_that_is_no_number_is_refused_with_its_trajectory(verb, trajectory, value, answer, small_data, tmp_path):
    path = tmp_path / "NS-PwC.nc"
    shutil.copy(small_data, path)
    with h5py.File(path, "r+") as file:
        file["velocity"][trajectory, 0, 1, 3, 5] = value
    code, said = answer(verb, path)
    assert code in (1, 2)
    where = "" if verb == "predict" else f"trajectory {trajectory} "
    assert said == [f"driftnet: {path}{':' if where else ''} {where}has values that are not finite"]


def test_a_value_that_is_no_number_in_the_test_part_does_not_hinder_training(answer, small_data, tmp_path):
    path = tmp_path / "NS-PwC.nc"
    shutil.copy(small_data, path)
    with h5py.File(path, "r+") as file:
        file["velocity"][6] = np.nan
    assert answer("train", path) == (0, [])
