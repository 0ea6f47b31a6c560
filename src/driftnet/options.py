"""Options of the commands; what stands below a field is its help."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from driftnet import registry
from driftnet.configs import Convention, Evaluation, ModelConfig, Training, require
from driftnet.data.loading import Loading
from driftnet.tasks.base import Split
from driftnet.tasks.equations import Simulation


@dataclass(frozen=True)
class GenerateOptions:
    """Options of `driftnet generate`."""

    split: Split
    """Trajectories for training, validation and test."""
    resolution: int
    """Grid points along an axis."""
    snapshots: int
    """Snapshots of a trajectory, at the task's spacing."""
    simulation: Simulation
    """The equation and its random initial data."""
    output: Path
    """The file to make."""
    workers: int
    """Processes, one thread each."""
    seed: int = 0
    """Trajectory i depends on the seed and on i alone."""
    precision: Literal["float32", "float64"] = "float32"
    """Arithmetic of the solver; files hold float32."""
    batch: int = 8
    """Trajectories solved together; does not change them."""
    device: str = "cpu"
    """Where to solve: cpu, cuda, cuda:1, ..."""
    shards: int = 1
    """Jobs that the data set is divided among; each makes a file of its own for 'driftnet merge'."""
    shard: int = 0
    """Which of them this is, from 0."""
    overwrite: bool = False
    """Replace what exists."""


@dataclass(frozen=True)
class MergeOptions:
    """Options of `driftnet merge`."""

    output: Path = Path("merged.nc")
    """The file to write."""
    overwrite: bool = False
    """Replace what exists."""


@dataclass(frozen=True)
class TrainOptions:
    """Options of `driftnet train`."""

    data: Path
    """The data file."""
    model: ModelConfig
    """The network, from the preset."""
    training: Training = field(default_factory=Training)
    """How it is trained."""
    loading: Loading = field(default_factory=Loading)
    """Where the data wait; changes no result."""
    trajectories: int | None = None
    """How many of the training part to train on, the first ones; all where not given."""
    seed: int = 0
    """Decides the first weights and the order of the pairs."""
    runs: Path = Path("runs")
    """The run goes to RUNS/<task>/<model>/<seed>."""
    device: str = "cpu"
    """Where to train: cpu, cuda, cuda:1, ..."""
    threads: int = 0
    """CPU threads; 0 leaves torch's choice."""
    overwrite: bool = False
    """Replace what exists."""


@dataclass(frozen=True)
class InspectOptions:
    """Options of `driftnet inspect`."""

    header: bool = False
    """Look at shapes and types only; no value is read."""


@dataclass(frozen=True)
class FetchOptions:
    """Options of `driftnet fetch`."""

    output: Path
    """The folder for the chunks."""
    chunks: int | None = None
    """How many to download, in the order in which they are read; all where not given."""


@dataclass(frozen=True)
class EvaluateOptions:
    """Options of `driftnet evaluate`."""

    evaluation: Evaluation = field(default_factory=Evaluation)
    """The rollout."""
    baselines: tuple[str, ...] = tuple(registry.BASELINES)
    """Rows without training, measured beside the runs."""
    data: Path | None = None
    """The data file; the one a run was trained on where not given."""
    convention: Convention = "physical"
    """What the answer shows; both are measured. physical: fractions of fields as they are; published: Poseidon's per cent."""
    device: str = "cpu"
    """Where to evaluate: cpu, cuda, cuda:1, ..."""
    threads: int = 0
    """CPU threads; 0 leaves torch's choice."""
    overwrite: bool = False
    """Replace what exists."""


@dataclass(frozen=True)
class BenchDataOptions:
    """Options of `driftnet bench data`."""

    size: int = 500
    """MB of the temporary file."""
    folder: Path | None = None
    """Where to make it, on the disk to be measured; the system's temporary folder where not given."""
    repeats: int = 5
    """How often everything is measured, in turns."""
    batch: int = 40
    """Pairs in a batch."""
    buffer: int = 32
    """Trajectories whose pairs are shuffled together."""
    threads: int = 1
    """CPU threads; 0 leaves torch's choice."""

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        for name in ("size", "repeats", "batch", "buffer"):
            require(getattr(self, name) > 0, f"{name}: {getattr(self, name)} is not positive")


@dataclass(frozen=True)
class PredictOptions:
    """Options of `driftnet predict`."""

    steps: int = 20
    """Steps of the rollout."""
    output: Path = Path("prediction.nc")
    """The file to write: the initial state and every step."""
    seed: int = 0
    """Of what some models draw at random in a rollout."""
    device: str = "cpu"
    """Where to run: cpu, cuda, cuda:1, ..."""
    threads: int = 0
    """CPU threads; 0 leaves torch's choice."""
    overwrite: bool = False
    """Replace what exists."""

    def __post_init__(self) -> None:
        """Refuse a rollout without steps."""
        require(self.steps > 0, f"steps: {self.steps} is not positive")


@dataclass(frozen=True)
class BenchModelsOptions:
    """Options of `driftnet bench models`."""

    task: str = "NS-PwC"
    """The task that decides channels and boundary."""
    resolutions: tuple[int, ...] = (64, 128)
    """Points along an axis."""
    batches: tuple[int, ...] = (1, 8)
    """Samples of a step."""
    repeats: int = 5
    """Processes a case is measured in, in turn with the others."""
    steps: int = 3
    """Timed training steps in each of them, after one that is not timed."""
    epoch_pairs: int | None = None
    """Pairs in an epoch; those of the task's published training split where not given."""
    device: str = "cpu"
    """cpu, cuda, cuda:1, ..."""
    threads: int = 1
    """CPU threads."""
    output: Path | None = None
    """A JSON file with every single time."""
    overwrite: bool = False
    """Replace what exists."""

    def __post_init__(self) -> None:
        """Refuse nothing to measure."""
        for name in ("repeats", "steps", "threads"):
            require(getattr(self, name) > 0, f"{name}: {getattr(self, name)} is not positive")
        for name in ("resolutions", "batches"):
            values = getattr(self, name)
            require(bool(values) and min(values) > 0, f"{name}: {list(values)} are not positive")


@dataclass(frozen=True)
class ReportOptions:
    """Options of `driftnet report`."""

    output: Path = Path("report.html")
    """The page to write."""
    figures: Path | None = None
    """A folder for the figures as files of their own."""
    convention: Convention = "physical"
    """Errors of the table. physical: fractions of fields as they are; published: Poseidon's per cent of normalised fields."""
    results: str = "metrics.nc"
    """Name of the results to show; those on other grids are called metrics-<points>-<protocol>.nc."""
    overwrite: bool = False
    """Replace what exists."""


BENCH: dict[str, type] = {"data": BenchDataOptions, "models": BenchModelsOptions}
"""Options of every topic of `driftnet bench`."""
