"""Convolutions that see across the boundary as the task does."""

from __future__ import annotations

from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from driftnet.configs import Frame
from driftnet.tasks.base import Boundary

Padding = Literal["circular", "zeros"]


def padding_mode(frame: Frame, boundary: Boundary) -> Padding:
    """Circular where the domain is periodic and the frame follows the boundary, else zeros."""
    return "circular" if frame.padding == "boundary" and boundary == "periodic" else "zeros"


class Convolution(nn.Conv2d):
    """A convolution at unchanged size whose circular padding works on grids smaller than its kernel, too."""

    def forward(self, input: Float[Tensor, "b c h w"]) -> Float[Tensor, "b d h w"]:
        """The convolved field."""
        if self.padding_mode == "zeros":
            return super().forward(input)
        return F.conv2d(wrap(input, self.kernel_size[0] // 2), self.weight, self.bias, groups=self.groups)


def convolution(channels_in: int, channels_out: int, kernel: int, padding: Padding, **options: Any) -> Convolution:
    """A square kernel of odd side."""
    return Convolution(channels_in, channels_out, kernel, padding=kernel // 2, padding_mode=padding, **options)


def depthwise(channels: int, kernel: int, padding: Padding, bias: bool = True) -> Convolution:
    """One kernel for every channel."""
    return convolution(channels, channels, kernel, padding, groups=channels, bias=bias)


def wrap(x: Float[Tensor, "b c h w"], margin: int) -> Float[Tensor, "b c h2 w2"]:
    """A field continued periodically by `margin` points on every side, however small it is.

    The result has its channels last in memory: depth-wise convolutions are then several times faster on a CPU.
    """
    x = x.permute(0, 2, 3, 1)
    for axis in (1, 2):
        length = x.shape[axis]
        around = x if margin <= length else torch.cat([x] * (-(-margin // length)), axis)  # More than once round.
        before, after = around.narrow(axis, around.shape[axis] - margin, margin), around.narrow(axis, 0, margin)
        x = torch.cat((before, x, after), axis)
    return x.permute(0, 3, 1, 2)
