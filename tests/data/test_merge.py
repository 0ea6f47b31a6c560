import json
import shutil
from pathlib import Path

import h5py
import pytest

from driftnet import registry
from driftnet.cli import main
from driftnet.data.generate import generate
from driftnet.data.jobs import plan
from driftnet.data.merge import merge
from driftnet.errors import DriftnetError, UsageError
from driftnet.files import checksum
from driftnet.tasks.base import Split

SMALL = {"split": Split(5, 1, 2), "resolution": 16, "workers": 1, "batch": 2}


def make(name: str, path: Path, **changes) -> Path:
    job = plan(registry.task(name), output=path, **{**SMALL, **changes})
    generate(job, overwrite=False)
    return job.output


def shards(name: str, path: Path, count: int = 3, **changes) -> list[Path]:
    return [make(name, path, shards=count, shard=number, **changes) for number in range(count)]


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> list[Path]:
    """Three shards of unequal size."""
    return shards("Wave-Gauss", tmp_path_factory.mktemp("shards") / "Wave-Gauss.nc")


@pytest.mark.parametrize("name", ["FNS-KF", "Wave-Gauss", "Poisson-Gauss"])
def test_merged_shards_are_the_file_that_a_single_run_writes(name, tmp_path):
    whole = make(name, tmp_path / "whole.nc")
    parts = shards(name, tmp_path / "part.nc")
    sizes = [h5py.File(part)["sample"].size for part in parts]
    merge(list(reversed(parts)), tmp_path / "merged.nc", overwrite=False)
    assert sizes == [2, 3, 3]
    assert checksum(tmp_path / "merged.nc") == checksum(whole)


def test_a_shard_knows_its_place(three):
    with h5py.File(three[1]) as file:
        assert json.loads(file.attrs["shard"]) == [1, 3]
        assert file["sample"][:].tolist() == [2, 3, 4]
    assert three[1].name == "Wave-Gauss.shard-1-of-3.nc"


def refused(error, message, paths, output):
    with pytest.raises(error, match=message):
        merge(paths, output, overwrite=False)
    assert not list(output.parent.glob("merged*"))


def test_a_missing_shard_is_named(three, tmp_path):
    refused(UsageError, "of 3 shards, 1 is missing", [three[0], three[2]], tmp_path / "merged.nc")


def test_a_shard_that_is_given_twice_is_refused(three, tmp_path):
    again = shutil.copy(three[0], tmp_path / "again.nc")
    refused(UsageError, "are both shard 0", [*three, Path(again)], tmp_path / "merged.nc")


def test_shards_of_different_recipes_are_refused(three, tmp_path):
    other = make("Wave-Gauss", tmp_path / "other.nc", shards=3, shard=1, seed=1)
    refused(UsageError, "were made by different recipes", [three[0], other, three[2]], tmp_path / "merged.nc")


def test_an_unfinished_shard_is_refused(three, tmp_path):
    path = tmp_path / "late.nc"
    shutil.copy(three[1], tmp_path / "late.nc.partial")
    refused(DriftnetError, "late.nc: it is not finished", [three[0], path, three[2]], tmp_path / "merged.nc")
    refused(DriftnetError, "none.nc: there is no such file", [tmp_path / "none.nc"], tmp_path / "merged.nc")


def test_a_shard_that_was_cut_short_is_refused(three, tmp_path):
    cut = tmp_path / "cut.nc"
    cut.write_bytes(three[1].read_bytes()[:-1000])
    refused(DriftnetError, "cut.nc", [three[0], cut, three[2]], tmp_path / "merged.nc")


def test_a_whole_file_is_no_shard(tmp_path):
    whole = make("Poisson-Gauss", tmp_path / "whole.nc")
    refused(UsageError, "it is not a shard", [whole], tmp_path / "merged.nc")


def test_an_existing_file_is_not_overwritten_unasked(three, tmp_path):
    output = tmp_path / "merged.nc"
    main(["merge", *map(str, three), "--output", str(output)])
    with pytest.raises(UsageError, match="give --overwrite"):
        merge(three, output, overwrite=False)
    assert "8 trajectories of 3 shards" in merge(three, output, overwrite=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shards": 3, "shard": 3}, "shard: 3 is none of 0 to 2"),
        ({"shards": 9}, "shards: 9 are more than the 8 trajectories"),
        ({"shards": 0}, "shards: 0 is not positive"),
    ],
)
def test_shards_that_cannot_be_are_refused(changes, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        plan(registry.task("ACE"), output=tmp_path / "ACE.nc", **{**SMALL, **changes})
