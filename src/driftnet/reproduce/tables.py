"""The tables of an experiment: cells by place, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from driftnet.metrics.summary import bootstrap
from driftnet.report.paper import published
from driftnet.reproduce.measures import MEASURES, OF_A_MACHINE, Cell, Values, text
from driftnet.reproduce.parts import Entry, Part
from driftnet.reproduce.recipes import Experiment, Grid
from driftnet.reproduce.store import Store

MISSING = "missing"
Lines = list[list[str]]


@dataclass(frozen=True)
class Place:
    """Where in the tables of an experiment a cell stands."""

    task: str
    frame: str
    row: str
    grid: Grid


class Results:
    """An experiment's cells, read from a store."""

    def __init__(self, experiment: Experiment, entries: Iterable[Entry], store: Store) -> None:
        self.experiment = experiment
        self.cells: dict[Place, Cell] = {}
        entries = list(entries)
        self.parts: dict[Part, str] = {entry.need.part: entry.task for entry in entries}
        ordered = sorted(entries, key=lambda entry: repr(_place(entry)))
        for place, group in groupby(ordered, key=_place):
            found = [store.get(entry.need.part) for entry in sorted(group, key=lambda entry: entry.seed)]
            self.cells[place] = Cell(tuple(each for each in found if each is not None), len(found))

    def cell(self, task: str, frame: str, row: str, grid: Grid | None = None) -> Cell:
        """The cell at a place; rows without training are the same in every frame."""
        where = grid or self.experiment.grids[0]
        nothing = Cell((), 0)
        return self.cells.get(Place(task, frame, row, where)) or self.cells.get(Place(task, "", row, where), nothing)

    def baselines(self, task: str) -> list[str]:
        """Rows without training, in their order."""
        names = [place.row for place in self.cells if place.task == task and place.row not in self.experiment.rows]
        order = ("zero", "persistence", "climatology", "solver", "solver-half", "solver-quarter")
        return [name for name in order if name in names]

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames with tables of their own; costs have none."""
        return ("",) if self.experiment.kind == "costs" else self.experiment.frames


def _place(entry: Entry) -> Place:
    return Place(entry.task, entry.frame, entry.row, entry.grid)


def ours(cell: Cell, measure: str) -> str:
    """Our figure with its interval; what is missing says so."""
    if cell.left_out:
        return "none"
    values = cell.values(measure)
    if values is None:
        return _nothing(cell)
    few = f" ({len(values)} of {cell.planned} seeds)" if len(values) < cell.planned else ""
    return f"{figure(values, measure)}{few}"


def _nothing(cell: Cell) -> str:
    if cell.diverged:
        return "diverged"
    return MISSING if len(cell.found) < cell.planned or not cell.found else "none"


def figure(values: Values, name: str) -> str:
    """A mean with its 95 % interval, or a median with the share that has blown up."""
    measure = MEASURES[name]
    if not np.isfinite(values).all():
        share = 100 * float((~np.isfinite(values)).mean())
        return f"median {text(measure.factor * float(np.median(values)), measure.digits)}, {share:.0f} % blown up"
    middle = text(measure.factor * float(values.mean()), measure.digits)
    if values.size == 1 or np.ptp(values) == 0:
        return middle
    low, high = (text(measure.factor * float(end), measure.digits) for end in bootstrap(values))
    return f"{middle} [{low}, {high}]"


def theirs(label: str, task: str, row: str, measure: str, grid: str = "") -> str:
    """The paper's figure, as printed."""
    value = published(label, task, row, measure, grid)
    return "" if value is None else f"{value:g}"


def by_task(results: Results, measure: str, frame: str) -> Lines:
    """A row a model, two columns a task: ours and the paper's, where it has any."""
    experiment = results.experiment
    if not _columns(experiment, experiment.tasks[0], measure)[1:]:
        return _by_task_alone(results, measure, frame)
    lines = [["", *(head for task in experiment.tasks for head in (task, "paper"))]]
    for row in _all_rows(results):
        line = [row]
        for task in experiment.tasks:
            line += [_own(results, task, frame, row, measure), theirs(experiment.published, task, row, measure)]
        lines.append(line)
    return lines


def _by_task_alone(results: Results, measure: str, frame: str) -> Lines:
    tasks = results.experiment.tasks
    body = [[row, *(_own(results, task, frame, row, measure) for task in tasks)] for row in _all_rows(results)]
    lines = [["", *tasks], *body]
    cells = {row: [results.cell(task, frame, row) for task in tasks] for row in _all_rows(results)}
    return _with_places(lines, cells) if measure in OF_A_MACHINE else lines


def _with_places(lines: Lines, cells: Mapping[str, Sequence[Cell]]) -> Lines:
    """A last column that says on what the numbers of a row were measured: seconds of two machines are not alike."""
    of_row = {row: sorted({place for cell in found for place in cell.places}) for row, found in cells.items()}
    head, *body = lines
    return [[*head, "measured on"], *([*line, "; ".join(of_row[line[0]]) or MISSING] for line in body)]


def _of_a_machine(experiment: Experiment) -> bool:
    return any(measure in OF_A_MACHINE for measure in experiment.measures)


def _all_rows(results: Results) -> list[str]:
    tasks = results.experiment.tasks
    return [*results.experiment.rows, *dict.fromkeys(name for task in tasks for name in results.baselines(task))]


def _own(results: Results, task: str, frame: str, row: str, measure: str) -> str:
    """Ours, or nothing for a row that means nothing for the task."""
    there = row in results.experiment.rows or row in results.baselines(task)
    return ours(results.cell(task, frame, row), measure) if there else ""


def by_measure(results: Results, task: str, frame: str) -> Lines:
    """A row a model, a column a measure, and the paper's beside those it has."""
    experiment = results.experiment
    columns = [column for measure in experiment.measures for column in _columns(experiment, task, measure)]
    lines = [["", *("paper" if paper else MEASURES[measure].title for measure, paper in columns)]]
    for row in (*experiment.rows, *results.baselines(task)):
        line = [row]
        for measure, paper in columns:
            figures = (
                theirs(experiment.published, task, row, measure) if paper else ours(results.cell(task, frame, row), measure)
            )
            line.append(figures)
        lines.append(line)
    cells = {line[0]: [results.cell(task, frame, line[0])] for line in lines[1:]}
    return _with_places(lines, cells) if _of_a_machine(experiment) else lines


def _columns(experiment: Experiment, task: str, measure: str) -> list[tuple[str, bool]]:
    printed = any(theirs(experiment.published, task, row, measure) for row in experiment.rows)
    return [(measure, False), (measure, True)] if printed else [(measure, False)]


def by_grid(results: Results, task: str, frame: str) -> Lines:
    """A row a model and grid."""
    experiment = results.experiment
    heads = [MEASURES[measure].title for measure in experiment.measures]
    lines = [["", "grid", *(name for head in heads for name in (head, "paper"))]]
    for row in (*experiment.rows, *results.baselines(task)):
        for grid in experiment.grids:
            line = [row, grid_name(grid)]
            for measure in experiment.measures:
                printed = theirs(experiment.published, task, row, measure, grid_name(grid))
                line += [ours(results.cell(task, frame, row, grid), measure), printed]
            lines.append(line)
    cells = {line[0]: [results.cell(task, frame, line[0], grid) for grid in experiment.grids] for line in lines[1:]}
    return _with_places(lines, cells) if _of_a_machine(experiment) else lines


def grid_name(grid: Grid) -> str:
    """How a grid is called."""
    return f"{grid.share:g} {grid.protocol}"


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table as Markdown; the first line is the head."""
    head, *body = lines
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *body))
