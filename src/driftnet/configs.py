"""What a person can set: typed, torch-free, checked when made, and written to YAML as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_type_hints

from driftnet.errors import UsageError

T = TypeVar("T")


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
class Backbone:
    """The multi-scale encoder-decoder around the mixers, one entry a level, the finest first."""

    patch: int = 4
    """Side of the square of grid points that becomes one token."""
    widths: tuple[int, ...] = (48, 96, 192, 384)
    """Channels of every level."""
    depths: tuple[int, ...] = (4, 4, 4, 4)
    """Blocks of every level, in the encoder and again in the decoder."""
    skips: tuple[int, ...] = (2, 2, 2, 0)
    """ConvNeXt blocks on the skip connection of every level; the last level's lead into the decoder."""
    mlp_ratio: float = 4.0
    """Width of the hidden layer of every MLP, in channels of its level."""
    lead_time: bool = False
    """Norms whose scale and shift depend on the lead time, as published, where it is constant."""

    def __post_init__(self) -> None:
        """Refuse levels that do not line up."""
        levels = len(self.widths)
        require(levels >= 1, "backbone.widths: at least one level is needed")
        require(
            len(self.depths) == levels and len(self.skips) == levels,
            f"backbone: widths, depths and skips name {levels}, {len(self.depths)} and {len(self.skips)} "
            "levels; they must agree",
        )
        require(min(self.widths) > 0 and min(self.depths) > 0, "backbone: widths and depths must be positive")
        require(min(self.skips) >= 0, "backbone.skips: a number of blocks cannot be negative")
        require(self.patch > 0, f"backbone.patch: {self.patch} is not positive")
        require(self.mlp_ratio > 0, f"backbone.mlp_ratio: {self.mlp_ratio} is not positive")

    @property
    def divisor(self) -> int:
        """What height and width must be multiples of."""
        return self.patch * 2 ** (len(self.widths) - 1)


@dataclass(frozen=True)
class DriftMixer:
    """The DRIFT block: low-frequency mixing, a radial gate, and two local branches (paper, section 4)."""

    mask: Literal["symmetric", "published"] = "symmetric"
    """symmetric: |k| below the cut-off; published: the quadrant [:k_y, :k_x] of positive row frequencies."""
    edge: Literal["soft", "hard"] = "soft"
    """soft: a sigmoid edge whose cut-off learns; hard: a step at the initial cut-off, as published."""
    cutoff: float = 0.5621765
    """Initial cut-off as a fraction of the Nyquist frequency; sigmoid(0.25) is the authors'."""
    radius: Literal["signed", "published"] = "signed"
    """Radius of the gate's bands: of the signed frequency, or of the raw row index."""
    feature: Literal["amplitude", "energy"] = "amplitude"
    """What the gate sees of a band: its mean |X|, or its share of the energy."""
    bands: int = 6
    """Radial bands of the gate."""
    gate_width: int = 128
    """Hidden width of the gate's MLP."""
    gate_start: Literal["even", "low-pass"] = "even"
    """even: every band starts at 1/2; low-pass: near 1 in the lowest band, near 0 in the highest."""
    taper: float = 0.0
    """At evaluation only: share beta of the mean gate that is taken off the outermost band (appendix C)."""

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        require(0 < self.cutoff < 1, f"mixer.cutoff: {self.cutoff} is not between 0 and 1")
        require(self.bands >= 1, f"mixer.bands: {self.bands} is not positive")
        require(self.gate_width >= 1, f"mixer.gate_width: {self.gate_width} is not positive")
        require(0 <= self.taper <= 0.5, f"mixer.taper: {self.taper} is not between 0 and 0.5")


@dataclass(frozen=True)
class ConvolutionMixer:
    """A depth-wise convolution and nothing else: the convolution-only U-Net."""

    kernel: int = 7
    """Side of the kernel, odd."""

    def __post_init__(self) -> None:
        """Refuse kernels without a centre."""
        require(self.kernel % 2 == 1 and self.kernel > 0, f"mixer.kernel: {self.kernel} is not odd")


@dataclass(frozen=True)
class ModelConfig:
    """What every model has: a frame, and the builder of the network inside it."""

    builder: ClassVar[str]
    """"module:attribute" of a function (configuration, channels in, channels out, boundary) -> network."""
    frame: Frame = field(default_factory=Frame)


@dataclass(frozen=True)
class DriftNet(ModelConfig):
    """The paper's model: the backbone with DRIFT mixers."""

    builder: ClassVar[str] = "driftnet.models.backbone:build"
    backbone: Backbone = field(default_factory=Backbone)
    mixer: DriftMixer = field(default_factory=DriftMixer)


@dataclass(frozen=True)
class ConvUNet(ModelConfig):
    """The same backbone with convolutions in the mixers' place."""

    builder: ClassVar[str] = "driftnet.models.backbone:build"
    backbone: Backbone = field(default_factory=Backbone)
    mixer: ConvolutionMixer = field(default_factory=ConvolutionMixer)


ARCHITECTURES: dict[str, type[ModelConfig]] = {kind.__name__: kind for kind in (DriftNet, ConvUNet)}


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
    rate: float = 3e-4
    """Peak learning rate."""
    warmup: float = 0.05
    """Share of the steps over which the rate rises from zero."""
    weight_decay: float = 1e-6
    clip: float = 5.0
    """Largest norm of the gradient; 0 leaves it unclipped."""
    validations: int = 20
    """How often the validation error is measured; the best weights are kept."""
    loss: Loss = field(default_factory=Loss)

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        for name in ("epochs", "batch", "rate", "validations"):
            require(getattr(self, name) > 0, f"training.{name}: {getattr(self, name)} is not positive")
        require(self.steps is None or self.steps > 0, f"training.steps: {self.steps} is not positive")
        require(0 <= self.warmup < 1, f"training.warmup: {self.warmup} is not in [0, 1)")
        for name in ("weight_decay", "clip"):
            require(getattr(self, name) >= 0, f"training.{name}: {getattr(self, name)} is negative")


@dataclass(frozen=True)
class Evaluation:
    """A closed-loop rollout from the first snapshot over the test split."""

    steps: int | None = None
    """Length of the rollout; all that the data hold where not given."""
    batch: int = 16
    """Trajectories rolled out together."""
    examples: int = 1
    """Trajectories whose fields are kept for the report."""

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
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
