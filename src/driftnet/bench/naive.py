"""The published networks as one writes them first: what speed is measured against, and an independent reference for tests.

Every formula is written out where it is used: complex weights on all modes, scatter and gather over bands, layer norms of
elementary operations, attention as two products with a softmax between them. The weights are those of our own network.
"""

from __future__ import annotations

from functools import lru_cache
from math import log

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from driftnet.models.backbone import Block, ConvNeXtBlock, MultiScale, PatchMerge, PatchSplit
from driftnet.models.frugal import MLP
from driftnet.models.mixers.drift import Drift
from driftnet.models.mixers.window import WindowAttention
from driftnet.models.norms import LeadTimeNorm

CUTOFF = 0.25  # Sigmoid's argument in the authors' code; it never changes.
BANDS = 6


class Naive(nn.Module):
    """A network of the published frame, with norms of the lead time and a square grid; the same numbers, computed plainly."""

    def __init__(self, network: MultiScale) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Float[Tensor, "b c_in h w"], lead: Float[Tensor, " b"]) -> Float[Tensor, "b c_out h w"]:
        """Patches in, levels down and up, patches out; inside, features are (b n c)."""
        own = self.network
        features = own.embed(x).flatten(2).transpose(1, 2)
        features = naive_norm(own.embed_norm, features, lead)
        kept = []
        for level, blocks in enumerate(own.encoder):
            entered = features
            for block in blocks.blocks:  # pyright: ignore[reportGeneralTypeIssues]
                features = naive_block(block, features, lead)
            kept.append(features)
            if level < len(own.merge):
                features = naive_merge(own.merge[level], features + entered, lead)  # pyright: ignore[reportArgumentType]
        for level in reversed(range(len(kept))):
            bridged = kept[level]
            for block in own.skips[level]:  # pyright: ignore[reportGeneralTypeIssues]
                bridged = naive_convnext(block, bridged, lead)
            deepest = level == len(kept) - 1
            split: PatchSplit = own.split[level] if not deepest else None  # pyright: ignore[reportAssignmentType]
            features = bridged if deepest else naive_split(split, features, lead) + bridged
            for block in own.decoder[level].blocks:  # pyright: ignore[reportGeneralTypeIssues]
                features = naive_block(block, features, lead)
        return own.smooth(own.recover(as_image(features)))


def as_image(features: Float[Tensor, "b n c"]) -> Float[Tensor, "b c side side"]:
    """The tokens of a square grid, channels first."""
    side = int(features.shape[1] ** 0.5)
    return features.unflatten(1, (side, side)).permute(0, 3, 1, 2)


def as_tokens(image: Float[Tensor, "b c h w"]) -> Float[Tensor, "b n c"]:
    """The tokens of a grid, one after another."""
    return image.permute(0, 2, 3, 1).flatten(1, 2)


def naive_norm(norm: nn.Module, x: Float[Tensor, "b n c"], lead: Float[Tensor, " b"]) -> Float[Tensor, "b n c"]:
    """Mean and variance by hand; scale and shift by the lead time."""
    assert isinstance(norm, LeadTimeNorm)
    mean = x.mean(-1, keepdim=True)
    variance = (x**2).mean(-1, keepdim=True) - mean**2
    normal = (x - mean) / (variance + 1e-5).sqrt()
    scale, shift = (part(lead[:, None])[:, None] for part in (norm.weight, norm.bias))
    return scale * normal + shift


def naive_block(block: Block, x: Float[Tensor, "b n c"], lead: Float[Tensor, " b"]) -> Float[Tensor, "b n c"]:
    """Mixer and MLP, each with its norm behind it."""
    mixer = naive_drift if isinstance(block.mixer, Drift) else naive_attention
    x = x + naive_norm(block.mixer_norm, mixer(block.mixer, x), lead)  # pyright: ignore[reportArgumentType]
    return x + naive_norm(block.mlp_norm, naive_mlp(block.mlp, x), lead)


def naive_convnext(block: ConvNeXtBlock, x: Float[Tensor, "b n c"], lead: Float[Tensor, " b"]) -> Float[Tensor, "b n c"]:
    """Depth-wise convolution, norm, MLP."""
    near = as_tokens(block.depthwise(as_image(x)))
    return x + block.scale * naive_mlp(block.mlp, naive_norm(block.norm, near, lead))


def naive_mlp(mlp: MLP, x: Float[Tensor, "b n c"]) -> Float[Tensor, "b n c"]:
    """Layer by layer."""
    first, activation, second = mlp
    return second(activation(first(x)))


def naive_merge(merge: PatchMerge, x: Float[Tensor, "b n c"], lead: Float[Tensor, " b"]) -> Float[Tensor, "b m d"]:
    """Four neighbours side by side."""
    image = as_image(x).permute(0, 2, 3, 1)
    corners = [image[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
    return naive_norm(merge.norm, merge.reduce(torch.cat(corners, -1).flatten(1, 2)), lead)


def naive_split(split: PatchSplit, x: Float[Tensor, "b n d"], lead: Float[Tensor, " b"]) -> Float[Tensor, "b m c"]:
    """One token becomes four."""
    batch, side = x.shape[0], int(x.shape[1] ** 0.5)
    square = split.expand(x).reshape(batch, side, side, 2, 2, -1).permute(0, 1, 3, 2, 4, 5)
    return split.mix(naive_norm(split.norm, square.reshape(batch, 4 * side * side, -1), lead))


def naive_drift(mixer: Drift, x: Float[Tensor, "b n c"]) -> Float[Tensor, "b n c"]:
    """The published block: a quadrant mask, a complex matrix on all modes, a gate over raw-index radii."""
    image = as_image(x)
    batch, channels, height, width = image.shape
    x_hat = torch.fft.rfft2(image, norm="forward")
    rows, columns = x_hat.shape[-2:]
    low = naive_mask(rows, columns, x.device)
    low_hat = x_hat * low
    high_hat = x_hat - low_hat
    assert mixer.mixing is not None
    weight = torch.complex(*mixer.mixing.unbind(0))
    mixed_hat = (weight @ low_hat.flatten(2)).view_as(x_hat)
    feature = (high_hat.abs() - low_hat.abs()).abs().flatten(2)
    alpha = naive_gate(mixer, feature, naive_bands(rows, columns, x.device)).view(batch, channels, rows, columns)
    fused = torch.fft.irfft2(alpha * mixed_hat + (1 - alpha) * high_hat, s=(height, width), norm="forward")
    assert mixer.depthwise is not None
    assert mixer.pointwise is not None
    near = F.conv2d(image, mixer.depthwise.weight, padding=1, groups=channels)
    linear = mixer.pointwise(as_tokens(image)).view(batch, height, width, channels).permute(0, 3, 1, 2)
    return as_tokens(fused + near + linear)


def naive_mask(rows: int, columns: int, device: torch.device) -> Float[Tensor, "rows columns"]:
    """The quadrant of positive row frequencies."""
    reach = torch.sigmoid(torch.tensor(CUTOFF, device=device))
    low = torch.zeros(rows, columns, device=device)
    low[: int(reach * rows), : int(reach * columns)] = 1
    return low


@lru_cache  # The authors keep it as a buffer.
def naive_bands(rows: int, columns: int, device: torch.device) -> Tensor:
    """The band of every mode, by its raw row index."""
    radius = torch.hypot(
        torch.arange(rows).float()[:, None] / (rows - 1), torch.arange(columns).float()[None, :] / (columns - 1)
    )
    return (radius / (radius.max() + 1e-8) * BANDS).floor().long().clamp(max=BANDS - 1).flatten().to(device)


def naive_gate(mixer: Drift, feature: Float[Tensor, "b c modes"], band: Tensor) -> Float[Tensor, "b c modes"]:
    """Mean of every band by scattering, its weight by the gate's MLP, back to the modes by gathering."""
    assert mixer.gate is not None
    index = band.expand(*feature.shape[:2], -1)
    total = feature.new_zeros(*feature.shape[:2], BANDS).scatter_add_(2, index, feature)
    return mixer.gate.mlp(total / torch.bincount(band, minlength=BANDS).clamp(min=1)).gather(2, index)


def naive_attention(mixer: WindowAttention, x: Float[Tensor, "b n c"]) -> Float[Tensor, "b n c"]:
    """Cosine attention in windows, shifted by rolling; tokens from across the boundary are masked."""
    image = as_image(x).permute(0, 2, 3, 1)
    side = min(mixer.window, image.shape[1])
    shift = side // 2 if mixer.shifted and image.shape[1] > mixer.window else 0
    if shift:
        image = torch.roll(image, (-shift, -shift), (1, 2))
    windows = into_windows(image, side)
    query, key, value = (heads(layer(windows), mixer.heads) for layer in (mixer.query, mixer.key, mixer.value))
    scores = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(-2, -1)
    scores = scores * mixer.logit_scale.clamp(max=log(100)).exp() + naive_position_bias(mixer, side)
    if shift:
        mask = naive_shift_mask(image.shape[1], side, shift).to(x.device)
        count = mask.shape[0]
        scores = (scores.unflatten(0, (-1, count)) + 2 * mask[:, None]).flatten(0, 1)
    seen = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
    image = from_windows(mixer.output(seen), side, image.shape[1])
    if shift:
        image = torch.roll(image, (shift, shift), (1, 2))
    return image.flatten(1, 2)


def into_windows(image: Float[Tensor, "b h w c"], side: int) -> Float[Tensor, "windows n c"]:
    """The windows of all samples, one after another."""
    batch, height, width, channels = image.shape
    square = image.view(batch, height // side, side, width // side, side, channels)
    return square.permute(0, 1, 3, 2, 4, 5).reshape(-1, side * side, channels)


def from_windows(windows: Float[Tensor, "windows n c"], side: int, height: int) -> Float[Tensor, "b h w c"]:
    """Undoes `into_windows`."""
    count = height // side
    square = windows.view(-1, count, count, side, side, windows.shape[-1])
    return square.permute(0, 1, 3, 2, 4, 5).reshape(-1, height, height, windows.shape[-1])


def heads(tokens: Float[Tensor, "windows n c"], count: int) -> Float[Tensor, "windows heads n d"]:
    """The channels of every head."""
    return tokens.unflatten(-1, (count, -1)).permute(0, 2, 1, 3)


def naive_position_bias(mixer: WindowAttention, side: int) -> Float[Tensor, "heads n n"]:
    """The bias of every pair, looked up by its offset."""
    offset = torch.arange(1 - side, side, device=mixer.logit_scale.device).float() * 8 / max(side - 1, 1)
    scaled = offset.sign() * torch.log2(offset.abs() + 1) / 3
    table = mixer.position(torch.stack(torch.meshgrid(scaled, scaled, indexing="ij"), -1)).flatten(0, 1)
    place = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")).flatten(1)
    between = place[:, :, None] - place[:, None, :] + side - 1
    index = between[0] * (2 * side - 1) + between[1]
    return 16 * torch.sigmoid(table[index.flatten()].view(*index.shape, -1).permute(2, 0, 1))


def naive_shift_mask(height: int, side: int, shift: int) -> Float[Tensor, "windows n n"]:
    """-100 between tokens of different regions."""
    region = torch.zeros(1, height, height, 1)
    cuts = (slice(0, -side), slice(-side, -shift), slice(-shift, None))
    for number, (rows, columns) in enumerate((rows, columns) for rows in cuts for columns in cuts):
        region[:, rows, columns] = number
    windows = into_windows(region, side).squeeze(-1)
    return -100.0 * (windows[:, :, None] != windows[:, None, :])
