"""The convolution-only mixer."""

from __future__ import annotations

from torch import nn

from driftnet.configs import ConvolutionMixer
from driftnet.models.convolution import Padding, depthwise


def build(config: ConvolutionMixer, channels: int, padding: Padding) -> nn.Module:
    """A depth-wise convolution."""
    return depthwise(channels, config.kernel, padding)
