"""Which results stand together: sections of one task and protocol, groups of runs of one model, and what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from driftnet.errors import DriftnetError
from driftnet.evaluate.results import final_errors, open_metrics, protocol
from driftnet.registry import BASELINES

RUN_FILES = ("config.yaml", "provenance.json")  # Either makes a folder a run's.
SHOWN_SETTINGS = 2  # Of those that tell two models of one name apart.


@dataclass(frozen=True)
class Group:
    """All runs of one model, by seed; or a baseline."""

    label: str
    runs: tuple[xr.Dataset, ...]

    @property
    def trained(self) -> bool:
        """Whether it is a model and not a baseline."""
        return "seed" in self.first.attrs

    @property
    def model(self) -> str:
        """Name of the model or baseline."""
        return self.first.attrs["model"]

    @property
    def first(self) -> xr.Dataset:
        """The run of the lowest seed."""
        return self.runs[0]

    @property
    def seeds(self) -> list[int]:
        """Seeds of the runs; none for a baseline."""
        return [int(run.attrs["seed"]) for run in self.runs if "seed" in run.attrs]

    def stacked(self, name: str) -> np.ndarray:
        """A variable of all runs, the runs along a new first axis."""
        return np.stack([run[name].values for run in self.runs])

    @cached_property
    def final(self) -> np.ndarray:
        """Relative L1 at T* by run and trajectory, averaged over quantities."""
        return np.stack([final_errors(run) for run in self.runs])


@dataclass(frozen=True)
class Missing:
    """A run that was asked for and has no results."""

    path: Path
    reason: str

    @property
    def task(self) -> str:
        """The task that its path names."""
        parents = self.path.absolute().parents
        return parents[1].name if len(parents) > 1 else ""

    @property
    def label(self) -> str:
        """Model and seed, as its path names them."""
        return f"{self.path.absolute().parent.name}, seed {self.path.name}"


@dataclass(frozen=True)
class Section:
    """Results that may be compared: one task, one protocol, the same data."""

    name: str
    title: str
    groups: tuple[Group, ...]
    missing: tuple[Missing, ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """What the results say of themselves; the same for all but training."""
        return self.groups[0].first.attrs

    @property
    def target(self) -> int:
        """T*."""
        return int(self.facts["final_snapshot"])

    @property
    def quantities(self) -> list[str]:
        """Names of the quantities."""
        return [str(name) for name in self.groups[0].first.quantity.values]

    @property
    def trained(self) -> list[Group]:
        """Models without baselines."""
        return [group for group in self.groups if group.trained]


def collect(folders: Sequence[Path], name: str) -> list[Section]:
    """The results called `name` under the folders and the baselines beside them, in sections; the best come first."""
    paths = sorted({path.resolve() for folder in folders for path in _under(folder, name)})
    missing = [each for folder in folders for each in _missing(folder, name)]
    if not paths:
        raise DriftnetError(f"there is no {name} under {', '.join(map(str, folders))}; 'driftnet evaluate' makes it")
    chosen: dict[tuple[str, ...], list[xr.Dataset]] = {}
    for result in map(open_metrics, paths):
        chosen.setdefault(protocol(result), []).append(result)
    beside = {found for path in paths for found in _baselines_beside(path)} - set(paths)
    for result in map(open_metrics, sorted(beside)):
        if protocol(result) in chosen:
            chosen[protocol(result)].append(result)
    return sections(list(chosen.values()), missing)


def _under(folder: Path, name: str) -> Iterable[Path]:
    return [folder] if folder.is_file() else folder.rglob(name)


def _baselines_beside(path: Path) -> list[Path]:
    """Results of baselines next to those of a run: <task>/<baseline> beside <task>/<model>/<seed>."""
    task = path.parents[2]
    return [found for baseline in BASELINES if (found := task / baseline / path.name).is_file()]


def _missing(folder: Path, name: str) -> list[Missing]:
    """Runs under a folder that have no results; a folder without any run is refused."""
    if not folder.exists():
        return [Missing(folder, "there is no such folder")]
    runs = sorted({path.parent for file in RUN_FILES for path in folder.rglob(file)})
    if not runs and not any(_under(folder, name)):
        raise DriftnetError(f"{folder} holds no run and there is no {name} in it")
    return [Missing(run, _reason(run, name)) for run in runs if not any(run.glob(name))]


def _reason(run: Path, name: str) -> str:
    return f"trained, but it has no {name}" if (run / "provenance.json").is_file() else "its training is not finished"


def sections(chosen: Sequence[Sequence[xr.Dataset]], missing: Sequence[Missing] = ()) -> list[Section]:
    """A section for every set of results that may be compared."""
    tasks = [results[0].attrs["task"] for results in chosen]
    titles = [_title(results[0], alone=tasks.count(task) == 1) for task, results in zip(tasks, chosen, strict=True)]
    made = []
    for number, (task, title, results) in enumerate(zip(tasks, titles, chosen, strict=True), 1):
        own = tuple(each for each in missing if each.task == task or (each.task not in tasks and number == 1))
        told = title if titles.count(title) == 1 else f"{title}, {number}"
        made.append(Section(task if title == task else f"{task}-{number}", told, groups(results), own))
    return made


def _title(result: xr.Dataset, alone: bool) -> str:
    """The task, and what tells it apart from others of that task."""
    facts = result.attrs
    told = f"{facts['protocol']}, steps 1 to {result.sizes['snapshot']}, {int(facts['test_trajectories'])} trajectories"
    return facts["task"] if alone else f"{facts['task']}, {told}"


def groups(results: Sequence[xr.Dataset]) -> tuple[Group, ...]:
    """Runs of one model and recipe together, the lowest error first; the same weights count once."""
    found: dict[tuple[str, str], dict[str, xr.Dataset]] = {}
    for result in results:
        facts = result.attrs
        weights = json.loads(facts["settings"]).get("weights") or ""
        found.setdefault((facts["model"], facts.get("recipe", "{}")), {}).setdefault(weights, result)
    labels = _labels(list(found))
    made = [
        Group(labels[key], tuple(sorted(runs.values(), key=lambda run: int(run.attrs.get("seed", 0)))))
        for key, runs in found.items()
    ]
    return tuple(sorted(made, key=lambda group: float(group.final.mean())))


def _labels(keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Models by name, and by what tells them apart where names agree."""
    made = {}
    for key in keys:
        name, recipe = key
        settings = [flat(json.loads(other)) for model, other in keys if model == name]
        own = flat(json.loads(recipe))
        differing = [entry for entry in own if any(other.get(entry) != own[entry] for other in settings)]
        told = ", ".join(f"{entry.rpartition('.')[2]} {own[entry]}" for entry in differing[:SHOWN_SETTINGS])
        made[key] = f"{name} ({told})" if told else name
    return made


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by their dotted names."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found
