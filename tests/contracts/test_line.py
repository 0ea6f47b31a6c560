"""Every model goes down the whole line: trained, loaded, rolled out, measured."""

import math

import pytest
import torch

import driftnet
from driftnet import registry
from driftnet.cli import main
from driftnet.data.trajectories import Trajectories
from driftnet.evaluate.run import open_metrics
from tests.oracles import presets


@pytest.mark.parametrize("name", [*presets("-tiny"), "refiner-tiny --model.training noise"])
def test_a_model_trains_and_is_measured_by_its_name_alone(name, small_data, tmp_path):
    name, *flags = name.split()
    steps = ["--training.steps", "2", "--training.batch", "2", "--training.validations", "1"]
    main(["train", "NS-PwC", name, "--data", str(small_data), "--runs", str(tmp_path), *steps, *flags])
    run = tmp_path / "NS-PwC" / name / "0"
    main(["evaluate", str(run), "--baselines", "[]"])
    results = open_metrics(run / "metrics.nc")
    assert math.isfinite(results.relative_l1.mean())
    assert results.attrs["model"] == name

    test = Trajectories(small_data, registry.task("NS-PwC"), "test")
    with torch.no_grad():
        states = driftnet.rollout(driftnet.load(run), test[0][None, 0], test.static([0]), 2)
    assert states.isfinite().all()
