import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

from driftnet import registry
from driftnet.cli import main
from driftnet.data.generate import generate
from driftnet.data.jobs import plan
from driftnet.errors import DriftnetError, UsageError
from driftnet.files import Busy, checksum, locked
from driftnet.tasks.base import Split
from tests.interrupt import interrupted

TASK = registry.task("NS-PwC")
SMALL = {"split": Split(6, 1, 2), "resolution": 16, "snapshots": 4, "workers": 1, "batch": 2}


def job(path: Path, **changes):
    return plan(TASK, output=path, **{**SMALL, **changes})


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("reference") / "NS-PwC.nc"
    generate(job(path), overwrite=False)
    return path


@pytest.mark.parametrize("changes", [{"batch": 1}, {"batch": 5}, {"workers": 2, "batch": 3}])
def test_the_file_depends_neither_on_the_batch_nor_on_the_number_of_workers(changes, reference, tmp_path):
    generate(job(tmp_path / "NS-PwC.nc", **changes), overwrite=False)
    assert checksum(tmp_path / "NS-PwC.nc") == checksum(reference)


def test_a_trajectory_depends_on_the_seed_and_its_index_alone(reference, tmp_path):
    generate(job(tmp_path / "more.nc", split=Split(9, 1, 2)), overwrite=False)
    generate(job(tmp_path / "other.nc", seed=1), overwrite=False)
    with h5py.File(reference) as few, h5py.File(tmp_path / "more.nc") as more, h5py.File(tmp_path / "other.nc") as other:
        assert np.array_equal(few["velocity"][:], more["velocity"][:9])
        assert not np.array_equal(few["velocity"][0], other["velocity"][0])


def test_the_file_has_the_published_layout_and_says_where_it_is_from(reference):
    with h5py.File(reference) as file:
        velocity = file["velocity"]
        assert velocity.chunks is None
        assert velocity.dtype == np.dtype("<f4")
        assert json.loads(file.attrs["channels"]) == ["u", "v", "tracer"]
        assert json.loads(file.attrs["recipe"])["simulation"]["initial"]["amplitude"] == 10.0
    with xr.open_dataset(reference, engine="h5netcdf") as dataset:
        assert dataset.velocity.dims == ("sample", "time", "channel", "x", "y")
        assert dataset.velocity.shape == (9, 4, 3, 16, 16)
        assert dataset.time.values == pytest.approx([0, 0.05, 0.1, 0.15])


def test_killed_at_any_moment_and_started_again_it_ends_with_the_same_file(reference, tmp_path):
    path = tmp_path / "NS-PwC.nc"
    sizes = "--split.train 6 --split.validation 1 --split.test 2 --resolution 16 --snapshots 4 --batch 1 --workers 1"
    command = [sys.executable, "-c", SLOWED, "generate", "NS-PwC", *sizes.split(), "--output", str(path)]
    kills = 0
    for progress_wanted in (0, 2, 5, 8):
        victim = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while finished(path) < progress_wanted and victim.poll() is None:
            time.sleep(0.01)
        if victim.poll() is None:
            victim.send_signal(signal.SIGKILL)
            kills += 1
        victim.wait()
        assert not path.exists() or victim.returncode == 0
    subprocess.run(command, check=True, capture_output=True)
    assert kills >= 3
    assert checksum(path) == checksum(reference)
    assert sorted(os.listdir(tmp_path)) == [".NS-PwC.nc.lock", "NS-PwC.nc"]


SLOWED = """
import time
from driftnet.data import generate as module
write = module.write_in_place
module.write_in_place = lambda *a: (write(*a), time.sleep(0.05))
from driftnet.cli import main
main()
"""


def finished(path: Path) -> int:
    """Trajectories that the journal has, 0 where there is none yet."""
    journal = path.with_name(path.name + ".journal")
    return max(0, len(journal.read_text().splitlines()) - 2) if journal.exists() else 0


def test_a_torn_last_line_of_the_journal_is_done_again(reference, tmp_path):
    path = tmp_path / "NS-PwC.nc"
    interrupted(job(path), after=2)
    journal = path.with_name("NS-PwC.nc.journal")
    journal.write_text(journal.read_text() + "4")
    generate(job(path), overwrite=False)
    assert checksum(path) == checksum(reference)


@pytest.mark.parametrize(
    ("task", "options", "name", "expected"),
    [
        # Of 256 points 13 lie in a disc of radius 1/8, the points on its edge among them.
        ("NS-PwC", "tracer_radius 0.125 tracer_centre [0.25,0.75] tracer_height 2", "tracer", 2 * 13 / 256),
        ("Wave-Gauss", "lattice 0 speed [2000,2000]", "c", 2000.0),
        ("Poisson-Gauss", "heights [0,0]", "source", 0.0),
    ],
)
def test_options_of_initial_data_reach_the_file_and_its_recipe(task, options, name, expected, tmp_path):
    names, values = options.split()[::2], options.split()[1::2]
    given = [word for key, value in zip(names, values, strict=True) for word in (f"--simulation.initial.{key}", value)]
    sizes = "--split.train 1 --split.validation 1 --split.test 1 --resolution 16 --snapshots 2 --workers 1 --output"
    main(["generate", task, *sizes.split(), str(tmp_path / "made.nc"), *given])
    with h5py.File(tmp_path / "made.nc") as file:
        field = file["velocity"][:, 0, 2] if name == "tracer" else file[name][:]
        assert field.mean((-2, -1)) == pytest.approx([expected] * 3)
        recorded = json.loads(file.attrs["recipe"])["simulation"]["initial"]
    assert [recorded[key] for key in names] == [json.loads(value) for value in values]


def test_a_file_that_lacks_an_option_in_its_recipe_is_one_of_another_recipe(reference, tmp_path):
    older = tmp_path / "NS-PwC.nc"
    shutil.copyfile(reference, older)
    with h5py.File(older, "a") as file:
        recipe = json.loads(file.attrs["recipe"])
        del recipe["simulation"]["initial"]["tracer_radius"]
        file.attrs["recipe"] = json.dumps(recipe, sort_keys=True)
    with pytest.raises(UsageError, match="made by another recipe; give --overwrite"):
        generate(job(older), overwrite=False)


def test_a_finished_file_is_left_alone_and_another_recipe_is_refused(reference, tmp_path):
    before = reference.stat().st_mtime_ns
    assert "already complete" in generate(job(reference), overwrite=False)
    assert reference.stat().st_mtime_ns == before
    with pytest.raises(UsageError, match="made by another recipe; give --overwrite"):
        generate(job(reference, seed=3), overwrite=False)


def test_an_unfinished_file_of_another_recipe_is_refused_and_overwritten_on_demand(tmp_path):
    path = tmp_path / "NS-PwC.nc"
    interrupted(job(path), after=1)
    other = job(path, seed=3)
    with pytest.raises(UsageError, match="begun by another recipe"):
        generate(other, overwrite=False)
    generate(other, overwrite=True)
    with h5py.File(path) as file:
        assert file.attrs["seed"] == "3"


def test_a_failing_solver_leaves_no_file_under_the_final_name(tmp_path):
    simulation = replace(TASK.source.simulation, equation=replace(TASK.source.simulation.equation, substeps=1))
    with pytest.raises(DriftnetError, match="time step is too long"):
        generate(job(tmp_path / "NS-PwC.nc", resolution=64, simulation=simulation), overwrite=False)
    assert not (tmp_path / "NS-PwC.nc").exists()


def test_a_second_process_on_the_same_file_is_refused(tmp_path):
    path = tmp_path / "NS-PwC.nc"
    with locked(tmp_path / ".NS-PwC.nc.lock", "it"), pytest.raises(Busy, match="another process is working on"):
        generate(job(path), overwrite=False)


def test_a_file_that_the_disk_cannot_hold_is_refused_before_it_is_begun(tmp_path):
    with pytest.raises(DriftnetError, match="the disk has less left"):
        generate(job(tmp_path / "NS-PwC.nc", split=Split(10**9, 1, 1), resolution=512), overwrite=False)
    assert not (tmp_path / "NS-PwC.nc.partial").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resolution": 15}, "resolution: 15 is not even"),
        ({"snapshots": 1}, "snapshots: 1 leaves no step"),
        ({"workers": 0}, "workers: 0 is not positive"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(changes, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        job(tmp_path / "NS-PwC.nc", **changes)


def test_a_ctrl_c_ends_it_with_its_workers_at_once_and_not_after_what_they_are_at(zygote, tmp_path):
    path = tmp_path / "NS-PwC.nc"
    fine = (
        "--resolution 128 --split.train 254 --split.validation 1 --split.test 1 --batch 128 --workers 2"  # Over 20 s a batch.
    )
    child = zygote.start(["generate", "NS-PwC", "--output", path, *fine.split()], tmp_path / "said")
    while len(started := children(child.pid)) < 2 or not path.with_name("NS-PwC.nc.journal").exists():
        assert child.poll() is None, child.said()
        time.sleep(0.05)
    time.sleep(3)  # They import torch first.
    child.send(signal.SIGINT)
    asked = time.monotonic()
    assert child.wait() == 130
    assert "driftnet: interrupted; the same command goes on from there" in child.said()
    while any(Path(f"/proc/{pid}").exists() for pid in started):
        time.sleep(0.05)
    assert time.monotonic() - asked < 10
    assert path.with_name("NS-PwC.nc.partial").exists()


def children(pid: int) -> list[str]:
    """Processes that a process has started."""
    return [child for task in Path(f"/proc/{pid}/task").glob("*/children") for child in task.read_text().split()]
