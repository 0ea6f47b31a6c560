"""Fourier transforms of real fields with channels last, in real arithmetic: a spectrum is a real and an imaginary part.

Along axes as short as a network's coarse grids a matrix product is faster than an FFT, and it leaves the spectrum in the
layout in which it is used; FFTs take over where their better order of growth pays.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.models.constants import constant

# Points along an axis up to which matrices are used: `driftnet bench speed` measures the crossover (docs/performance.md).
MATRIX_UP_TO = 32

Field = Float[Tensor, "b h w c"]
Spectrum = Float[Tensor, "b 2 h half_w c"]


def analysis(x: Field) -> Spectrum:
    """Fourier coefficients, which do not depend on the grid: those of `rfft2(norm="forward")` along h and w."""
    batch, height, width, channels = x.shape
    if max(height, width) > MATRIX_UP_TO:
        x_hat = torch.fft.rfft2(x, dim=(1, 2), norm="forward")
        return torch.view_as_real(x_hat).movedim(-1, 1).contiguous()
    rows = apply(constant(row_analysis, width, like=x), x.reshape(-1, width, channels))
    x_hat = apply(constant(column_analysis, height, like=x), rows.view(batch, 2 * height, -1))
    return x_hat.view(batch, 2, height, width // 2 + 1, channels)


def synthesis(x_hat: Spectrum, width: int, onto: Field | None = None) -> Field:
    """The field of a spectrum, which undoes `analysis`; added in place to `onto`, where that is given."""
    batch, _, height, columns, channels = x_hat.shape
    if max(height, width) > MATRIX_UP_TO:
        x = torch.fft.irfft2(torch.complex(*x_hat.unbind(1)), s=(height, width), dim=(1, 2), norm="forward")
        return x if onto is None else onto.add_(x)
    rows = apply(constant(column_synthesis, height, like=x_hat), x_hat.reshape(batch, 2 * height, -1))
    rows, matrix = rows.view(batch * height, 2 * columns, channels), constant(row_synthesis, width, like=x_hat)
    if onto is None:
        return apply(matrix, rows).view(batch, height, width, channels)
    onto.view(-1, width, channels).baddbmm_(matrix.expand(len(rows), -1, -1), rows)
    return onto


def apply(
    matrix: Float[Tensor, "m n"], x: Float[Tensor, "b n c"], onto: Float[Tensor, "*b m _c"] | None = None
) -> Float[Tensor, "b m c"]:
    """The matrix times that of every sample, added to what it is to be added to."""
    each = matrix.expand(x.shape[0], -1, -1)
    return torch.bmm(each, x) if onto is None else torch.baddbmm(onto, each, x)


def full_precision(x: Tensor) -> AbstractContextManager[object]:
    """Autocast switched off: there is no FFT in half precision on a CPU, and small modes would drown in it elsewhere."""
    autocast = torch.is_autocast_enabled(x.device.type)
    return torch.autocast(x.device.type, enabled=False) if autocast else nullcontext()


def angles(length: int, modes: int) -> np.ndarray:
    """2 pi k x / length for every mode k and point x; reduced as integers, so that long axes lose no digits."""
    return 2 * np.pi * (np.outer(np.arange(modes), np.arange(length)) % length) / length


def row_analysis(width: int) -> np.ndarray:
    """(real and imaginary part of every mode, point) along a row of reals."""
    angle = angles(width, width // 2 + 1)
    return np.concatenate((np.cos(angle), -np.sin(angle))) / width


def row_synthesis(width: int) -> np.ndarray:
    """(point, real and imaginary part of every mode); modes other than 0 and Nyquist stand for two."""
    angle = angles(width, width // 2 + 1)
    weight = np.where((2 * np.arange(width // 2 + 1)) % width == 0, 1.0, 2.0)[:, None]
    return np.concatenate((weight * np.cos(angle), -weight * np.sin(angle))).T.copy()


def column_analysis(height: int) -> np.ndarray:
    """(part, mode) from (point, part), along a column of complex numbers."""
    angle = angles(height, height)
    cos, sin = np.cos(angle), np.sin(angle)
    blocks = np.stack((np.stack((cos, sin), -1), np.stack((-sin, cos), -1)))
    return blocks.reshape(2 * height, 2 * height) / height


def column_synthesis(height: int) -> np.ndarray:
    """(point, part) from (part, mode): up to a factor, the adjoint of `column_analysis`."""
    return height * column_analysis(height).T.copy()
