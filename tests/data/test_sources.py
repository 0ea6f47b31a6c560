import h5py
import numpy as np
import pytest
import torch

from driftnet import registry
from driftnet.data.loading import Loading
from driftnet.data.pairs import Pairs, order_of
from driftnet.data.sources import Disk, Memory, announcer, size_in_memory, sources
from driftnet.data.statistics import fit_statistics
from driftnet.data.trajectories import Trajectories
from driftnet.errors import DriftnetError, UsageError

TASK = registry.task("NS-PwC")


@pytest.fixture
def parts(small_data):
    return [Trajectories(small_data, TASK, part) for part in ("train", "validation")]


@pytest.fixture
def reads(monkeypatch):
    """Numbers of the trajectories read from the disk."""
    numbers, read = [], Trajectories.read

    def counted(self, trajectory, first, last):
        numbers.append(trajectory)
        return read(self, trajectory, first, last)

    monkeypatch.setattr(Trajectories, "read", counted)
    return numbers


@pytest.mark.parametrize("source", [Disk, Memory])
def test_a_source_gives_the_trajectories_that_were_asked_for_in_that_order(parts, source):
    streamed = list(source(parts[0]).stream([2, 0, 3]))
    assert [index for index, _ in streamed] == [2, 0, 3]
    assert all(torch.equal(fields, parts[0][index]) for index, fields in streamed)


def test_statistics_and_training_together_read_data_that_are_kept_once(parts, reads):
    source = Memory(parts[0])
    fit_statistics(source)
    pairs = Pairs(source, 5, order_of(source.trajectories, seed=0, buffer=3))
    for step in range(7):
        pairs[step]
    assert sorted(reads) == [0, 1, 2, 3]


def test_only_what_is_asked_for_is_read(parts, reads):
    source = Memory(parts[0])
    for _ in range(2):
        list(source.stream([1, 3]))
    assert reads == [1, 3]
    list(source.stream([0, 1, 2]))
    assert reads == [1, 3, 0, 2]


def test_parts_are_kept_as_far_as_the_memory_goes(parts):
    sizes = [size_in_memory(part) for part in parts]
    assert sizes == [n * 4 * 2 * 16 * 16 * 4 for n in (4, 1)]

    def kinds(**loading):
        return [type(source) for source in sources(parts, Loading(**loading), "cpu")]

    assert kinds() == [Memory, Memory]
    assert kinds(memory=sum(sizes) / 1e9) == [Memory, Memory]
    assert kinds(memory=sizes[0] / 1e9) == [Memory, Disk]
    assert kinds(memory=sizes[1] / 1e9) == [Disk, Memory]
    assert kinds(memory=0.0) == [Disk, Disk]
    assert kinds(memory=0.0, resident=True) == [Memory, Memory]


def test_a_negative_memory_is_refused():
    with pytest.raises(UsageError, match=r"loading\.memory: -1\.0 is negative"):
        Loading(memory=-1.0)


def test_statistics_never_see_validation_or_test_data(small_data, tmp_path):
    path = tmp_path / "NS-PwC.nc"
    path.write_bytes(small_data.read_bytes())
    with h5py.File(path, "r+") as file:
        file["velocity"][4:] = np.nan  # Reading one of these would raise.
    whole, poisoned = (fit_statistics(Disk(Trajectories(each, TASK, "train"))) for each in (small_data, path))
    assert torch.equal(whole.std, poisoned.std)
    assert torch.equal(whole.mean, poisoned.mean)


def test_chunked_files_are_read_without_announcement(small_data, tmp_path):
    path = tmp_path / "chunked.nc"
    with h5py.File(small_data) as old, h5py.File(path, "w") as new:
        new.attrs.update(old.attrs)
        new.create_dataset("velocity", data=old["velocity"][:], chunks=True, compression="gzip")
    plain, chunked = (Trajectories(each, TASK, "train") for each in (small_data, path))
    assert announcer(chunked)(0) is None
    batches = [Pairs(Disk(part), 5, order_of(part, seed=0, buffer=2))[1] for part in (plain, chunked)]
    assert torch.equal(batches[0].states[0], batches[1].states[0])


def test_a_channel_that_never_changes_is_named_though_the_other_of_its_quantity_does(small_data, tmp_path):
    path = tmp_path / "NS-PwC.nc"
    path.write_bytes(small_data.read_bytes())
    with h5py.File(path, "r+") as file:
        file["velocity"][:, :, 1] = 1.5
    with pytest.raises(DriftnetError, match=r"NS-PwC\.nc: v of velocity never changes, so it cannot be normalised"):
        fit_statistics(Disk(Trajectories(path, TASK, "train")))
