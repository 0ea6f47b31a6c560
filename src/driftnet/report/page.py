"""One self-contained HTML page of a set of results: no script, no request, opens from a file."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path

import xarray as xr

from driftnet import registry
from driftnet.configs import Convention
from driftnet.evaluate.measure import PHYSICAL
from driftnet.files import refuse_existing, write_text, written_aside
from driftnet.options.report import ReportOptions
from driftnet.report import figures, tables
from driftnet.tasks.base import Task

CONVENTIONS: dict[Convention, str] = {
    "physical": PHYSICAL,
    "published": "Poseidon's: relative L1 of fields normalised with the published constants, per cent, averaged over groups",
}
STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #1b1b1b; --line: #ccc; --soft: #666 }
@media (prefers-color-scheme: dark) { :root { --page: #16181c; --text: #e6e6e6; --line: #3a3d44; --soft: #a0a0a0 } }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; background: var(--page); color: var(--text);
       font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.6rem } h2 { font-size: 1.15rem; margin-top: 2.2rem } p, dd { max-width: 46rem }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th:first-child, td:first-child { text-align: left } th { font-weight: 600; color: var(--soft) }
figure { margin: 1rem 0; padding: .6rem; background: #fff; color: #1b1b1b; border: 1px solid var(--line);
         border-radius: 6px } figure svg, figure img { max-width: 100%; height: auto; display: block; margin: auto }
figcaption { font-size: .85rem; color: #555 }
.pair { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)) }
dt { color: var(--soft); font-size: .85rem } dd { margin: 0 0 .5rem; overflow-wrap: anywhere }
"""


@dataclass(frozen=True)
class Picture:
    """A figure of the page; `content` is an SVG or the bytes of a PNG."""

    name: str
    caption: str
    content: str | bytes

    @property
    def file(self) -> str:
        """Name of the figure as a file of its own."""
        return f"{self.name}.{'svg' if isinstance(self.content, str) else 'png'}"

    @property
    def markup(self) -> str:
        """The figure inside the page."""
        content = self.content
        if isinstance(content, bytes):
            content = f'<img alt="{escape(self.caption)}" src="data:image/png;base64,{b64encode(content).decode()}">'
        return f"<figure>{content}<figcaption>{escape(self.caption)}</figcaption></figure>"


def write_report(folders: Sequence[Path], options: ReportOptions) -> str:
    """Write the page, and its figures as files where a folder is given; returns where it is."""
    output, figures_folder = options.output, options.figures
    refuse_existing(output, options.overwrite)
    results = tables.collect(folders, options.results)
    task: Task = registry.task(results[0].attrs["task"])
    pictures = draw(results, task)
    if figures_folder:
        for picture in pictures:
            with written_aside(figures_folder / picture.file) as aside:
                aside.write_bytes(picture.content if isinstance(picture.content, bytes) else picture.content.encode())
    write_text(output, page(results, task, pictures, options.convention))
    return f"{tables.as_text(results, options.convention)}\nreport: {output.resolve()}"


def draw(results: Sequence[xr.Dataset], task: Task) -> list[Picture]:
    """All figures of the page."""
    caption = "Mean relative L1 over time; shaded: the middle half of the test trajectories. Without the full-grid solver."
    pictures = [Picture("error", caption, figures.error_curves(results))]
    caption = "Change of the mean relative L1 from one step to the next, of models, persistence and coarse solvers."
    pictures.append(Picture("growth", caption, figures.growth_curves(results)))
    caption = "Mean relative L1 at T* against the time of a rollout; squares: the data's own solver on coarser grids."
    pictures.append(Picture("cost", caption, figures.error_against_seconds(results)))
    for quantity in task.quantities:
        caption = f"Energy of the {quantity.name} at T*, averaged over the test trajectories."
        pictures.append(Picture(f"spectrum-{quantity.name}", caption, figures.spectra(results, quantity.name)))
        caption = f"nRMSE of the {quantity.name} by bands of wavenumber, mean over the test trajectories."
        pictures.append(Picture(f"bands-{quantity.name}", caption, figures.band_curves(results, quantity.name)))
    channel = task.components[0]
    for result in filter(figures.is_trained, results):
        label = figures.label(result)
        name = f"fields-{label.replace(', seed ', '-')}"
        pictures.append(Picture(name, f"{label}: {channel} of the first test trajectory.", figures.fields(result, channel)))
    return pictures


def page(results: Sequence[xr.Dataset], task: Task, pictures: Sequence[Picture], convention: Convention = "physical") -> str:
    """The whole document."""
    curves = "".join(picture.markup for picture in pictures if isinstance(picture.content, str))
    fields = "".join(picture.markup for picture in pictures if isinstance(picture.content, bytes))
    body = (
        _head(task, results[0], convention),
        _tables(results, convention),
        f'<h2>Error, growth, cost, bands and spectrum</h2><div class="pair">{curves}</div>',
        f"<h2>Truth, prediction, error</h2>{fields}" if fields else "",
        _protocol(results),
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(task.name)}: closed-loop results</title>"
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body>{''.join(body)}</body></html>\n"
    )


def _head(task: Task, result: xr.Dataset, convention: Convention) -> str:
    facts = result.attrs
    size = " x ".join(str(int(points)) for points in facts["resolution"])
    steps, tests, target = result.sizes["snapshot"], int(facts["test_trajectories"]), int(facts["final_snapshot"])
    return (
        f"<h1>{escape(task.name)}: closed-loop results</h1><p>{escape(task.equation)}. {tests} test trajectories on {size} "
        f"points, rolled out for {steps} steps from their first snapshot; every prediction is the next input. Errors in the "
        f"table are {escape(CONVENTIONS[convention])}; T* is snapshot {target}.</p>"
    )


def _tables(results: Sequence[xr.Dataset], convention: Convention) -> str:
    seeds = tables.seeds_table(results)
    return (
        "<h2>Relative L1 error</h2>"
        f"{_markup(tables.table(results, convention))}"
        "<p>Best first. Means, medians, quartiles and the bootstrap interval of the mean are over the test trajectories; one "
        "seed is one training run, so differences below about 10 % say nothing. Zero, persistence and climatology are what "
        "knowing nothing scores. Slope: growth of the error a step. Correlated steps: until the correlation falls below 0.8, "
        "or all. Seconds are wall time on the machine named below.</p>"
        + (f"<h2>Over runs</h2>{_markup(seeds)}<p>The interval is over runs and trajectories.</p>" if seeds else "")
        + f"<h2>Error against cost</h2>{_markup(tables.cost_table(results))}<p>Fractions in physical units. The solver rows "
        "are the data's own solver in single precision on the full, half and quarter grid, timed as the models are; on the "
        "full grid it is what made the data, so its error is that of rounding.</p>"
    )


def _markup(table: tables.Table) -> str:
    header = "".join(f'<th scope="col">{escape(head)}</th>' for head in table[0])
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in table[1:])
    return f'<div class="wide"><table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table></div>'


def _protocol(results: Sequence[xr.Dataset]) -> str:
    facts = results[0].attrs
    settings = json.loads(facts["settings"])
    entries = {
        "protocol": "; ".join(sorted({result.attrs["protocol"] for result in results})),
        "evaluation": json.dumps(settings["evaluation"]),
        "data": settings["data"],
        "test trajectories in the file": f"{settings['test'][0]} to {settings['test'][1] - 1}",
        "machine": facts["evaluated_on"] + f", {int(facts['threads'])} threads",
        "versions": facts["evaluated_with"],
        **{f"training of {figures.label(result)}": _training(result) for result in filter(figures.is_trained, results)},
    }
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in entries.items())
    return f"<h2>Protocol</h2><dl>{listed}</dl><p>Made by driftnet {version('driftnet')}.</p>"


def _training(result: xr.Dataset) -> str:
    facts = result.attrs
    steps, pairs, trajectories, best = (
        int(facts[key]) for key in ("training_steps", "training_pairs", "training_trajectories", "best_step")
    )
    once, twice = int(facts["parameters"]), int(facts["parameters_as_reals"])
    return (
        f"{steps} steps on {pairs} pairs of {trajectories} trajectories in {facts['training_seconds']:.0f} s; weights of "
        f"step {best}, the best on validation; {once:,} parameters, or {twice:,} with complex ones counted twice"
    )
