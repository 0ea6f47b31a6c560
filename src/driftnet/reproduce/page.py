"""docs/results.md: every table, figure and claim of a scale, from the results that are there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from driftnet.files import write_text
from driftnet.reproduce import figures, tables
from driftnet.reproduce.claims import comparisons, sentence
from driftnet.reproduce.measures import MEASURES
from driftnet.reproduce.parts import expand
from driftnet.reproduce.provenance import place
from driftnet.reproduce.recipes import Cookbook, Experiment
from driftnet.reproduce.store import Result, Store
from driftnet.reproduce.tables import Results

COMPARISON = ["claim", "frame", "compared", "outcome", "by"]
HOW_TO_READ = """\
Errors are relative L1 in closed loop at T*, in physical units, per quantity and then averaged, in per cent, mean over the
test trajectories. In brackets: the 95 % interval from resampling seeds and trajectories. "paper": the figure that the
paper printed, at its own scale. Where a rollout blows up, the median and the share of trajectories that do. "missing": not
run yet; "none": does not exist; "diverged": the loss ceased to be a number in training. Rows in small letters need no
training: zero, persistence, the training mean (climatology), and the solver of the data on the full grid, on half and on a
quarter of it, with the viscosity of the full one. The two frames are never in one table. A claim is "seen" where the whole
interval lies on its side, "not seen" otherwise, and "not testable here" where results are missing, where there are fewer
than two seeds, or where both rows blow up.

Data are made where a part is computed: those of two machines differ in rounding, and late in a turbulent flow entirely.
"20 at once": so many workers shared the machine, so that seconds are rough. Tables of seconds and memory say on what each
row was measured; rows of different machines are not compared."""


def write_page(book: Cookbook, store: Store, path: Path) -> str:
    """Write the page and its figures; returns where they are."""
    drawn, found = 0, read(book, store)
    for results in found:
        for name in (name for frame in results.frames for name in figures.planned(results, frame)):
            write_text(_figure(store, results.experiment, name), figures.draw(results, name))
            drawn += 1
    write_text(path, page(book, store, path, found))
    return f"{path}, {drawn} figures under {store.folder / 'figures'}"


def read(book: Cookbook, store: Store) -> list[Results]:
    """The results of every experiment."""
    return [Results(experiment, expand(experiment, book), store) for experiment in book.experiments.values()]


def page(book: Cookbook, store: Store, path: Path, found: Sequence[Results]) -> str:
    """The text of the page, with links as they are from `path`."""
    return "\n\n".join((_head(book, store, path, found), *(_section(results, store, path) for results in found))) + "\n"


def _figure(store: Store, experiment: Experiment, name: str) -> Path:
    return store.folder / "figures" / f"{experiment.name}-{name}.svg"


def _head(book: Cookbook, store: Store, path: Path, found: Sequence[Results]) -> str:
    scale = book.scale
    rows = [["experiment", "parts there", "of", "results"]]
    for results in found:
        parts, there = results.parts, [part for part in results.parts if store.get(part) is not None]
        tasks = dict.fromkeys(parts[part] for part in there)
        files = [_link(store.folder / f"{task}.jsonl", path, task) for task in tasks]
        link = f"[{results.experiment.title}](#{anchor(results.experiment.title)})"
        rows.append([link, str(len(there)), str(len(parts)), ", ".join(files) or "none yet"])
    command = f"driftnet reproduce all --scale {scale.name}"
    return "\n\n".join(
        (
            f"# Results at {scale.name} scale",
            f"Made by `{command}`, written by `{command} --render`. {' '.join(scale.about.split())}",
            HOW_TO_READ,
            *(f"Frame *{name}*: {frame.about}" for name, frame in book.frames.items()),
            tables.markdown(rows),
            _provenance(store),
        )
    )


def _provenance(store: Store) -> str:
    if not store.results:
        return "Nothing has been run yet."
    seconds: dict[tuple[str, str, str], list[float]] = {}
    for result in store.results.values():
        seconds.setdefault(_origin(result), []).append(result["provenance"]["wall_seconds"])
    head = ["commit", "computed on", "torch", "parts", "hours of one worker"]
    body = [[*origin, str(len(took)), f"{sum(took) / 3600:.2f}"] for origin, took in sorted(seconds.items())]
    return tables.markdown([head, *body])


def _origin(result: Result) -> tuple[str, str, str]:
    provenance = result["provenance"]
    return provenance["commit"], place(provenance), result.get("versions", {}).get("torch", "")


def _section(results: Results, store: Store, path: Path) -> str:
    experiment = results.experiment
    lines = [f"## {experiment.title}", " ".join(experiment.about.split())]
    for frame in results.frames:
        lines += [f"### {experiment.title}, {frame} frame"] if frame else []
        lines += _tables(results, frame)
        for name in figures.planned(results, frame):
            lines.append(f"![{experiment.title}: {name}]({_relative(_figure(store, experiment, name), path)})")
    if experiment.claims:
        lines += ["What the paper says:", "\n".join(f"- {sentence(claim, results)}" for claim in experiment.claims)]
        counted = [row for claim in experiment.claims for row in comparisons(claim, results)]
        lines += _folded("Every comparison", [COMPARISON, *counted]) if counted else []
    return "\n\n".join(lines)


def _folded(title: str, rows: list[list[str]]) -> list[str]:
    """A long table behind a line that opens it, as GitHub and browsers do."""
    return [f"<details><summary>{title}</summary>", tables.markdown(rows), "</details>"]


def _tables(results: Results, frame: str) -> list[str]:
    experiment = results.experiment
    if experiment.layout == "tasks":
        measures = experiment.measures
        return [f"{title(name)}\n\n{tables.markdown(tables.by_task(results, name, frame))}" for name in measures]
    make = tables.by_grid if experiment.layout == "grids" else tables.by_measure
    return [f"{task}\n\n{tables.markdown(make(results, task, frame))}" for task in experiment.tasks]


def title(measure: str) -> str:
    """A measure's title as a sentence begins."""
    text = MEASURES[measure].title
    return text[0].upper() + text[1:]


def anchor(title: str) -> str:
    """The link target that a heading gets."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")


def _link(file: Path, page: Path, name: str) -> str:
    return f"[{name}]({_relative(file, page)})"


def _relative(file: Path, page: Path) -> str:
    return os.path.relpath(file.absolute(), page.absolute().parent)
