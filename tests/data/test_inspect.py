import re
import resource
from pathlib import Path

import h5py
import numpy as np
import pytest
import yaml

from driftnet import registry
from driftnet.cli import main
from driftnet.data.inspect import BLOCK, Values, _blocks, guess_axes, inspect
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError
from tests.oracles import oracle

NOTHING = "constant, 0 NaN, 0 infinite"


def suggestion(said: str) -> dict:
    return yaml.safe_load(said[said.index("#") :])


def test_a_look_says_shapes_types_axes_ranges_and_what_is_not_finite(tmp_path):
    values = np.arange(2 * 3 * 4 * 4, dtype=np.float64).reshape(2, 3, 4, 4)
    values[0, 0, 0, :3] = np.nan, np.inf, -np.inf
    with h5py.File(tmp_path / "mine.h5", "w") as file:
        file["u"], file["flat"] = values, np.full((2, 4, 4), 7, np.int32)
    said = inspect(tmp_path / "mine.h5", header=False).splitlines()
    assert "u  (2, 3, 4, 4) float64  (sample, time, x, y)  3 to 95, 1 NaN, 2 infinite" in said
    assert "flat  (2, 4, 4) int32  (sample, x, y)  7 to 7, constant, 0 NaN, 0 infinite" in said


@pytest.mark.parametrize("suffix", ["npy", "h5", "zarr"])
def test_the_suggested_yaml_makes_a_task(suffix, tmp_path):
    values = np.random.default_rng(0).standard_normal((20, 3, 2, 32, 32)).astype(np.float32)
    path = tmp_path / f"mine.{suffix}"
    if suffix == "npy":
        np.save(path, values)
    elif suffix == "zarr":
        oracle("zarr").create_array(str(path), data=values)
    else:
        with h5py.File(path, "w") as file:
            file["velocity"], file["depth"] = values, values[:, 0, 0]
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(suggestion(inspect(path, header=True))))
    task = registry.task(str(tmp_path / "mine.yaml"))
    assert (task.split.train, task.split.validation, task.split.test) == (16, 2, 2)
    assert np.array_equal(Trajectories(path, task, "test")[1], values[19])
    assert task.static == (("depth",) if suffix == "h5" else ())


def test_names_of_dimensions_win_over_guesses(tmp_path):
    with h5py.File(tmp_path / "named.nc", "w") as file:
        file["u"] = np.zeros((4, 8, 6, 3, 2), np.float32)
        for place, name in enumerate(("time", "y", "x", "channel", "sample")):
            file["u"].dims[place].label = name
        assert guess_axes(file["u"]) == ("time", "y", "x", "channel", "sample")


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((9, 5, 2, 64, 64), ("sample", "time", "channel", "x", "y")),
        ((9, 5, 64, 64, 2), ("sample", "time", "x", "y", "channel")),
        ((9, 5, 64, 64), ("sample", "time", "x", "y")),
        ((9, 64, 64), ("sample", "x", "y")),
    ],
)
def test_axes_are_guessed_from_their_order_and_lengths(shape, axes):
    assert guess_axes(np.empty(shape)) == axes


@pytest.mark.parametrize("shape", [(3,), (5, 7), (3, 2**23 + 5), (2, 3, 2**13, 2**11), (0, 4)])
def test_blocks_cover_an_array_once_and_stay_small(shape):
    array = np.broadcast_to(np.int8(1), shape)
    sizes = [array[block].size for block in _blocks(array)]
    assert sum(sizes) == array.size
    assert max(sizes, default=0) <= BLOCK


def test_looking_at_a_file_does_not_need_memory_for_all_of_it(tmp_path):
    with h5py.File(tmp_path / "big.h5", "w") as file:
        big = file.create_dataset("u", (20, 5, 1024, 1024), "f4", chunks=(1, 1, 1024, 1024), compression="gzip")
        for index in range(20):
            big[index] = index
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "0 to 19, 0 NaN" in inspect(tmp_path / "big.h5", header=False)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KB; the values take 420 MB.


def test_values_that_stream_by_in_parts_are_those_of_the_whole():
    parts = np.random.default_rng(0).standard_normal((5, 100))
    values = Values()
    for part in parts:
        values.add(part)
    assert (values.least, values.most) == (parts.min(), parts.max())


def test_a_generated_file_is_pointed_to_its_task(small_data, capsys):
    main(["inspect", str(small_data)])
    said = capsys.readouterr().out
    assert "the Poseidon layout" in said
    assert re.search(r"velocity  \(7, 4, 3, 16, 16\) float32  \(sample, time, channel, x, y\)  -\d", said)
    assert "(NS-PwC, NS-Tracer-PwC): driftnet train TASK MODEL --data" in said


def test_every_file_of_a_folder_is_looked_at(tmp_path):
    for number in (0, 1):
        (tmp_path / "NS-PwC").mkdir(exist_ok=True)
        with h5py.File(tmp_path / "NS-PwC" / f"velocity_{number}.nc", "w") as file:
            file["velocity"] = np.full((2, 3, 2, 8, 8), number, np.float32)
    said = inspect(tmp_path / "NS-PwC", header=False).splitlines()
    for number in (0, 1):
        looked = said[said.index(f"velocity_{number}.nc:") + 1]
        assert looked == f"velocity  (2, 3, 2, 8, 8) float32  (sample, time, channel, x, y)  {number} to {number}, " + NOTHING
    assert said[-1].startswith("Give it to a task of the collection (NS-PwC, NS-Tracer-PwC): ")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_bytes(b"nonsense"), "it is not a whole HDF5 file"),
        (lambda path: h5py.File(path, "w").close(), "holds no array"),
        (lambda path: h5py.File(path, "w").create_dataset("u", data=np.ones(4)).file.close(), "no array has the three axes"),
    ],
)
def test_nonsense_is_refused_in_one_line(write, message, tmp_path):
    path = Path(tmp_path / "file.h5")
    write(path)
    with pytest.raises(DriftnetError, match=message) as refused:
        inspect(path, header=False)
    assert "\n" not in str(refused.value)
