"""Small files in PDEBench's layouts."""

import h5py
import numpy as np
import pytest

from driftnet import registry
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError, UsageError


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def write(path, **arrays: np.ndarray) -> None:
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            file[name.replace("_coordinate", "-coordinate")] = values


def custom(tmp_path, file: str, more: str = ""):
    path = tmp_path / "bench.yaml"
    path.write_text(f"data: {file}\n{more}")
    return registry.task(str(path))


def flow(path, samples: int = 20) -> dict[str, np.ndarray]:
    fields = {name: random(samples, 3, 8, 6) + place for place, name in enumerate(("density", "pressure", "Vx", "Vy"))}
    write(path, **fields, x_coordinate=np.arange(8), y_coordinate=np.arange(6), t_coordinate=np.linspace(0, 1, 3))
    return fields


def test_compressible_flow_has_density_velocity_and_pressure(tmp_path):
    file = "2D_CFD_Rand_periodic_Train.hdf5"
    fields = flow(tmp_path / file)
    task = custom(tmp_path, file)
    assert [quantity.name for quantity in task.quantities] == ["density", "velocity", "pressure"]
    assert (task.boundary, task.duration) == ("periodic", 1.0)
    first = Trajectories(tmp_path / file, task, "train")[0]
    for channel, name in enumerate(("density", "Vx", "Vy", "pressure")):
        assert np.array_equal(first[:, channel], fields[name][2])


def test_the_first_tenth_of_a_single_file_is_for_testing_and_validation_is_cut_from_training(tmp_path):
    file = "2D_CFD_Rand_periodic_Train.hdf5"
    density = flow(tmp_path / file, samples=30)["density"]
    task = custom(tmp_path, file)
    found = {part: Trajectories(tmp_path / file, task, part) for part in ("train", "validation", "test")}
    first = {part: [float(read[index][0, 0, 0, 0]) for index in range(len(read))] for part, read in found.items()}
    expected = density[:, 0, 0, 0].tolist()
    assert first == {"test": expected[:3], "train": expected[3:28], "validation": expected[28:]}
    assert found["train"].stored.notes == (
        "PDEBench has no validation set: the last 2 of its training trajectories serve as one",
    )


def test_the_last_tenth_of_a_grouped_file_is_for_testing(tmp_path):
    fields = random(20, 4, 8, 6, 2)
    with h5py.File(tmp_path / "2D_diff-react.h5", "w") as file:
        for number, field in enumerate(fields):
            file[f"{number:04}/data"] = field
            file[f"{number:04}/grid/t"] = np.linspace(0, 5, 4)
    task = custom(tmp_path, "2D_diff-react.h5", "boundary: dirichlet\nquantities: {activator: u, inhibitor: v}\n")
    assert (task.components, task.duration) == (("u", "v"), 5.0)
    test = Trajectories(tmp_path / "2D_diff-react.h5", task, "test")
    assert np.array_equal(test[1][:, 1], fields[19, ..., 1])


def test_darcy_flow_is_a_steady_map_from_its_coefficient(tmp_path):
    solution, coefficient = random(20, 1, 8, 8), random(20, 8, 8) + 2
    plane = {"x_coordinate": np.arange(8), "y_coordinate": np.arange(8)}
    write(tmp_path / "2D_DarcyFlow_beta1.0_Train.hdf5", tensor=solution, nu=coefficient, **plane)
    task = custom(tmp_path, "2D_DarcyFlow_beta1.0_Train.hdf5")
    assert (task.steady, task.static, task.boundary) == (True, ("nu0",), "dirichlet")
    test = Trajectories(tmp_path / "2D_DarcyFlow_beta1.0_Train.hdf5", task, "test")
    assert not test[1][0].any()
    assert np.array_equal(test[1][1, 0], solution[1, 0])
    assert np.array_equal(test.static([1])[0, 0], coefficient[1])


def test_incompressible_flow_is_given_its_force(tmp_path):
    velocity, force = random(4, 5, 8, 8, 2), random(4, 8, 8, 2)
    times = np.tile(np.linspace(0, 3, 5), (4, 1))
    write(tmp_path / "ns_incom.h5", velocity=velocity, particles=random(4, 5, 8, 8, 1), force=force, t=times)
    task = custom(tmp_path, "ns_incom.h5", "boundary: dirichlet\n")
    assert (task.components, task.static, task.duration) == (("Vx", "Vy", "particles"), ("force0", "force1"), 3.0)
    training = Trajectories(tmp_path / "ns_incom.h5", task, "train")
    assert np.array_equal(training[0][:, 1], velocity[1, ..., 1])
    assert np.array_equal(training.static([1])[0, 1], force[2, ..., 1])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"tensor": random(20, 5, 8), "x_coordinate": np.arange(8)}, "has fields along x; driftnet reads fields on two axes"),
        ({"Vx": random(4, 2, 4, 4, 4), "x_coordinate": np.arange(4), "z_coordinate": np.arange(4)}, "has fields along x, y, z"),
        ({"tensor": random(2, 5, 8, 8), "x_coordinate": np.arange(8)}, "holds 2 trajectories, too few for training"),
        ({"Vx": random(20, 2, 4, 4), "x_coordinate": np.arange(4)}, "has no variable 'density'"),
    ],
)
def test_files_that_cannot_be_used_are_refused_in_one_line(arrays, message, tmp_path):
    write(tmp_path / "file.hdf5", **arrays)
    with pytest.raises(DriftnetError, match=message):
        custom(tmp_path, "file.hdf5")


def test_a_boundary_that_the_file_does_not_tell_is_asked_for(tmp_path):
    flow(tmp_path / "2D_CFD_Turb.hdf5")
    with pytest.raises(UsageError, match="boundary: the file does not tell; say one of periodic, absorbing, dirichlet"):
        custom(tmp_path, "2D_CFD_Turb.hdf5")
