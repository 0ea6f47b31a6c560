import json
import subprocess
import sys

import pytest
import torch

from driftnet import registry
from driftnet.configs import Objective
from driftnet.data.order import Order
from driftnet.data.pairs import Batch, Pairs, consecutive, order_of
from driftnet.data.sources import Disk, Memory
from driftnet.data.statistics import fit_statistics
from driftnet.data.store import Layout, lay_out, place
from driftnet.data.trajectories import Trajectories
from driftnet.data.windows import Window, validation_windows, windows
from driftnet.errors import DriftnetError, UsageError

TASK = registry.task("NS-PwC")
EPOCH = 12  # Pairs of the four training trajectories.


@pytest.fixture
def training(small_data):
    return Trajectories(small_data, TASK, "train")


FIVE = windows(Objective(), 6)  # Single steps of a trajectory of six snapshots.


def shuffled(source, batch: int, seed: int, buffer: int = 128, objective: Objective | None = None, **more) -> Pairs:
    return Pairs(source, batch, order_of(source.trajectories, seed, buffer, objective), **more)


def sequence(order: Order, first: int, last: int) -> list[tuple[int, Window]]:
    return [order.block(block)[place] for block, place in map(order.locate, range(first, last))]


def same(first: Batch, second: Batch) -> bool:
    parts = zip((*first.states, *first[1:]), (*second.states, *second[1:]), strict=True)
    return all(torch.equal(a, b) for a, b in parts)


@pytest.mark.parametrize("buffer", [1, 2, 3, 7, 8, 100])
def test_every_epoch_holds_every_pair_once_in_its_own_order(buffer):
    order = Order(trajectories=8, windows=FIVE, buffer=buffer, seed=3)
    everything = [(trajectory, (first, first + 1)) for trajectory in range(8) for first in range(5)]
    epochs = [sequence(order, 40 * epoch, 40 * (epoch + 1)) for epoch in range(3)]
    assert all(sorted(epoch) == everything for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2] != everything


def test_a_block_draws_on_no_more_trajectories_than_the_buffer_has_room_for():
    order = Order(trajectories=8, windows=FIVE, buffer=3, seed=3)
    assert [len({trajectory for trajectory, _ in order.block(number)}) for number in range(6)] == [3, 3, 2, 3, 3, 2]


def test_seed_and_buffer_decide_the_order():
    orders = [Order(8, FIVE, buffer, seed) for buffer, seed in ((3, 0), (3, 1), (4, 0), (8, 0), (3, 0))]
    shown = [sequence(order, 0, 40) for order in orders]
    assert shown[0] == shown[4]
    assert all(shown[i] != shown[j] for i in range(4) for j in range(i))


def test_one_block_of_everything_is_a_shuffle_of_all_pairs():
    """First and last position hold every pair about equally often."""
    order = Order(trajectories=3, windows=FIVE[:2], buffer=3, seed=0)
    for spot in (0, 5):
        seen = [order.block(epoch)[spot] for epoch in range(1200)]
        counts = [seen.count(pair) for pair in set(seen)]
        assert len(counts) == 6
        # 200 expected, standard deviation 12.9.
        assert max(abs(count - 200) for count in counts) < 65


@pytest.mark.parametrize("buffer", [1, 3, 4])
def test_a_batch_is_a_function_of_seed_and_step_alone(training, buffer):
    straight = shuffled(Disk(training), batch=5, seed=3, buffer=buffer)
    batches = [straight[step] for step in range(6)]
    again = shuffled(Disk(training), batch=5, seed=3, buffer=buffer)
    for step in (5, 0, 3, 3, 2):
        assert same(again[step], batches[step])
    assert not same(shuffled(Disk(training), batch=5, seed=4, buffer=buffer)[0], batches[0])


@pytest.mark.parametrize("buffer", [1, 3, 4, 100])
@pytest.mark.parametrize("batch", [1, 5, 30])
def test_an_epoch_of_batches_is_every_pair_of_consecutive_snapshots_of_one_trajectory(training, buffer, batch):
    pairs = shuffled(Disk(training), batch, seed=0, buffer=buffer)
    steps = [pairs[step] for step in range(-(-EPOCH // batch))]
    states, targets = (torch.cat([step.states[part] for step in steps])[:EPOCH] for part in (0, 1))
    fields = [training[index] for index in range(4)]
    position = {tuple(f[t].flatten()[:50].tolist()): (i, t) for i, f in enumerate(fields) for t in range(4)}
    seen = [position[tuple(state.flatten()[:50].tolist())] for state in states]
    assert sorted(seen) == [(i, t) for i in range(4) for t in range(3)]
    assert all(torch.equal(target, fields[i][t + 1]) for target, (i, t) in zip(targets, seen, strict=True))


def test_neither_prefetching_nor_where_the_data_wait_changes_a_batch(training, monkeypatch):
    # Without an accelerator no memory can be page-locked: only the path to it is tried here.
    plain = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *size, pin_memory=False, **more: plain(*size, **more))
    variants = [
        shuffled(source(training), 5, seed=1, buffer=3, prefetch=prefetch, pinned=pinned)
        for source in (Disk, Memory)
        for prefetch in (True, False)
        for pinned in (True, False)
    ]
    for step in range(6):
        batches = [pairs[step] for pairs in variants]
        assert all(same(batch, batches[0]) for batch in batches[1:])


def test_restarting_reads_the_blocks_of_the_batch_and_no_others(training, monkeypatch):
    read, plain = [], Trajectories.read

    def counted(self, trajectory, first, last):
        read.append(trajectory)
        return plain(self, trajectory, first, last)

    monkeypatch.setattr(Trajectories, "read", counted)
    pairs = shuffled(Disk(training), batch=2, seed=0, buffer=2, prefetch=False)
    for step, blocks in ((3, [1]), (100, [33]), (2, [0])):
        read.clear()
        pairs[step]
        wanted = {trajectory for block in blocks for trajectory, _ in pairs.order.block(block)}
        assert sorted(read) == sorted(wanted)


def test_the_next_block_is_read_before_it_is_asked_for(training):
    pairs = shuffled(Disk(training), batch=2, seed=0, buffer=2)
    pairs[0]
    assert set(pairs._blocks) == {0, 1}
    awaited = pairs._blocks[1].result(timeout=10).example(0)
    expected = shuffled(Disk(training), 1, 0, 2)._block(1).example(0)
    assert torch.equal(awaited[0][0], expected[0][0])


def test_a_failure_of_the_reading_thread_is_raised_where_its_batch_is_asked_for(training, monkeypatch):
    pairs = shuffled(Memory(training), batch=5, seed=0)

    def broken(self, index):
        raise DriftnetError("the disk is gone")

    monkeypatch.setattr(Trajectories, "__getitem__", broken)
    with pytest.raises(DriftnetError, match="the disk is gone"):
        pairs[0]


@pytest.mark.parametrize("batch", [1, 5, 12, 100])
def test_consecutive_pairs_are_all_of_them_in_the_order_of_the_file(training, batch):
    batches = list(consecutive(Disk(training), batch))
    assert [len(each.lead) for each in batches[:-1]] == [batch] * (len(batches) - 1)
    fields = torch.stack([training[index] for index in range(4)])
    assert torch.equal(torch.cat([each.states[0] for each in batches]), fields[:, :-1].flatten(0, 1))
    assert torch.equal(torch.cat([each.states[1] for each in batches]), fields[:, 1:].flatten(0, 1))


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (Objective(), [(0, 1), (1, 2), (2, 3)]),
        (Objective("all-to-all"), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]),
        (Objective("all-to-all", longest=2), [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]),
        (Objective("all-to-all", longest=1), [(0, 1), (1, 2), (2, 3)]),
        (Objective("unrolled"), [(0, 1, 2), (1, 2, 3)]),
        (Objective("pushforward", steps=3), [(0, 1, 2, 3)]),
    ],
)
def test_an_epoch_holds_every_window_of_an_objective_once(objective, expected, training):
    assert sorted(windows(objective, 4)) == expected
    pairs = shuffled(Disk(training), 5, seed=0, buffer=2, objective=objective)
    count = 4 * len(expected)
    assert len(pairs) == count
    batches = [pairs[step] for step in range(-(-count // 5))]
    fields = [training[index] for index in range(4)]
    position = {tuple(f[t].flatten()[:50].tolist()): (i, t) for i, f in enumerate(fields) for t in range(4)}
    found = []
    for batch in batches:
        for sample in range(5):
            snapshots = [position[tuple(state[sample].flatten()[:50].tolist())] for state in batch.states]
            assert len({trajectory for trajectory, _ in snapshots}) == 1
            numbers = tuple(number for _, number in snapshots)
            assert batch.lead[sample].item() == pytest.approx((numbers[1] - numbers[0]) / 20)
            found.append((snapshots[0][0], numbers))
    assert sorted(found[:count]) == [(trajectory, window) for trajectory in range(4) for window in expected]


def test_all_to_all_is_validated_at_every_lead_time_and_the_others_at_single_steps():
    assert validation_windows(Objective("all-to-all", longest=2), 4) == ((0, 1), (0, 2))
    assert validation_windows(Objective("unrolled", steps=3), 4) == ((0, 1), (1, 2), (2, 3))


@pytest.mark.parametrize("objective", [Objective("unrolled", steps=4), Objective("all-to-all", longest=4)])
def test_windows_longer_than_a_trajectory_are_refused(objective):
    with pytest.raises(UsageError, match="4 is more than the 3 steps of a trajectory"):
        windows(objective, 4)


READ_AN_EPOCH = """
import resource, sys
from pathlib import Path
from driftnet import registry
from driftnet.data.pairs import Pairs, order_of
from driftnet.data.sources import Disk
from driftnet.data.statistics import fit_statistics
from driftnet.data.trajectories import Trajectories
import torch
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
torch.set_num_threads(1)
source = Disk(Trajectories(Path(sys.argv[1]), registry.task("NS-PwC"), "train"))
pairs = Pairs(source, 40, order_of(source.trajectories, 0, 8))
before, read = peak(), 0
for step in range(len(pairs) // 40):
    batch = pairs[step]
    read += batch.states[0].nbytes
print(read, peak() - before)
"""


def test_data_larger_than_the_buffer_do_not_grow_the_process(tmp_path):
    path = tmp_path / "sparse.nc"
    split = {"train": 800, "validation": 1, "test": 9199}
    sizes = {"sample": range(10000), "time": range(21), "channel": range(3), "x": range(128), "y": range(128)}
    array = place(TASK.source.variables[0], ("u", "v", "tracer"), sizes)
    lay_out(path, Layout((array,), sizes, {"split": json.dumps(split)}))
    assert path.stat().st_size > 40e9
    said = subprocess.run([sys.executable, "-c", READ_AN_EPOCH, path], check=True, capture_output=True, text=True).stdout
    read, growth = map(int, said.split())
    block = 8 * 21 * 2 * 128 * 128 * 4
    assert read == 800 * 20 * 2 * 128 * 128 * 4
    # Two blocks, two batches and what the allocator keeps: 80 to 145 MB whether 100 or 800 trajectories are read.
    assert growth < 10 * block < read / 9


def test_statistics_are_those_of_the_training_part_and_shared_by_the_components_of_a_quantity(training):
    fields = torch.stack([training[index] for index in range(len(training))]).double()
    statistics = fit_statistics(Disk(training))
    u, v = fields.unbind(2)
    shared = ((u.var(correction=0) + v.var(correction=0)) / 2).sqrt()
    assert torch.allclose(statistics.std.double(), shared.expand(2), rtol=1e-6)
    assert torch.allclose(statistics.mean.double(), fields.mean((0, 1, 3, 4)), atol=1e-8)
    increments = fields.diff(dim=1).transpose(1, 2).transpose(0, 1).flatten(1)
    assert torch.allclose(statistics.increment_std.double(), increments.var(1, correction=0).mean().sqrt().expand(2), rtol=1e-6)
