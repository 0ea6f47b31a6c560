from pathlib import Path

import numpy as np
import pytest

from driftnet.report.paper import PUBLISHED, published
from driftnet.reproduce.claims import comparisons, judge, sentence
from driftnet.reproduce.measures import Cell, ratio, text
from driftnet.reproduce.recipes import Claim, Experiment, Grid, Row
from driftnet.reproduce.store import Store
from driftnet.reproduce.tables import Place, Results, by_measure, by_task, figure, markdown, ours

ROWS = {name: Row("drift-net") for name in ("DRIFT-Net", "scOT", "FNO")}
GRIDS = (Grid(0.5, "interpolated"), Grid())


SLOWER = Claim("faster", "lower", "DRIFT-Net", ("scOT",), "rollout_seconds")


def timed(*devices: str) -> Results:
    """A second and two of DRIFT-Net and scOT, each measured on a device."""
    made = results({})
    for row, seconds, device in zip(("DRIFT-Net", "scOT"), (1.0, 2.0), devices, strict=True):
        found = {"rollout_seconds": seconds, "provenance": {"device": device, "workers": 2}}
        made.cells[Place("NS-PwC", "ours", row, Grid())] = Cell((found,), 1)
    return made


def test_a_line_counts_what_it_cannot_spell_out_and_a_table_spells_it_out():
    claim = Claim("lower", "lower", "DRIFT-Net", ("scOT", "FNO", "scOT"))
    found = results({"DRIFT-Net": [0.2], "scOT": [0.1], "FNO": [0.4]})
    assert sentence(claim, found) == "Lower. Ours frame: of 3 comparisons **seen** 1, **not seen** 2; in 2 the reverse holds."
    assert [row[3] for row in comparisons(claim, found)] == ["not seen", "seen", "not seen"]
    assert "the reverse holds" in comparisons(claim, found)[0][4]
    few = Claim("lower", "lower", "DRIFT-Net", ("scOT", "FNO"))
    assert "**seen** NS-PwC, DRIFT-Net against FNO" in sentence(few, found)
    assert comparisons(few, found) == []


def test_seconds_of_two_machines_are_not_compared():
    assert outcomes(SLOWER, timed("a card", "a card")) == ["seen"]
    assert outcomes(SLOWER, timed("a card", "a processor")) == ["not testable here"]
    assert "measured on different machines" in sentence(SLOWER, timed("a card", "a processor"))


def test_a_table_of_seconds_says_on_what_each_row_was_measured():
    head, first, second, third = by_task(timed("a card", "a processor"), "rollout_seconds", "ours")
    assert (head[-1], first[-1], second[-1], third[-1]) == (
        "measured on",
        "a card, 2 at once",
        "a processor, 2 at once",
        "missing",
    )


def results(
    errors: dict[str, list[float]], seeds: int = 3, spread: float = 0.02, grids: tuple[Grid, ...] = (Grid(),)
) -> Results:
    """Rows with mean errors as given, one a grid, seeds and trajectories that scatter."""
    experiment = Experiment("T", "", 1, "tab:main-results", ("NS-PwC",), ROWS, frames=("ours",), grids=grids)
    made = Results(experiment, [], Store(Path()))
    rng = np.random.default_rng(0)
    for row, means in errors.items():
        for grid, mean in zip(grids, means, strict=True):
            runs = [mean * (1 + spread * rng.standard_normal(8)) for _ in range(seeds)]
            found = tuple({"trajectories": {"final": [float(value) for value in run]}} for run in runs)
            made.cells[Place("NS-PwC", "ours", row, grid)] = Cell(found, 3)
    return made


def outcomes(claim: Claim, found: Results) -> list[str]:
    ((_, verdicts),) = judge(claim, found)
    return [verdict.outcome for verdict in verdicts]


LOWER = Claim("lower", "lower", "DRIFT-Net", ("scOT",))


@pytest.mark.parametrize(("ours_", "theirs_", "outcome"), [(0.1, 0.2, "seen"), (0.2, 0.1, "not seen"), (0.1, 0.1, "not seen")])
def test_lower_is_seen_where_the_whole_interval_is_below(ours_, theirs_, outcome):
    assert outcomes(LOWER, results({"DRIFT-Net": [ours_], "scOT": [theirs_]})) == [outcome]


def test_a_difference_within_the_spread_of_the_seeds_is_not_seen():
    assert outcomes(LOWER, results({"DRIFT-Net": [0.1], "scOT": [0.101]}, spread=0.3)) == ["not seen"]


def test_a_reversed_order_is_said():
    assert "the reverse holds" in sentence(LOWER, results({"DRIFT-Net": [0.2], "scOT": [0.1]}))


def test_missing_rows_single_seeds_and_blow_ups_of_both_are_not_testable():
    assert outcomes(LOWER, results({"DRIFT-Net": [0.1]})) == ["not testable here"]
    assert outcomes(LOWER, results({"DRIFT-Net": [0.1], "scOT": [0.2]}, seeds=1)) == ["not testable here"]
    assert outcomes(LOWER, results({"DRIFT-Net": [np.inf], "scOT": [np.inf]}, spread=0.0)) == ["not testable here"]


def test_a_finite_error_is_below_one_that_blows_up():
    assert outcomes(LOWER, results({"DRIFT-Net": [0.1], "scOT": [np.inf]}, spread=0.0)) == ["seen"]


def test_the_worst_row_is_above_all_others():
    found = results({"DRIFT-Net": [0.1], "scOT": [0.2], "FNO": [0.3]})
    assert outcomes(Claim("worst", "worst", "FNO"), found) == ["seen", "seen"]
    assert outcomes(Claim("worst", "worst", "scOT"), found) == ["seen", "not seen"]


def test_falling_looks_at_every_step():
    found = results({"DRIFT-Net": [0.3], "scOT": [0.2], "FNO": [0.25]})
    assert outcomes(Claim("falling", "falling", than=("DRIFT-Net", "scOT", "FNO")), found) == ["seen", "not seen"]


@pytest.mark.parametrize(("coarse", "outcome"), [(0.1, "seen"), (0.15, "not seen")])
def test_flat_is_within_five_per_cent_from_grid_to_grid(coarse, outcome):
    found = results({"DRIFT-Net": [coarse, 0.1]}, grids=GRIDS, spread=0.0)
    assert outcomes(Claim("flat", "flat", "DRIFT-Net"), found) == [outcome]


def test_a_sentence_states_our_change_its_interval_and_the_papers():
    said = sentence(LOWER, results({"DRIFT-Net": [0.1], "scOT": [0.2]}))
    assert said.startswith("Lower. Ours frame: **seen** NS-PwC, DRIFT-Net against scOT (-50 %, 95 % interval -5")
    assert said.endswith("paper -54 %).")


def test_a_ratio_takes_the_same_trajectories_of_both_rows():
    hard = np.array([[1.0, 10.0, 100.0, 1000.0]])
    middle, low, high = ratio(hard, 2 * hard)
    assert (middle, low, high) == pytest.approx((0.5, 0.5, 0.5))


def test_a_table_shows_intervals_missing_seeds_and_the_papers_figure():
    found = results({"DRIFT-Net": [0.1], "scOT": [0.2]}, seeds=2)
    table = by_measure(found, "NS-PwC", "ours")
    assert table[0] == ["", "error at T*, %", "paper"]
    assert [line[2] for line in table[1:]] == ["1.09", "2.35", "4.57"]
    assert table[1][1].endswith("(2 of 3 seeds)")
    assert "[" in table[1][1]
    assert table[3][1] == "missing"
    assert markdown(table).splitlines()[1] == "| --- | ---: | ---: |"


def test_blown_up_rollouts_show_their_median_and_their_share():
    assert figure(np.array([[0.1, 0.2, np.inf]]), "final") == "median 20, 33 % blown up"
    assert ours(Cell(({"left_out": "no such grid"},), 1), "final") == "none"


def test_a_training_that_diverged_says_so():
    lost, kept = {"diverged": "the loss is nan"}, {"trajectories": {"final": [0.1, 0.2]}}
    assert ours(Cell((lost, lost), 2), "final") == "diverged"
    assert ours(Cell((lost, kept), 2), "final").endswith("(1 of 2 seeds)")
    found = results({"DRIFT-Net": [0.1], "scOT": [0.2]})
    found.cells[Place("NS-PwC", "ours", "scOT", Grid())] = Cell((lost, lost, lost), 3)
    assert "a training diverged" in sentence(LOWER, found)


def test_numbers_are_short():
    assert [text(value) for value in (0.012345, 12.345, 12345.6, 4e8, np.inf)] == [
        "0.0123",
        "12.3",
        "12346",
        "4e+08",
        "infinite",
    ]


def test_the_papers_figures_are_those_it_states_in_words():
    errors = {task: (rows["DRIFT-Net"]["final"], rows["scOT"]["final"]) for task, rows in PUBLISHED["tab:main-results"].items()}
    gains = [round(100 * (1 - errors[task][0] / errors[task][1])) for task in ("NS-SL", "NS-PwC", "NS-Tracer-PwC", "FNS-KF")]
    assert (min(gains), max(gains)) == (7, 54)
    ablation = {task: {row: found["final"] for row, found in rows.items()} for task, rows in PUBLISHED["tab:ablation"].items()}
    increases = [round(ablation[task]["without radial gating"] - ablation[task]["DRIFT-Net"], 2) for task in ablation]
    assert increases == [0.61, 2.36]
    assert published("tab:main-results", "Poisson-Gauss", "Refiner U-Net", "final") is None
    assert published("tab:fns-kf-cross-resolution", "FNS-KF", "DRIFT-Net", "final", "0.5 interpolated") == 4.328


def test_every_row_that_the_paper_printed_has_a_row_here():
    from driftnet.reproduce.recipes import read_cookbook

    for experiment in read_cookbook(Path("recipes"), "paper").experiments.values():
        for task, rows in PUBLISHED.get(experiment.published, {}).items():
            assert task in experiment.tasks
            assert set(rows) <= set(experiment.rows)
