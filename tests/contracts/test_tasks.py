import pytest
import torch

from driftnet import registry
from driftnet.pdes.initial import trajectory_generator
from driftnet.pdes.solver import solver_of

TASKS = [registry.task(name) for name in registry.TASKS]


@pytest.fixture(params=TASKS, ids=lambda task: task.name)
def task(request):
    return request.param


def test_a_task_is_called_as_it_is_registered():
    assert [task.name for task in TASKS] == list(registry.TASKS)


def test_the_quantities_of_a_task_partition_its_channels(task):
    covered = [index for quantity in task.quantities for index in range(*task.channels(quantity).indices(len(task.components)))]
    assert covered == list(range(len(task.components)))


def test_the_published_statistics_name_every_channel(task):
    numbers = task.normalization
    assert len(numbers.mean) == len(numbers.std) == len(task.components)
    assert len(numbers.static_mean) == len(numbers.static_std) == len(task.static)


def test_the_variables_of_the_file_hold_the_channels_and_the_static_ones_behind(task):
    main, *others = task.source.variables
    assert main.channels[: len(task.components)] == task.components
    assert {channel for variable in others for channel in variable.channels} == set(task.static)


def test_tasks_that_share_a_file_share_its_simulation(task):
    owner = registry.task(task.source.data_set)
    assert (owner.source, owner.split, owner.duration) == (task.source, task.split, task.duration)


def test_every_baseline_of_a_task_is_registered(task):
    assert set(task.baselines) <= set(registry.BASELINES)


def initial_fields(task, size=16, count=2):
    initial = task.source.simulation.initial
    return registry.resolve(initial.sampler)(initial, [trajectory_generator(0, index) for index in range(count)], size)


def test_the_simulation_of_a_task_makes_its_channels_and_stays_finite(task):
    simulation = task.source.simulation
    solver = solver_of(simulation.equation, 16, task.interval, torch.float32)
    states = solver.trajectory(initial_fields(task), 3)
    channels = (*simulation.initial.channels, *solver.constants())
    assert states.shape[:3] == (2, 3, len(simulation.initial.channels))
    assert {*task.components, *task.static} <= set(channels)
    assert torch.isfinite(states).all()
    assert not torch.equal(states[0], states[1])


def test_a_trajectory_does_not_depend_on_those_beside_it(task):
    initial = initial_fields(task, count=3)
    solver = solver_of(task.source.simulation.equation, 16, task.interval, torch.float32)
    together = solver.trajectory(initial, 2)
    assert torch.equal(together, torch.cat([solver.trajectory(each[None], 2) for each in initial]))


def test_static_fields_come_back_unchanged(task):
    initial = initial_fields(task)
    names = task.source.simulation.initial.channels
    static = [names.index(name) for name in task.static if name in names]
    states = solver_of(task.source.simulation.equation, 16, task.interval).trajectory(initial, 2)
    assert torch.equal(states[:, 1, static], initial[:, static])


def test_the_target_snapshot_is_one_of_the_snapshots(task):
    assert 0 < task.final_snapshot < task.snapshots
    assert task.times[-1] == pytest.approx(task.duration)
