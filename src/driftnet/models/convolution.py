"""Convolutions that see across the boundary as the task does."""

from __future__ import annotations

from typing import Literal

from torch import nn

from driftnet.configs import Frame
from driftnet.tasks.base import Boundary

Padding = Literal["circular", "zeros"]


def padding_mode(frame: Frame, boundary: Boundary) -> Padding:
    """Circular where the domain is periodic and the frame follows the boundary, else zeros."""
    return "circular" if frame.padding == "boundary" and boundary == "periodic" else "zeros"


def depthwise(channels: int, kernel: int, padding: Padding, bias: bool = True) -> nn.Conv2d:
    """One kernel for every channel, at unchanged size."""
    return nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=channels, bias=bias, padding_mode=padding)


def convolution(channels_in: int, channels_out: int, kernel: int, padding: Padding) -> nn.Conv2d:
    """All channels into all channels, at unchanged size."""
    return nn.Conv2d(channels_in, channels_out, kernel, padding=kernel // 2, padding_mode=padding)
