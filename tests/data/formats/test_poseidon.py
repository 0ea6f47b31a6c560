"""Files laid out as the published ones, at 8 x 6 points."""

from dataclasses import replace

import h5py
import numpy as np
import pytest
import torch

from driftnet import registry
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError, UsageError
from driftnet.tasks.base import Quantity, Source, Split, Variable

NS = registry.task("NS-PwC")
SMALL = Split(train=4, validation=1, test=2)
SCALAR, GIVEN = ("sample", "time", "x", "y"), ("sample", "x", "y")


def task(file: str, *variables: Variable, **changes):
    """A task of the collection as its published layout is."""
    first, *static = variables
    quantities = (Quantity("all", first.channels),)
    given = tuple(name for each in static for name in each.channels)
    source = Source(file=file, variables=variables, simulation=NS.source.simulation)
    return replace(NS, name=file[:-3], quantities=quantities, static=given, split=SMALL, source=source, **changes)


SHEAR = task("NS-SL.nc", Variable("velocity", ("u", "v")))
FORCED = task("FNS-KF.nc", Variable("solution", ("u", "v")), Variable("forcing", ("forcing",), ("x", "y")))
ALLEN_CAHN = task("ACE.nc", Variable("solution", ("u",), SCALAR))
WAVE = task("Wave-Gauss.nc", Variable("solution", ("u",), SCALAR), Variable("c", ("c",), GIVEN, "<f8"))
POISSON = task("Poisson-Gauss.nc", Variable("solution", ("u",), GIVEN), Variable("source", ("f",), GIVEN), steady=True)


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


def write(path, **variables: np.ndarray):
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w") as file:
        for name, array in variables.items():
            file[name] = array
    return path


def test_velocity_files_are_read_without_the_tracer(tmp_path):
    stored = values(7, 4, 3, 8, 6)
    test = Trajectories(write(tmp_path / "NS-PwC.nc", velocity=stored), replace(NS, split=SMALL), "test")
    assert np.array_equal(test[1], stored[6, :, :2])
    assert test.static([0, 1]).shape == (2, 0, 8, 6)


def test_the_published_shear_layer_is_transposed_and_its_components_keep_their_places(tmp_path):
    stored = values(7, 4, 2, 6, 8)
    training = Trajectories(write(tmp_path / "NS-SL.nc", velocity=stored), SHEAR, "train")
    assert training.stored.size == (8, 6)
    assert np.array_equal(training[2][3, 1], stored[2, 3, 1].T)


def test_a_generated_shear_layer_is_read_as_it_stands(tmp_path):
    path = write(tmp_path / "NS-SL.nc", velocity=values(7, 4, 2, 6, 8))
    with h5py.File(path, "a") as file:
        file.attrs["recipe"] = "{}"
    assert Trajectories(path, SHEAR, "train").stored.size == (6, 8)


def test_scalar_files_without_a_channel_axis_get_one(tmp_path):
    stored = values(7, 5, 8, 6)
    validation = Trajectories(write(tmp_path / "ACE.nc", solution=stored), ALLEN_CAHN, "validation")
    assert np.array_equal(validation[0][:, 0], stored[4])


def test_the_wave_speed_is_a_static_channel_of_its_own_trajectory(tmp_path):
    speed = values(7, 8, 6).astype(np.float64) * 600 + 2600
    test = Trajectories(write(tmp_path / "Wave-Gauss.nc", solution=values(7, 5, 8, 6), c=speed), WAVE, "test")
    assert test.static([1, 0]).dtype == torch.float32
    assert np.array_equal(test.static([1, 0])[:, 0], speed[[6, 5]].astype(np.float32))


def test_the_forcing_is_on_the_published_grid_that_includes_the_end_point(tmp_path):
    training = Trajectories(write(tmp_path / "FNS-KF.nc", solution=values(7, 4, 2, 8, 8)), FORCED, "train")
    (forcing,) = training.static([3])[0].double()
    expected = [[0.1 * np.sin(2 * np.pi * (i + j) / 7) for j in range(8)] for i in range(8)]
    assert torch.allclose(forcing, torch.tensor(expected, dtype=torch.float64), atol=1e-7)


def test_the_forcing_of_the_published_loader_has_its_published_spread():
    from driftnet.data.formats.poseidon import kolmogorov_forcing

    # 0.0707106739 and -1.3e-9 are the constants of the loader, at 128 x 128 points.
    forcing = torch.from_numpy(kolmogorov_forcing((128, 128))).double()
    assert forcing.mean().abs() < 1e-8
    assert forcing.std().item() == pytest.approx(0.0707106739, rel=0.01)


def test_a_steady_map_goes_from_nothing_to_the_solution_that_its_source_decides(tmp_path):
    solution, source = values(7, 8, 6), values(7, 8, 6) + 1
    test = Trajectories(write(tmp_path / "Poisson-Gauss.nc", solution=solution, source=source), POISSON, "test")
    assert not test[0][0].any()
    assert np.array_equal(test[0][1, 0], solution[5])
    assert np.array_equal(test.read(1, 1, 2)[0, 0], solution[6])
    assert np.array_equal(test.static([1])[0, 0], source[6])


def test_chunks_are_read_in_the_order_of_their_names(tmp_path):
    """velocity_0, 1, 10, 11, 2, ...: so the published test set comes from velocity_9."""
    for number in range(12):
        write(tmp_path / "NS-PwC" / f"velocity_{number}.nc", velocity=np.full((2, 3, 2, 4, 4), number, np.float32))
    published = replace(NS, split=Split(20, 2, 2))
    for path in (tmp_path / "NS-PwC", tmp_path / "NS-PwC.nc"):
        whole = [Trajectories(path, published, part) for part in ("train", "validation", "test")]
        order = [int(part[index][0, 0, 0, 0]) for part in whole for index in range(0, len(part), 2)]
        assert order == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("parts", [[slice(0, 7)], [slice(0, 3), slice(3, 7)]])
def test_static_variables_may_be_in_chunks_of_their_own(parts, tmp_path):
    speed = values(7, 8, 6)
    for number, part in enumerate(parts):
        write(tmp_path / "Wave-Gauss" / f"solution_{number}.nc", solution=values(7, 5, 8, 6)[part])
        write(tmp_path / "Wave-Gauss" / f"c_{number}.nc", c=speed[part])
    assert np.array_equal(Trajectories(tmp_path / "Wave-Gauss", WAVE, "test").static([1])[0, 0], speed[6])


def test_a_missing_chunk_is_named(tmp_path):
    for number in (0, 1, 3):
        write(tmp_path / "NS-PwC" / f"velocity_{number}.nc", velocity=values(3, 3, 2, 4, 4))
    with pytest.raises(DriftnetError, match=r"lacks the chunk velocity_2\.nc"):
        Trajectories(tmp_path / "NS-PwC", replace(NS, split=SMALL), "test")


def test_chunks_that_do_not_fit_together_are_refused(tmp_path):
    for number, size in enumerate((4, 6)):
        write(tmp_path / "NS-PwC" / f"velocity_{number}.nc", velocity=values(4, 3, 2, size, 4))
    with pytest.raises(DriftnetError, match="the fields have 4, 6 points along x"):
        Trajectories(tmp_path / "NS-PwC", replace(NS, split=SMALL), "test")


def test_a_wave_without_its_speed_is_refused(tmp_path):
    with pytest.raises(DriftnetError, match="has no variable 'c'; it has solution"):
        Trajectories(write(tmp_path / "Wave-Gauss.nc", solution=values(7, 5, 8, 6)), WAVE, "test")


def test_training_on_fewer_trajectories_takes_the_first_and_leaves_the_other_parts(tmp_path):
    path = write(tmp_path / "ACE.nc", solution=values(7, 5, 8, 6))
    assert Trajectories(path, ALLEN_CAHN, "train", first=3).indices == range(3)
    assert Trajectories(path, ALLEN_CAHN, "validation").indices == range(4, 5)
    for count in (0, 5):
        with pytest.raises(UsageError, match=f"trajectories: {count} is not between 1 and the 4 of the train part"):
            Trajectories(path, ALLEN_CAHN, "train", first=count)


def test_files_are_opened_again_in_another_process(tmp_path):
    import pickle

    stored = values(7, 5, 8, 6)
    training = Trajectories(write(tmp_path / "ACE.nc", solution=stored), ALLEN_CAHN, "train")
    before = training[1]
    assert torch.equal(pickle.loads(pickle.dumps(training))[1], before)
