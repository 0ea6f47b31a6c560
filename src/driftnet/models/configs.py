"""Every architecture's settings: torch-free, checked when made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from driftnet.configs import ModelConfig, require

GROUPS = 8  # Of the Refiner's group norms, as in PDE-Refiner's U-Net.


def _require_positive(config: object, *names: str) -> None:
    for name in names:
        require(getattr(config, name) > 0, f"{name}: {getattr(config, name)} is not positive")


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
    kernel: int = 3
    """Side of the depth-wise convolution's kernel, odd; the paper's is 3."""
    gate_start: Literal["even", "low-pass"] = "even"
    """even: every band starts at 1/2; low-pass: near 1 in the lowest band, near 0 in the highest."""
    taper: float = 0.0
    """At evaluation only: share beta of the mean gate that is taken off the outermost band (appendix C)."""
    mixing: bool = True
    """false, without low-frequency mixing: W is the identity."""
    gating: bool = True
    """false, without radial gating: low modes are W X, high modes are X, at full weight."""
    depthwise: bool = True
    """false, without the depth-wise convolution."""
    pointwise: bool = True
    """false, without the 1x1 linear map."""

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        require(0 < self.cutoff < 1, f"mixer.cutoff: {self.cutoff} is not between 0 and 1")
        require(self.bands >= 1, f"mixer.bands: {self.bands} is not positive")
        require(self.kernel % 2 == 1 and self.kernel > 0, f"mixer.kernel: {self.kernel} is not odd")
        require(self.gate_width >= 1, f"mixer.gate_width: {self.gate_width} is not positive")
        require(0 <= self.taper <= 0.5, f"mixer.taper: {self.taper} is not between 0 and 0.5")
        require(self.gating or self.taper == 0, "mixer.taper: it is a share of the gate, and mixer.gating is false")


@dataclass(frozen=True)
class ConvolutionMixer:
    """A depth-wise convolution and nothing else: the convolution-only U-Net."""

    kernel: int = 7
    """Side of the kernel, odd."""

    def __post_init__(self) -> None:
        """Refuse kernels without a centre."""
        require(self.kernel % 2 == 1 and self.kernel > 0, f"mixer.kernel: {self.kernel} is not odd")


@dataclass(frozen=True)
class WindowMixer:
    """Cosine attention within shifted windows (Liu et al. 2022, Swin v2), as in scOT."""

    window: int = 16
    """Side of a window in tokens; clipped to the grid of its level."""
    heads: tuple[int, ...] = (3, 6, 12, 24)
    """Attention heads of every level."""

    def __post_init__(self) -> None:
        """Refuse windows without a half, and levels without a head."""
        require(self.window >= 2, f"mixer.window: {self.window} is less than 2")
        require(min(self.heads, default=0) >= 1, "mixer.heads: every level needs at least one head")


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


@dataclass(frozen=True)
class FNO(ModelConfig):
    """Fourier layers at full resolution between two pointwise maps (Li et al. 2021)."""

    builder: ClassVar[str] = "driftnet.models.fno:build"
    width: int = 96
    """Channels of every layer."""
    modes: int = 16
    """Modes of each corner of the half spectrum: signed row frequencies -modes .. modes - 1, columns 0 .. modes - 1."""
    layers: int = 4
    """Fourier layers; 4 give the paper's 19M parameters, the 5 of its text 24M."""
    projection: int = 128
    """Hidden width of the map to the output."""

    def __post_init__(self) -> None:
        """Refuse sizes that leave nothing to compute."""
        _require_positive(self, "width", "modes", "layers", "projection")


@dataclass(frozen=True)
class UNO(ModelConfig):
    """Fourier layers on two levels of resolution (Rahman et al. 2022, as in appendix F)."""

    builder: ClassVar[str] = "driftnet.models.uno:build"
    width: int = 88
    """Channels of the fine level; the coarse one has twice as many."""
    modes: int = 16
    """Modes of each corner of the half spectrum, on both levels."""

    def __post_init__(self) -> None:
        """Refuse sizes that leave nothing to compute."""
        _require_positive(self, "width", "modes")


@dataclass(frozen=True)
class Levels:
    """A convolutional U-Net: an encoder and a decoder, one width a level, the finest first."""

    widths: tuple[int, ...]
    """Channels of every level."""
    depth: int
    """Blocks of every level, in the encoder and again in the decoder."""
    middle: int = 1
    """Blocks between the encoder and the decoder, on the coarsest level."""

    def __post_init__(self) -> None:
        """Refuse levels without channels or blocks."""
        require(len(self.widths) > 0 and min(self.widths) > 0, "levels.widths: at least one positive width is needed")
        require(self.depth > 0, f"levels.depth: {self.depth} is not positive")
        require(self.middle >= 0, f"levels.middle: {self.middle} is negative")


@dataclass(frozen=True)
class UNet(ModelConfig):
    """A U-Net of ConvNeXt blocks, from full resolution down."""

    builder: ClassVar[str] = "driftnet.models.unet:build"
    levels: Levels = field(default_factory=lambda: Levels(widths=(50, 100, 200, 400), depth=5))


@dataclass(frozen=True)
class Refiner(ModelConfig):
    """A residual U-Net that corrects its own prediction, with the same weights each time (Lippe et al. 2023)."""

    builder: ClassVar[str] = "driftnet.models.refiner:build"
    levels: Levels = field(default_factory=lambda: Levels(widths=(48, 96, 192, 384), depth=2))
    steps: int = 3
    """Refinements after the first prediction."""
    training: Literal["updates", "noise"] = "updates"
    """updates: all refinements are trained as one network, as the paper; noise: each learns the noise of its level."""
    smallest_noise: float = 1e-3
    """Standard deviation of the last noise level, normalised; 1e-3 is PDE-Refiner's for Kolmogorov flow."""

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        require(all(width % GROUPS == 0 for width in self.levels.widths), f"levels.widths: not multiples of {GROUPS}")
        require(self.steps >= 0, f"steps: {self.steps} is negative")
        require(0 < self.smallest_noise < 1, f"smallest_noise: {self.smallest_noise} is not between 0 and 1")


@dataclass(frozen=True)
class ScOT(ModelConfig):
    """The same backbone with shifted-window attention in the mixers' place (Herde et al. 2024, Poseidon)."""

    builder: ClassVar[str] = "driftnet.models.backbone:build"
    backbone: Backbone = field(default_factory=Backbone)
    mixer: WindowMixer = field(default_factory=WindowMixer)

    def __post_init__(self) -> None:
        """Refuse heads that do not share out the channels of their level."""
        widths, heads = self.backbone.widths, self.mixer.heads
        require(len(widths) == len(heads), f"mixer.heads: {len(heads)} levels, but the backbone has {len(widths)}")
        for width, count in zip(widths, heads, strict=True):
            require(width % count == 0, f"mixer.heads: {count} heads cannot share {width} channels evenly")


ARCHITECTURES: dict[str, type[ModelConfig]] = {
    kind.__name__: kind for kind in (DriftNet, ConvUNet, ScOT, FNO, UNO, UNet, Refiner)
}
