import csv
import sys

import pytest

from driftnet.cli import main
from driftnet.errors import DriftnetError
from driftnet.train.logs import FIELDS, Log, Row, read_log
from tests.conftest import FAST_TRAINING
from tests.oracles import oracle


def row(step: int, validation: float | None = None) -> Row:
    return Row(step, 10, 0.5 / step, validation, 1e-3, 2.0, 0.1 * step)


def steps(folder) -> list[int]:
    return [int(each["step"]) for each in read_log(folder / "log.csv")]


def test_every_row_is_in_the_file_as_soon_as_it_is_written(tmp_path):
    with Log(tmp_path, 0) as log:
        log.write(row(1))
        log.write(row(2, 0.25))
        found = read_log(tmp_path / "log.csv")
    assert tuple(found[0]) == FIELDS
    assert [each["validation"] for each in found] == ["", "0.25"]
    assert [float(each["seconds"]) for each in found] == pytest.approx([0.1, 0.2])


def test_rows_past_the_step_that_training_resumes_from_are_dropped(tmp_path):
    with Log(tmp_path, 0) as log:
        for step in range(1, 6):
            log.write(row(step))
    with Log(tmp_path, 3) as log:
        log.write(row(4))
    assert steps(tmp_path) == [1, 2, 3, 4]


@pytest.mark.parametrize("torn", ["5", "5,10,0.1", "\n,,", "5,10,0.1,,0.001,2"])
def test_a_last_row_that_was_cut_short_is_left_out(torn, tmp_path):
    with Log(tmp_path, 0) as log:
        log.write(row(1))
    with (tmp_path / "log.csv").open("a") as stream:
        stream.write(torn)
    assert steps(tmp_path) == [1]
    with Log(tmp_path, 7) as log:
        log.write(row(8))
    assert steps(tmp_path) == [1, 8]


def test_a_log_that_is_none_is_named_in_one_line(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DriftnetError, match=r"could not read .*log\.csv"):
        read_log(tmp_path / "log.csv")


def train(data, runs, *more: str) -> None:
    main(["train", "NS-PwC", "conv-unet-tiny", "--data", str(data), "--runs", str(runs), *FAST_TRAINING, *more])


def logged(runs) -> dict[int, float]:
    with (runs / "NS-PwC" / "conv-unet-tiny" / "0" / "log.csv").open() as stream:
        return {int(each["step"]): float(each["loss"]) for each in csv.DictReader(stream)}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Of TensorBoard's own dependencies.
def test_tensorboard_shows_what_the_file_holds(small_data, tmp_path):
    oracle("tensorboard")
    train(small_data, tmp_path, "--log", "tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "NS-PwC" / "conv-unet-tiny" / "0" / "tensorboard"))
    events.Reload()
    shown = {event.step: event.value for event in events.Scalars("loss")}
    assert shown == pytest.approx(logged(tmp_path), rel=1e-5)
    assert {"validation", "rate", "gradient_norm", "seconds"} <= set(events.Tags()["scalars"])
    assert [event.step for event in events.Scalars("validation")] == [4, 8, 12]
    train(small_data, tmp_path, "--overwrite")
    assert not (tmp_path / "NS-PwC" / "conv-unet-tiny" / "0" / "tensorboard").exists()


def test_wandb_is_given_what_the_file_holds_under_one_identity(small_data, tmp_path, monkeypatch):
    """With a stand-in for the library: a real run would start a service."""
    begun, shown = [], {}

    class Run:
        def log(self, values, step):
            shown[step] = values

        def finish(self):
            begun[-1]["finished"] = True

    class Library:
        @staticmethod
        def init(**settings):
            begun.append(settings)
            return Run()

    monkeypatch.setitem(sys.modules, "wandb", Library)
    train(small_data, tmp_path, "--log", "wandb")
    assert {step: values["loss"] for step, values in shown.items()} == pytest.approx(logged(tmp_path), rel=1e-5)
    folder = tmp_path / "NS-PwC" / "conv-unet-tiny" / "0"
    (folder / "provenance.json").unlink()
    train(small_data, tmp_path, "--log", "wandb")
    assert begun[0]["id"] == begun[1]["id"] == (folder / "wandb.id").read_text().strip()
    assert begun[0]["config"]["training"]["steps"] == 12
    assert all(each["finished"] and each["resume"] == "allow" for each in begun)


@pytest.mark.parametrize(("name", "module"), [("wandb", "wandb"), ("tensorboard", "torch.utils.tensorboard")])
def test_a_missing_library_is_named_before_training_begins(name, module, small_data, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SystemExit) as stop:
        train(small_data, tmp_path, "--log", name)
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert f"pip install 'driftnet[{name}]'" in said
    assert said.count("\n") == 1
    assert not any(tmp_path.iterdir())
