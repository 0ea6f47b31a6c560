import json
import shutil

import numpy as np
import pytest

from driftnet.cli import main
from driftnet.evaluate.results import open_metrics
from driftnet.metrics.summary import bootstrap
from driftnet.report.collect import collect, groups, sections
from driftnet.report.columns import headline, runs, tables_of

from .conftest import as_another_run


@pytest.fixture(scope="module")
def run(results_folder):
    return open_metrics(results_folder / "NS-PwC" / "drift-net-tiny" / "0" / "metrics.nc")


def test_runs_of_one_recipe_are_one_row_with_an_interval_over_runs_and_trajectories(several_runs):
    (section,) = collect([several_runs], "metrics.nc")
    (model,) = section.trained
    assert model.seeds == [0, 1, 2]
    table = headline(section)
    (row,) = (dict(zip(table.headings(), row, strict=True)) for row in table.rows if row[0] == "drift-net-tiny")
    assert row["runs"] == "3"
    assert row["mean at T* = 3"] == pytest.approx(np.stack([each.relative_l1[:, -1, 0] for each in model.runs]).mean())
    assert row["95 % interval"] == pytest.approx(tuple(map(float, bootstrap(model.final))))
    low, high = row["95 % interval"]
    alone = bootstrap(model.final[:1])
    assert high - low > alone[1] - alone[0]
    assert low < row["mean at T* = 3"] < high


def test_the_same_weights_count_once_wherever_they_lie(results_folder, tmp_path):
    shutil.copytree(results_folder, tmp_path / "copy")
    (section,) = collect([results_folder, tmp_path / "copy"], "metrics.nc")
    assert all(len(group.runs) == 1 for group in section.groups)


def test_models_of_one_name_and_different_recipes_stand_apart_and_say_what_differs(run):
    recipe = json.loads(run.attrs["recipe"])
    recipe["training"]["rate"] = 0.5
    other = as_another_run(run, 1, 2.0).assign_attrs(recipe=json.dumps(recipe))
    assert [group.label for group in groups([run, other])] == ["drift-net-tiny (rate 0.001)", "drift-net-tiny (rate 0.5)"]


def test_tasks_and_protocols_stand_in_sections_of_their_own(run):
    settings = json.loads(run.attrs["settings"])
    settings["evaluation"]["steps"] = 2
    shorter = run.isel(snapshot=[0, 1]).assign_attrs(settings=json.dumps(settings), final_snapshot=2)
    elsewhere = run.copy().assign_attrs(task="ACE")
    made = sections([[run], [shorter], [elsewhere]])
    assert [section.name for section in made] == ["NS-PwC-1", "NS-PwC-2", "ACE"]
    assert [len(section.groups) for section in made] == [1, 1, 1]
    assert "steps 1 to 2" in made[1].title


def test_results_of_other_settings_are_put_in_another_section_of_the_page(results_folder, tmp_path):
    root = tmp_path / "runs"
    shutil.copytree(results_folder, root)
    main(["evaluate", str(root / "NS-PwC/drift-net-tiny/0"), "--evaluation.steps", "2", "--baselines", "[]", "--overwrite"])
    short, long = sorted(collect([root], "metrics.nc"), key=lambda section: len(section.groups))
    assert (len(short.groups), len(long.groups)) == (1, 6)
    assert not long.trained


def test_baselines_beside_a_run_come_with_it(results_folder):
    (section,) = collect([results_folder / "NS-PwC" / "drift-net-tiny" / "0"], "metrics.nc")
    assert {"zero", "persistence", "climatology", "solver", "drift-net-tiny"} <= {group.label for group in section.groups}


def test_a_run_without_results_shows_as_missing_with_the_reason(results_folder, small_run, tmp_path):
    root = tmp_path / "runs"
    shutil.copytree(results_folder, root)
    model = root / "NS-PwC" / "drift-net-tiny"
    shutil.copytree(model / "0", model / "1")
    (model / "1" / "metrics.nc").unlink()
    (model / "2").mkdir()
    shutil.copy(model / "0" / "config.yaml", model / "2")
    (section,) = collect([root, model / "7"], "metrics.nc")
    table = runs(section)
    shown = {row[0]: row[2] for row in table.rows if str(row[2]).startswith("missing")}
    assert shown == {
        "drift-net-tiny, seed 1": "missing: trained, but it has no metrics.nc",
        "drift-net-tiny, seed 2": "missing: its training is not finished",
        "drift-net-tiny, seed 7": "missing: there is no such folder",
    }
    for table in tables_of(section):
        assert {row[0] for row in table.rows} >= set(shown), table.name


@pytest.mark.parametrize("also", [False, True])
def test_a_folder_without_any_run_is_refused_also_beside_others(also, results_folder, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit) as stop:
        main(["report", str(tmp_path / "empty"), *[str(results_folder)] * also, "--output", str(tmp_path / "page.html")])
    assert stop.value.code == 1
    assert "holds no run" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_nothing_but_missing_runs_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["report", str(tmp_path / "nowhere")])
    assert stop.value.code == 1
    assert "there is no metrics.nc under" in capsys.readouterr().err
