import numpy as np
import pytest
import torch

from driftnet import registry
from driftnet.pdes.grid import Grid
from driftnet.pdes.initial import trajectory_generator

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
    assert len(task.normalization.mean) == len(task.normalization.std) == len(task.components)


def test_the_simulation_of_a_task_makes_its_channels_and_stays_finite(task):
    simulation, size = task.source.simulation, 16
    generators = [trajectory_generator(0, index) for index in range(2)]
    initial = registry.resolve(simulation.initial.sampler)(simulation.initial, generators, size)
    solver = registry.resolve(simulation.equation.solver)
    interval = task.duration / (task.snapshots - 1)
    states = solver(simulation.equation, Grid(size, dtype=torch.float32), interval).trajectory(initial, 3)
    assert states.shape[:2] == (2, 3)
    assert states.shape[2] >= len(task.components)
    assert torch.isfinite(states).all()
    assert not np.array_equal(states[0], states[1])


def test_the_target_snapshot_is_one_of_the_snapshots(task):
    assert 0 < task.final_snapshot < task.snapshots
    assert task.times[-1] == pytest.approx(task.duration)
