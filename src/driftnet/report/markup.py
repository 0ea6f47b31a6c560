"""Parts of the page: tables with their files, figures, the viewer, the protocol."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import yaml

from driftnet.report.collect import Group, Section
from driftnet.report.drawing import in_page
from driftnet.report.tables import WRITERS, Table

FORMATS = {"csv": ("CSV", "text/csv"), "tex": ("LaTeX", "application/x-tex"), "md": ("Markdown", "text/markdown")}
CHOICES = {"model": "Model", "trajectory": "Trajectory", "channel": "Channel"}
PANELS = {"truth": "truth", "prediction": "prediction", "error": "prediction - truth"}


@dataclass(frozen=True)
class Picture:
    """A figure of the page; `content` is an SVG, or the bytes of a PNG that is a file only."""

    name: str
    caption: str
    content: str | bytes

    @property
    def file(self) -> str:
        """Name of the figure as a file of its own."""
        return re.sub(r"[^\w.-]+", "-", f"{self.name}.{'svg' if isinstance(self.content, str) else 'png'}")

    def markup(self, section: str) -> str:
        """The figure inside the page."""
        assert isinstance(self.content, str)
        title = escape(self.caption.split(".")[0], quote=True)
        drawn = in_page(self.content, f"{section}-{self.name}", title)
        return f"<figure>{drawn}<figcaption>{escape(self.caption)}</figcaption></figure>"


def figures(pictures: Sequence[Picture], section: str) -> str:
    """Figures beside each other where there is room."""
    return f'<div class="figures">{"".join(picture.markup(section) for picture in pictures)}</div>'


def table(shown: Table, kinds: Mapping[str, str], prefix: str = "") -> str:
    """A table that scrolls by itself, and links to its files; `kinds` says how the row of a label looks."""
    header = "".join(f'<th scope="col">{escape(head)}</th>' for head in shown.headings())
    rows = "".join(_row(cells, kinds) for cells in shown.cells())
    label = escape(shown.caption, quote=True)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table><caption><span>{label}</span></caption>'
        f"<thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table></div>{_exports(shown, prefix)}"
    )


def _row(cells: Sequence[str], kinds: Mapping[str, str]) -> str:
    absent = any(cell.startswith("missing") for cell in cells)
    kind = "missing" if absent else kinds.get(cells[0], "")
    head, *rest = (escape(cell) for cell in cells)
    return f'<tr class="{kind}"><th scope="row">{head}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'


def _exports(shown: Table, prefix: str) -> str:
    links = []
    for suffix, write in WRITERS.items():
        name, kind = FORMATS[suffix]
        data = b64encode(write(shown).encode()).decode()
        file = f"{prefix}{shown.name}.{suffix}"
        links.append(f'<a download="{file}" href="data:{kind};base64,{data}" aria-label="{file}">{name}</a>')
    return f'<p class="exports"><span class="soft">This table as</span> {"".join(links)}</p>'


def viewer(data: str, label: str) -> str:
    """Truth, prediction and error under a slider of time; the script fills and shows it."""
    choices = "".join(
        f'<label>{name}<select data-part="{part}" autocomplete="off"></select></label>' for part, name in CHOICES.items()
    )
    scale = (
        '<label>Colours of errors<select data-part="scale" autocomplete="off"><option value="shared">one scale for all models'
        '</option><option value="own">scale of this model</option></select></label>'
    )
    panels = "".join(
        f'<figure><figcaption>{name}</figcaption><canvas data-part="{part}" role="img" aria-label="{name}"></canvas></figure>'
        for part, name in PANELS.items()
    )
    bars = "".join(
        f'<div class="bar" role="group" aria-label="colours of {name}"><span data-part="{part}-low"></span>'
        f'<canvas data-part="{part}-bar" aria-hidden="true"></canvas><span data-part="{part}-high"></span></div>'
        for part, name in {"field": "truth and prediction", "wrong": "the error"}.items()
    )
    return (
        f'<div class="viewer" role="group" aria-label="{escape(label, quote=True)}" hidden>'
        f'<div class="choices">{choices}{scale}</div>'
        f'<div class="panels">{panels}</div><div class="scales">{bars}</div><div class="time">'
        '<button type="button" data-part="play">Play</button><label>Time<input type="range" min="0" value="0" step="1" '
        'data-part="frame" autocomplete="off"></label><output><span data-part="when"></span><br><span data-part="says"></span>'
        "</output></div>"
        f'<script type="application/json">{data}</script></div>'
        "<noscript><p>The slider over truth, prediction and error needs JavaScript.</p></noscript>"
    )


def protocol(section: Section) -> str:
    """All that decided the numbers."""
    settings = json.loads(section.facts["settings"])
    first, last = settings["test"]
    every = {name: _said(section, name) for name in ("protocol", "device", "threads", "evaluated_on", "evaluated_with")}
    entries = {
        "grids": every["protocol"],
        "rollout": ", ".join(f"{key} {value}" for key, value in settings["evaluation"].items() if value is not None),
        "test trajectories": f"{last - first}, {first} to {last - 1} in the file",
        "device": f"{every['device']}, {every['threads']} threads; {every['evaluated_on']}",
        "versions": every["evaluated_with"],
    }
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in entries.items())
    return f"<dl>{listed}</dl>{_details('Data: all that decided the file', settings['data'])}" + "".join(
        _details(f"Training of {group.label}", group.first.attrs.get("recipe", "{}"), _training(group))
        for group in section.trained
    )


def _said(section: Section, name: str) -> str:
    """What the results say, each thing once."""
    said = {_plain(run.attrs[name]) for group in section.trained or section.groups for run in group.runs if name in run.attrs}
    return "; ".join(sorted(said))


def _plain(value: object) -> str:
    text = str(value)
    return ", ".join(f"{key} {each}" for key, each in json.loads(text).items()) if text.startswith("{") else text


def _details(title: str, settings: str, said: str = "") -> str:
    try:
        shown = yaml.safe_dump(json.loads(settings), sort_keys=False)
    except ValueError:
        shown = settings
    text = f'<p class="soft">{escape(said)}</p>' if said else ""
    return f'<details><summary>{escape(title)}</summary>{text}<pre tabindex="0">{escape(shown)}</pre></details>'


def _training(group: Group) -> str:
    facts = group.first.attrs
    steps, pairs, trajectories = (int(facts[f"training_{name}"]) for name in ("steps", "pairs", "trajectories"))
    once, twice = int(facts["parameters"]), int(facts["parameters_as_reals"])
    best = ", ".join(str(int(run.attrs["best_step"])) for run in group.runs)
    return (
        f"{steps} steps on {pairs} pairs of {trajectories} trajectories, seeds {', '.join(map(str, group.seeds))}; weights of "
        f"steps {best}, the best on validation; {once:,} parameters, or {twice:,} with complex ones counted twice."
    )
