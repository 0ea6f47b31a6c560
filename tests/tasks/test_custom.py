"""From a person's own file to a trained and measured model."""

from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr
import yaml

import driftnet
from driftnet import registry
from driftnet.cli import main
from driftnet.configs import from_dict, to_dict
from driftnet.tasks.base import Task
from tests.conftest import FAST_TRAINING


@pytest.fixture
def described(tmp_path) -> Path:
    """Waves that move by a grid point a snapshot along x, over a depth that is given."""
    phases = np.random.default_rng(0).uniform(0, 6, (7, 1, 1, 1))
    x, t = np.arange(16)[:, None] * np.pi / 8, np.arange(4)[:, None, None] * np.pi / 8
    height = np.sin(x - t + phases) + 0 * np.arange(24)
    np.save(tmp_path / "height.npy", height.astype(np.float32))
    np.save(tmp_path / "depth.npy", np.random.default_rng(1).standard_normal((7, 16, 24)))
    path = tmp_path / "waves.yaml"
    values = {"data": "height.npy", "axes": ["sample", "time", "x", "y"], "static": ["depth.npy"], "boundary": "periodic"}
    path.write_text(
        yaml.safe_dump({**values, "split": {"train": 4, "validation": 1, "test": 2}, "quantities": {"height": "h"}})
    )
    return path


def test_a_description_becomes_a_task_that_survives_being_written(described):
    task = registry.task(str(described))
    assert (task.name, task.components, task.static, task.snapshots) == ("waves", ("h",), ("depth",), 4)
    assert from_dict(Task, yaml.safe_load(yaml.safe_dump(to_dict(task)))) == task


def test_a_model_is_trained_measured_and_loaded_without_the_description(described, tmp_path, capsys):
    runs = tmp_path / "runs"
    small = ["--model.backbone.widths", "[8,8]", "--model.backbone.depths", "[1,1]", "--model.backbone.skips", "[1,0]"]
    main(["train", str(described), "drift-net-tiny", "--runs", str(runs), "--trajectories", "3", *small, *FAST_TRAINING])
    run = runs / "waves" / "drift-net-tiny" / "0"
    assert "training_trajectories" in (run / "provenance.json").read_text()
    described.unlink()
    main(["evaluate", str(run)])
    assert {path.name for path in (runs / "waves").iterdir()} == {"drift-net-tiny", "zero", "persistence", "climatology"}
    with xr.open_dataset(run / "metrics.nc", engine="h5netcdf") as results:
        assert list(results.quantity.values) == ["height"]
        assert np.isfinite(results.relative_l1).all()
    operator = driftnet.load(run)
    with torch.no_grad():
        assert operator(torch.zeros(1, 1, 16, 24), torch.zeros(1, 1, 16, 24)).shape == (1, 1, 16, 24)


def fails(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit):
        main(arguments)
    (said,) = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("statistics:")]
    return said


def test_what_only_simulated_tasks_can_do_is_refused(described, capsys):
    assert "there is no simulation that makes it" in fails(capsys, "generate", str(described))
    assert "is not on the hub" in fails(capsys, "fetch", str(described))


def test_a_constant_quantity_cannot_be_normalised_and_is_named(described, tmp_path, capsys):
    np.save(tmp_path / "height.npy", np.ones((7, 4, 16, 24)))
    said = fails(capsys, "train", str(described), "drift-net-tiny", "--runs", str(tmp_path / "runs"))
    assert "h of height never changes, so it cannot be normalised" in said
    assert not list(tmp_path.rglob("config.yaml"))


def test_too_many_training_trajectories_are_refused_before_anything_is_written(described, tmp_path, capsys):
    flags = ["--runs", str(tmp_path / "runs"), "--trajectories", "5"]
    assert "trajectories: 5 is not between 1 and the 4" in fails(capsys, "train", str(described), "drift-net-tiny", *flags)


def test_info_shows_a_described_task(described, capsys):
    main(["info", "tasks", str(described)])
    said = capsys.readouterr().out
    assert "height.npy, read as arrays" in said


def test_a_place_that_cannot_be_written_to_is_said_in_one_line(described, tmp_path, capsys):
    said = fails(capsys, "train", str(described), "drift-net-tiny", "--runs", str(tmp_path / "height.npy"))
    assert "height.npy/waves/drift-net-tiny/0: Not a directory" in said
