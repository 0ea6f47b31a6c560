import torch

from driftnet import registry
from driftnet.data.pairs import Pairs
from driftnet.data.statistics import fit_statistics
from driftnet.data.trajectories import Trajectories

TASK = registry.task("NS-PwC")


def test_every_epoch_visits_every_pair_once_in_its_own_order(small_data):
    pairs = Pairs(Trajectories(small_data, TASK, "train"), batch=5, seed=3)
    first, second = ([pairs._pair_at(position) for position in range(e * 12, e * 12 + 12)] for e in (0, 1))
    assert sorted(first) == sorted(second) == list(range(12))
    assert first != second


def test_a_batch_is_a_function_of_seed_and_step_alone(small_data):
    training = Trajectories(small_data, TASK, "train")
    straight = Pairs(training, batch=5, seed=3)
    batches = [straight[step] for step in range(6)]
    for step in (5, 0, 3):
        again = Pairs(training, batch=5, seed=3)[step]
        assert torch.equal(again.state, batches[step].state)
    assert not torch.equal(Pairs(training, batch=5, seed=4)[0].state, batches[0].state)


def test_a_pair_is_two_consecutive_snapshots_of_one_trajectory(small_data):
    training = Trajectories(small_data, TASK, "train")
    pair = Pairs(training, batch=1, seed=0).gather([3 + 2])
    assert torch.equal(pair.state[0], training[1][2])
    assert torch.equal(pair.target[0], training[1][3])


def test_statistics_are_those_of_the_training_part_and_shared_by_the_components_of_a_quantity(small_data):
    training = Trajectories(small_data, TASK, "train")
    fields = torch.stack([training[index] for index in range(len(training))]).double()
    statistics = fit_statistics(training)
    u, v = fields.unbind(2)
    shared = ((u.var(correction=0) + v.var(correction=0)) / 2).sqrt()
    assert torch.allclose(statistics.std.double(), shared.expand(2), rtol=1e-6)
    assert torch.allclose(statistics.mean.double(), fields.mean((0, 1, 3, 4)), atol=1e-8)
    increments = fields.diff(dim=1).transpose(1, 2).transpose(0, 1).flatten(1)
    assert torch.allclose(statistics.increment_std.double(), increments.var(1, correction=0).mean().sqrt().expand(2), rtol=1e-6)
