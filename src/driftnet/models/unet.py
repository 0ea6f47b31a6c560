"""Convolutional U-Nets: the levels, whatever their blocks, and the network of ConvNeXt blocks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from driftnet.models.backbone import ConvNeXtBlock
from driftnet.models.configs import Levels, UNet
from driftnet.models.convolution import Padding, convolution, padding_mode
from driftnet.models.grids import require_size
from driftnet.tasks.base import Boundary

Block = Callable[[int, int], nn.Module]  # Channels in and out -> a map (features, condition) -> features.


def build(config: UNet, channels_in: int, channels_out: int, boundary: Boundary) -> nn.Module:
    """The U-Net of ConvNeXt blocks."""
    return ConvNeXtUNet(config.levels, channels_in, channels_out, padding_mode(config.frame, boundary))


class ConvNeXtUNet(nn.Module):
    """A convolution in, levels of ConvNeXt blocks, a pointwise map out."""

    def __init__(self, levels: Levels, channels_in: int, channels_out: int, padding: Padding) -> None:
        super().__init__()
        self.enter = convolution(channels_in, levels.widths[0], 3, padding)
        self.body = UShape(levels, lambda before, after: ConvNeXt(before, after, padding))
        self.leave = nn.Conv2d(levels.widths[0], channels_out, 1)

    def forward(self, x: Float[Tensor, "b c_in h w"]) -> Float[Tensor, "b c_out h w"]:
        """The network's output."""
        self.body.check(x)
        return self.leave(self.body(self.enter(x), x.new_ones(x.shape[0])))


class ConvNeXt(nn.Module):
    """A ConvNeXt block on (b c h w), after a pointwise map where the width changes."""

    def __init__(self, channels_in: int, channels_out: int, padding: Padding) -> None:
        super().__init__()
        self.enter = shortcut(channels_in, channels_out)
        self.block = ConvNeXtBlock(channels_out, False, padding)

    def forward(self, x: Float[Tensor, "b c_in h w"], condition: Float[Tensor, " b"]) -> Float[Tensor, "b c_out h w"]:
        """Features with a correction; the condition changes nothing."""
        return self.block(self.enter(x).permute(0, 2, 3, 1), condition).permute(0, 3, 1, 2)


class UShape(nn.Module):
    """Levels of blocks down and up again; what leaves a level on the way down joins it on the way up."""

    def __init__(self, levels: Levels, block: Block) -> None:
        super().__init__()
        widths = levels.widths
        neighbours = list(pairwise(widths))
        self.encoder = nn.ModuleList(
            Stage((before, *[after] * levels.depth), block) for before, after in zip((widths[0], *widths), widths, strict=False)
        )
        self.middle = Stage((widths[-1],) * (levels.middle + 1), block)
        self.decoder = nn.ModuleList(Stage((2 * width, *[width] * levels.depth), block) for width in widths)
        # Neither looks across the boundary: their squares lie side by side.
        self.coarser = nn.ModuleList(nn.Conv2d(fine, fine, 2, stride=2) for fine, _ in neighbours)
        self.finer = nn.ModuleList(nn.ConvTranspose2d(coarse, fine, 2, stride=2) for fine, coarse in neighbours)

    def forward(self, x: Float[Tensor, "b c h w"], condition: Float[Tensor, "b *e"]) -> Float[Tensor, "b c h w"]:
        """Features of the finest level."""
        kept = []
        for level, stage in enumerate(self.encoder):
            x = stage(x if level == 0 else self.coarser[level - 1](x), condition)
            kept.append(x)
        x = self.middle(x, condition)
        for level in reversed(range(len(kept))):
            x = self.decoder[level](torch.cat((x, kept[level]), 1), condition)
            x = self.finer[level - 1](x) if level else x
        return x

    def check(self, x: Float[Tensor, "b c h w"]) -> None:
        """Refuse sizes that cannot be halved."""
        halvings = len(self.coarser)
        require_size(x, 2**halvings, f"{halvings + 1} levels")


class Stage(nn.Module):
    """Blocks one after another; `widths` are the channels before, between and after them."""

    def __init__(self, widths: tuple[int, ...], block: Block) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(block(before, after) for before, after in pairwise(widths))

    def forward(self, x: Float[Tensor, "b c h w"], condition: Float[Tensor, "b *e"]) -> Float[Tensor, "b d h w"]:
        """Features after all blocks."""
        for block in self.blocks:
            x = block(x, condition)
        return x


def shortcut(channels_in: int, channels_out: int) -> nn.Module:
    """The identity, or a pointwise map where the width changes."""
    return nn.Identity() if channels_in == channels_out else nn.Conv2d(channels_in, channels_out, 1)
