import resource

import h5py
import numpy as np
import pytest

from driftnet import registry
from driftnet.data.formats.reader import open_reader
from driftnet.data.store import Array, Layout, data_offsets, lay_out, write_in_place
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError

TASK = registry.task("NS-PwC")


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_a_file_larger_than_memory_is_written_and_read_in_place(tmp_path):
    path = tmp_path / "huge.nc"
    attributes = {"split": '{"train": 19640, "validation": 120, "test": 240}'}
    sizes = {"sample": 20000, "time": 21, "channel": 3, "x": 128, "y": 128}
    velocity = Array("velocity", tuple(sizes), tuple(sizes.values()))
    layout = Layout((velocity,), {axis: np.arange(size) for axis, size in sizes.items()}, attributes)
    before = peak_memory()
    lay_out(path, layout)
    assert path.stat().st_size > 80e9
    values = np.random.default_rng(0).standard_normal((1, 21, 3, 128, 128), np.float32)
    write_in_place(path, [(data_offsets(path)["velocity"] + 19999 * velocity.trajectory_bytes, values)])
    test = Trajectories(path, TASK, "test")
    assert np.array_equal(test[239].numpy(), values[0, :, :2])
    assert peak_memory() - before < 200e6


def test_the_test_set_is_the_last_and_the_training_set_the_first(small_data):
    parts = {part: Trajectories(small_data, TASK, part).indices for part in ("train", "validation", "test")}
    assert parts == {"train": range(4), "validation": range(4, 5), "test": range(5, 7)}


def test_a_missing_file_says_how_to_make_it(tmp_path):
    with pytest.raises(DriftnetError, match=r"there is no data file .*; 'driftnet generate NS-PwC' makes one"):
        open_reader(tmp_path / "none.nc", TASK)


def test_a_truncated_file_is_refused(small_data, tmp_path):
    path = tmp_path / "cut.nc"
    path.write_bytes(small_data.read_bytes()[:-1000])
    with pytest.raises(DriftnetError, match=r"cut\.nc: it is not a whole HDF5 file"):
        open_reader(path, TASK)


def test_a_file_that_claims_more_than_it_has_is_refused(tmp_path):
    path = tmp_path / "claims.nc"
    with h5py.File(path, "w") as file:
        file.create_dataset("velocity", (10**6, 21, 3, 128, 128), "<f4")  # Never written: nothing is allocated.
    with pytest.raises(DriftnetError, match="'velocity' claims 4128768 MB and holds 0 MB"):
        Trajectories(path, TASK, "train")


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("solution", (7, 4, 2, 16, 16), r"has no variable 'velocity'; it has solution"),
        ("velocity", (7, 4, 16, 16), r"needs \(sample, time, channel >= 2, x, y\)"),
        ("velocity", (7, 4, 1, 16, 16), r"needs \(sample, time, channel >= 2, x, y\)"),
        ("velocity", (7, 4, 2, 16, 16), "holds 7 trajectories; the split of NS-PwC needs 20000"),
    ],
)
def test_a_file_of_another_kind_is_refused_in_one_line(name, shape, message, tmp_path):
    path = tmp_path / "other.nc"
    with h5py.File(path, "w") as file:
        file[name] = np.zeros(shape, np.float32)
    with pytest.raises(DriftnetError, match=message):
        Trajectories(path, TASK, "train")


def test_values_that_are_not_finite_are_refused_with_their_place(small_data, tmp_path):
    path = tmp_path / "NS-PwC.nc"
    path.write_bytes(small_data.read_bytes())
    with h5py.File(path, "r+") as file:
        file["velocity"][2, 1, 0, 3, 3] = np.nan
    with pytest.raises(DriftnetError, match="trajectory 2 has values that are not finite"):
        Trajectories(path, TASK, "train")[2]


@pytest.mark.parametrize("split", ["nonsense", "[1, 2]", '{"trainn": 9}', '{"train": 1.5, "validation": 1, "test": 1}', "3"])
def test_a_split_that_is_none_is_refused_in_one_line(split, small_data, tmp_path):
    path = tmp_path / "NS-PwC.nc"
    path.write_bytes(small_data.read_bytes())
    with h5py.File(path, "r+") as file:
        file.attrs["split"] = split
    with pytest.raises(DriftnetError, match="its attribute split does not hold the sizes of three parts"):
        Trajectories(path, TASK, "train")
