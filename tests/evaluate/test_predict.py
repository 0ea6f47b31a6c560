import json

import h5py
import numpy as np
import pytest
import torch
import xarray as xr

import driftnet
from driftnet import registry
from driftnet.cli import main
from driftnet.data.trajectories import Trajectories
from driftnet.models.operator import build, unit_statistics

TASK = registry.task("NS-PwC")


@pytest.fixture(scope="module")
def initial(small_data) -> torch.Tensor:
    test = Trajectories(small_data, TASK, "test")
    return torch.stack([test[0][0], test[1][0]])


@pytest.fixture
def given(initial, tmp_path):
    path = tmp_path / "mine.npy"
    np.save(path, initial.numpy())
    return path


def predicted(run, source, output, *flags) -> xr.Dataset:
    main(["predict", str(run), str(source), "--output", str(output), *flags])
    return xr.load_dataset(output, engine="h5netcdf")


def test_the_file_holds_the_states_that_the_operator_gives_one_after_another(small_run, given, initial, tmp_path):
    found = predicted(small_run, given, tmp_path / "out.nc", "--steps", "5")
    expected = driftnet.load(small_run).rollout(initial, 5)
    np.testing.assert_array_equal(found.velocity[:, 0], initial)
    np.testing.assert_array_equal(found.velocity[:, 1:], expected)


def test_it_opens_in_xarray_with_coordinates_units_and_provenance(small_run, given, tmp_path):
    found = predicted(small_run, given, tmp_path / "out.nc", "--steps", "2")
    assert found.velocity.dims == ("sample", "time", "channel", "x", "y")
    assert found.time.values == pytest.approx([0, 0.05, 0.1])
    assert found.x.values == pytest.approx(np.arange(16) / 16)
    assert list(found.channel.values) == ["u", "v"]
    assert found.velocity.attrs["units"] == "1"
    assert found.attrs["task"] == "NS-PwC"
    assert "DriftNet" in json.loads(found.attrs["model"])
    assert len(found.attrs["weights_sha256"]) == len(found.attrs["input_sha256"]) == 64


def test_a_grid_that_is_not_periodic_reaches_both_sides_of_the_domain(tmp_path):
    task = registry.task("Wave-Gauss")
    model = build(registry.model("conv-unet-tiny"), task, unit_statistics(1, 1))
    model.save_pretrained(tmp_path / "run")
    np.save(tmp_path / "mine.npy", np.ones((1, 2, 16, 24), np.float32))
    found = predicted(tmp_path / "run", tmp_path / "mine.npy", tmp_path / "out.nc", "--steps", "1")
    assert found.x.values == pytest.approx(np.arange(16) / 15)
    assert found.y.values == pytest.approx(np.arange(24) / 23)


@pytest.mark.parametrize("dims", [("sample", "channel", "x", "y"), ("channel", "x", "y")])
def test_netcdf_states_give_what_npy_states_give(dims, small_run, given, initial, tmp_path):
    source = tmp_path / "mine.nc"
    values = initial.numpy() if len(dims) == 4 else initial[0].numpy()
    xr.Dataset({"anything": (dims, values)}).to_netcdf(source, engine="h5netcdf")
    from_netcdf = predicted(small_run, source, tmp_path / "a.nc", "--steps", "2").velocity
    from_npy = predicted(small_run, given, tmp_path / "b.nc", "--steps", "2").velocity
    np.testing.assert_allclose(from_netcdf, from_npy[: from_netcdf.sizes["sample"]], rtol=1e-4, atol=1e-5)


def test_a_data_file_is_rolled_out_from_its_first_snapshots(small_run, small_data, initial, tmp_path):
    found = predicted(small_run, small_data, tmp_path / "out.nc", "--steps", "1")
    assert found.sizes["sample"] == 7
    np.testing.assert_array_equal(found.velocity[5:, 0], initial)


def test_the_same_command_writes_the_same_values(small_run, given, tmp_path):
    one, two = (predicted(small_run, given, tmp_path / name, "--steps", "3") for name in ("a.nc", "b.nc"))
    assert one.identical(two)


def refused(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit):
        main(arguments)
    said = capsys.readouterr().err
    assert said.startswith("driftnet: ")
    assert said.count("\n") == 1, said
    return said


def saved(path, values) -> str:
    np.save(path, values, allow_pickle=True)
    return str(path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((3, 16, 16), np.float32), "float32 of shape (1, 3, 16, 16); NS-PwC needs numbers as"),
        (np.zeros((16, 16), np.float32), "the channels u, v"),
        (np.zeros((0, 2, 16, 16), np.float32), "NS-PwC needs numbers as"),
        (np.zeros((2, 15, 16), np.float32), "a field of 15 x 16 points does not fit this model"),
        (np.full((2, 16, 16), np.nan, np.float32), "has values that are not finite"),
        (np.zeros((2, 16, 16), complex), "complex128"),
        (np.array([{"a": 1}], dtype=object), "could not read"),
    ],
)
def test_states_that_do_not_fit_are_refused_in_one_line(values, message, small_run, tmp_path, capsys):
    source, output = saved(tmp_path / "mine.npy", values), tmp_path / "out.nc"
    assert message in refused(capsys, "predict", str(small_run), source, "--output", str(output))
    assert not output.exists()


def test_files_that_are_not_what_they_say_are_refused_in_one_line(small_run, tmp_path, capsys):
    broken, torn, empty = (tmp_path / name for name in ("broken.nc", "torn.npy", "empty.nc"))
    broken.write_bytes(b"no HDF5")
    torn.write_bytes(b"\x93NUMPY")
    with h5py.File(empty, "w") as file:
        file.create_dataset("velocity", (10**6, 2, 128, 128), "<f4")
    for path, message in ((broken, "could not read"), (torn, "could not read"), (empty, "holds no values")):
        assert message in refused(capsys, "predict", str(small_run), str(path), "--output", str(tmp_path / "out.nc"))
    assert "there is no file" in refused(capsys, "predict", str(small_run), str(tmp_path / "none.npy"))


def test_a_prediction_is_not_overwritten_unasked(small_run, given, tmp_path, capsys):
    output = tmp_path / "out.nc"
    predicted(small_run, given, output, "--steps", "1")
    assert "give --overwrite" in refused(capsys, "predict", str(small_run), str(given), "--output", str(output))
    assert predicted(small_run, given, output, "--steps", "2", "--overwrite").sizes["time"] == 3


def test_the_rollout_of_a_model_is_that_of_its_single_steps(small_run, initial):
    operator = driftnet.load(small_run)
    states = operator.rollout(initial, 3)
    with torch.no_grad():
        state = initial
        for step in range(3):
            state = operator(state, initial[:, :0])
            assert torch.equal(states[:, step], state)
    assert not states.requires_grad
