import numpy as np
import pytest

from driftnet.metrics.summary import STATISTICS, bootstrap, quantile, summarise

VALUES = np.random.default_rng(1).gamma(2.0, size=(40, 3))


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_quantiles_of_finite_numbers_are_numpys(share):
    np.testing.assert_allclose(quantile(VALUES, share), np.quantile(VALUES, share, axis=0))


def test_an_infinite_number_is_the_largest_and_leaves_the_median_finite():
    values = np.array([1.0, np.inf, 2.0, 3.0, np.inf])
    assert [float(quantile(values, share)) for share in (0.25, 0.5, 0.75)] == [2.0, 3.0, np.inf]
    assert float(quantile(np.array([1.0, np.inf]), 0.5)) == np.inf


def test_the_summary_names_what_it_holds():
    found = dict(zip(STATISTICS, summarise(VALUES), strict=True))
    np.testing.assert_allclose(found["mean"], VALUES.mean(0))
    np.testing.assert_allclose(found["median"], np.median(VALUES, 0))
    np.testing.assert_allclose(found["quartile_3"], np.quantile(VALUES, 0.75, axis=0))
    assert (found["mean_low"] < found["mean"]).all()
    assert (found["mean"] < found["mean_high"]).all()
    assert not found["blown_up"].any()


def test_a_blow_up_is_counted_and_makes_mean_and_upper_end_infinite():
    values = VALUES.copy()
    values[:4, 0] = np.inf
    found = dict(zip(STATISTICS, summarise(values), strict=True))
    assert found["blown_up"].tolist() == [0.1, 0, 0]
    assert found["mean"][0] == found["mean_high"][0] == np.inf
    assert np.isfinite(found["median"]).all()


def naive_bootstrap(values: np.ndarray, draws: int) -> tuple[float, float]:
    rng = np.random.default_rng(5)
    runs, samples = values.shape
    means = [values[rng.integers(runs, size=runs)][:, rng.integers(samples, size=samples)].mean() for _ in range(draws)]
    return tuple(np.quantile(means, [0.025, 0.975]))


@pytest.mark.parametrize("runs", [1, 4])
def test_the_interval_is_that_of_a_plain_loop_over_resampled_runs_and_trajectories(runs):
    rng = np.random.default_rng(2)
    values = 10 + rng.standard_normal((runs, 1)) + rng.standard_normal((runs, 60))
    np.testing.assert_allclose(bootstrap(values), naive_bootstrap(values, 4000), atol=0.06)


def test_the_interval_is_the_same_every_time():
    np.testing.assert_array_equal(bootstrap(VALUES[None]), bootstrap(VALUES[None]))


def test_runs_that_differ_widen_the_interval():
    alike = np.tile(VALUES[None, :, 0], (3, 1))
    apart = alike + np.array([[-3.0], [0.0], [3.0]])
    low, high = bootstrap(alike)
    wide_low, wide_high = bootstrap(apart)
    assert wide_high - wide_low > 3 * (high - low)


def test_the_interval_of_a_mean_covers_it_as_often_as_it_says():
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((1, 50, 400))
    low, high = bootstrap(samples)
    assert np.mean((low < 0) & (high > 0)) == pytest.approx(0.94, abs=0.03)
