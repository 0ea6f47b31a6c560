import numpy as np
import pytest

from driftnet.metrics.growth import correlation_time, growth_slope, instantaneous_growth, rollout_mean

CURVES = np.abs(np.random.default_rng(0).standard_normal((5, 7, 2)))


def curve(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)[None, :, None]


def test_the_slope_is_that_of_numpys_least_squares_line():
    for sample in range(5):
        assert growth_slope(CURVES)[sample, 1] == pytest.approx(np.polyfit(np.arange(1, 8), CURVES[sample, :, 1], 1)[0])


def test_a_straight_line_grows_at_its_slope_and_a_constant_not_at_all():
    assert growth_slope(curve(0.1, 0.3, 0.5, 0.7)).item() == pytest.approx(0.2)
    assert growth_slope(curve(0.4, 0.4, 0.4)).item() == 0
    assert growth_slope(curve(0.4)).item() == 0


def test_instantaneous_growth_adds_up_to_the_error():
    np.testing.assert_allclose(instantaneous_growth(CURVES).cumsum(1), CURVES)


def test_a_curve_that_blows_up_has_infinite_mean_slope_and_growth_from_there():
    broken = curve(0.1, 0.2, np.inf, np.inf)
    assert rollout_mean(broken).item() == np.inf
    assert growth_slope(broken).item() == np.inf
    np.testing.assert_allclose(instantaneous_growth(broken)[0, :, 0], [0.1, 0.1, np.inf, np.inf])


@pytest.mark.parametrize(
    ("values", "steps"), [((0.99, 0.9, 0.79, 0.95), 2), ((0.7, 0.9), 0), ((0.9, 0.8), 2), ((1.0, 1.0, 1.0), 3)]
)
def test_the_correlation_time_ends_where_the_correlation_first_falls(values, steps):
    assert correlation_time(curve(*values)).item() == steps
