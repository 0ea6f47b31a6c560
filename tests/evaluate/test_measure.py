"""What an evaluation computes, against closed forms and plain loops."""

import resource
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

from driftnet import registry
from driftnet.configs import Evaluation
from driftnet.data.store import Array, Layout, data_offsets, lay_out, write_in_place
from driftnet.data.trajectories import Trajectories
from driftnet.evaluate.baselines import training_mean
from driftnet.evaluate.grids import resized, snapshots, through_grid
from driftnet.evaluate.measure import Subject, measure
from driftnet.evaluate.run import baseline
from driftnet.metrics.errors import relative_l1
from driftnet.metrics.summary import bootstrap

TASK = registry.task("NS-PwC")


@pytest.fixture(scope="module")
def test_split(small_data) -> Trajectories:
    return Trajectories(small_data, TASK, "test")


def subject(operator, **facts) -> Subject:
    return Subject("given", Path(), lambda: operator, {"parameters": 0, "seconds": 0.0, **facts})


def measured(operator, test_split, **settings) -> xr.Dataset:
    return measure(subject(operator), test_split, Evaluation(**settings), "cpu")


def shrinking(state, static):
    return 0.9 * state


@pytest.fixture(scope="module")
def shrunk(test_split) -> xr.Dataset:
    return measured(shrinking, test_split)


def test_the_published_figures_are_poseidons_on_normalised_fields(shrunk, test_split):
    std = torch.tensor(TASK.normalization.std)[:, None, None]
    errors = []
    for index in range(2):
        truth = test_split[index]
        prediction = 0.9**3 * truth[0]
        errors.append(float(((prediction - truth[3]) / std).abs().sum() / (truth[3] / std).abs().sum()) * 100)
    final = shrunk.sel(snapshot=3)
    assert float(final.mean_relative_l1_error) == pytest.approx(np.mean(errors), rel=1e-5)
    assert float(final.median_relative_l1_error) == pytest.approx(np.median(errors), rel=1e-5)
    assert final.mean_relative_l1_error.attrs["units"] == "percent"


def test_final_statistics_are_those_of_the_last_snapshot(shrunk):
    final = shrunk.relative_l1.sel(snapshot=3).values
    low, _ = bootstrap(final[None])
    at = shrunk.relative_l1_final
    assert float(at.sel(statistic="mean").item()) == pytest.approx(final.mean())
    assert float(at.sel(statistic="quartile_1").item()) == pytest.approx(np.quantile(final, 0.25))
    assert float(at.sel(statistic="mean_low").item()) == pytest.approx(low.item())


def test_growth_and_means_are_those_of_the_errors_beside_them(shrunk):
    errors = shrunk.relative_l1.values[0, :, 0]
    assert float(shrunk.growth_slope[0, 0]) == pytest.approx(np.polyfit([1, 2, 3], errors, 1)[0])
    assert float(shrunk.rollout_mean[0, 0]) == pytest.approx(errors.mean())
    assert shrunk.instantaneous_growth.values[0, :, 0].sum() == pytest.approx(errors[-1])


def test_shrinking_a_flow_takes_its_energy_and_leaves_it_free_of_divergence(shrunk):
    energy = shrunk.energy_prediction.values[:, :, 0]
    np.testing.assert_allclose(energy[:, 1] / energy[:, 0], 0.81, rtol=1e-5)
    assert float(shrunk.divergence_prediction.max()) < 1e-5
    assert float(shrunk.divergence_truth.max()) < 1e-5
    assert "mass_prediction" not in shrunk


def test_one_blown_up_trajectory_is_infinite_and_leaves_the_others_alone(test_split):
    def break_second(state, static):
        broken = state.clone()
        broken[1] = float("nan")
        return broken

    found = measured(break_second, test_split)
    assert np.isfinite(found.relative_l1[0]).all()
    assert np.isposinf(found.relative_l1[1]).all()
    assert np.isposinf(found.band_nrmse_low[1]).all()
    assert "band_nrmse_high" not in found  # 16 points do not resolve it.
    assert (found.correlation[1] == 0).all()
    assert float(found.relative_l1_final.sel(statistic="blown_up").item()) == 0.5
    assert np.isfinite(found.spectrum_prediction).all()


def test_a_model_that_draws_at_random_is_measured_the_same_every_time(test_split):
    def noisy(state, static):
        return state + 0.1 * torch.randn_like(state)

    torch.manual_seed(1)
    before = torch.get_rng_state()
    first, again, other = (measured(noisy, test_split, seed=seed).relative_l1.values for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert torch.equal(torch.get_rng_state(), before)


def test_climatology_is_the_mean_of_all_training_snapshots_that_can_be_predicted(small_data, test_split, tmp_path):
    training = Trajectories(small_data, TASK, "train")
    mean = torch.stack([training[index][1:] for index in range(4)]).double().mean((0, 1))
    assert torch.allclose(training_mean(test_split.stored, TASK), mean)
    errors = measure(baseline("climatology", tmp_path, test_split), test_split, Evaluation(), "cpu").relative_l1
    assert float(errors[0, 2, 0]) == pytest.approx(relative_l1(mean.float(), test_split[0][3]).item(), rel=1e-5)


def test_finer_solvers_are_more_exact(test_split, tmp_path):
    names = ("solver", "solver-half", "solver-quarter")
    errors = [
        float(measure(baseline(name, tmp_path, test_split), test_split, Evaluation(), "cpu").relative_l1[:, -1].mean())
        for name in names
    ]
    assert errors == sorted(errors)
    assert errors[0] < 0.01 * errors[1]


def test_truth_is_read_block_by_block_and_in_order(small_data):
    test = Trajectories(small_data, TASK, "train")
    states = list(snapshots(test, range(1, 3), 3, (16, 16)))
    assert torch.equal(torch.stack(states, 1), torch.stack([test[1], test[2]]))


@pytest.fixture(scope="module")
def long_data(tmp_path_factory):
    """One trajectory of many snapshots: 20 MB on the disk."""
    path = tmp_path_factory.mktemp("long") / "NS-PwC.nc"
    attributes = {"split": '{"train": 1, "validation": 1, "test": 1}'}
    sizes = {"sample": 3, "time": 600, "channel": 2, "x": 64, "y": 64}
    velocity = Array("velocity", tuple(sizes), tuple(sizes.values()))
    lay_out(path, Layout((velocity,), {axis: np.arange(size) for axis, size in sizes.items()}, attributes))
    values = np.random.default_rng(0).standard_normal((600, 2, 64, 64), np.float32)
    write_in_place(path, [(data_offsets(path)["velocity"] + 2 * velocity.trajectory_bytes, values)])
    return path


def test_memory_does_not_grow_with_the_length_of_a_rollout(long_data):
    test = Trajectories(long_data, TASK, "test")

    def peak_after(steps: int) -> int:
        measured(shrinking, test, steps=steps)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    short = peak_after(40)
    assert peak_after(599) - short < 8e6


def band_limited(size: int, count: int = 2) -> torch.Tensor:
    """The same smooth fields on any grid."""
    x = torch.arange(size, dtype=torch.float64) / size
    waves = [torch.sin(2 * torch.pi * (k * x[:, None] + x[None, :])) for k in range(1, count + 1)]
    return torch.stack(waves)[None]


@pytest.mark.parametrize("sizes", [(16, 32), (32, 16), (16, 24)])
def test_resampling_a_periodic_field_that_both_grids_resolve_is_exact(sizes):
    one, other = sizes
    assert torch.allclose(resized(band_limited(one), (other, other), "periodic"), band_limited(other), atol=1e-12)


def test_other_boundaries_are_interpolated_without_wrapping_around():
    ramp = torch.linspace(0, 1, 16).expand(1, 1, 16, 16)
    assert resized(ramp, (32, 32), "dirichlet").diff(dim=-1).min() >= 0


def test_the_interpolation_protocol_runs_the_model_on_its_training_grid_and_nowhere_else():
    seen = []

    def operator(state, static):
        seen.append(tuple(state.shape[-2:]))
        return 2 * state

    wrapped = through_grid(operator, (16, 16), "periodic")
    state = band_limited(32)
    out = wrapped(state, state[:, :0])
    assert seen == [(16, 16)]
    assert torch.allclose(out, 2 * state, atol=1e-12)


@pytest.mark.parametrize(("protocol", "sees"), [("native", (32, 32)), ("interpolated", (16, 16))])
def test_the_protocol_decides_on_which_grid_a_model_runs_and_is_stated(protocol, sees, test_split):
    seen = set()

    def operator(state, static):
        seen.add(tuple(state.shape[-2:]))
        return state

    config = Evaluation(resolution=32, protocol=protocol)
    found = measure(subject(operator, resolution=[16, 16]), test_split, config, "cpu")
    assert seen == {sees}
    assert found.attrs["protocol"] == f"{protocol}: measured 32 x 32, data 16 x 16, trained 16 x 16"
    assert list(found.attrs["resolution"]) == [32, 32]


def test_persistence_scores_the_same_on_a_finer_grid_that_holds_the_same_fields(test_split, tmp_path):
    errors = [
        measure(baseline("persistence", tmp_path, test_split), test_split, Evaluation(resolution=size), "cpu").nrmse
        for size in (16, 32)
    ]
    np.testing.assert_allclose(errors[0], errors[1], rtol=2e-3)
