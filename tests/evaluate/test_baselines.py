import json
from dataclasses import replace

import pytest
import torch

from driftnet import registry
from driftnet.configs import Evaluation
from driftnet.data.generate import generate
from driftnet.data.jobs import plan
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError
from driftnet.evaluate.baselines import CoarseSolver, simulation_of
from driftnet.evaluate.measure import measure
from driftnet.evaluate.run import baseline
from driftnet.models.operator import rollout
from driftnet.pdes.initial import trajectory_generator
from driftnet.tasks.base import Split
from driftnet.tasks.equations import KolmogorovTurbulence


@pytest.fixture(scope="module", params=[name for name in registry.TASKS if name != "KF-Long-smoother"])
def test_split(request, tmp_path_factory):
    """Two trajectories of every task on 32 x 32 points."""
    task, path = registry.task(request.param), tmp_path_factory.mktemp("data") / "task.nc"
    sizes = {"split": Split(1, 1, 2), "resolution": 32, "snapshots": 2 if task.steady else 5, "workers": 1}
    if isinstance(task.source.simulation, KolmogorovTurbulence):
        sizes["simulation"] = KolmogorovTurbulence(warmup=20)
    generate(plan(task, output=path, **sizes), overwrite=False)
    return Trajectories(path, task, "test")


def test_a_finer_solver_is_better_and_the_one_on_half_the_grid_better_than_any_guess(test_split, tmp_path):
    errors = {
        name: float(measure(baseline(name, tmp_path, test_split), test_split, Evaluation(), "cpu").relative_l1[:, -1].mean())
        for name in test_split.task.baselines
    }
    same, half, quarter = (errors.pop(name) for name in ("solver", "solver-half", "solver-quarter"))
    assert same < half < quarter
    assert 1e-6 < half < min(errors.values())


def test_persistence_means_nothing_for_a_steady_map():
    assert {name for name in registry.TASKS if "persistence" not in registry.task(name).baselines} == {"Poisson-Gauss"}


def test_a_coarse_wave_keeps_the_speed_that_its_fields_do_not_show():
    task = registry.task("Wave-Gauss")
    simulation = task.source.simulation
    initial = registry.resolve("driftnet.pdes.initial:gaussian_pulses")

    state, static = initial(simulation.initial, [trajectory_generator(0, 0)], 32).float().split(1, 1)
    solver = CoarseSolver(task, simulation, 32, (32, 32), 2)
    going_on = rollout(solver, state, static, 3)[0, -1]
    second = rollout(solver, state, static, 2)[:, -1].clone()
    from_rest = solver(second, static)[0]
    assert not torch.allclose(going_on, from_rest, atol=1e-2)


def test_a_file_made_before_an_option_existed_was_made_with_what_is_its_default_now(small_data):
    test = Trajectories(small_data, registry.task("NS-PwC"), "test")
    recipe = json.loads(test.stored.attributes["recipe"])
    for name in ("tracer_radius", "tracer_centre", "tracer_height"):
        del recipe["simulation"]["initial"][name]
    del recipe["simulation"]["equation"]["forcing_mode"]
    older = replace(test.stored, attributes={"recipe": json.dumps(recipe)})
    assert simulation_of(test.task, older) == simulation_of(test.task, test.stored)


@pytest.mark.parametrize("recipe", ["nonsense", "null", "[]", '{"simulation": 3}', '{"simulation": {"wave": 1}}'])
def test_a_file_that_does_not_say_how_it_was_simulated_is_refused_in_one_line(recipe, small_data):
    test = Trajectories(small_data, registry.task("NS-PwC"), "test")
    stored = replace(test.stored, attributes={"recipe": recipe})
    with pytest.raises(DriftnetError, match=r"recipe does not say how NS-PwC was simulated|wave: unknown setting"):
        simulation_of(test.task, stored)
