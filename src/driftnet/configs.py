"""What a person can set: typed, torch-free, checked when made, and written to YAML as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_type_hints

from driftnet.errors import UsageError

T = TypeVar("T")

Convention = Literal["physical", "published"]  # Of errors, as tables show them: docs/metrics.md.


def require(condition: bool, message: str) -> None:
    """Refuse a setting in one line."""
    if not condition:
        raise UsageError(message)


@dataclass(frozen=True)
class Frame:
    """What surrounds any network: what it predicts, and how its convolutions see the boundary."""

    predicts: Literal["increment", "state"] = "increment"
    """increment: u(t+1) - u(t), normalised by the training increments; state: u(t+1), as the paper."""
    padding: Literal["boundary", "zeros"] = "boundary"
    """boundary: circular where the task is periodic; zeros: as published."""


@dataclass(frozen=True)
class ModelConfig:
    """What every model has: a frame, and the builder of the network inside it."""

    builder: ClassVar[str]
    """"module:attribute" of a function (configuration, channels in, channels out, boundary) -> network."""
    frame: Frame = field(default_factory=Frame)


@dataclass(frozen=True)
class Loss:
    """Relative L_p per quantity plus an error spectrum weighted by radius (paper, section 4.4)."""

    p: Literal[1, 2] = 1
    """Order of the base norm."""
    reduction: Literal["batch", "sample"] = "batch"
    """batch: ratio of the batch's norms, as published; sample: mean of every sample's ratio."""
    frequency: float = 0.3
    """lambda, the weight of the frequency term; 0 leaves it out."""
    power: float = 1.5
    """alpha in the weight r^alpha."""
    scaling: Literal["parseval", "published"] = "parseval"
    """parseval: the mean square of the filtered error; published: mean over the half spectrum (tiny)."""

    def __post_init__(self) -> None:
        """Refuse negative weights."""
        require(self.frequency >= 0, f"loss.frequency: {self.frequency} is negative")
        require(self.power >= 0, f"loss.power: {self.power} is negative")


@dataclass(frozen=True)
class Training:
    """One-step teacher forcing with AdamW and a cosine schedule; defaults are the paper's."""

    epochs: int = 40
    """Passes over all training pairs."""
    steps: int | None = None
    """Optimiser steps; in place of epochs where given."""
    batch: int = 40
    """Pairs in a step."""
    buffer: int = 128
    """Trajectories whose pairs are shuffled together; decides the order, and how much is in memory."""
    rate: float = 3e-4
    """Peak learning rate."""
    warmup: float = 0.05
    """Share of the steps over which the rate rises from zero."""
    weight_decay: float = 1e-6
    clip: float = 5.0
    """Largest norm of the gradient; 0 leaves it unclipped."""
    project: float = 0.0
    """Largest spectral norm of a DRIFT mixer's three operators, enforced after every step (A.4); 0 leaves them free."""
    validations: int = 20
    """How often the validation error is measured; the best weights are kept."""
    loss: Loss = field(default_factory=Loss)

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        for name in ("epochs", "batch", "buffer", "rate", "validations"):
            require(getattr(self, name) > 0, f"training.{name}: {getattr(self, name)} is not positive")
        require(self.steps is None or self.steps > 0, f"training.steps: {self.steps} is not positive")
        require(0 <= self.warmup < 1, f"training.warmup: {self.warmup} is not in [0, 1)")
        for name in ("weight_decay", "clip", "project"):
            require(getattr(self, name) >= 0, f"training.{name}: {getattr(self, name)} is negative")


@dataclass(frozen=True)
class Evaluation:
    """A closed-loop rollout from the first snapshot over the test split."""

    steps: int | None = None
    """Length of the rollout; all that the data hold where not given."""
    batch: int = 16
    """Trajectories rolled out together."""
    examples: int = 2
    """Trajectories whose fields are kept for the report."""
    seed: int = 0
    """Of what some models draw at random in a rollout."""
    resolution: int | None = None
    """Grid points along an axis, to which the data are resampled; those of the data where not given."""
    protocol: Literal["native", "interpolated"] = "native"
    """native: the model on that grid; interpolated: every step to the training grid and back (paper, cross-resolution)."""

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        size = self.resolution
        require(size is None or (size >= 8 and size % 2 == 0), f"evaluation.resolution: {size} is not even and at least 8")
        require(self.steps is None or self.steps > 0, f"evaluation.steps: {self.steps} is not positive")
        require(self.batch > 0, f"evaluation.batch: {self.batch} is not positive")
        require(self.examples > 0, f"evaluation.examples: {self.examples} is not positive")


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a training run: written to its folder as config.yaml."""

    task: str
    preset: str
    """Name of the preset that `model` started from."""
    data: str
    """Path of the data file."""
    seed: int
    model: ModelConfig
    training: Training
    trajectories: int | None = None


def to_dict(config: Any) -> dict[str, Any]:
    """A configuration as plain nested values, tuples as lists."""
    return {key: _plain(value) for key, value in asdict(config).items()}


def from_dict(kind: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """The configuration of type `kind` that `to_dict` wrote; unknown keys are refused."""
    hints = get_type_hints(kind)
    known = {entry.name for entry in fields(kind)}  # pyright: ignore[reportArgumentType]
    for key in values:
        require(key in known, f"{where}{key}: unknown setting; known: {', '.join(sorted(known))}")
    return kind(**{key: _typed(hints[key], value, f"{where}{key}.") for key, value in values.items()})


def _typed(hint: Any, value: Any, where: str) -> Any:
    inner = [kind for kind in (hint, *get_args(hint)) if is_dataclass(kind)]
    if inner and isinstance(value, Mapping):
        return from_dict(inner[0], value, where)  # pyright: ignore[reportArgumentType]
    item = next(iter(get_args(hint)), Any)
    return tuple(_typed(item, each, where) for each in value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value
