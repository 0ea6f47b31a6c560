"""The multi-scale encoder-decoder of scOT and DRIFT-Net: what happens between its norms is the mixer's business."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from driftnet.configs import ONE_STEP
from driftnet.models.configs import Backbone, ConvUNet, DriftNet, ScOT
from driftnet.models.convolution import Padding, convolution, depthwise, padding_mode
from driftnet.models.frugal import MLP
from driftnet.models.grids import require_size
from driftnet.models.mixers import convolution as convolution_mixer
from driftnet.models.mixers import drift, gate, window
from driftnet.models.mixers.configs import ConvolutionMixer, DriftMixer, WindowMixer
from driftnet.models.mixers.place import Place
from driftnet.models.norms import norm
from driftnet.tasks.base import Boundary

Mixer = Callable[[int], nn.Module]
PlacedMixer = Callable[..., nn.Module]  # (channels, place=...) -> a map of (b c h w) onto itself

INITIAL_SPREAD = 0.02  # Standard deviation of linear and convolution weights at the start, as published.
LAYER_SCALE = 1e-6  # First value of the ConvNeXt blocks' layer scale (Liu et al. 2022).
MIXERS: dict[type, PlacedMixer] = {
    DriftMixer: drift.build,
    ConvolutionMixer: convolution_mixer.build,
    WindowMixer: window.build,
}


def build(config: DriftNet | ConvUNet | ScOT, channels_in: int, channels_out: int, boundary: Boundary) -> MultiScale:
    """The backbone of a configuration around its mixers."""
    padding = padding_mode(config.frame, boundary)
    mixer = partial(MIXERS[type(config.mixer)], config.mixer, padding=padding)
    return MultiScale(config.backbone, mixer, channels_in, channels_out, padding)


class MultiScale(nn.Module):
    """Patches in, levels of blocks down and up, patches out; inside, features are (b h w c)."""

    def __init__(self, config: Backbone, mixer: PlacedMixer, channels_in: int, channels_out: int, padding: Padding) -> None:
        super().__init__()
        self.config, self.takes_lead_time = config, config.lead_time
        widths, conditioned = config.widths, config.lead_time
        self.embed = nn.Conv2d(channels_in, widths[0], config.patch, stride=config.patch)
        self.embed_norm = norm(widths[0], conditioned)
        levels = [Level(config, level, mixer) for level in range(2 * len(widths))]
        self.encoder, self.decoder = (nn.ModuleList(part) for part in (levels[: len(widths)], levels[len(widths) :]))
        self.skips = nn.ModuleList(
            nn.ModuleList(ConvNeXtBlock(width, conditioned, padding) for _ in range(depth))
            for width, depth in zip(widths, config.skips, strict=True)
        )
        neighbours = list(pairwise(widths))
        self.merge = nn.ModuleList(PatchMerge(fine, coarse, conditioned) for fine, coarse in neighbours)
        self.split = nn.ModuleList(PatchSplit(coarse, fine, conditioned) for fine, coarse in neighbours)
        self.recover = nn.ConvTranspose2d(widths[0], channels_out, config.patch, stride=config.patch)
        self.smooth = convolution(channels_out, channels_out, 5, padding, bias=False)
        self.apply(_initialise)

    def forward(self, x: Float[Tensor, "b c_in h w"], lead: Float[Tensor, " b"] | None = None) -> Float[Tensor, "b c_out h w"]:
        """The network's output for an input and its lead time, one step of the data where not given."""
        self._check(x)
        lead = x.new_full((1,), ONE_STEP) if lead is None else lead
        features = self.embed_norm(self.embed(x).permute(0, 2, 3, 1), lead)
        kept = []
        for level, blocks in enumerate(self.encoder):
            entered, features = features, blocks(features, lead)
            kept.append(features)
            if level < len(self.merge):
                features = self.merge[level](features + entered, lead)
        for level in reversed(range(len(kept))):
            bridged = kept[level]
            for block in self.skips[level]:  # pyright: ignore[reportGeneralTypeIssues]
                bridged = block(bridged, lead)
            deepest = level == len(kept) - 1
            features = bridged if deepest else self.split[level](features, lead) + bridged
            features = self.decoder[level](features, lead)
        return self.smooth(self.recover(features.permute(0, 3, 1, 2)))

    def _check(self, x: Tensor) -> None:
        require_size(x, self.config.divisor, f"patch {self.config.patch}, {len(self.config.widths)} levels")


class Level(nn.Module):
    """The blocks of one level; levels from the number of widths on are the decoder's."""

    def __init__(self, config: Backbone, level: int, mixer: PlacedMixer) -> None:
        super().__init__()
        decodes, level = divmod(level, len(config.widths))
        width = config.widths[level]
        hidden = int(config.mlp_ratio * width)
        order = range(config.depths[level])
        # The decoder mirrors the encoder, so that two neighbours never see the same windows.
        places = [Place(level, shifted=index % 2 == 1) for index in (reversed(order) if decodes else order)]
        self.blocks = nn.ModuleList(Block(width, hidden, config.lead_time, partial(mixer, place=place)) for place in places)

    def forward(self, x: Float[Tensor, "b h w c"], lead: Float[Tensor, " leads"]) -> Float[Tensor, "b h w c"]:
        """All blocks, one after another."""
        for block in self.blocks:
            x = block(x, lead)
        return x


class Block(nn.Module):
    """x + norm(mixer(x)), then x + norm(mlp(x))."""

    def __init__(self, width: int, hidden: int, conditioned: bool, mixer: Mixer) -> None:
        super().__init__()
        self.mixer = mixer(width)
        self.mixer_norm = norm(width, conditioned)
        self.mlp = MLP(width, hidden)
        self.mlp_norm = norm(width, conditioned)

    def forward(self, x: Float[Tensor, "b h w c"], lead: Float[Tensor, " leads"]) -> Float[Tensor, "b h w c"]:
        """Features after mixing in space and then in channels."""
        mixed = self.mixer(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        x = x + self.mixer_norm(mixed, lead)
        return x + self.mlp_norm(self.mlp(x), lead)


class ConvNeXtBlock(nn.Module):
    """7x7 depth-wise convolution, norm and MLP on a skip connection (Liu et al. 2022)."""

    def __init__(self, width: int, conditioned: bool, padding: Padding) -> None:
        super().__init__()
        self.depthwise = depthwise(width, 7, padding)
        self.norm = norm(width, conditioned)
        self.mlp = MLP(width, 4 * width)
        self.scale = nn.Parameter(torch.full((width,), LAYER_SCALE))

    def forward(self, x: Float[Tensor, "b h w c"], lead: Float[Tensor, " leads"]) -> Float[Tensor, "b h w c"]:
        """Features with a small correction."""
        near = self.depthwise(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return torch.addcmul(x, self.scale, self.mlp(self.norm(near, lead)))


class PatchMerge(nn.Module):
    """Half the resolution: the features of 2x2 neighbours side by side, reduced to the coarse width."""

    def __init__(self, fine: int, coarse: int, conditioned: bool) -> None:
        super().__init__()
        self.reduce = nn.Linear(4 * fine, coarse, bias=False)
        self.norm = norm(coarse, conditioned)

    def forward(self, x: Float[Tensor, "b h w c"], lead: Float[Tensor, " leads"]) -> Float[Tensor, "b h2 w2 d"]:
        """Neighbours in the order (0,0), (1,0), (0,1), (1,1), which scOT's weights expect."""
        square = x.unflatten(2, (-1, 2)).unflatten(1, (-1, 2))
        return self.norm(self.reduce(square.permute(0, 1, 3, 4, 2, 5).flatten(3)), lead)


class PatchSplit(nn.Module):
    """Twice the resolution: every feature vector becomes those of 2x2 neighbours."""

    def __init__(self, coarse: int, fine: int, conditioned: bool) -> None:
        super().__init__()
        self.expand = nn.Linear(coarse, 4 * fine, bias=False)
        self.norm = norm(fine, conditioned)
        self.mix = nn.Linear(fine, fine, bias=False)

    def forward(self, x: Float[Tensor, "b h w d"], lead: Float[Tensor, " leads"]) -> Float[Tensor, "b h2 w2 c"]:
        """Features on the finer grid."""
        square = self.expand(x).unflatten(-1, (2, 2, -1))
        return self.mix(self.norm(square.permute(0, 1, 3, 2, 4, 5).flatten(3, 4).flatten(1, 2), lead))


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Conv2d):
        nn.init.normal_(module.weight, std=INITIAL_SPREAD)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    if isinstance(module, gate.RadialGate):
        module.start()
