import pytest

from driftnet.bench import rollout
from driftnet.bench.rollout import measured, ratio
from driftnet.cli import main
from driftnet.options.bench import BenchRolloutOptions


@pytest.fixture(scope="module")
def found():
    return measured("conv-unet-tiny", BenchRolloutOptions(resolution=32, batch=16, steps=240))


def test_a_step_of_a_rollout_costs_a_forward_pass(found):
    assert ratio(found) < 1.3  # 1.05 is meant to hold.


def test_memory_does_not_grow_with_the_length_of_a_rollout_or_of_a_prediction(found):
    # Half of the states were added meanwhile.
    assert found["grew"] < found["states"] / 4
    assert found["predict_grew"] < found["states"] / 4


def test_the_table_names_the_model_and_its_ratio(found, capsys, monkeypatch):
    monkeypatch.setattr(rollout, "measured", lambda name, options: found)
    main(["bench", "rollout", "conv-unet-tiny"])
    assert f"{ratio(found):.3f}" in capsys.readouterr().out
