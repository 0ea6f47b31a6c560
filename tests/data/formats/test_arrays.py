"""A person's own arrays in every container."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
import yaml

from driftnet import registry
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError, UsageError
from tests.oracles import oracle

SPLIT = {"train": 4, "validation": 1, "test": 2}
VALUES = np.random.default_rng(0).standard_normal((7, 5, 2, 8, 6)).astype(np.float32)  # sample, time, channel, x, y


def save(path, **arrays: np.ndarray) -> None:
    if path.suffix == ".npy":
        np.save(path, next(iter(arrays.values())))
    elif path.suffix == ".zarr":
        zarr = oracle("zarr")
        group = zarr.open_group(str(path), mode="w")
        for name, values in arrays.items():
            group.create_array(name, shape=values.shape, dtype=values.dtype)[...] = values
    else:
        with h5py.File(path, "w") as file:
            file.update(arrays)


def custom(tmp_path, **described):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"boundary": "periodic", "split": SPLIT, **described}))
    return registry.task(str(path))


def part(task, name: str = "test") -> Trajectories:
    return Trajectories(Path(task.source.file), task, name)


@pytest.mark.parametrize("suffix", ["npy", "h5", "nc", "hdf5", "zarr"])
@pytest.mark.parametrize(
    "axes",
    [("sample", "time", "channel", "x", "y"), ("time", "y", "x", "sample", "channel"), ("x", "channel", "y", "time", "sample")],
)
def test_axes_may_be_in_any_order_in_any_container(suffix, axes, tmp_path):
    order = [("sample", "time", "channel", "x", "y").index(axis) for axis in axes]
    save(tmp_path / f"mine.{suffix}", array=VALUES.transpose(order))
    task = custom(tmp_path, data=f"mine.{suffix}", axes=list(axes), quantities={"velocity": ["u", "v"]})
    test = part(task)
    assert np.array_equal(test[1], VALUES[6])
    assert np.array_equal(test.read(0, 2, 4), VALUES[5, 2:4])


@pytest.mark.parametrize("suffix", ["h5", "zarr"])
def test_several_variables_are_stacked_and_a_variable_without_time_is_static(suffix, tmp_path):
    u, v = VALUES[:, :, 0], VALUES[:, :, 1]
    save(tmp_path / f"mine.{suffix}", u=u, v=v, depth=u[:, 0] * 2, coast=u[0, 0] * 3)
    axes = ["sample", "time", "x", "y"]
    task = custom(tmp_path, data=f"mine.{suffix}", variable=["u", "v"], axes=axes, static=["depth", "coast"])
    test = part(task)
    assert np.array_equal(test[1], VALUES[6])
    assert np.array_equal(test.static([1, 0])[:, 0], u[[6, 5], 0] * 2)
    assert np.array_equal(test.static([1])[0, 1], u[0, 0] * 3)


def test_static_inputs_may_be_in_a_file_of_their_own(tmp_path):
    save(tmp_path / "u.npy", u=VALUES[:, :, 0])
    save(tmp_path / "speed.npy", speed=VALUES[:, 0, 1])
    task = custom(tmp_path, data="u.npy", variable="u.npy", axes=["sample", "time", "x", "y"], static="speed.npy")
    assert (task.components, task.static) == (("u",), ("speed",))
    assert np.array_equal(part(task).static([1])[0, 0], VALUES[6, 0, 1])


def test_without_a_time_axis_it_is_a_steady_map(tmp_path):
    save(tmp_path / "mine.h5", u=VALUES[:, 0, 0], f=VALUES[:, 0, 1])
    task = custom(tmp_path, data="mine.h5", variable="u", axes=["sample", "x", "y"], static="f")
    assert (task.steady, task.snapshots, task.final_snapshot) == (True, 2, 1)
    assert np.array_equal(part(task)[0][:, 0], np.stack((np.zeros((8, 6)), VALUES[5, 0, 0])))


@pytest.mark.parametrize("kind", [np.float64, np.float16, np.int32, np.uint8])
def test_other_numbers_become_float32(kind, tmp_path):
    values = (VALUES * 10).clip(0, 100).astype(kind)
    save(tmp_path / "mine.npy", array=values)
    task = custom(tmp_path, data="mine.npy", axes=["sample", "time", "channel", "x", "y"])
    assert part(task)[0].dtype == torch.float32
    assert np.array_equal(part(task)[0], values[5].astype(np.float32))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_values_that_are_not_finite_in_float32_are_refused_with_their_place(bad, tmp_path):
    values = VALUES.astype(np.float64)
    values[5, 1, 0, 3, 3] = bad
    save(tmp_path / "mine.npy", array=values)
    task = custom(tmp_path, data="mine.npy", axes=["sample", "time", "channel", "x", "y"])
    assert part(task, "train")[0].isfinite().all()
    with pytest.raises(DriftnetError, match=r"mine\.npy: trajectory 5 has values that are not finite"):
        part(task)[0]


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"variable": "w"}, "has no variable 'w'; it has short, times, u, v, words"),
        ({"axes": ["sample", "time", "x", "z"]}, "no axis is called 'z'"),
        ({"axes": ["sample", "time", "x", "x"]}, "axis x is named twice"),
        ({"axes": ["sample", "time", "x"]}, "lack x or y"),
        ({"axes": ["time", "x", "y"]}, r"'u' has shape \(7, 5, 8, 6\), which is not \(time, x, y\)"),
        ({"variable": ["u", "short"]}, "the fields have 4, 5 points along time"),
        ({"static": "times"}, "static 'times' has 1 axes, which fits none of"),
        ({"static": "words"}, "'words' holds .*, not real numbers"),
        ({"split": {"train": 6, "validation": 1, "test": 1}}, "split: 8 trajectories are more than the 7"),
        ({"split": {"train": 6, "validation": 0, "test": 1}}, "split.validation: '0' is not a positive number"),
        ({"split": {"train": 6}}, r"split: say how many trajectories, for example split: {train: 5, validation: 1, test: 1}"),
        ({"split": {"train": 1.5, "validation": 1, "test": 1}}, "split.train: '1.5' is not a whole number"),
        ({"quantities": {"velocity": ["u", "v"]}}, "quantities name 2 channels; mine.h5 has 1"),
        ({"variable": ["u", "v"], "quantities": {"velocity": ["u", "u"]}}, "quantities name a channel twice"),
        ({"boundary": "round"}, "boundary: round one of periodic, absorbing, dirichlet"),
        ({"final_snapshot": 5}, "final_snapshot: 5 is not one of 1 to 4"),
        ({"variabel": "u"}, "no setting is called 'variabel'. Did you mean 'variable'?"),
        ({"axes": 3}, "axes: '3' is not a list of names"),
        ({"quantities": "u"}, "quantities: 'u' stands where names with values belong"),
        ({"duration": True}, "duration: 'True' is not a positive number"),
        ({"data": "other.h5"}, "there is no data file"),
        ({"data": "mine.mat"}, "driftnet reads .nc, .nc4, .h5, .hdf5, .npy, .zarr, not '.mat'"),
        ({"format": "the-wel"}, "no format is called 'the-wel'. Did you mean 'the-well'?"),
    ],
)
def test_a_wrong_description_is_refused_in_one_line(described, message, tmp_path):
    u = VALUES[:, :, 0]
    (tmp_path / "mine.mat").touch()
    save(tmp_path / "mine.h5", u=u, v=u, short=u[:, :4], times=np.arange(5), words=np.full((7, 8, 6), b"a"))
    with pytest.raises(DriftnetError, match=message) as refused:
        custom(tmp_path, **{"data": "mine.h5", "variable": "u", "axes": ["sample", "time", "x", "y"], **described})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "[1, 2]", "a: [", "variable: u", "\x00"])
def test_a_file_that_describes_nothing_is_refused_in_one_line(text, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        registry.task(str(path))
    assert "mine.yaml" in str(refused.value)
    assert "\n" not in str(refused.value)
