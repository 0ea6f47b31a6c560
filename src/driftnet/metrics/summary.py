"""Many numbers in few: means, medians, quartiles, and how sure they are. An infinite number is the largest of all."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

RESAMPLES = 2000
CONFIDENCE = 0.95
STATISTICS = ("mean", "mean_low", "mean_high", "median", "quartile_1", "quartile_3", "blown_up")

_LARGE = 1e300  # Interpolating between a number and this one gives a number beyond any error; more would overflow.


def quantile(values: Float[ndarray, "n *rest"], share: float) -> Float[ndarray, "*rest"]:
    """The quantile along the first axis, interpolated linearly; infinite where a neighbour that counts is."""
    found = np.quantile(np.where(np.isfinite(values), values, _LARGE), share, axis=0)
    return np.where(found >= _LARGE / 1e12, np.inf, found)


def summarise(values: Float[ndarray, "n *rest"]) -> Float[ndarray, "statistic *rest"]:
    """The STATISTICS along the first axis, in their order."""
    low, high = bootstrap(values[None])
    quartiles = (quantile(values, share) for share in (0.5, 0.25, 0.75))
    return np.stack([values.mean(0), low, high, *quartiles, (~np.isfinite(values)).mean(0)])


def bootstrap(values: Float[ndarray, "seed n *rest"], seed: int = 0) -> tuple[Float[ndarray, "*rest"], Float[ndarray, "*rest"]]:
    """Ends of the 95 % interval of the mean, by resampling runs and trajectories with replacement (percentile method).

    Runs are resampled as wholes and trajectories are the same in all runs, as the test split is.
    """
    runs, trajectories = values.shape[:2]
    rng = np.random.default_rng(seed)
    drawn_runs, drawn = _counts(rng, runs), _counts(rng, trajectories)
    finite = np.isfinite(values)
    means = _weighted(drawn_runs, drawn, np.stack((np.where(finite, values, 0.0), ~finite), -1))
    means = np.where(means[..., 1] > 0, np.inf, means[..., 0])
    tail = (1 - CONFIDENCE) / 2
    return quantile(means, tail), quantile(means, 1 - tail)


def _counts(rng: np.random.Generator, size: int) -> Float[ndarray, "resample n"]:
    """How often every item is drawn, as shares."""
    return rng.multinomial(size, np.full(size, 1 / size), RESAMPLES) / size


def _weighted(runs: ndarray, trajectories: ndarray, values: ndarray) -> ndarray:
    flat = values.reshape(*values.shape[:2], -1)
    means = np.stack([((runs @ column) * trajectories).sum(1) for column in np.moveaxis(flat, -1, 0)], -1)
    return means.reshape(RESAMPLES, *values.shape[2:])
