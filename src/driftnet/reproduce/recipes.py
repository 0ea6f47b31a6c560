"""What an experiment, a frame and a scale are, read from `recipes/`; torch-free."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml

from driftnet import registry
from driftnet.configs import require
from driftnet.errors import UsageError, unknown
from driftnet.reproduce.settings import built

T = TypeVar("T")
Settings = dict[str, Any]  # By dotted name: mixer.gating, loss.frequency.

Layout = Literal["tasks", "measures", "grids"]
Kind = Literal["lower", "worst", "falling", "flat", "slower-than-points"]


@dataclass(frozen=True)
class Row:
    """A line of a table: a model and what is changed of it."""

    model: str
    """A name in the scale's models."""
    set: Settings = field(default_factory=dict)
    """Settings of the model."""
    training: Settings = field(default_factory=dict)
    """Settings of its training."""
    share: float = 1.0
    """Of the training trajectories."""
    rate: float = 1.0
    """Times the scale's learning rate."""

    def __post_init__(self) -> None:
        """Refuse no data."""
        require(0 < self.share <= 1, f"share: {self.share} is not in (0, 1]")


@dataclass(frozen=True)
class Grid:
    """Where errors are measured: a share of the data's grid points along an axis."""

    share: float = 1.0
    protocol: Literal["native", "interpolated"] = "native"


@dataclass(frozen=True)
class Claim:
    """What the paper says, so that a rule can tell whether it is seen."""

    says: str
    """In words."""
    kind: Kind
    """What is compared: reproduce/claims.py has a rule for each."""
    row: str = ""
    than: tuple[str, ...] = ()
    """The rivals; in a falling claim all rows in their order."""
    measure: str = "final"
    tasks: tuple[str, ...] = ()
    """All tasks of the experiment where not given."""
    frames: tuple[str, ...] = ()
    """All frames where not given."""


@dataclass(frozen=True)
class Experiment:
    """A recipe: rows under the same protocol, what is shown of them, and what the paper claims."""

    title: str
    about: str
    place: int
    """Among the experiments, in the page and where all are run."""
    published: str
    """Where in the paper: a label of report/paper.py, or empty."""
    tasks: tuple[str, ...]
    rows: dict[str, Row]
    frames: tuple[str, ...] = ("paper", "ours")
    kind: Literal["errors", "costs", "bounds"] = "errors"
    layout: Layout = "measures"
    measures: tuple[str, ...] = ("final",)
    grids: tuple[Grid, ...] = (Grid(),)
    figures: tuple[Literal["error", "growth", "bands", "fields"], ...] = ()
    claims: tuple[Claim, ...] = ()
    seeds: int | None = None
    """Fewer than the scale's, where given."""
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse claims about rows that are not there."""
        for claim in self.claims:
            for row in filter(None, (claim.row, *claim.than)):
                if row not in self.rows:
                    raise unknown(f"row of {self.name}", row, self.rows)


@dataclass(frozen=True)
class Frame:
    """What surrounds all models: settings by architecture, and of the training."""

    about: str
    every: Settings
    """Settings of every model."""
    architectures: dict[str, Settings]
    """Settings of the models of an architecture."""
    training: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class Preset:
    """Which preset stands for a model at a scale."""

    preset: str
    set: Settings = field(default_factory=dict)
    step: float = 0.0
    """Seconds of a training step, for the plan; what it rests on stands in the file."""


@dataclass(frozen=True)
class Data:
    """Sizes of a task's data, and what its training needs to be different."""

    resolution: int
    train: int
    validation: int
    test: int
    snapshots: int | None = None
    training: Settings = field(default_factory=dict)
    cost: float = 1.0
    """Of a training step, relative to the one that a preset states."""
    generation: float = 0.1
    """Seconds a trajectory, for the plan."""


@dataclass(frozen=True)
class Costs:
    """How costs are measured."""

    batch: int
    steps: int
    repeats: int
    forward_batch: int = 1
    """Of forward passes: those that the paper counts a second are of small batches, though it does not say so."""


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    about: str
    seeds: int
    models: dict[str, Preset]
    data: dict[str, Data]
    """The tasks of the scale; an experiment is made of those of its tasks that are here."""
    training: Settings
    costs: Costs
    experiments: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Those of the scale, each with its rows, all of them where none is named; all experiments where not given."""
    name: str = ""


@dataclass(frozen=True)
class Cookbook:
    """All that stands in a folder of recipes, for one scale."""

    experiments: dict[str, Experiment]
    frames: dict[str, Frame]
    scale: Scale


def read_cookbook(folder: Path, scale: str) -> Cookbook:
    """Everything in `recipes/`, checked."""
    experiments = {path.stem: _read(Experiment, path, {"name": path.stem}) for path in sorted(folder.glob("*.yaml"))}
    frames = {path.stem: _read(Frame, path) for path in sorted((folder / "frames").glob("*.yaml"))}
    scales = {path.stem: path for path in sorted((folder / "scales").glob("*.yaml"))}
    if not experiments or not scales:
        raise UsageError(f"{folder}: there are no recipes; --recipes names the folder 'recipes' of the repository")
    if scale not in scales:
        raise unknown("scale", scale, scales)
    book = Cookbook({}, frames, _read(Scale, scales[scale], {"name": scale}))
    for name, experiment in experiments.items():
        _check(experiment, book)
        smaller = _at_scale(experiment, book.scale)
        if smaller.tasks and name in (book.scale.experiments or experiments):
            book.experiments[name] = smaller
    for name in book.scale.experiments:
        if name not in experiments:
            raise UsageError(f"{scales[scale]}: experiments: {unknown('experiment', name, experiments)}")
    order = sorted(book.experiments.values(), key=lambda each: (each.place, each.name))
    return replace(book, experiments={each.name: each for each in order})


def _at_scale(experiment: Experiment, scale: Scale) -> Experiment:
    """The tasks and the rows that a scale has of an experiment, and the claims about those."""
    tasks = tuple(task for task in experiment.tasks if experiment.kind == "costs" or task in scale.data)
    kept = scale.experiments.get(experiment.name) or tuple(experiment.rows)
    for row in kept:
        if row not in experiment.rows:
            raise UsageError(f"scales/{scale.name}.yaml: {unknown(f'row of {experiment.name}', row, experiment.rows)}")
    rivals = ((claim, tuple(row for row in claim.than if row in kept)) for claim in experiment.claims)
    claims = tuple(replace(claim, than=than) for claim, than in rivals if claim.row in ("", *kept) and (than or not claim.than))
    return replace(experiment, tasks=tasks, rows={row: experiment.rows[row] for row in kept}, claims=claims)


def _read(kind: type[T], path: Path, given: dict[str, Any] | None = None) -> T:
    try:
        values = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"could not read {path}: {str(error).splitlines()[0]}") from error
    if isinstance(values, dict):
        values = {**values, **(given or {})}
    try:
        return built(kind, values, str(path))
    except UsageError as error:
        raise UsageError(str(error) if str(path) in str(error) else f"{path}: {error}") from error


def _check(experiment: Experiment, book: Cookbook) -> None:
    """Names that a recipe uses must exist."""
    for kind, names, known in (
        ("task", experiment.tasks, registry.TASKS),
        ("frame", experiment.frames, book.frames),
        ("model of this scale", [row.model for row in experiment.rows.values()], book.scale.models),
    ):
        for name in names:
            if name not in known:
                raise UsageError(f"{experiment.name}.yaml: {unknown(kind, name, known)}")


def chosen(book: Cookbook, names: list[str]) -> list[Experiment]:
    """The experiments called by name, in that order; 'all' stands for every one."""
    for name in names:
        if name not in (*book.experiments, "all"):
            raise unknown("experiment", name, (*book.experiments, "all"))
    wanted = dict.fromkeys(each for name in names for each in (book.experiments if name == "all" else (name,)))
    return [book.experiments[name] for name in wanted]
