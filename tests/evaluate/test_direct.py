import numpy as np
import pytest
import torch
import xarray as xr

import driftnet
from driftnet import registry
from driftnet.cli import main
from driftnet.data.trajectories import Trajectories
from driftnet.files import read_json
from driftnet.metrics.errors import relative_l1
from tests.conftest import FAST_TRAINING

TASK = registry.task("NS-PwC")


@pytest.fixture(scope="module")
def test_split(small_data) -> Trajectories:
    return Trajectories(small_data, TASK, "test")


@pytest.fixture(scope="module")
def run(small_data, tmp_path_factory):
    runs = tmp_path_factory.mktemp("lead")
    lead = ["--model.backbone.lead_time", "true", "--training.objective.kind", "all-to-all"]
    main(["train", "NS-PwC", "conv-unet-tiny", "--data", str(small_data), "--runs", str(runs), *FAST_TRAINING, *lead])
    return runs / "NS-PwC" / "conv-unet-tiny" / "0"


def one_by_one(run, initial: torch.Tensor, steps: int) -> torch.Tensor:
    model = driftnet.load(run)
    with torch.no_grad():
        found = [model(initial, initial[:, :0], torch.full((len(initial),), step / 20)) for step in range(1, steps + 1)]
    return torch.stack(found, 1)


def test_every_snapshot_is_measured_directly_from_the_first(run, test_split):
    main(["evaluate", str(run), "--evaluation.direct", "true", "--baselines", "[persistence]"])
    truth = torch.stack([test_split[index] for index in range(2)])
    found = xr.load_dataset(run / "metrics-direct.nc", engine="h5netcdf")
    expected = relative_l1(one_by_one(run, truth[:, 0], 3), truth[:, 1:])
    assert np.allclose(found.relative_l1[..., 0], expected, rtol=1e-5)
    assert "directly" in found.attrs["protocol"]
    main(["evaluate", str(run), "--baselines", "[persistence]"])
    rolled = xr.load_dataset(run / "metrics.nc", engine="h5netcdf")
    assert not np.allclose(rolled.relative_l1[:, 1:], found.relative_l1[:, 1:], rtol=1e-5)
    assert np.allclose(rolled.relative_l1[:, 0], found.relative_l1[:, 0], rtol=1e-5)
    for name in ("metrics.nc", "metrics-direct.nc"):
        beside = xr.load_dataset(run.parents[1] / "persistence" / name, engine="h5netcdf")
        assert "directly" not in beside.attrs["protocol"]


def test_direct_prediction_goes_through_the_training_grid_too(run):
    options = {"direct": "true", "resolution": "32", "protocol": "interpolated"}
    main(["evaluate", str(run), "--baselines", "[]", *(f"--evaluation.{name}={value}" for name, value in options.items())])
    found = xr.load_dataset(run / "metrics-32-interpolated-direct.nc", engine="h5netcdf")
    assert np.isfinite(found.relative_l1).all()


def test_states_of_ones_own_are_predicted_directly(run, test_split, tmp_path):
    initial = test_split[0][:1]
    np.save(tmp_path / "mine.npy", initial.numpy())
    main(["predict", str(run), str(tmp_path / "mine.npy"), "--steps", "3", "--direct", "--output", str(tmp_path / "out.nc")])
    found = xr.load_dataset(tmp_path / "out.nc", engine="h5netcdf")
    np.testing.assert_allclose(found.velocity[:, 1:], one_by_one(run, initial, 3), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(driftnet.load(run).direct(initial, 3), one_by_one(run, initial, 3))
    assert found.attrs["prediction"] == "every step directly from the given state"


@pytest.mark.parametrize("command", ["evaluate RUN --evaluation.direct true", "predict RUN INPUT --direct"])
def test_a_model_trained_on_steps_alone_is_refused_before_anything_is_measured(command, small_run, capsys):
    with pytest.raises(SystemExit) as stop:
        main([str(small_run) if word == "RUN" else word for word in command.split()])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert "was trained on one-step, which knows one lead time" in said
    assert said.count("\n") == 1


def test_the_kept_weights_of_all_to_all_are_the_best_at_all_lead_times(run, small_data):
    validation = Trajectories(small_data, TASK, "validation")[0][None]
    error = relative_l1(one_by_one(run, validation[:, 0], 3), validation[:, 1:]).mean().item()
    assert read_json(run / "provenance.json")["best_validation"] == pytest.approx(error, rel=1e-4)
