"""Largest singular values of the linear maps in a network, and the projection onto those that are small (appendix A.4)."""

from __future__ import annotations

from math import pi

import torch
from jaxtyping import Complex, Float
from torch import Tensor, nn

from driftnet.errors import UsageError
from driftnet.models.mixers.drift import Drift


def matrix_norm(matrix: Float[Tensor, "*b m n"] | Complex[Tensor, "*b m n"]) -> float:
    """The largest singular value of a matrix, or of any in a stack."""
    return float(torch.linalg.matrix_norm(matrix.detach(), ord=2).max())


def complex_matrix(mixing: Float[Tensor, "2 c c"]) -> Complex[Tensor, "c c"]:
    """W, from its storage as reals; its largest singular value is rho_W."""
    return torch.complex(*mixing.unbind(0))


def convolution_norm(conv: nn.Conv2d, height: int, width: int) -> float:
    """The norm of a convolution that keeps the grid: the largest of its symbol over the modes of a periodic grid.

    With zero padding it is an upper bound: the map is then a part of the periodic one on a grid that is wider by half a kernel.
    """
    if conv.padding_mode != "circular":
        height, width = height + conv.kernel_size[0] // 2, width + conv.kernel_size[1] // 2
    return matrix_norm(symbol(conv, height, width))


def symbol(conv: nn.Conv2d, height: int, width: int) -> Complex[Tensor, "groups modes c_out c_in"]:
    """The matrix over channels by which a convolution multiplies every mode of a periodic grid."""
    kernel = conv.weight.detach()
    rows, columns = (_waves(size, points, kernel) for size, points in zip(kernel.shape[-2:], (height, width), strict=True))
    modes = rows @ kernel.to(rows.dtype) @ columns.T
    return modes.flatten(2).unflatten(0, (conv.groups, -1)).permute(0, 3, 1, 2)


def _waves(size: int, points: int, like: Tensor) -> Complex[Tensor, "points size"]:
    offset = torch.arange(size, device=like.device, dtype=like.dtype) - size // 2
    mode = torch.arange(points, device=like.device, dtype=like.dtype)
    return torch.exp(2j * pi / points * mode[:, None] * offset)


def patch_norm(conv: nn.Conv2d | nn.ConvTranspose2d) -> float:
    """The norm of a convolution whose stride is its kernel: one matrix for every patch."""
    return matrix_norm(conv.weight.flatten(1))


@torch.no_grad()
def project(model: nn.Module, limit: float) -> None:
    """Bring the norms of W, of the 1x1 map and of the 3x3 convolution of every DRIFT mixer to at most `limit`, in place.

    Singular values are clipped, which is the nearest such matrix. Kernels are scaled, channel by channel, until the
    sum of their absolute values is `limit`: this holds on every grid and for every padding, but is stricter.
    """
    mixers = [module for module in model.modules() if isinstance(module, Drift)]
    if not mixers:
        raise UsageError("there is no DRIFT mixer in this model whose operators could be projected")
    for mixer in mixers:
        if mixer.mixing is not None:
            clipped = clip_singular_values(complex_matrix(mixer.mixing), limit)
            mixer.mixing.copy_(torch.view_as_real(clipped).permute(2, 0, 1))
        if mixer.pointwise is not None:
            mixer.pointwise.weight.copy_(clip_singular_values(mixer.pointwise.weight, limit))
        if mixer.depthwise is not None:
            total = mixer.depthwise.weight.abs().sum((1, 2, 3), keepdim=True)
            mixer.depthwise.weight.mul_((limit / total).clamp(max=1))


def clip_singular_values(matrix: Tensor, limit: float) -> Tensor:
    """The nearest square matrix whose singular values are at most `limit`."""
    # limit^2 - A*A has a Cholesky factor exactly where |A| < limit, which is much cheaper to try than the decomposition.
    slack = limit**2 * torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device) - matrix.mH @ matrix
    if int(torch.linalg.cholesky_ex(slack).info) == 0:
        return matrix
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    return (left * values.clamp(max=limit)) @ right
