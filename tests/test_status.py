import json
import shutil
import subprocess
import sys

import pytest

from driftnet.cli import main
from driftnet.errors import DriftnetError
from driftnet.files import locked
from driftnet.progress import duration
from driftnet.status import status
from driftnet.train.logs import Log, Row, failure_noted

CONFIG = "training:\n  steps: 40\n"


def begun(folder, rows: int = 3):
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(CONFIG)
    (folder / ".lock").touch()
    with Log(folder, 0) as log:
        for step in range(1, rows + 1):
            log.write(Row(10 * step, 40, 0.1, 0.5 / step, 1e-3, 1.0, 2.0 * step))
    return folder


def test_a_finished_run_says_its_steps_and_its_best(small_run):
    found = status(small_run)
    assert (found.state, found.step, found.total, found.seconds_left) == ("finished", 12, 12, 0.0)
    facts = json.loads((small_run / "provenance.json").read_text())
    assert found.best_validation == facts["best_validation"]


def test_a_run_whose_lock_is_held_is_running_and_says_how_long_still(tmp_path):
    folder = begun(tmp_path / "run")
    with locked(folder / ".lock", "it"):
        found = status(folder)
    assert (found.state, found.step, found.total) == ("running", 30, 40)
    assert found.best_validation == pytest.approx(0.5 / 3, rel=1e-5)
    assert found.seconds_left == pytest.approx(2.0)


def test_the_time_left_follows_the_speed_of_late(tmp_path):
    folder = begun(tmp_path / "run", rows=0)
    with Log(folder, 0) as log:
        for step in range(1, 51):
            log.write(Row(step, 100, 0.1, None, 1e-3, 1.0, 100.0 + step if step > 20 else 5.0 * step))
    assert status(folder).seconds_left == pytest.approx(50.0)


def test_a_run_without_a_process_is_stopped_until_it_is_known_why(tmp_path):
    folder = begun(tmp_path / "run")
    assert status(folder).state == "stopped"
    with pytest.raises(DriftnetError), failure_noted(folder):
        raise DriftnetError("the loss is nan")
    assert (status(folder).state, status(folder).note) == ("failed", "the loss is nan")
    with failure_noted(folder):
        pass
    assert status(folder).state == "stopped"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.yaml", b"training: ["),
        ("config.yaml", b"[]"),
        ("config.yaml", b"\x00"),
        ("log.csv", b"\xff\xfe"),
        ("log.csv", b"step,total,loss,validation,rate,gradient_norm,seconds\n3,x,1,1,1,1,1\n"),
        ("log.csv", b"step,seconds\n3,1\n"),
        ("provenance.json", b"{"),
        ("provenance.json", b"[]"),
        ("provenance.json", b"{}"),
        ("provenance.json", b'{"steps": 3, "best_validation": "x"}'),
    ],
)
def test_a_damaged_run_is_shown_as_such(name, content, tmp_path, capsys):
    folder = begun(tmp_path / "bad")
    begun(tmp_path / "good")
    (folder / name).write_bytes(content)
    main(["status", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert "damaged" in lines[1]
    assert "stopped" in lines[2]


def test_all_runs_below_the_folders_are_listed(small_run, tmp_path, capsys):
    shutil.copytree(small_run, tmp_path / "NS-PwC" / "model" / "1")
    begun(tmp_path / "NS-PwC" / "model" / "0")
    (tmp_path / "NS-PwC" / "persistence").mkdir()
    main(["status", str(tmp_path)])
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["run", "state", "step"]
    assert [line.split()[:5] for line in lines] == [
        [str(tmp_path / "NS-PwC" / "model" / "0"), "stopped", "30", "of", "40"],
        [str(tmp_path / "NS-PwC" / "model" / "1"), "finished", "12", "of", "12"],
    ]
    main(["status", str(tmp_path), "--json"])
    assert [each["state"] for each in json.loads(capsys.readouterr().out)] == ["stopped", "finished"]


def test_a_folder_without_runs_says_so_and_one_that_is_not_there_fails(tmp_path, capsys):
    main(["status", str(tmp_path)])
    assert "no run in" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["status", str(tmp_path / "nowhere")])
    assert stop.value.code == 1
    assert "there is no folder" in capsys.readouterr().err


def test_looking_takes_no_torch_and_leaves_nothing_behind(tmp_path):
    folder = begun(tmp_path / "run")
    (folder / ".lock").unlink()
    before = sorted(path.name for path in folder.iterdir())
    program = "import sys; from driftnet.cli import main; main(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program, "status", str(tmp_path)], check=True, capture_output=True)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_durations_are_said_in_two_units_at_most():
    said = [duration(seconds) for seconds in (0.4, 45.0, 60.0, 725.0, 3600.0, 11049.0, 190801.0)]
    assert said == ["0 s", "45 s", "1 min", "12 min 5 s", "1 h", "3 h 4 min", "2 d 5 h"]
