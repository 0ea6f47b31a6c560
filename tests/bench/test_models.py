import json

import pytest

from driftnet.bench.child import measure
from driftnet.bench.models import Case, spread, summarise
from driftnet.cli import main


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "bench.json"
    flags = ["--resolutions", "[32]", "--batches", "[1, 4]", "--repeats", "1", "--steps", "2", "--output", str(path)]
    main(["bench", "models", "conv-unet-tiny", *flags])
    return json.loads(path.read_text())


def test_every_case_is_measured_and_states_its_protocol(measured):
    one, four = measured["results"]
    assert (one["batch"], four["batch"]) == (1, 4)
    assert one["parameters"] == four["parameters"] == 503886
    assert one["flops"] == four["flops"] > 1e6
    assert len(one["step_seconds"]) == len(one["forward_seconds"]) == 2
    assert {"allocator", "threads", "machine", "versions", "epoch_pairs"} <= set(measured["protocol"])


def test_the_peak_of_a_step_holds_more_than_weights_gradients_and_moments(measured):
    one, four = measured["results"]
    assert one["peak_bytes"] > 4 * 4 * one["parameters"]
    assert four["peak_bytes"] > one["peak_bytes"]


def test_throughput_and_epoch_follow_from_the_median_step():
    found = [
        {"parameters": 1, "parameters_as_reals": 1, "flops": 1, "forward_seconds": [1.0], "peak_bytes": 1} for _ in range(3)
    ]
    for result, second in zip(found, (0.5, 9.0, 0.4), strict=True):
        result["step_seconds"] = [second]
    row = summarise(Case("m", "t", 32, 4, "cpu", 1), found, pairs=10)
    assert row["step_seconds_median"] == 0.5
    assert row["steps_per_second"] == 2
    assert row["epoch_seconds"] == pytest.approx(3 * 0.5)


def test_the_spread_is_half_the_range_of_the_middle_half():
    assert spread([1.0, 2.0, 3.0, 4.0, 100.0]) == 1.0
    assert spread([2.0]) == 0
    assert spread([1.0, 2.0]) == 0.5


def test_a_case_that_cannot_be_measured_is_named_in_one_line(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["bench", "models", "drift-net-tiny", "--resolutions", "[30]", "--batches", "[1]", "--repeats", "1"])
    said = capsys.readouterr().err
    assert stop.value.code == 1
    assert "drift-net-tiny on 30 points, batch 1: a field of 30 x 30 points does not fit this model" in said


def test_tasks_with_given_channels_are_measured_too():
    found = measure({"model": "conv-unet-tiny", "task": "FNS-KF", "resolution": 32, "batch": 1, "device": "cpu", "steps": 1})
    assert len(found["step_seconds"]) == 1
