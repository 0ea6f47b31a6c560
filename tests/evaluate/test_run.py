import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

import driftnet
from driftnet import registry
from driftnet.cli import main
from driftnet.configs import Evaluation
from driftnet.data.trajectories import Trajectories
from driftnet.evaluate.baselines import NotMade
from driftnet.evaluate.measure import Subject, measure
from driftnet.evaluate.results import final_errors, summary_of_runs
from driftnet.evaluate.run import baseline
from driftnet.metrics.errors import relative_l1
from driftnet.metrics.summary import bootstrap

TASK = registry.task("NS-PwC")


@pytest.fixture(scope="module")
def test_split(small_data) -> Trajectories:
    return Trajectories(small_data, TASK, "test")


def measured(name: str, test_split, tmp_path, **settings) -> xr.Dataset:
    config = Evaluation(**settings)
    return measure(baseline(name, tmp_path, test_split, config), test_split, config, "cpu")


@pytest.fixture(scope="module")
def evaluated(small_run):
    main(["evaluate", str(small_run)])
    return small_run


def results(run) -> xr.Dataset:
    return xr.load_dataset(run / "metrics.nc", engine="h5netcdf")


def test_the_zero_row_scores_one_at_every_step(test_split, tmp_path):
    assert np.allclose(measured("zero", test_split, tmp_path).relative_l1, 1)


def test_the_persistence_row_is_the_distance_from_the_first_snapshot(test_split, tmp_path):
    errors = measured("persistence", test_split, tmp_path).relative_l1
    for index in range(2):
        truth = test_split[index]
        for step in (1, 3):
            assert float(errors[index, step - 1, 0]) == pytest.approx(relative_l1(truth[0], truth[step]).item(), rel=1e-6)


def test_the_coarse_solver_beats_doing_nothing_and_is_not_exact(test_split, tmp_path):
    solver, nothing = (measured(name, test_split, tmp_path).relative_l1 for name in ("solver-half", "persistence"))
    assert 0 < float(solver[:, -1].mean()) < 0.8 * float(nothing[:, -1].mean())


def test_the_metrics_of_a_run_are_those_of_its_rollout(evaluated, test_split):
    operator = driftnet.load(evaluated)
    truth = torch.stack([test_split[index] for index in range(2)])
    with torch.no_grad():
        states = driftnet.rollout(operator, truth[:, 0], test_split.static(range(2)), 3)
    assert np.allclose(results(evaluated).relative_l1[..., 0], relative_l1(states, truth[:, 1:]), rtol=1e-5)


def test_the_file_names_its_dimensions_and_states_its_protocol(evaluated):
    dataset = results(evaluated)
    assert dataset.relative_l1.dims == ("sample", "snapshot", "quantity")
    assert list(dataset.snapshot.values) == [1, 2, 3]
    assert dataset.time.values == pytest.approx([0.05, 0.1, 0.15])
    assert dataset.attrs["final_snapshot"] == 3
    assert json.loads(dataset.attrs["settings"])["test"] == [5, 7]


def test_batching_does_not_change_the_metrics(test_split, tmp_path):
    one, two = (measured("solver-half", test_split, tmp_path, batch=batch) for batch in (1, 2))
    assert np.allclose(one.relative_l1, two.relative_l1, rtol=1e-5)


def test_what_is_not_a_number_counts_as_an_infinite_error(test_split, tmp_path):
    broken = Subject("broken", tmp_path, lambda: lambda state, static: state * float("nan"), {"parameters": 0, "seconds": 0.0})
    assert np.isposinf(measure(broken, test_split, Evaluation(), "cpu").relative_l1).all()


def test_measuring_twice_says_so_and_other_settings_are_refused(evaluated, capsys):
    main(["evaluate", str(evaluated)])
    assert capsys.readouterr().out.count("is already measured") == 1 + len(registry.BASELINES)
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", str(evaluated), "--evaluation.steps", "2"])
    assert stop.value.code == 2
    assert "measured under other settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--evaluation.steps", "9"], "evaluation.steps: 9 is more than the 3 steps"),
        (["--baselines", "[persistance]"], "no baseline is called 'persistance'. Did you mean 'persistence'?"),
    ],
)
def test_evaluations_that_cannot_be_are_refused(flags, message, evaluated, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", str(evaluated), "--overwrite", *flags])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_damaged_weights_are_named_in_one_line(small_run, tmp_path, capsys):
    run = tmp_path / "task" / "model" / "0"
    shutil.copytree(small_run, run)
    (run / "metrics.nc").unlink(missing_ok=True)
    weights = run / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", str(run), "--baselines", "[]"])
    assert stop.value.code == 1
    assert "could not read" in capsys.readouterr().err


def test_a_folder_without_a_finished_run_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", str(tmp_path)])
    assert stop.value.code == 1
    assert "is not a finished run" in capsys.readouterr().err


def test_a_damaged_recipe_is_named_in_one_line(small_run, tmp_path, capsys):
    run = tmp_path / "task" / "model" / "0"
    shutil.copytree(small_run, run)
    (run / "config.yaml").write_text("data: [")
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", str(run), "--baselines", "[]"])
    assert stop.value.code == 1
    assert "config.yaml" in capsys.readouterr().err


def test_results_on_another_grid_stand_in_a_file_of_their_own(small_run, tmp_path, capsys):
    run = tmp_path / "NS-PwC" / "model" / "0"
    shutil.copytree(small_run, run)
    for protocol in ("native", "interpolated"):
        flags = ["--evaluation.resolution", "32", "--evaluation.protocol", protocol]
        main(["evaluate", str(run), "--baselines", "[persistence]", *flags])
    main(["evaluate", str(run), "--baselines", "[]", "--overwrite"])
    assert {"metrics.nc", "metrics-32-native.nc", "metrics-32-interpolated.nc"} <= {path.name for path in run.iterdir()}
    for name, stated in (("metrics-32-native.nc", "native: measured 32 x 32"), ("metrics.nc", "native: measured 16 x 16")):
        main(["report", str(run), "--results", name, "--output", str(tmp_path / f"{name}.html")])
        page = (tmp_path / f"{name}.html").read_text()
        assert stated in page
        assert "interpolated" not in page


def test_the_convention_decides_what_is_said_and_not_what_is_measured(evaluated, capsys):
    main(["evaluate", str(evaluated), "--baselines", "[]"])
    physical = capsys.readouterr().out
    main(["evaluate", str(evaluated), "--baselines", "[]", "--convention", "published"])
    published = capsys.readouterr().out
    figure = float(results(evaluated).mean_relative_l1_error.sel(snapshot=3))
    assert "physical units: mean" in physical
    assert "median" in physical
    assert f"mean_relative_l1_error {figure:.2f} %, median" in published


def test_a_solver_that_the_grid_has_no_room_for_is_left_out_by_name(test_split, tmp_path):
    with pytest.raises(NotMade, match="no solver on a grid of 1/4 of 8 x 8 points"):
        measured("solver-quarter", test_split, tmp_path, resolution=8)


def test_the_published_convention_is_refused_before_anything_is_measured_where_no_constants_are_published(
    small_run, monkeypatch, capsys
):
    own = replace(TASK, name="mine", normalization=None)
    monkeypatch.setattr("driftnet.evaluate.suite.describe", lambda run: (own, None))
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", str(small_run), "--convention", "published", "--overwrite"])
    said = capsys.readouterr().err
    assert stop.value.code == 2
    assert "--convention published: no constants are published for mine; they are for NS-SL, NS-PwC" in said
    assert "KF-Long" not in said


def test_results_say_what_runs_of_one_model_share(evaluated):
    recipe = json.loads(results(evaluated).attrs["recipe"])
    assert set(recipe) == {"model", "training", "trajectories"}
    assert recipe["training"]["steps"] == 12
    assert results(evaluated).attrs["device"] == "cpu"
    assert results(evaluated).attrs["equation"] == TASK.equation


def test_fields_of_every_step_of_a_short_rollout_are_kept_of_two_trajectories(evaluated):
    kept = results(evaluated).example_prediction
    assert list(kept.shown.values) == [1, 2, 3]
    assert kept.sizes["example"] == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [("gpu", "device: 'gpu' is none of cpu, cuda"), ("cuda:99", "device: 'cuda:99' cannot be used on this machine")],
)
@pytest.mark.parametrize("verb", ["evaluate", "predict"])
def test_a_device_that_is_not_there_is_refused_in_one_line(verb, name, message, small_run, tmp_path, capsys):
    np.save(tmp_path / "state.npy", np.zeros((2, 16, 16), np.float32))
    more = [str(tmp_path / "state.npy"), "--output", str(tmp_path / "out.nc")] if verb == "predict" else ["--overwrite"]
    with pytest.raises(SystemExit) as stop:
        main([verb, str(small_run), *more, "--device", name])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_several_runs_of_a_model_are_summed_up_unless_they_are_different_things(evaluated):
    first = results(evaluated)
    second = first.copy(deep=True).assign_attrs(seed=1)
    second.relative_l1[:] *= 3
    low, high = (float(end) for end in bootstrap(np.stack([final_errors(first), final_errors(second)])))
    said = summary_of_runs([first, second])
    assert f"2 runs, mean {2 * float(first.relative_l1[:, -1].mean()):.4g}" in said
    assert said.endswith(f"interval over runs and trajectories {low:.4g} to {high:.4g}")
    other = first.attrs["recipe"].replace('"batch": 2', '"batch": 4')
    assert "no common mean" in summary_of_runs([first, second.assign_attrs(recipe=other)])
