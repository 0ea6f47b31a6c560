"""The generators reproduce the published statistics within the sampling error, which each test computes."""

from dataclasses import replace
from math import pi, sqrt

import pytest
import torch

from driftnet import registry
from driftnet.pdes.grid import Grid
from driftnet.pdes.initial import (
    disc,
    gaussian_pulses,
    gaussian_sources,
    piecewise_constant_vorticity,
    shear_layer,
    sine_series,
    trajectory_generator,
    truncated_fourier_series,
)
from driftnet.pdes.solver import solver_of
from driftnet.tasks.equations import (
    GaussianPulses,
    GaussianSources,
    PiecewiseConstantVorticity,
    ShearLayer,
    SineSeries,
    TruncatedFourierSeries,
)

LIMIT = 4  # Standard errors.


def simulated(name: str, count: int, size: int, snapshots: int | None = None, **equation):
    """Trajectories of a task as it stands, or with changes of its equation."""
    task = registry.task(name)
    simulation = task.source.simulation
    generators = [trajectory_generator(11, index) for index in range(count)]
    initial = registry.resolve(simulation.initial.sampler)(simulation.initial, generators, size)
    solver = solver_of(replace(simulation.equation, **equation), size, task.interval, torch.float32)
    return solver.trajectory(initial, snapshots or task.snapshots).double()


def agrees(per_trajectory, published: float) -> bool:
    """Whether a mean over trajectories is the published one within its standard error."""
    error = per_trajectory.std() / sqrt(len(per_trajectory))
    return abs(per_trajectory.mean() - published).item() < LIMIT * error.item()


def spread_agrees(fields, mean: float, std: float) -> bool:
    """The same for the standard deviation, by way of the variance."""
    return agrees((fields - mean).square().flatten(1).mean(1), std**2)


@pytest.mark.parametrize("viscosity", ["smooth", "quadratic"])
def test_the_velocity_of_the_forced_flow_has_the_published_spread(viscosity):
    # 40 points are a multiple of the 10 blocks; the smooth form keeps the viscosity of the published grid.
    kept = 128 if viscosity == "smooth" else None
    states = simulated("FNS-KF", 60, 40, viscosity=viscosity, viscosity_resolution=kept)
    numbers = registry.task("FNS-KF").normalization
    assert states.mean((0, 1, 3, 4)).abs().max() < 1e-6
    for channel in range(2):
        assert spread_agrees(states[:, :, channel], 0.0, numbers.std[channel])


def test_smooth_viscosity_takes_some_of_the_velocity_and_quadratic_next_to_nothing():
    smooth, quadratic = (
        simulated("FNS-KF", 10, 40, viscosity=form, viscosity_resolution=kept)
        for form, kept in (("smooth", 128), ("quadratic", None))
    )
    left = [(states.square().mean() / states[:, 0].square().mean()).sqrt().item() for states in (smooth, quadratic)]
    # The published spread is that of the start to 1 %: it speaks for the quadratic form.
    assert left[0] < 0.975
    assert left[1] > 0.985


def test_the_mean_of_the_tracer_is_the_published_one_at_every_time():
    tracer = simulated("NS-Tracer-PwC", 1, 128, 2)[0, :, 2]
    published = registry.task("NS-Tracer-PwC").normalization.mean[2]
    assert tracer.mean((-2, -1)).tolist() == pytest.approx([published] * 2, abs=2e-8)


def test_the_concentration_of_allen_cahn_has_the_published_mean_and_spread():
    states, numbers = simulated("ACE", 40, 128)[:, :, 0], registry.task("ACE").normalization
    assert agrees(states.flatten(1).mean(1), numbers.mean[0])
    assert spread_agrees(states, numbers.mean[0], numbers.std[0])


def test_the_speed_of_the_medium_has_the_published_mean_and_spread():
    generators = [trajectory_generator(11, index) for index in range(2000)]
    speed, numbers = gaussian_pulses(GaussianPulses(), generators, 64)[:, 1], registry.task("Wave-Gauss").normalization
    mean, std = numbers.static_mean[0], numbers.static_std[0]
    assert agrees(speed.mean((1, 2)), mean)
    assert spread_agrees(speed, mean, std)
    assert speed.std().item() == pytest.approx(std, rel=0.02)
    wider = gaussian_pulses(
        GaussianPulses(heights=(1000.0, 2500.0)), [trajectory_generator(11, index) for index in range(2000)], 64
    )[:, 1]
    assert agrees(wider.mean((1, 2)), mean)
    assert spread_agrees(wider, mean, 620)
    assert not spread_agrees(wider, mean, std)


def test_the_waves_have_the_published_mean_and_spread():
    states, numbers = simulated("Wave-Gauss", 60, 40)[:, :, 0], registry.task("Wave-Gauss").normalization
    assert agrees(states.flatten(1).mean(1), numbers.mean[0])
    assert spread_agrees(states, numbers.mean[0], numbers.std[0])


def test_sources_and_potentials_have_the_published_mean_and_spread():
    states, numbers = simulated("Poisson-Gauss", 1000, 48)[:, 1], registry.task("Poisson-Gauss").normalization
    assert agrees(states[:, 1].flatten(1).mean(1), numbers.static_mean[0])
    assert spread_agrees(states[:, 1], numbers.static_mean[0], numbers.static_std[0])
    assert agrees(states[:, 0].flatten(1).mean(1), numbers.mean[0])
    assert spread_agrees(states[:, 0], numbers.mean[0], numbers.std[0])


def test_a_shear_layer_turns_from_minus_one_to_one_and_back_and_has_no_velocity_across():
    flow = shear_layer(ShearLayer(), [trajectory_generator(0, index) for index in range(3)], 64)
    along = flow[:, 0]
    assert flow[:, 1].abs().max() == 0
    assert along.abs().max() <= 1
    assert along[:, :, 32].min() > 0.99
    assert along[:, :, [0, 63]].max() < -0.99


def test_a_shear_layer_without_waves_and_shift_is_the_plain_profile():
    plain = ShearLayer(perturbation=0.0, thickness=(0.1, 0.1), shift=(0.0, 0.0))
    along = shear_layer(plain, [trajectory_generator(0, 0)], 64)[0, 0]
    _, y = Grid(64).points
    profile = torch.tanh(2 * pi * torch.where(y <= 0.5, y - 0.25, 0.75 - y) / 0.1)
    assert torch.equal(along, profile.expand(64, 64))


def first(sample, parameters, size: int = 64):
    """The fields of trajectory 0."""
    return sample(parameters, [trajectory_generator(0, 0)], size)[0]


def peaks(field) -> list[tuple[int, int]]:
    """Where a field is larger than at the eight points around."""
    around = torch.nn.functional.unfold(torch.nn.functional.pad(field[None, None], (1,) * 4), 3).view(9, *field.shape)
    others = torch.cat((around[:4], around[5:])).amax(0)
    return [tuple(place) for place in (field > others).nonzero().tolist()]


@pytest.mark.parametrize("radius", [0.1, 0.3, 0.5])
def test_a_disc_has_the_area_of_its_radius(radius):
    assert disc(Grid(512), radius, (0.5, 0.5)).mean().item() == pytest.approx(pi * radius**2, rel=2e-3)


def test_a_disc_about_another_point_is_the_same_disc_moved_around_the_torus():
    centred, moved = disc(Grid(64), 0.25, (0.5, 0.5)), disc(Grid(64), 0.25, (0.0, 0.75))
    assert torch.equal(moved, centred.roll((-32, 16), (0, 1)))


def test_the_height_of_the_tracer_scales_it_and_leaves_the_flow():
    low, high = (first(piecewise_constant_vorticity, PiecewiseConstantVorticity(tracer_height=height)) for height in (1.0, 3.0))
    assert torch.equal(low[:2], high[:2])
    assert torch.equal(3 * low[2], high[2])


def test_a_lattice_of_three_by_three_has_an_inclusion_in_the_middle_of_each_of_nine_cells():
    narrow = GaussianPulses(lattice=3, offset=0.0, inclusions=(0.03, 0.03), heights=(1000.0, 1000.0))
    medium = first(gaussian_pulses, narrow, 61)[1]
    assert peaks(medium) == [(x, y) for x in (10, 30, 50) for y in (10, 30, 50)]


def test_a_medium_without_inclusions_has_one_speed_and_the_same_pulses():
    plain, varied = first(gaussian_pulses, GaussianPulses(lattice=0)), first(gaussian_pulses, GaussianPulses())
    assert plain[1].min() == plain[1].max()
    assert torch.equal(plain[0], varied[0])


def test_the_heights_of_pulses_scale_them_and_leave_the_medium():
    low, high = (first(gaussian_pulses, GaussianPulses(pulse_heights=(height, height))) for height in (1.0, 2.0))
    assert torch.equal(2 * low[0], high[0])
    assert torch.equal(low[1], high[1])


def test_pulses_of_several_heights_stay_where_they_are():
    equal, varied = (
        first(gaussian_pulses, GaussianPulses(pulses=(1, 1), pulse_heights=ends))[0] for ends in ((1.0, 1.0), (0.5, 2.0))
    )
    factor = varied.max() / equal.max()
    assert 0.5 <= factor <= 2
    assert factor != 1
    assert torch.allclose(varied, factor * equal)


def test_the_heights_of_sources_scale_them():
    low, high = (first(gaussian_sources, GaussianSources(heights=(height, height))) for height in (1.0, -4.0))
    assert torch.equal(-4 * low[1], high[1])


def test_the_layers_of_a_shear_flow_are_where_they_are_said_to_be_and_as_fast():
    plain = ShearLayer(perturbation=0.0, thickness=(0.05, 0.05), shift=(0.0, 0.0), layers=(0.375, 0.875), speed=2.0)
    along = first(shear_layer, plain)[0, 0]
    assert (along[24].item(), along[56].item()) == (0, 0)
    assert along[40].item() == pytest.approx(2, abs=1e-3)
    assert along[8].item() == pytest.approx(-2, abs=1e-3)


def test_waves_whose_coefficients_are_zero_leave_straight_layers():
    straight, flat = (first(shear_layer, ShearLayer(**wave)) for wave in ({"coefficients": (0.0, 0.0)}, {"perturbation": 0.0}))
    assert torch.equal(straight, flat)
    assert not torch.equal(first(shear_layer, ShearLayer()), flat)


def test_the_other_factor_of_a_sine_series_divides_by_the_number_of_modes_once_more():
    usual, smaller = (first(sine_series, SineSeries(modes=(20, 20), factor=factor)) for factor in ("1/K", "1/K^2"))
    assert torch.allclose(usual, 20 * smaller)


def test_sine_series_whose_ranges_are_points_are_all_the_same():
    certain = SineSeries(modes=(16, 16), decay=(1.0, 1.0), coefficients=(0.5, 0.5))
    fields = sine_series(certain, [trajectory_generator(0, index) for index in range(2)], 32)
    assert torch.equal(fields[0], fields[1])


def test_a_fourier_series_is_as_large_as_it_is_said_to_be():
    field = first(truncated_fourier_series, TruncatedFourierSeries(amplitude=7.0))
    assert field.abs().max().item() == pytest.approx(7)
    assert abs(field.mean().item()) < 1e-12


def test_only_the_shape_of_the_range_of_a_fourier_series_matters():
    one, two = (first(truncated_fourier_series, TruncatedFourierSeries(coefficients=ends)) for ends in ((0.5, 1.0), (1.0, 2.0)))
    assert torch.allclose(one, two)
    assert not torch.allclose(one, first(truncated_fourier_series, TruncatedFourierSeries()))


def test_a_sine_series_vanishes_where_its_sines_do():
    field = sine_series(SineSeries(), [trajectory_generator(0, 0)], 32)[0, 0]
    assert field[0].abs().max() == 0
    assert field[:, 0].abs().max() == 0


@pytest.mark.parametrize("name", [name for name in registry.TASKS if name != "NS-PwC"])
def test_the_random_numbers_of_a_start_do_not_depend_on_the_grid(name):
    initial = registry.task(name).source.simulation.initial
    sample = registry.resolve(initial.sampler)
    rngs = [trajectory_generator(0, 0) for _ in range(2)]
    for rng, size in zip(rngs, (32, 64), strict=True):
        sample(initial, [rng], size)
    assert rngs[0].random() == rngs[1].random()
