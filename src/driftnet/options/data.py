"""Options of the commands about data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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
class FetchOptions:
    """Options of `driftnet fetch`."""

    output: Path
    """The folder for the chunks."""
    chunks: int | None = None
    """How many to download, in the order in which they are read; all where not given."""


@dataclass(frozen=True)
class InspectOptions:
    """Options of `driftnet inspect`."""

    header: bool = False
    """Look at shapes and types only; no value is read."""


@dataclass(frozen=True)
class MergeOptions:
    """Options of `driftnet merge`."""

    output: Path = Path("merged.nc")
    """The file to write."""
    overwrite: bool = False
    """Replace what exists."""
