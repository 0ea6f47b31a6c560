import json
import subprocess
import sys

import pytest
import torch

from driftnet import registry
from driftnet.data.order import Order
from driftnet.data.pairs import Pairs, consecutive
from driftnet.data.sources import Disk, Memory
from driftnet.data.statistics import fit_statistics
from driftnet.data.store import Layout, lay_out, place
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError

TASK = registry.task("NS-PwC")
EPOCH = 12  # Pairs of the four training trajectories.


@pytest.fixture
def training(small_data):
    return Trajectories(small_data, TASK, "train")


def sequence(order: Order, first: int, last: int) -> list[tuple[int, int]]:
    return [order.block(block)[place] for block, place in map(order.locate, range(first, last))]


def same(first, second) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("buffer", [1, 2, 3, 7, 8, 100])
def test_every_epoch_holds_every_pair_once_in_its_own_order(buffer):
    order = Order(trajectories=8, per_trajectory=5, buffer=buffer, seed=3)
    everything = [(trajectory, first) for trajectory in range(8) for first in range(5)]
    epochs = [sequence(order, 40 * epoch, 40 * (epoch + 1)) for epoch in range(3)]
    assert all(sorted(epoch) == everything for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2] != everything


def test_a_block_draws_on_no_more_trajectories_than_the_buffer_has_room_for():
    order = Order(trajectories=8, per_trajectory=5, buffer=3, seed=3)
    assert [len({trajectory for trajectory, _ in order.block(number)}) for number in range(6)] == [3, 3, 2, 3, 3, 2]


def test_seed_and_buffer_decide_the_order():
    orders = [Order(8, 5, buffer, seed) for buffer, seed in ((3, 0), (3, 1), (4, 0), (8, 0), (3, 0))]
    shown = [sequence(order, 0, 40) for order in orders]
    assert shown[0] == shown[4]
    assert all(shown[i] != shown[j] for i in range(4) for j in range(i))


def test_one_block_of_everything_is_a_shuffle_of_all_pairs():
    """First and last position hold every pair about equally often."""
    order = Order(trajectories=3, per_trajectory=2, buffer=3, seed=0)
    for spot in (0, 5):
        seen = [order.block(epoch)[spot] for epoch in range(1200)]
        counts = [seen.count(pair) for pair in set(seen)]
        assert len(counts) == 6
        # 200 expected, standard deviation 12.9.
        assert max(abs(count - 200) for count in counts) < 65


@pytest.mark.parametrize("buffer", [1, 3, 4])
def test_a_batch_is_a_function_of_seed_and_step_alone(training, buffer):
    straight = Pairs(Disk(training), batch=5, seed=3, buffer=buffer)
    batches = [straight[step] for step in range(6)]
    again = Pairs(Disk(training), batch=5, seed=3, buffer=buffer)
    for step in (5, 0, 3, 3, 2):
        assert same(again[step], batches[step])
    assert not same(Pairs(Disk(training), batch=5, seed=4, buffer=buffer)[0], batches[0])


@pytest.mark.parametrize("buffer", [1, 3, 4, 100])
@pytest.mark.parametrize("batch", [1, 5, 30])
def test_an_epoch_of_batches_is_every_pair_of_consecutive_snapshots_of_one_trajectory(training, buffer, batch):
    pairs = Pairs(Disk(training), batch, seed=0, buffer=buffer)
    steps = [pairs[step] for step in range(-(-EPOCH // batch))]
    states, targets = (torch.cat([step[part] for step in steps])[:EPOCH] for part in (0, 1))
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
        Pairs(source(training), 5, seed=1, buffer=3, prefetch=prefetch, pinned=pinned)
        for source in (Disk, Memory)
        for prefetch in (True, False)
        for pinned in (True, False)
    ]
    for step in range(6):
        batches = [pairs[step] for pairs in variants]
        assert all(same(batch, batches[0]) for batch in batches[1:])


def test_restarting_reads_the_blocks_of_the_batch_and_no_others(training):
    read = []
    source = Disk(training)
    source._announce = read.append
    pairs = Pairs(source, batch=2, seed=0, buffer=2, prefetch=False)
    for step, blocks in ((3, [1]), (100, [33]), (2, [0])):
        read.clear()
        pairs[step]
        wanted = {trajectory for block in blocks for trajectory, _ in pairs.order.block(block)}
        assert sorted(read) == sorted(wanted)


def test_the_next_block_is_read_before_it_is_asked_for(training):
    pairs = Pairs(Disk(training), batch=2, seed=0, buffer=2)
    pairs[0]
    assert set(pairs._blocks) == {0, 1}
    assert same(pairs._blocks[1].result(timeout=10).pair(0), Pairs(Disk(training), 1, 0, 2)._block(1).pair(0))


def test_a_failure_of_the_reading_thread_is_raised_where_its_batch_is_asked_for(training, monkeypatch):
    pairs = Pairs(Memory(training), batch=5, seed=0)

    def broken(self, index):
        raise DriftnetError("the disk is gone")

    monkeypatch.setattr(Trajectories, "__getitem__", broken)
    with pytest.raises(DriftnetError, match="the disk is gone"):
        pairs[0]


@pytest.mark.parametrize("batch", [1, 5, 12, 100])
def test_consecutive_pairs_are_all_of_them_in_the_order_of_the_file(training, batch):
    batches = list(consecutive(Disk(training), batch))
    assert [len(each.state) for each in batches[:-1]] == [batch] * (len(batches) - 1)
    fields = torch.stack([training[index] for index in range(4)])
    assert torch.equal(torch.cat([each.state for each in batches]), fields[:, :-1].flatten(0, 1))
    assert torch.equal(torch.cat([each.target for each in batches]), fields[:, 1:].flatten(0, 1))


READ_AN_EPOCH = """
import resource, sys
from pathlib import Path
from driftnet import registry
from driftnet.data.pairs import Pairs
from driftnet.data.sources import Disk
from driftnet.data.statistics import fit_statistics
from driftnet.data.trajectories import Trajectories
import torch
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
torch.set_num_threads(1)
source = Disk(Trajectories(Path(sys.argv[1]), registry.task("NS-PwC"), "train"))
pairs = Pairs(source, batch=40, seed=0, buffer=8)
before, read = peak(), 0
for step in range(len(pairs) // 40):
    batch = pairs[step]
    read += batch.state.nbytes
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
