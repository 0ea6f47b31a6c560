"""Radial bands of the half spectrum, exact: from integers, or in the published form from the authors' own rounding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Rings(NamedTuple):
    """How many bands, and whether the radius is that of the signed frequency or of the raw row index."""

    bands: int
    signed: bool


def membership(height: int, width: int, bands: int, signed: bool) -> np.ndarray:
    """One-hot (mode, band) table of `radial_bands` or of its published form."""
    index = (radial_bands if signed else published_bands)(height, width, bands)
    return (index.reshape(-1, 1) == np.arange(bands)).astype(np.float64)


def pooling(height: int, width: int, bands: int, signed: bool) -> np.ndarray:
    """(mode, band): the mean over every band, 0 over an empty one."""
    table = membership(height, width, bands, signed)
    return table / table.sum(0).clip(min=1)


def radial_bands(height: int, width: int, bands: int) -> np.ndarray:
    """Band of every rFFT2 mode by its distance from the origin, 0 the lowest; integers, so exact on every machine."""
    ky = np.minimum(np.arange(height), height - np.arange(height))[:, None] * width
    kx = np.arange(width // 2 + 1)[None, :] * height
    squared, largest = ky**2 + kx**2, (height // 2 * width) ** 2 + (width // 2 * height) ** 2
    edges = np.arange(1, bands).reshape(-1, 1, 1)
    return (squared * bands**2 >= edges**2 * largest).sum(0)


def published_bands(height: int, width: int, bands: int) -> np.ndarray:
    """The authors' bands: by the raw row index, in single precision, which decides the modes on an edge."""
    columns = width // 2 + 1
    ky = np.arange(height, dtype=np.float32)[:, None] / np.float32(max(height - 1, 1))
    kx = np.arange(columns, dtype=np.float32)[None, :] / np.float32(max(columns - 1, 1))
    radius = np.sqrt(ky**2 + kx**2)
    return np.minimum(np.floor(radius / (radius.max() + np.float32(1e-8)) * bands), bands - 1).astype(np.int64)
