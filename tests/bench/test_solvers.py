import pytest
import torch

from driftnet.bench import references, solvers
from driftnet.bench.references import Missing
from driftnet.bench.solvers import measured, ratio
from driftnet.cli import main
from driftnet.options.bench import BenchSolversOptions


@pytest.fixture(scope="module")
def rows():
    return measured(BenchSolversOptions(resolution=64, batch=4, steps=10, repeats=7))


def compared(rows, beside):
    (row,) = (row for row in rows if row["beside"] == beside)
    if row["skipped"]:
        pytest.skip(row["skipped"])
    return row


def test_every_solver_is_measured(rows):
    assert {row["name"] for row in rows} >= {"Kolmogorov flow, 2/3 mask", "Navier-Stokes, 3/2 padding", "wave", "Allen-Cahn"}
    assert all(len(row["seconds"]["ours"]) == 7 for row in rows)


# The margins are about twice what is meant to hold at 128 points: 1.1 and 3.
@pytest.mark.parametrize(("beside", "most"), [("exponax, the same", 2.2), ("C, the same", 6), ("C, on 2 x 2 the points", 6)])
def test_a_time_step_costs_little_more_than_the_best_of_others(rows, beside, most):
    assert ratio(compared(rows, beside)) < most


@pytest.mark.parametrize("beside", ["exponax, the same", "C, the same"])
def test_what_is_compared_gives_the_same_result(rows, beside):
    assert compared(rows, beside)["difference"] < 2e-5


def test_differences_come_nearer_on_a_finer_grid(rows):
    coarse, fine = (compared(rows, beside)["difference"] for beside in ("C, differences", "C, on 2 x 2 the points"))
    assert fine < coarse


def test_without_exponax_or_a_compiler_there_is_a_reason_and_a_table(monkeypatch, capsys, rows):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(Missing, match="there is no C compiler"):
        references.compiled()
    monkeypatch.setattr(references, "find_spec", lambda name: None)
    with pytest.raises(Missing, match="exponax is not installed"):
        references.exponax(references.Problem(None, None, torch.zeros(1, 1, 8, 8), 1, 1.0))
    bare = {"ours": [0.001], "theirs": []}
    skipped = [{**row, "seconds": bare, "difference": None, "skipped": "there is no C compiler"} for row in rows]
    monkeypatch.setattr(solvers, "measured", lambda options: skipped)
    main(["bench", "solvers"])
    assert "Skipped, because there is no C compiler: 'C, the same'." in capsys.readouterr().out
