"""Every mixer's settings: torch-free, checked when made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from driftnet.configs import require


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
        require(self.kernel % 2 == 1 and self.kernel > 0, f"mixer.kernel: {self.kernel} is not odd")
        require(min(self.bands, self.gate_width) > 0, "mixer.bands and mixer.gate_width must be positive")
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
