"""Whether what the paper says is seen in our results: a rule for every kind of claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal

import numpy as np

from driftnet.report.paper import published
from driftnet.reproduce.measures import OF_A_MACHINE, PER_TRAJECTORY, Cell, ratio
from driftnet.reproduce.recipes import Claim, Grid
from driftnet.reproduce.tables import Results, grid_name

FLAT = 1.05  # The paper's own errors differ by 0.2 %; five hundredths are within what a seed changes.
FEW = 2  # Verdicts that a line can spell out; it counts more of them.
SEEDS = 2  # Below it nothing is known of the spread between seeds.

Outcome = Literal["seen", "not seen", "not testable here"]


@dataclass(frozen=True)
class Verdict:
    """What became of a claim at one place."""

    outcome: Outcome
    where: str
    detail: str
    reverse: bool = False
    """Whether the opposite of the claim was seen."""


def judge(claim: Claim, results: Results) -> Iterator[tuple[str, list[Verdict]]]:
    """Verdicts by frame, one for every task and rival."""
    experiment = results.experiment
    for frame in results.frames:
        if frame in (claim.frames or results.frames):
            tasks = claim.tasks or experiment.tasks
            yield frame, [verdict for task in tasks for verdict in RULES[claim.kind](claim, results, task, frame)]


def sentence(claim: Claim, results: Results) -> str:
    """One line on a claim, frame by frame."""
    said = [f"{f'{frame.capitalize()} frame: ' if frame else ''}{_said(verdicts)}" for frame, verdicts in judge(claim, results)]
    return f"{_capital(claim.says)}. {'. '.join(said)}."


def comparisons(claim: Claim, results: Results) -> list[list[str]]:
    """What a line only counts: claim, frame, what was compared, outcome, by how much."""
    return [
        [_capital(claim.says), frame, each.where, each.outcome, _detail(each)]
        for frame, verdicts in judge(claim, results)
        if len(verdicts) > FEW
        for each in verdicts
    ]


def _said(verdicts: list[Verdict]) -> str:
    if len(verdicts) > FEW:
        counts = Counter(each.outcome for each in verdicts)
        counted = ", ".join(f"**{outcome}** {counts[outcome]}" for outcome in ORDER if counts[outcome])
        reverse = sum(each.reverse for each in verdicts)
        return f"of {len(verdicts)} comparisons {counted}{f'; in {reverse} the reverse holds' if reverse else ''}"
    ordered = sorted(verdicts, key=lambda each: ORDER.index(each.outcome))
    return ". ".join(
        f"**{outcome}** {'; '.join(f'{each.where} ({_detail(each)})' for each in group)}"
        for outcome, group in groupby(ordered, lambda each: each.outcome)
    )


def _detail(verdict: Verdict) -> str:
    return f"{verdict.detail}{'; the reverse holds' if verdict.reverse else ''}"


def _capital(says: str) -> str:
    return f"{says[0].upper()}{says[1:]}"


def _lower(claim: Claim, results: Results, task: str, frame: str) -> Iterator[Verdict]:
    for rival in claim.than:
        yield compare(results, task, frame, (claim.row, rival), claim.measure)


def _falling(claim: Claim, results: Results, task: str, frame: str) -> Iterator[Verdict]:
    for before, after in pairwise(claim.than):
        yield compare(results, task, frame, (after, before), claim.measure)


def _worst(claim: Claim, results: Results, task: str, frame: str) -> Iterator[Verdict]:
    """Every other row must be below."""
    for other in results.experiment.rows:
        if other != claim.row:
            yield compare(results, task, frame, (other, claim.row), claim.measure)


def compare(results: Results, task: str, frame: str, rows: tuple[str, str], measure: str) -> Verdict:
    """Whether the first row is below the second."""
    mine, other = (results.cell(task, frame, row) for row in rows)
    where = f"{task}, {rows[0]} against {rows[1]}"
    reason = _untestable(mine, other, measure)
    if reason:
        return Verdict("not testable here", where, reason)
    values = [cell.values(measure) for cell in (mine, other)]
    assert values[0] is not None
    assert values[1] is not None
    middle, low, high = ratio(values[0], values[1])
    spread = "one measurement" if values[0].size == 1 else f"95 % interval {_change(low)} to {_change(high)}"
    detail = f"{_change(middle)}, {spread}{_printed(results, task, rows, measure)}"
    if high < 1:
        return Verdict("seen", where, detail)
    return Verdict("not seen", where, detail, reverse=bool(low > 1))


def _untestable(mine: Cell, other: Cell, measure: str) -> str:
    """Why two cells cannot be compared, or nothing."""
    found = [cell.values(measure) for cell in (mine, other)]
    if any(values is None for values in found):
        return "a training diverged" if mine.diverged or other.diverged else "a result is missing"
    if measure in OF_A_MACHINE and mine.places != other.places:
        return "measured on different machines"
    if measure in PER_TRAJECTORY and min(len(values) for values in found if values is not None) < SEEDS:
        return "fewer than two seeds"
    if all(values is not None and np.isinf(np.median(values)) for values in found):
        return "both blow up"
    return ""


def _printed(results: Results, task: str, rows: tuple[str, str], measure: str) -> str:
    figures = [published(results.experiment.published, task, row, measure) for row in rows]
    if figures[0] is None or figures[1] is None:
        return ""
    return f", paper {_change(figures[0] / figures[1])}"


def _flat(claim: Claim, results: Results, task: str, frame: str) -> Iterator[Verdict]:
    """Between the grids of the paper's protocol and the training grid."""
    experiment = results.experiment
    grids = [grid for grid in experiment.grids if grid.protocol == "interpolated" or grid.share == 1]
    values = [results.cell(task, frame, claim.row, grid).values(claim.measure) for grid in grids]
    found = [float(np.median(each)) for each in values if each is not None]
    if len(found) < len(grids):
        yield Verdict("not testable here", task, "a result is missing")
        return
    most = max(found) / min(found)
    yield Verdict("seen" if most <= FLAT else "not seen", task, f"largest over smallest median {most:.3f}")


def _slower_than_points(claim: Claim, results: Results, task: str, frame: str) -> Iterator[Verdict]:
    first, last = results.experiment.grids[0], results.experiment.grids[-1]
    found = [results.cell(task, frame, claim.row, grid).values(claim.measure) for grid in (first, last)]
    if found[0] is None or found[1] is None:
        yield Verdict("not testable here", task, "a result is missing")
        return
    growth, points = float(found[1].mean() / found[0].mean()), (last.share / first.share) ** 2
    detail = f"{growth:.2f} times for {points:g} times the points{_printed_growth(claim, results, task, (first, last))}"
    yield Verdict("seen" if growth < points else "not seen", task, detail)


def _printed_growth(claim: Claim, results: Results, task: str, grids: tuple[Grid, Grid]) -> str:
    label = results.experiment.published
    first, last = (published(label, task, claim.row, claim.measure, grid_name(grid)) for grid in grids)
    return "" if first is None or last is None else f", paper {last / first:.2f}"


def _change(value: float) -> str:
    return f"{100 * (value - 1):+.0f} %" if np.isfinite(value) else "beyond measure"


ORDER: tuple[Outcome, ...] = ("seen", "not seen", "not testable here")
RULES: dict[str, Callable[[Claim, Results, str, str], Iterator[Verdict]]] = {
    "lower": _lower,
    "falling": _falling,
    "worst": _worst,
    "flat": _flat,
    "slower-than-points": _slower_than_points,
}
