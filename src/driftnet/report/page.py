"""One self-contained HTML page of results: no request, opens from a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from driftnet.configs import Convention
from driftnet.evaluate.measure import PHYSICAL
from driftnet.files import refuse_existing, write_text, written_aside
from driftnet.options.report import ReportOptions
from driftnet.report import columns, figures, markup
from driftnet.report.collect import Group, Section, collect
from driftnet.report.markup import Picture
from driftnet.report.tables import WRITERS, Table, as_text, number
from driftnet.report.viewer import payload, sampling

CONVENTIONS: dict[Convention, str] = {
    "physical": PHYSICAL,
    "published": "Poseidon's: relative L1 of fields normalised with the published constants, per cent, averaged over groups",
}
FIELD_BYTES = 6_000_000  # Of all viewers of a page together: it opens at once, and can be sent.
INTERVALS = (
    "Intervals are 95 % bootstrap intervals of the mean over test trajectories and, where a model has several runs, over runs "
    "and trajectories; of one run they say nothing of another seed."
)
BASELINES = (
    "Zero, persistence and climatology are what knowing nothing scores; solver rows are the data's own solver in single "
    "precision on the grid of the evaluation, on half and on a quarter of it, timed as the models are. On the grid of the data "
    "it made them, so its error there is that of rounding."
)


def write_report(folders: Sequence[Path], options: ReportOptions) -> str:
    """Write the page, and its figures and tables as files where folders are given; returns where it is."""
    refuse_existing(options.output, options.overwrite)
    sections = collect(folders, options.results)
    tables = {section.name: columns.tables_of(section, options.convention) for section in sections}
    pictures = {section.name: draw(section) for section in sections}
    for section in sections:
        prefix = _prefix(section, sections)
        if options.figures:
            drawn = (*pictures[section.name], *fields(section))
            _write_files(options.figures, {f"{prefix}{each.file}": each.content for each in drawn})
        if options.tables:
            _write_files(options.tables, _table_files(tables[section.name], prefix))
    write_text(options.output, page(sections, tables, pictures, options.convention))
    shown = "\n\n".join(f"{tables[section.name][0].caption}\n{as_text(tables[section.name][0])}" for section in sections)
    return f"{shown}\nreport: {options.output.resolve()}"


def _prefix(section: Section, sections: Sequence[Section]) -> str:
    return f"{section.name}-" if len(sections) > 1 else ""


def _table_files(tables: Sequence[Table], prefix: str) -> dict[str, str]:
    return {f"{prefix}{table.name}.{suffix}": write(table) for table in tables for suffix, write in WRITERS.items()}


def _write_files(folder: Path, contents: dict[str, str | bytes] | dict[str, str]) -> None:
    for name, content in contents.items():
        with written_aside(folder / name) as aside:
            aside.write_bytes(content if isinstance(content, bytes) else content.encode())


def draw(section: Section) -> list[Picture]:
    """All figures of a section on the page."""
    caption = "Relative L1 at T* against the time of a rollout. Squares: the data's own solver on coarser grids."
    cost = Picture("cost", caption, figures.error_against_seconds(section))
    steps = section.groups[0].first.sizes["snapshot"]
    return [*(_curves(section) if steps > 1 else []), cost, *_spectral(section)]


def _curves(section: Section) -> list[Picture]:
    made = [Picture("error", "Relative L1 over time; shaded: the 95 % interval of models.", figures.error_curves(section))]
    if len(section.quantities) > 1:
        for name in section.quantities:
            caption = f"Relative L1 of the {name} over time; shaded: the 95 % interval of models."
            made.append(Picture(f"error-{name}", caption, figures.error_curves(section, name)))
    caption = "Growth: change of the relative L1 from one step to the next; shaded: the 95 % interval of models."
    return [*made, Picture("growth", caption, figures.growth_curves(section))]


def _spectral(section: Section) -> list[Picture]:
    made = []
    for name in section.quantities:
        for step in figures.shown_steps(section):
            caption = (
                f"Energy of the {name} by wavenumber after {step} of {section.target} steps, mean over runs and trajectories."
            )
            made.append(Picture(f"spectrum-{name}-{step}", caption, figures.spectra(section, name, step)))
        caption = f"nRMSE of the {name} by time and band of wavenumber n. Bands: {figures.band_meaning()}."
        made.append(Picture(f"bands-{name}", caption, figures.band_map(section, name)))
    return made


def fields(section: Section) -> list[Picture]:
    """Fields at several times, for files: the page shows them under a slider."""
    channel = str(section.groups[0].first.channel.values[0])
    return [
        Picture(f"fields-{group.label}-{group.seeds[0]}", f"{group.label}: {channel}.", figures.fields(group.first, channel))
        for group in section.trained
    ]


def page(
    sections: Sequence[Section],
    tables: dict[str, list[Table]],
    pictures: dict[str, list[Picture]],
    convention: Convention = "physical",
) -> str:
    """The whole document."""
    alone = len(sections) == 1
    title = f"{sections[0].title}: rollouts" if alone else "Rollouts"
    links = "".join(f'<li><a href="#{escape(each.name)}">{escape(each.title)}</a></li>' for each in sections)
    nav = f"<p>Tasks and protocols stand apart: their errors may not be compared.</p><nav><ul>{links}</ul></nav>"
    said = "" if alone else nav
    budget = FIELD_BYTES // len(sections)
    body = "".join(
        _section(section, tables[section.name], pictures[section.name], (convention, budget, _prefix(section, sections)))
        for section in sections
    )
    style, script = (files("driftnet.report").joinpath(name).read_text() for name in ("page.css", "page.js"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f'<style>{style}</style></head><body><a class="skip" href="#results">Skip to the results</a>'
        f'<header><h1>{escape(title)}</h1>{said}</header><main id="results">{body}</main>'
        f"<footer class=soft>Made by driftnet {version('driftnet')}.</footer><script>{script}</script></body></html>\n"
    )


def _section(section: Section, tables: list[Table], pictures: list[Picture], how: tuple[Convention, int, str]) -> str:
    convention, budget, prefix = how
    kinds = _kinds(section)
    first, *others = (markup.table(table, {} if table.name == "runs" else kinds, prefix) for table in tables)
    curves = [each for each in pictures if each.name.startswith(("error", "growth", "cost"))]
    spectral = [each for each in pictures if each.name.startswith(("spectrum", "bands"))]
    parts = (
        _head(section, convention, alone=not prefix),
        f"<h3>Error at T*</h3>{first}<p class=soft>Best first. {INTERVALS} {BASELINES}</p>",
        f"<h3>{'Over time, and a' if len(curves) > 1 else 'A'}gainst cost</h3>{markup.figures(curves, section.name)}",
        _viewer(section, budget),
        f"<h3>By wavenumber</h3>{markup.figures(spectral, section.name)}",
        f"<h3>More tables</h3>{''.join(others)}<p class=soft>Correlated steps: until the correlation falls below 0.8, or all. "
        "Seconds are wall time on the machine named below.</p>",
        f"<h3>Protocol</h3>{markup.protocol(section)}",
    )
    only = "" if prefix else " only"
    return f'<section class="results{only}" id="{escape(section.name)}">{"".join(parts)}</section>'


def _kinds(section: Section) -> dict[str, str]:
    """How rows look: the best model stands out, baselines step back."""
    best = section.trained[0].label if section.trained else ""
    return {group.label: "best" if group.label == best else "" if group.trained else "baseline" for group in section.groups}


def _head(section: Section, convention: Convention, alone: bool) -> str:
    facts = section.facts
    size = " x ".join(str(int(points)) for points in facts["resolution"])
    steps, tests = section.groups[0].first.sizes["snapshot"], int(facts["test_trajectories"])
    heading = "" if alone else f"<h2>{escape(section.title)}</h2>"
    direct = json.loads(facts["settings"])["evaluation"].get("direct")
    how = "every step is predicted from the first snapshot by its lead time" if direct else "every prediction is the next input"
    return (
        f'{heading}<p class="equation">{escape(facts.get("equation", ""))}</p>{_lead(section)}'
        f"<p>{tests} test trajectories on {size} points, steps 1 to {steps} from their first snapshot; {how}. Errors are "
        f"{escape(CONVENTIONS[convention])}. T* is snapshot {section.target}.</p>"
    )


def _lead(section: Section) -> str:
    """The first two models, and whether their difference is more than chance."""
    if not section.trained:
        return ""
    best, *others = section.trained
    said = f"Lowest mean relative L1 at T*: <b>{escape(best.label)}</b>, {_with_interval(best)}"
    if others:
        (low, high), (first, last) = columns.interval(best.final), columns.interval(others[0].final)
        meet = "the intervals overlap" if max(low, first) <= min(high, last) else "the intervals do not overlap"
        said += f"; next {escape(others[0].label)}, {_with_interval(others[0])}; {meet}"
    ahead = [group.label for group in section.groups if not group.trained and group.final.mean() < best.final.mean()]
    known = f" Baselines ahead of every model: {escape(', '.join(ahead))}." if ahead else ""
    return f'<p class="lead">{said}.{known}</p>'


def _with_interval(group: Group) -> str:
    low, high = columns.interval(group.final)
    runs = f"{len(group.runs)} runs" if len(group.runs) > 1 else "one run"
    return f"{number(float(group.final.mean()))} ({number(low)} to {number(high)}, {runs})"


def _viewer(section: Section, budget: int) -> str:
    data = payload(section, budget)
    if not data:
        return ""
    chosen = sampling(section, budget)
    coarse = f" Shown are means over squares of {chosen.stride} x {chosen.stride} points." if chosen.stride > 1 else ""
    return (
        "<h3>Truth, prediction, error</h3><p class=soft>Of every model the run with the lowest seed. Truth and prediction "
        f"share their colours at all times.{coarse} Grey: not finite.</p>{markup.viewer(data, f'Rollouts of {section.title}')}"
    )
