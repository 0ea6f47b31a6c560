import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from driftnet.cli import main
from driftnet.reproduce import work
from driftnet.reproduce.parts import expand
from driftnet.reproduce.provenance import commit
from driftnet.reproduce.recipes import read_cookbook
from driftnet.train.engine import NotFinite
from tests.reproduce.conftest import make_recipes

PARTS = 3 + 6  # DRIFT-Net, FNO, DRIFT-Net with half the data, and the baselines.


def command(recipes: Path, *more: str) -> list[str]:
    folder = recipes.parent
    places = [f"--{name}={folder / name}" for name in ("recipes", "results", "work")]
    return ["reproduce", "all", *places, "--workers=1", *more]


def lines(recipes: Path) -> list[dict]:
    path = recipes.parent / "results" / "laptop" / "NS-PwC.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def trainings(recipes: Path) -> dict[Path, int]:
    """When every finished training was finished."""
    return {path: path.stat().st_mtime_ns for path in (recipes.parent / "work").rglob("provenance.json")}


@pytest.fixture(scope="module")
def done(tmp_path_factory, request):
    """A finished suite, killed with SIGKILL on its way and started again; with what was there in between."""
    recipes = make_recipes(tmp_path_factory.mktemp("suite"))
    start = [sys.executable, "-m", "driftnet", *command(recipes)]
    victim = subprocess.Popen(start, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(lines(recipes)) < 4 and time.monotonic() < deadline and victim.poll() is None:
        time.sleep(0.05)
    victim.send_signal(signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    time.sleep(1.0)  # Its worker ends with it.
    killed = lines(recipes), trainings(recipes)
    said = subprocess.run(start, capture_output=True, text=True, check=True).stdout
    return recipes, killed, said


def test_a_suite_killed_with_sigkill_goes_on_and_runs_no_part_twice(done):
    recipes, (before, fitted), said = done
    after = lines(recipes)
    assert 4 <= len(before) < PARTS
    assert len({line["part"] for line in after}) == len(after) == PARTS
    assert f"{PARTS} of {PARTS} parts are there" in said
    kept = {line["part"]: line["provenance"] for line in after}
    assert all(kept[line["part"]] == line["provenance"] for line in before)
    assert all(trainings(recipes)[path] == finished for path, finished in fitted.items())


def test_in_another_checkout_the_results_alone_are_enough(done, tmp_path, capsys):
    shutil.copytree(done[0], tmp_path / "recipes")
    shutil.copytree(done[0].parent / "results", tmp_path / "results")
    main(command(tmp_path / "recipes"))
    assert f"{PARTS} of {PARTS} parts are there" in capsys.readouterr().out
    assert not (tmp_path / "work").exists()


def test_the_plan_counts_what_is_done_and_what_other_code_made(done, tmp_path, capsys):
    shutil.copytree(done[0], tmp_path / "recipes")
    results = tmp_path / "results" / "laptop" / "NS-PwC.jsonl"
    shutil.copytree(done[0].parent / "results", tmp_path / "results")
    kept = lines(done[0])
    older = [{**line, "code": "other"} if line["kind"] == "errors" else line for line in kept]
    results.write_text("".join(json.dumps(line) + "\n" for line in older))
    main(command(tmp_path / "recipes", "--dry-run"))
    assert "to run: 3 trainings" in capsys.readouterr().out
    main(command(tmp_path / "recipes", "--dry-run", "--code=any"))
    assert "to run: 0 trainings" in capsys.readouterr().out


def test_another_rate_is_another_part_and_another_test_split_too(done, tmp_path, capsys):
    shutil.copytree(done[0], tmp_path / "recipes")
    shutil.copytree(done[0].parent / "results", tmp_path / "results")
    path = tmp_path / "recipes" / "scales" / "laptop.yaml"
    scale = yaml.safe_load(path.read_text())
    for change, missing in (({"training": {**scale["training"], "rate": 1e-3}}, 3), ({"data": _more_tests(scale)}, 3)):
        path.write_text(yaml.safe_dump({**scale, **change}))
        main(command(tmp_path / "recipes", "--dry-run"))
        assert f"to run: {missing} trainings" in capsys.readouterr().out


def _more_tests(scale: dict) -> dict:
    return {"NS-PwC": {**scale["data"]["NS-PwC"], "test": 3}}


def test_torn_lines_do_not_count_and_do_no_harm(done, tmp_path, capsys):
    shutil.copytree(done[0], tmp_path / "recipes")
    shutil.copytree(done[0].parent / "results", tmp_path / "results")
    shutil.copytree(done[0].parent / "work", tmp_path / "work")
    results = tmp_path / "results" / "laptop" / "NS-PwC.jsonl"
    text = results.read_text()
    results.write_text(text[: len(text) - 100])
    lost = json.loads(text.splitlines()[-1])["part"]
    main(command(tmp_path / "recipes"))
    assert f"{PARTS} of {PARTS} parts are there" in capsys.readouterr().out
    assert lost in {json.loads(line)["part"] for line in results.read_text().splitlines()}


def test_two_processes_do_not_share_a_folder_of_results(done, capsys):
    from driftnet.files import locked

    folder = done[0].parent / "results" / "laptop"
    with locked(folder / ".lock", "it"), pytest.raises(SystemExit) as stop:
        main(command(done[0]))
    assert stop.value.code == 75
    assert capsys.readouterr().err == f"driftnet: another process is working on {folder}\n"


def test_time_that_is_up_begins_nothing(tmp_path, capsys):
    recipes = make_recipes(tmp_path)
    main(command(recipes, "--until=1e-9"))
    assert f"0 of {PARTS} parts are there; {PARTS} are missing, the same command goes on" in capsys.readouterr().out


def test_a_training_that_diverges_is_a_result(tmp_path, monkeypatch):
    def diverge(*_, **__):
        raise NotFinite("the loss is nan at batch 3; the state before it is in some/folder")

    monkeypatch.setattr(work, "train", diverge)
    book = read_cookbook(make_recipes(tmp_path), "laptop")
    need = next(entry.need for entry in expand(book.experiments["first"], book) if entry.need.fit)
    (found,) = work.make_parts((need,), work.Workshop(tmp_path, "cpu"))
    assert found["diverged"] == "the loss is nan at batch 3"
    assert found["provenance"]["workers"] == 1


def test_kinds_of_parts_can_be_run_alone(tmp_path, capsys):
    recipes = make_recipes(tmp_path)
    main(command(recipes, "--kinds=[baseline]"))
    assert "6 of 6 parts are there" in capsys.readouterr().out
    assert {line["kind"] for line in lines(recipes)} == {"baseline"}
    with pytest.raises(SystemExit):
        main(command(recipes, "--kinds=[costs]"))
    assert capsys.readouterr().err == "driftnet: all: nothing of costs in it\n"


def test_a_copy_without_history_is_told_its_commit(monkeypatch, tmp_path):
    monkeypatch.setenv("DRIFTNET_COMMIT", "0123456789ab")
    package = tmp_path / "package"
    package.mkdir()
    assert commit(package) == "0123456789ab"


def test_the_commit_is_that_of_the_code_and_says_where_the_code_was_changed(tmp_path):
    outer, package = tmp_path / "outer", tmp_path / "package"
    for folder in (outer, package):
        (folder / "code").mkdir(parents=True)
        git(folder, "init", "-q")
        git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    (package / "code" / "a.py").write_text("1\n")
    (package / "result").write_text("1\n")
    git(package, "add", ".")
    git(package, "commit", "-q", "-m", "second")
    (package / "result").write_text("2\n")
    head = git(package, "rev-parse", "--short=12", "HEAD")
    assert commit(package / "code") == head
    (package / "code" / "a.py").write_text("2\n")
    commit.cache_clear()
    assert commit(package / "code") == f"{head}-dirty"
    (outer / "code" / "a.py").write_text("not tracked there\n")
    assert commit(outer / "code") == "not known"


def git(folder, *command):
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run(("git", *who, *command), cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def test_results_say_where_they_come_from(done):
    for line in lines(done[0]):
        assert {"commit", "device", "workers", "when", "wall_seconds"} <= set(line["provenance"])
        assert line["provenance"]["device"].endswith(f", {os.cpu_count()} cores")
        assert line["versions"]["torch"]
        assert line["settings"]["data"]["seed"] == 0
        assert os.cpu_count() == line["machine"]["cores"]


def test_the_page_shows_what_is_missing_and_links_every_result(done, tmp_path, capsys):
    shutil.copytree(done[0], tmp_path / "recipes")
    shutil.copytree(done[0].parent / "results", tmp_path / "results")
    results = tmp_path / "results" / "laptop" / "NS-PwC.jsonl"
    kept = [line for line in lines(done[0]) if line.get("settings", {}).get("recipe", {}).get("preset") != "fno-tiny"]
    assert len(kept) == PARTS - 1
    results.write_text("".join(json.dumps(line) + "\n" for line in kept))
    page = tmp_path / "docs" / "results.md"
    main(command(tmp_path / "recipes", "--render", f"--page={page}"))
    text = page.read_text()
    assert "| FNO | missing | 4.57 |" in text
    assert "| [Small](#small) | 7 | 8 | [NS-PwC](../results/laptop/NS-PwC.jsonl) |" in text
    assert "| solver-half |" in text
    assert "### Small, paper frame" in text
    assert "![Small: error-paper](../results/laptop/figures/first-error-paper.svg)" in text
    assert "DRIFT-Net" in (results.parent / "figures" / "first-error-paper.svg").read_text()


def test_a_result_of_another_task_or_protocol_is_in_no_table(done, tmp_path):
    from driftnet.reproduce.parts import expand
    from driftnet.reproduce.recipes import read_cookbook
    from driftnet.reproduce.store import Store
    from driftnet.reproduce.tables import Results, ours

    experiment = (book := read_cookbook(done[0], "laptop")).experiments["first"]
    store = Store.open(done[0].parent / "results" / "laptop")
    entries = list(expand(experiment, book))
    assert ours(Results(experiment, entries, store).cell("NS-PwC", "paper", "FNO"), "final") != "missing"
    for result in store.results.values():
        result["settings"]["evaluation"]["protocol"] = "interpolated"
    assert ours(Results(experiment, entries, store).cell("NS-PwC", "paper", "FNO"), "final") == "missing"
