"""What a person can set: typed, torch-free, checked when made, and written to YAML as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_type_hints

from driftnet.errors import UsageError

T = TypeVar("T")

Convention = Literal["physical", "published"]  # Of errors, as tables show them: docs/metrics.md.
ONE_STEP = 1 / 20  # Lead time of one step of the data: Poseidon divides differences of snapshots by 20.


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
    divergence: Literal["kept", "removed"] = "kept"
    """removed: the velocity of an incompressible periodic flow is projected onto fields without divergence at every step."""


@dataclass(frozen=True)
class ModelConfig:
    """What every model has: a frame, and the builder of the network inside it."""

    builder: ClassVar[str]
    """"module:attribute" of a function (configuration, channels in, channels out, boundary) -> network."""
    needs: ClassVar[str] = ""
    """Extra of driftnet, called as the module that it brings, without which there is no building it."""
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
class Objective:
    """What a model is asked to get right: docs/training.md."""

    kind: Literal["one-step", "all-to-all", "unrolled", "pushforward"] = "one-step"
    """one-step: u(t+1) from u(t), as the paper; all-to-all: u(t') from u(t) for any t < t', as Poseidon;
    unrolled: several steps of the model's own; pushforward: the last of several, whose gradient stops before it."""
    steps: int | None = None
    """Steps of the model from a true state, for unrolled and pushforward; 2 where not given."""
    longest: int | None = None
    """Most steps of the data that a pair of all-to-all spans; all where not given."""
    noise: float = 0.0
    """Gaussian noise on the state that comes in, in standard deviations of the training states; 0 adds none."""

    def __post_init__(self) -> None:
        """Refuse values outside their range, and those that this kind does not read."""
        for name, kinds in (("steps", ("unrolled", "pushforward")), ("longest", ("all-to-all",))):
            value = getattr(self, name)
            require(value is None or value > 0, f"training.objective.{name}: {value} is not positive")
            read = value is None or self.kind in kinds
            require(read, f"training.objective.{name}: {self.kind} does not read it; it belongs to {' and '.join(kinds)}")
        require(self.noise >= 0, f"training.objective.noise: {self.noise} is negative")

    @property
    def horizon(self) -> int:
        """Steps of the model from a true state."""
        return (self.steps or 2) if self.kind in ("unrolled", "pushforward") else 1


@dataclass(frozen=True)
class Training:
    """An objective and AdamW; defaults are the paper's."""

    epochs: int = 40
    """Passes over all training pairs, or windows of more snapshots."""
    steps: int | None = None
    """Optimiser steps; in place of epochs where given."""
    batch: int = 40
    """Pairs, or windows, in a step."""
    buffer: int = 128
    """Trajectories whose pairs are shuffled together; decides the order, and how much is in memory."""
    rate: float = 3e-4
    """Peak learning rate."""
    schedule: Literal["cosine", "step"] = "cosine"
    """After the warm-up. cosine: half a cosine to zero; step: a tenth from half of the steps on, a hundredth from 3/4."""
    warmup: float = 0.05
    """Share of the steps over which the rate rises from zero."""
    weight_decay: float = 1e-6
    clip: float = 5.0
    """Largest norm of the gradient; 0 leaves it unclipped."""
    project: float = 0.0
    """Largest spectral norm of a DRIFT mixer's three operators, enforced after every step (A.4); 0 leaves them free."""
    validations: int = 20
    """How often the validation error is measured; the best weights are kept."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """fp32: no TF32 either; bf16: mixed, weights, loss and Fourier transforms in fp32."""
    accumulate: int = 1
    """Parts in which a process works through its share of the batch: less memory, one more forward pass, the same step."""
    recompute: bool = False
    """Compute the insides of the network's blocks again for the gradient and do not keep them: less memory, the same bits."""
    compile: bool = False
    """Have torch.compile translate the network first."""
    parallel: Literal["ddp", "fsdp"] = "ddp"
    """Where there are several processes: all weights in each (ddp), or each with its share of them (fsdp)."""
    ema: float = 0.0
    """Decay of an exponential mean of the weights, which is then what is validated and saved; 0 takes none."""
    objective: Objective = field(default_factory=Objective)
    loss: Loss = field(default_factory=Loss)

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        for name in ("epochs", "batch", "buffer", "rate", "validations", "accumulate"):
            require(getattr(self, name) > 0, f"training.{name}: {getattr(self, name)} is not positive")
        require(self.steps is None or self.steps > 0, f"training.steps: {self.steps} is not positive")
        for name in ("warmup", "ema"):
            require(0 <= getattr(self, name) < 1, f"training.{name}: {getattr(self, name)} is not in [0, 1)")
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
    direct: bool = False
    """Every snapshot from the first in one application, by its lead time, in place of a rollout; baselines are rolled out."""

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

    def __post_init__(self) -> None:
        """Refuse what seeds no generator."""
        require(self.seed >= 0, f"seed: {self.seed} is negative")


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


def altered(config: T, changes: Mapping[str, Callable[[Any], Any]]) -> T:
    """The configuration with every field of these names, however deep, replaced by a function of its value."""
    parts = {entry.name: getattr(config, entry.name) for entry in fields(config)}  # pyright: ignore[reportArgumentType]
    inner = {name: altered(part, changes) if is_dataclass(part) else part for name, part in parts.items()}
    return replace(config, **{name: changes[name](part) if name in changes else part for name, part in inner.items()})  # pyright: ignore[reportArgumentType, reportReturnType]


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
