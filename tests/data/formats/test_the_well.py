"""Files in the schema of The Well 1.2, and those that the package the-well writes itself."""

import h5py
import numpy as np
import pytest
import torch

from driftnet import registry
from driftnet.data.inspect import inspect
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError, UsageError
from tests.oracles import oracle

ALONG = (True, True)


def add(group, name: str, values, along=ALONG, sample=True, time=True):
    group.attrs["field_names"] = [*group.attrs.get("field_names", []), name]
    data = group.create_dataset(name, data=values.astype(np.float32))
    data.attrs.update({"dim_varying": along, "sample_varying": sample, "time_varying": time})


def write_well(path, fields, boundaries=("PERIODIC", "PERIODIC"), dims=("x", "y"), samples=2):
    """`fields` is a list of (order, name, values, further marks)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        attributes = {"dataset_name": "small", "grid_type": "cartesian", "n_spatial_dims": len(dims), "n_trajectories": samples}
        file.attrs.update({**attributes, "simulation_parameters": ["a"], "a": 0.25})
        file.create_group("dimensions").attrs["spatial_dims"] = list(dims)
        file["dimensions"]["time"] = np.linspace(0, 2, 5, dtype=np.float32)
        for axis, kind in zip(dims, boundaries, strict=False):
            condition = file.create_group(f"boundary_conditions/{axis}_{kind.lower()}")
            condition.attrs.update({"associated_dims": axis, "bc_type": kind, "sample_varying": False, "time_varying": False})
        file.create_group("scalars").attrs["field_names"] = ["a"]
        for order in range(3):
            file.create_group(f"t{order}_fields")
        for order, name, values, *marks in fields:
            add(file[f"t{order}_fields"], name, values, **(marks[0] if marks else {}))


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def custom(tmp_path, text: str):
    path = tmp_path / "well.yaml"
    path.write_text(text)
    return registry.task(str(path))


def parts(path, task):
    return {part: Trajectories(path, task, part) for part in ("train", "validation", "test")}


def test_the_folders_are_the_split_and_every_field_is_a_quantity(tmp_path):
    fields = [random(2, 5, 8, 6, 2) + number for number in range(4)]
    places = ("train/a", "train/b", "valid/a", "test/a")
    for place, field in zip(places, fields, strict=True):
        pressure = (0, "pressure", field[..., 0] * 2)
        write_well(tmp_path / "set" / "data" / f"{place}.hdf5", [(1, "velocity", field), pressure])
    task = custom(tmp_path, "data: set\n")
    assert [q.components for q in task.quantities] == [("pressure",), ("velocity_x", "velocity_y")]
    assert (task.boundary, task.duration, task.snapshots, task.split.train) == ("periodic", 2.0, 5, 4)
    read = parts(tmp_path / "set", task)
    assert np.array_equal(read["train"][3][:, 1:], np.moveaxis(fields[1][1], -1, 1))
    assert np.array_equal(read["validation"][0][:, 0], fields[2][0, ..., 0] * 2)
    assert np.array_equal(read["test"][1][:, 2], fields[3][1, ..., 1])


def test_the_components_of_a_tensor_are_channels_row_by_row(tmp_path):
    stress = random(3, 5, 8, 6, 2, 2)
    write_well(tmp_path / "one.hdf5", [(2, "stress", stress)], samples=3)
    task = custom(tmp_path, "data: one.hdf5\nsplit: {train: 1, validation: 1, test: 1}\n")
    assert task.components == ("stress_x_x", "stress_x_y", "stress_y_x", "stress_y_y")
    assert np.array_equal(Trajectories(tmp_path / "one.hdf5", task, "test")[0][:, 2], stress[2, ..., 1, 0])


def test_what_does_not_vary_in_time_is_static_and_is_repeated_where_it_does_not_vary(tmp_path):
    density, depth = random(8, 6), random(3, 6)
    everywhere = (0, "density", density, {"sample": False, "time": False})
    along_y = (0, "depth", depth, {"along": (False, True), "time": False})
    write_well(tmp_path / "one.hdf5", [(0, "height", random(3, 5, 8, 6)), everywhere, along_y], samples=3)
    task = custom(tmp_path, "data: one.hdf5\nsplit: {train: 1, validation: 1, test: 1}\n")
    assert task.static == ("density", "depth")
    static = Trajectories(tmp_path / "one.hdf5", task, "test").static([0])[0]
    assert np.array_equal(static[0], density)
    assert np.array_equal(static[1], np.broadcast_to(depth[2], (8, 6)))


@pytest.mark.parametrize(
    ("kinds", "boundary"),
    [
        (("PERIODIC", "PERIODIC"), "periodic"),
        (("OPEN", "OPEN"), "absorbing"),
        (("WALL", "PERIODIC"), "dirichlet"),
        (("wall", "open"), "dirichlet"),
    ],
)
def test_a_wall_anywhere_forbids_to_wrap_around(kinds, boundary, tmp_path):
    write_well(tmp_path / "one.hdf5", [(0, "height", random(3, 5, 8, 6))], kinds, samples=3)
    assert custom(tmp_path, "data: one.hdf5\nsplit: {train: 1, validation: 1, test: 1}\n").boundary == boundary


def test_three_dimensions_are_refused(tmp_path):
    write_well(tmp_path / "one.hdf5", [(0, "height", random(3, 5, 4, 4, 4))], dims=("x", "y", "z"))
    with pytest.raises(DriftnetError, match="has fields along x, y, z; driftnet reads fields on two axes"):
        custom(tmp_path, "data: one.hdf5\n")


def test_a_split_of_ones_own_is_refused_where_the_folders_are_one(tmp_path):
    for part in ("train", "valid", "test"):
        write_well(tmp_path / "set" / "data" / part / "a.hdf5", [(0, "height", random(2, 5, 8, 6))])
    with pytest.raises(UsageError, match="split: set states its own"):
        custom(tmp_path, "data: set\nsplit: {train: 1, validation: 1, test: 1}\n")


def test_a_missing_part_is_named(tmp_path):
    write_well(tmp_path / "set" / "data" / "train" / "a.hdf5", [(0, "height", random(2, 5, 8, 6))])
    with pytest.raises(DriftnetError, match=r"has no \.hdf5 file in valid"):
        custom(tmp_path, "data: set\n")


def test_channels_stand_in_the_order_that_the_file_states(tmp_path):
    fields = [(0, name, random(3, 5, 8, 6) + place) for place, name in enumerate(("tracer", "buoyancy"))]
    write_well(tmp_path / "one.hdf5", fields, samples=3)
    task = custom(tmp_path, "data: one.hdf5\nsplit: {train: 1, validation: 1, test: 1}\n")
    assert task.components == ("tracer", "buoyancy")
    assert np.array_equal(Trajectories(tmp_path / "one.hdf5", task, "test")[0][:, 1], fields[1][2][2])


def test_a_count_of_trajectories_that_is_missing_is_asked_for(tmp_path):
    everywhere = (0, "density", random(8, 6), {"sample": False, "time": False})
    write_well(tmp_path / "one.hdf5", [(0, "height", random(3, 5, 8, 6)), everywhere], samples=3)
    with h5py.File(tmp_path / "one.hdf5", "r+") as file:
        del file.attrs["n_trajectories"]
    with pytest.raises(DriftnetError, match="is the same in all trajectories, and the file does not say how many those are"):
        custom(tmp_path, "data: one.hdf5\n")


@pytest.fixture
def packaged(tmp_path):
    """A data set that the package the-well has written."""
    dummy = oracle("the_well.utils.dummy_data")
    for part in ("train", "valid", "test"):
        (tmp_path / "set" / "data" / part).mkdir(parents=True)
        dummy.write_dummy_data(str(tmp_path / "set" / "data" / part / "a.hdf5"))
    return tmp_path / "set"


@pytest.mark.filterwarnings("ignore")  # Of the package's own imports.
def test_files_that_the_package_has_written_are_read_as_it_reads_them(packaged):
    task = custom(packaged.parent, "data: set\n")
    assert (task.components, task.static, task.boundary) == (("field_x", "field_y"), ("constant_field",), "periodic")
    theirs = oracle("the_well.data").WellDataset(str(packaged), well_split_name="test", full_trajectory_mode=True)
    ours = Trajectories(packaged, task, "test")
    assert len(ours) == len(theirs) == 2
    for index in range(2):
        sample = theirs[index]
        fields = torch.cat((sample["input_fields"], sample["output_fields"]))
        assert torch.equal(ours[index], fields.permute(0, 3, 1, 2))
        assert torch.equal(ours.static([index])[0], sample["constant_fields"].permute(2, 0, 1))


def test_a_look_at_what_the_package_has_written_suggests_its_task(packaged):
    said = inspect(packaged, header=False)
    assert "data/test/a.hdf5:" in said
    assert "t1_fields/field  (2, 10, 32, 32, 2) float32" in said
    (packaged.parent / "looked.yaml").write_text(said[said.index("#") :])
    assert registry.task(str(packaged.parent / "looked.yaml")).components == ("field_x", "field_y")
