"""docs/results.md: every table, figure and claim of a scale, from the results that are there."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from driftnet.files import write_text, written_aside
from driftnet.reproduce import figures, tables
from driftnet.reproduce.claims import sentence
from driftnet.reproduce.measures import MEASURES
from driftnet.reproduce.parts import expand
from driftnet.reproduce.recipes import Cookbook, Experiment
from driftnet.reproduce.store import Result, Store
from driftnet.reproduce.tables import Results

HOW_TO_READ = """\
Errors are relative L1 in closed loop at T*, in physical units, per quantity and then averaged, in per cent, mean over the
test trajectories. In brackets: the 95 % interval from resampling seeds and trajectories. "paper": the figure that the
paper printed, at its own scale. Where a rollout blows up, the median and the share of trajectories that do. "missing": not
run yet; "none": does not exist. Rows in small letters need no training: zero, persistence, the training mean (climatology),
and the solver of the data on the full grid, on half and on a quarter of it, with the viscosity of the full one. The two
frames are never in one table. A claim is "seen" where the whole interval lies on its side, "not seen" otherwise, and "not
testable here" where results are missing, where there are fewer than two seeds, or where both rows blow up."""


def write_page(book: Cookbook, store: Store, path: Path) -> str:
    """Write the page and its figures; returns where they are."""
    drawn: list[Path] = []
    body = [_section(experiment, book, store, path, drawn) for experiment in book.experiments.values()]
    text = "\n\n".join((_head(book, store, path), *body)) + "\n"
    write_text(path, text)
    return f"{path}, {len(drawn)} figures under {store.folder / 'figures'}"


def _head(book: Cookbook, store: Store, path: Path) -> str:
    scale = book.scale
    rows = [["experiment", "parts there", "of", "results"]]
    for experiment in book.experiments.values():
        parts = {entry.need.part.name: entry for entry in expand(experiment, book)}
        there = [entry for name, entry in parts.items() if name in store.results]
        files = dict.fromkeys(_link(store.folder / f"{entry.task}.jsonl", path, entry.task) for entry in there)
        link = f"[{experiment.title}](#{anchor(experiment.title)})"
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
    said = Counter(map(_origin, store.results.values()))
    rows = [["commit", "device", "torch", "parts"], *([*origin, str(count)] for origin, count in sorted(said.items()))]
    seconds = sum(result["provenance"]["wall_seconds"] for result in store.results.values())
    return f"{tables.markdown(rows)}\n\nAll parts together took {seconds / 3600:.1f} hours of one worker."


def _origin(result: Result) -> tuple[str, str, str]:
    provenance = result["provenance"]
    return provenance["commit"], provenance["device"], result.get("versions", {}).get("torch", "")


def _section(experiment: Experiment, book: Cookbook, store: Store, path: Path, drawn: list[Path]) -> str:
    results = Results(experiment, expand(experiment, book), store)
    lines = [f"## {experiment.title}", " ".join(experiment.about.split())]
    for frame in results.frames:
        lines += [f"### {experiment.title}, {frame} frame"] if frame else []
        lines += _tables(results, frame)
        for name, picture in figures.draw(results, frame):
            file = store.folder / "figures" / f"{experiment.name}-{name}.svg"
            with written_aside(file) as aside:
                aside.write_text(picture)
            drawn.append(file)
            lines.append(f"![{experiment.title}: {name}]({_relative(file, path)})")
    if experiment.claims:
        lines += ["What the paper says:", "\n".join(f"- {sentence(claim, results)}" for claim in experiment.claims)]
    return "\n\n".join(lines)


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
