"""Every architecture's settings: torch-free, checked when made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from driftnet.configs import ModelConfig, require
from driftnet.models.mixers.configs import ConvolutionMixer, DriftMixer, WindowMixer

GROUPS = 8  # Of the Refiner's group norms, as in PDE-Refiner's U-Net.


def _require_positive(group: str, config: object, *names: str) -> None:
    for name in names:
        require(getattr(config, name) > 0, f"{group}{name}: {getattr(config, name)} is not positive")


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
        named = levels, len(self.depths), len(self.skips)
        require(
            len(set(named)) == 1, "backbone: widths, depths and skips name {}, {} and {} levels; they must agree".format(*named)
        )
        require(min(self.widths) > 0 and min(self.depths) > 0, "backbone: widths and depths must be positive")
        require(min(self.skips) >= 0, "backbone.skips: a number of blocks cannot be negative")
        _require_positive("backbone.", self, "patch", "mlp_ratio")

    @property
    def divisor(self) -> int:
        """What height and width must be multiples of."""
        return self.patch * 2 ** (len(self.widths) - 1)


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
        _require_positive("", self, "width", "modes", "layers", "projection")


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
        _require_positive("", self, "width", "modes")


@dataclass(frozen=True)
class LibraryFNO(FNO):
    """The FNO with the spectral convolutions of the neuraloperator package."""

    builder: ClassVar[str] = "driftnet.models.library:build_fno"
    needs: ClassVar[str] = "neuralop"


@dataclass(frozen=True)
class LibraryUNO(UNO):
    """The U-NO with the spectral convolutions of the neuraloperator package."""

    builder: ClassVar[str] = "driftnet.models.library:build_uno"
    needs: ClassVar[str] = "neuralop"


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
        _require_positive("levels.", self, "depth")
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
    kind.__name__: kind for kind in (DriftNet, ConvUNet, ScOT, FNO, UNO, LibraryFNO, LibraryUNO, UNet, Refiner)
}
