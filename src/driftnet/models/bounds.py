"""Lipschitz bounds of trained networks, and the paper's formula for them (appendix A); docs/theory.md tells them apart.

All norms are Euclidean, over the features of one sample. What has no finite bound, or none that is known, is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod, sqrt
from typing import Any

from torch import nn

from driftnet.models.backbone import Block, ConvNeXtBlock, Level, MultiScale, PatchMerge, PatchSplit
from driftnet.models.mixers.drift import Drift
from driftnet.models.mixers.masks import HardMask, SoftMask
from driftnet.models.norms import EPSILON, LeadTimeNorm, PlainNorm
from driftnet.models.operator_norms import complex_matrix, convolution_norm, matrix_norm, patch_norm
from driftnet.models.sensitivity import Visit, jacobian_norm

GELU_SLOPE = 1.1290  # Largest derivative of x Phi(x), Phi(sqrt 2) + sqrt(2) phi(sqrt 2) at x = sqrt 2, rounded up.


@dataclass(frozen=True)
class Bounds:
    """Upper bounds of the norms of the parts' Jacobians, with the gates of DRIFT mixers held at their values.

    A norm over channels is counted with the smallest standard deviation that it met in `met`, so the bounds hold at those
    states; with `anywhere`, with the smallest one possible, and they hold at all states.
    """

    met: Visit
    anywhere: bool = False

    def norm(self, norm: PlainNorm | LeadTimeNorm) -> float:
        """Largest scale over smallest deviation."""
        return self.met.scales[norm] / (sqrt(EPSILON) if self.anywhere else self.met.spreads[norm])

    def convolution(self, conv: nn.Conv2d) -> float:
        """On the grid that it met."""
        return convolution_norm(conv, *self.met.sizes[conv])

    def mixer(self, mixer: nn.Module) -> float:
        """Of a convolution or a DRIFT mixer; attention over free inputs has no finite bound."""
        if isinstance(mixer, Drift):
            # At every mode |alpha m W + (1 - alpha)(1 - m)| <= max(rho_W, 1), for a gate and a mask between 0 and 1.
            return max(mixing_norm(mixer), 1.0) + self.local(mixer)
        return self.convolution(mixer) if isinstance(mixer, nn.Conv2d) else inf

    def local(self, mixer: Drift) -> float:
        """K_conv + K_lin."""
        linear = 0.0 if mixer.pointwise is None else matrix_norm(mixer.pointwise.weight)
        return linear + (0.0 if mixer.depthwise is None else self.convolution(mixer.depthwise))

    def block(self, block: Block) -> float:
        """Of both residual halves."""
        mixed = 1 + self.norm(block.mixer_norm) * self.mixer(block.mixer)
        return mixed * (1 + self.norm(block.mlp_norm) * mlp_norm(block.mlp))

    def level(self, level: Level) -> float:
        """Of all blocks of a level."""
        return prod(map(self.block, children(level.blocks)))

    def skip(self, block: ConvNeXtBlock) -> float:
        """Of a ConvNeXt block on a skip connection."""
        inner = mlp_norm(block.mlp) * self.norm(block.norm) * self.convolution(block.depthwise)
        return 1 + float(block.scale.abs().max()) * inner

    def network(self, net: MultiScale) -> float:
        """From input to output: the network's own sums and compositions, with bounds in place of features."""
        entered, kept = patch_norm(net.embed) * self.norm(net.embed_norm), []
        for level, blocks in enumerate(children(net.encoder)):
            kept.append(entered * self.level(blocks))
            if level < len(net.merge):
                entered = (entered + kept[-1]) * self.merge(children(net.merge)[level])
        features = 0.0
        for level in reversed(range(len(kept))):
            bridged = kept[level] * prod(map(self.skip, children(children(net.skips)[level])))
            split = self.split(children(net.split)[level]) if level < len(net.split) else 0.0
            features = (features * split + bridged) * self.level(children(net.decoder)[level])
        return features * patch_norm(net.recover) * self.convolution(net.smooth)

    def merge(self, merge: PatchMerge) -> float:
        """Of the way to the next coarser level."""
        return matrix_norm(merge.reduce.weight) * self.norm(merge.norm)

    def split(self, split: PatchSplit) -> float:
        """Of the way back."""
        return matrix_norm(split.expand.weight) * self.norm(split.norm) * matrix_norm(split.mix.weight)


def lemma(block: Block, met: Visit) -> float:
    """The paper's figure of a block, as printed: Lemma A.1, or for other mixers the reference bound of Swin-style blocks.

    It leaves out both norms, the gate, the modes above the cut-off and the MLP of a DRIFT block: not a bound of the block.
    In the reference bound the norm of the mixer is measured, and that of the MLP is bounded by its two matrices.
    """
    if isinstance(block.mixer, Drift):
        return 1 + lemma_core(block.mixer, met)
    x = met.inputs[block][0].permute(0, 3, 1, 2).contiguous()
    return 1 + float(jacobian_norm(block.mixer, x).max()) + mlp_norm(block.mlp)


def lemma_core(mixer: Drift, met: Visit) -> float:
    """Lemma A.1: sqrt(sigma_LF) rho_W + K_conv + K_lin."""
    return sqrt(low_area(mixer.mask)) * mixing_norm(mixer) + Bounds(met).local(mixer)


def mixing_norm(mixer: Drift) -> float:
    """rho_W; without mixing W is the identity."""
    return 1.0 if mixer.mixing is None else matrix_norm(complex_matrix(mixer.mixing))


def low_area(mask: SoftMask | HardMask | None) -> float:
    """sigma_LF = kappa_x kappa_y, each at most 1/2: the cut-offs as fractions of twice the Nyquist frequency."""
    if mask is None:
        return 0.0
    cutoffs = mask.logits.sigmoid().tolist() if isinstance(mask, SoftMask) else [mask.cutoff] * 2
    return prod(cutoffs) / 4


def mlp_norm(mlp: nn.Sequential) -> float:
    """Both matrices and the steepest slope of the GELU between them."""
    return prod(matrix_norm(layer.weight) for layer in mlp if isinstance(layer, nn.Linear)) * GELU_SLOPE


def children(modules: nn.ModuleList) -> list[Any]:
    """The modules of a list, whose types torch does not know."""
    return list(modules)
