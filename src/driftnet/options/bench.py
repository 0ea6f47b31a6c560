"""Options of every topic of `driftnet bench`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from driftnet.configs import require


@dataclass(frozen=True)
class BenchDataOptions:
    """Options of `driftnet bench data`."""

    size: int = 1000
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
class BenchObjectivesOptions:
    """Options of `driftnet bench objectives`."""

    task: str = "NS-PwC"
    """The task that decides channels and boundary."""
    resolution: int = 64
    """Points along an axis."""
    batch: int = 8
    """Windows of a step."""
    repeats: int = 5
    """Processes an objective is measured in, in turn with the others."""
    steps: int = 3
    """Timed training steps in each of them, after one that is not timed."""
    device: str = "cpu"
    """cpu, cuda, cuda:1, ..."""
    threads: int = 1
    """CPU threads."""

    def __post_init__(self) -> None:
        """Refuse nothing to measure."""
        for name in ("resolution", "batch", "repeats", "steps", "threads"):
            require(getattr(self, name) > 0, f"{name}: {getattr(self, name)} is not positive")


@dataclass(frozen=True)
class BenchRolloutOptions:
    """Options of `driftnet bench rollout`."""

    task: str = "NS-PwC"
    """The task that decides channels and boundary."""
    resolution: int = 64
    """Points along an axis."""
    batch: int = 16
    """States that are rolled out together."""
    steps: int = 100
    """Length of the rollout."""
    threads: int = 1
    """CPU threads."""

    def __post_init__(self) -> None:
        """Refuse nothing to measure."""
        for name in ("resolution", "batch", "steps", "threads"):
            require(getattr(self, name) > 0, f"{name}: {getattr(self, name)} is not positive")


@dataclass(frozen=True)
class BenchSolversOptions:
    """Options of `driftnet bench solvers`."""

    threads: ClassVar[int] = 1
    resolution: int = 128
    """Points along an axis."""
    batch: int = 8
    """Trajectories that are solved together."""
    steps: int = 20
    """Time steps that are timed together."""
    repeats: int = 21
    """How often everything is measured, in turns."""

    def __post_init__(self) -> None:
        """Refuse nothing to measure."""
        for name in ("batch", "steps", "repeats"):
            require(getattr(self, name) > 0, f"{name}: {getattr(self, name)} is not positive")
        require(
            self.resolution >= 32 and self.resolution % 2 == 0, f"resolution: {self.resolution} is not even and at least 32"
        )


@dataclass(frozen=True)
class BenchSpeedOptions:
    """Options of `driftnet bench speed`."""

    threads: ClassVar[int] = 0
    resolution: int = 128
    """Points along an axis."""
    batches: tuple[int, ...] = (1, 8)
    """Samples of a step."""
    threads_tried: tuple[int, ...] = (1, 2)
    """CPU threads."""
    repeats: int = 7
    """How often everything is measured, in turns."""
    growth: tuple[int, ...] = (64, 128, 256, 512)
    """Points along an axis of forward passes whose times are fitted by a power; one number or none leaves that out."""
    device: str = "cpu"
    """cpu, cuda, cuda:1, ..."""
    compile: bool = False
    """Also networks that torch.compile has translated, which takes minutes."""
    output: Path | None = None
    """A JSON file with every single time."""
    overwrite: bool = False
    """Replace what exists."""

    def __post_init__(self) -> None:
        """Refuse nothing to measure, and grids that the networks cannot halve often enough."""
        require(self.repeats > 0, f"repeats: {self.repeats} is not positive")
        for name in ("batches", "threads_tried"):
            values = getattr(self, name)
            require(bool(values) and min(values) > 0, f"{name}: {list(values)} are not positive")
        for size in (self.resolution, *self.growth):
            require(size > 0 and size % 32 == 0, f"{size} points along an axis are not a multiple of 32")


@dataclass(frozen=True)
class BenchStartOptions:
    """Options of `driftnet bench start`."""

    threads: ClassVar[int] = 1
    data: Path | None = None
    """A file of NS-PwC to train on; one of the demo's size is made where not given."""
    repeats: int = 5
    """How often everything is started, in turns."""

    def __post_init__(self) -> None:
        """Refuse nothing to measure."""
        require(self.repeats > 0, f"repeats: {self.repeats} is not positive")


@dataclass(frozen=True)
class BenchAllOptions:
    """Options of `driftnet bench all`: every topic has its own."""

    threads: ClassVar[int] = 0


BENCH: dict[str, type] = {
    "all": BenchAllOptions,
    "data": BenchDataOptions,
    "models": BenchModelsOptions,
    "objectives": BenchObjectivesOptions,
    "rollout": BenchRolloutOptions,
    "solvers": BenchSolversOptions,
    "speed": BenchSpeedOptions,
    "start": BenchStartOptions,
}
"""Options of every topic of `driftnet bench`."""
