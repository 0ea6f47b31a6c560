"""The convolution-only mixer."""

from __future__ import annotations

from torch import nn

from driftnet.models.convolution import Padding, depthwise
from driftnet.models.mixers.configs import ConvolutionMixer
from driftnet.models.mixers.place import FINEST, Place


def build(config: ConvolutionMixer, channels: int, padding: Padding, place: Place = FINEST) -> nn.Module:
    """A depth-wise convolution, the same at every place."""
    return depthwise(channels, config.kernel, padding)
