"""What every equation, every kind of random initial data, and every simulation is made of."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import ClassVar

from driftnet.configs import require


@dataclass(frozen=True)
class Equation:
    """An equation and how it is discretised."""

    solver: ClassVar[str]
    """"module:attribute" of a class (equation, grid, interval) -> driftnet.pdes.solver.Solver."""
    length: ClassVar[float] = 1.0
    """Side of the square domain."""


@dataclass(frozen=True)
class Initial:
    """A distribution of initial data."""

    sampler: ClassVar[str]
    """"module:attribute" of a function (parameters, generators, size) -> fields (b c size size)."""

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the sampled fields; those that never change stand last."""
        return ()  # No ABC here: the parser of options takes plain dataclasses only.


@dataclass(frozen=True)
class Simulation:
    """An equation and where it starts from; every equation has a subclass that names the two types."""

    equation: Equation
    initial: Initial
    warmup: int = 0
    """Intervals between snapshots that are simulated before the first snapshot is kept."""

    def __post_init__(self) -> None:
        """Refuse to go back in time."""
        require(self.warmup >= 0, f"simulation.warmup: {self.warmup} is negative")


def positive(group: str, parameters: object, *names: str) -> None:
    """Refuse parameters that are not positive."""
    for name in names:
        value = getattr(parameters, name)
        require(value is None or value > 0, f"{group}.{name}: {value} is not positive")


def finite(group: str, parameters: object, *names: str) -> None:
    """Refuse infinite parameters, and what is not a number."""
    for name in names:
        value = getattr(parameters, name)
        require(isfinite(value), f"{group}.{name}: {value} is not finite")


def ordered(group: str, parameters: object, *names: str) -> None:
    """Refuse ranges that end before they begin, or never."""
    for name in names:
        low, high = getattr(parameters, name)
        require(low <= high, f"{group}.{name}: [{low}, {high}] ends before it begins")
        require(high - low < inf, f"{group}.{name}: [{low}, {high}] is not finite")
