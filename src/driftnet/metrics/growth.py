"""How an error curve goes on: (sample, snapshot, quantity) in, the first snapshot after one step."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

DECORRELATED = 0.8  # Usual bound for correlation times (Kochkov et al. 2021 take 0.95, Lippe et al. 2023 take 0.8).

Curves = Float[ndarray, "sample snapshot quantity"]
Figures = Float[ndarray, "sample quantity"]


def rollout_mean(error: Curves) -> Figures:
    """Mean over all steps."""
    return error.mean(1)


def growth_slope(error: Curves) -> Figures:
    """Slope of the least-squares line through error against step, a step; infinite where the error is, 0 for one step."""
    steps = np.arange(error.shape[1]) - (error.shape[1] - 1) / 2
    finite = np.asarray(np.isfinite(error).all(1))
    known = np.where(finite[:, None], error, 0.0)
    slope = np.einsum("t,stq->sq", steps, known) / max(float(steps @ steps), 1.0)
    return np.where(finite, slope, np.inf)


def instantaneous_growth(error: Curves) -> Curves:
    """Error less the error of the step before, which is 0 at the start; infinite from where the error is."""
    before = np.pad(error[:, :-1], ((0, 0), (1, 0), (0, 0)))
    return np.where(np.isfinite(error), error - np.where(np.isfinite(before), before, 0.0), np.inf)


def correlation_time(correlation: Curves) -> Figures:
    """Steps until the correlation first falls below 0.8; the length of the rollout where it never does."""
    return np.minimum.accumulate(correlation >= DECORRELATED, axis=1).sum(1).astype(float)
