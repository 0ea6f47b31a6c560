from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import yaml

from driftnet.cli import main
from driftnet.reproduce.parts import expand, short
from driftnet.reproduce.plan import steps_of
from driftnet.reproduce.recipes import Grid, chosen, read_cookbook

BOOK = read_cookbook(Path("recipes"), "laptop")
PAPER = read_cookbook(Path("recipes"), "paper")
EXPERIMENTS = {
    "main",
    "long-horizon",
    "efficiency",
    "ablations",
    "width-scaling",
    "learning-rate",
    "sample-efficiency",
    "cross-resolution",
    "resolution-scaling",
    "kolmogorov-visualisation",
    "bounds",
}


@cache
def expanded(name: str, scale: str):
    book = {"laptop": BOOK, "paper": PAPER}[scale]
    return list(expand(book.experiments[name], book))


def entries(name: str, book=BOOK):
    return expanded(name, book.scale.name)


def trained(name: str, book=BOOK):
    return [entry for entry in entries(name, book) if entry.need.fit is not None]


def test_every_experiment_of_the_paper_has_a_recipe_and_the_order_is_the_papers():
    assert set(BOOK.experiments) == EXPERIMENTS
    assert [each.name for each in chosen(BOOK, ["all"])][:4] == ["main", "long-horizon", "efficiency", "ablations"]


def test_main_results_are_seven_tasks_by_six_models_in_both_frames_with_three_seeds():
    assert len(trained("main")) == 7 * 6 * 2 * 3
    assert len(trained("ablations")) == 6 * 2 * 2 * 3
    assert len(trained("long-horizon")) == 3 * 2 * 2 * 3
    assert len(trained("learning-rate")) == 12 * 2 * 3


def test_baselines_stand_beside_every_experiment_of_errors():
    for name, experiment in BOOK.experiments.items():
        if experiment.kind == "errors":
            rows = {(entry.task, entry.row) for entry in entries(name)}
            assert all((task, "solver-half") in rows and (task, "zero") in rows for task in experiment.tasks)


def test_parts_that_experiments_share_are_one_part():
    full = {entry.need.part.name for entry in trained("main") if entry.row == "DRIFT-Net" and entry.task == "NS-PwC"}
    assert full == {
        entry.need.part.name for entry in trained("ablations") if entry.row == "DRIFT-Net" and entry.task == "NS-PwC"
    }
    swept = {entry.need.part.name for entry in trained("learning-rate") if entry.row == "DRIFT-Net, rate, cosine"}
    assert swept == {entry.need.part.name for entry in trained("sample-efficiency") if entry.row == "all data"}
    assert swept == {entry.need.part.name for entry in trained("cross-resolution") if entry.grid == Grid()}


def test_frames_differ_in_prediction_padding_reading_and_loss():
    models = {entry.frame: entry.need.fit.recipe for entry in trained("ablations") if entry.row == "DRIFT-Net"}
    paper, ours = models["paper"], models["ours"]
    assert (paper.model.frame.predicts, ours.model.frame.predicts) == ("state", "increment")
    assert (paper.model.frame.padding, ours.model.frame.padding) == ("zeros", "boundary")
    assert (paper.model.mixer.mask, ours.model.mixer.mask) == ("published", "symmetric")
    assert (paper.training.loss.scaling, ours.training.loss.scaling) == ("published", "parseval")


def test_every_ablation_lacks_one_thing():
    switches = {entry.row: entry.need.fit.recipe for entry in trained("ablations")}
    assert not switches["without radial gating"].model.mixer.gating
    assert not switches["without 3x3 convolution"].model.mixer.depthwise
    assert switches["without frequency loss"].training.loss.frequency == 0
    assert len({short(recipe.model.mixer.__dict__) for recipe in switches.values()}) == 5


def test_the_paper_scale_has_the_papers_counts_epochs_rates_and_steps():
    steps = {entry.task: steps_of(entry.need.fit) for entry in trained("main", PAPER)}
    assert steps["FNS-KF"] == 19640 * 20 * 40 / 40
    assert steps["NS-SL"] == 39640 * 20 * 20 / 40
    assert steps["Poisson-Gauss"] == 19640 * 100 / 40
    fits = {entry.row: entry.need.fit for entry in trained("learning-rate", PAPER)}
    rates = ("1/3 rate", "rate", "10/3 rate")
    assert [fits[f"scOT, {rate}, step"].recipe.training.rate for rate in rates] == [1e-4, 3e-4, 1e-3]
    assert fits["scOT, rate, step"].recipe.training.schedule == "step"
    assert {entry.need.fit.job.resolution for entry in trained("main", PAPER)} == {128}


def test_cross_resolution_is_measured_natively_and_through_interpolation():
    measured = {(entry.grid.share, entry.grid.protocol): entry.need.evaluation for entry in trained("cross-resolution", PAPER)}
    assert measured[0.5, "interpolated"].resolution == 64
    assert measured[0.75, "native"].resolution == 96
    assert measured[1, "native"].resolution is None


@pytest.mark.parametrize("scale", ["workstation", "h200"])
def test_every_scale_expands(scale):
    book = read_cookbook(Path("recipes"), scale)
    assert all(next(expand(each, book)) for each in book.experiments.values())


def test_a_scale_can_hold_some_experiments_with_some_of_their_rows():
    book = read_cookbook(Path("recipes"), "h200")
    assert list(book.experiments) == ["main", "efficiency", "resolution-scaling"]
    assert list(book.experiments["main"].rows) == ["DRIFT-Net", "scOT", "FNO"]
    assert [claim.than for claim in book.experiments["main"].claims] == [("scOT",), ("FNO",)]
    assert len(book.experiments["efficiency"].rows) == 4


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        ({"frist": []}, "no experiment is called 'frist'. Did you mean 'first'?"),
        ({"first": ["FNOO"]}, "no row of first is called 'FNOO'. Did you mean 'FNO'?"),
    ],
)
def test_a_scale_of_what_does_not_exist_is_answered_in_one_line(kept, message, recipes, capsys):
    path = recipes / "scales" / "laptop.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "experiments": kept}))
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "all", "--recipes", str(recipes), "--dry-run"])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": {"FNO": {"model": "fn"}}}, "no model of this scale is called 'fn'. Did you mean 'fno'?"),
        ({"tasks": ["NS-PwK"]}, "no task is called 'NS-PwK'. Did you mean 'NS-PwC'?"),
        ({"tabels": []}, "there is no setting 'tabels'. Did you mean 'tasks'?"),
        ({"layout": "measure"}, "no value of"),
        ({"claims": [{"says": "x", "kind": "lower", "row": "FNOO"}]}, "no row of small is called 'FNOO'. Did you mean 'FNO'?"),
        ({"rows": {"FNO": {"model": "fno", "set": {"widht": 3}}}}, "there is no setting 'widht'. Did you mean 'width'?"),
        ({"rows": {"FNO": {"model": "fno", "set": {"width": "x"}}}}, "width: 'x' is not of type int"),
        ({"rows": {"FNO": {"model": "fno", "share": 2}}}, "share: 2.0 is not in (0, 1]"),
    ],
)
def test_a_wrong_recipe_is_answered_in_one_line(change, message, recipes, capsys):
    path = recipes / "small.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load((recipes / "first.yaml").read_text()), **change}))
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "all", "--recipes", str(recipes), "--dry-run"])
    said = capsys.readouterr().err
    assert stop.value.code == 2
    assert said.count("\n") == 1
    assert message in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("ablation", "no experiment is called 'ablation'. Did you mean 'ablations'?"),
        ("main --scale laptp", "no scale is called 'laptp'. Did you mean 'laptop'?"),
        ("main --tasks [NS-PwK]", "no task is called 'NS-PwK'. Did you mean 'NS-PwC'?"),
        ("long-horizon --tasks [NS-PwC]", "long-horizon: nothing of NS-PwC in it"),
        ("main --recipes nowhere", "nowhere: there are no recipes"),
        ("main --workers 0", "workers: 0 is not positive"),
    ],
)
def test_a_wrong_command_is_answered_in_one_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", *arguments.split(), *([] if "--dry" in arguments else ["--dry-run"])])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_a_new_setting_with_a_default_changes_no_part_and_a_changed_default_makes_it_outdated():
    from driftnet.reproduce.settings import agrees, explicit

    training = trained("main")[0].need.fit.recipe.training
    assert explicit(training)["steps"] == 600
    assert "ema" not in explicit(training)
    assert "clip" not in explicit(training)
    assert explicit(replace(training, clip=1.0))["clip"] == 1.0
    assert agrees({"clip": 5.0}, {"clip": 5.0, "new": 0})
    assert not agrees({"clip": 5.0}, {"clip": 1.0})
    assert not agrees({"clip": 5.0}, {})
