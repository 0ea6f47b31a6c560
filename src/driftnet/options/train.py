"""Options of the commands that train."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from driftnet.configs import ModelConfig, Training
from driftnet.data.loading import Loading


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
    log: Literal["csv", "tensorboard", "wandb", "both"] = "csv"
    """csv: log.csv alone; the others: what it holds goes to TensorBoard, to W&B or to both as well."""
    dry_run: bool = False
    """Say what the run would take, from a few timed steps, and write nothing."""

    @property
    def writers(self) -> tuple[str, ...]:
        """Whom the log is written to beside log.csv."""
        return {"csv": (), "both": ("tensorboard", "wandb")}.get(self.log, (self.log,))

    overwrite: bool = False
    """Replace what exists."""


@dataclass(frozen=True)
class StatusOptions:
    """Options of `driftnet status`."""

    json: bool = False
    """Answer as JSON, in seconds and steps."""
