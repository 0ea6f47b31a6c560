"""What a task is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from driftnet.configs import require
from driftnet.tasks.equations import Simulation

Boundary = Literal["periodic", "absorbing", "dirichlet"]


@dataclass(frozen=True)
class Quantity:
    """A physical quantity: one error is reported for it, whatever its number of components."""

    name: str
    components: tuple[str, ...]
    unit: str = "1"


@dataclass(frozen=True)
class Split:
    """Trajectories of a file by position: training first, then validation, the test set last."""

    train: int
    validation: int
    test: int

    def __post_init__(self) -> None:
        """Refuse sizes that leave a part without trajectories."""
        for name in ("train", "validation", "test"):
            require(getattr(self, name) > 0, f"split.{name}: {getattr(self, name)} is not positive")

    @property
    def total(self) -> int:
        """Trajectories in all three parts."""
        return self.train + self.validation + self.test

    def slices(self, stored: int) -> dict[str, slice]:
        """Positions of every part in a file of `stored` trajectories; the test set is always the last."""
        return {
            "train": slice(0, self.train),
            "validation": slice(self.train, self.train + self.validation),
            "test": slice(stored - self.test, stored),
        }


@dataclass(frozen=True)
class Normalization:
    """Mean and standard deviation that the published loaders carry, component by component."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    static_mean: tuple[float, ...] = ()
    static_std: tuple[float, ...] = ()
    published: bool = True
    """False for those of data that we made where nothing was published: no published number means them."""


@dataclass(frozen=True)
class Variable:
    """A variable of a data file: its axes, and the channels it holds along the channel axis, or the only one."""

    name: str
    channels: tuple[str, ...]
    dimensions: tuple[str, ...] = ("sample", "time", "channel", "x", "y")
    dtype: Literal["<f4", "<f8"] = "<f4"


@dataclass(frozen=True)
class Arrays:
    """Which of a person's own arrays are read, and what their axes are."""

    variables: tuple[str, ...]
    axes: tuple[str, ...]
    static: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """Where trajectories come from: the published file, and the simulation that makes equivalent ones."""

    file: str
    variables: tuple[Variable, ...] = ()
    """The first holds the predicted channels."""
    simulation: Simulation | None = None
    """None for data that only a file has."""
    confidence: Literal["high", "medium-high", "medium", "as given"] = "as given"
    """How sure it is that the simulation is the one behind the published file."""
    reference: str = "Herde et al. 2024 (Poseidon), appendix B"
    """Where the recipe was found."""
    inferred: str = "nothing"
    """What no source states and the published statistics suggest."""
    format: str = "poseidon"
    """A name in `registry.FORMATS`."""
    arrays: Arrays | None = None
    """What to read, where the file itself does not tell."""

    @property
    def variable(self) -> str:
        """The variable of the predicted channels."""
        return self.variables[0].name

    @property
    def data_set(self) -> str:
        """The name of the data, which tasks may share."""
        return self.file.rpartition(".")[0]


@dataclass(frozen=True)
class Task:
    """One learning problem, without a line of numerics."""

    name: str
    equation: str
    quantities: tuple[Quantity, ...]
    static: tuple[str, ...]
    """Channels that are given and never predicted: a wave speed, a forcing."""
    boundary: Boundary
    resolution: int
    snapshots: int
    final_snapshot: int
    """T*: the snapshot whose error is the headline."""
    duration: float
    split: Split
    normalization: Normalization | None
    """None for data of a person's own: what models see is fitted on the training part anyway."""
    source: Source
    steady: bool = False
    """A map without time: the state is zero before the only step and the answer after it; all input is static."""
    baselines: tuple[str, ...] = ("zero", "persistence", "climatology", "solver", "solver-half", "solver-quarter")
    """Rows without training that mean something here."""

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the predicted channels, in their order in a file."""
        return tuple(name for quantity in self.quantities for name in quantity.components)

    @property
    def interval(self) -> float:
        """Time between two snapshots."""
        return self.duration / (self.snapshots - 1)

    @property
    def published(self) -> Normalization | None:
        """The constants that published numbers mean, where there are any."""
        return self.normalization if self.normalization and self.normalization.published else None

    @property
    def times(self) -> tuple[float, ...]:
        """Physical times of the snapshots."""
        return tuple(self.duration * index / (self.snapshots - 1) for index in range(self.snapshots))

    def channels(self, quantity: Quantity) -> slice:
        """Where the components of `quantity` stand among the channels."""
        start = self.components.index(quantity.components[0])
        return slice(start, start + len(quantity.components))
