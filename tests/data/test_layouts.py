"""Every task's file is written in the published layout, the same however it is made, and read again."""

from dataclasses import replace
from multiprocessing import get_context

import h5py
import numpy as np
import pytest
import torch
import xarray as xr

from driftnet import registry
from driftnet.data import generate as module
from driftnet.data.generate import generate
from driftnet.data.jobs import plan
from driftnet.data.merge import merge
from driftnet.data.pairs import consecutive
from driftnet.data.sources import Disk
from driftnet.data.trajectories import Trajectories
from driftnet.errors import UsageError
from driftnet.files import checksum
from driftnet.tasks.base import Split
from driftnet.tasks.equations import KolmogorovTurbulence
from tests.interrupt import interrupted

FULL, FLAT = ("sample", "time", "channel", "x", "y"), ("sample", "time", "x", "y")
LAYOUTS = {
    "NS-SL": {"velocity": (FULL, (5, 3, 2, 16, 16), "f4")},
    "NS-PwC": {"velocity": (FULL, (5, 3, 3, 16, 16), "f4")},
    "NS-Tracer-PwC": {"velocity": (FULL, (5, 3, 3, 16, 16), "f4")},
    "FNS-KF": {"solution": (FULL, (5, 3, 2, 16, 16), "f4"), "forcing": (("x", "y"), (16, 16), "f4")},
    "ACE": {"solution": (FLAT, (5, 3, 16, 16), "f4")},
    "Wave-Gauss": {
        "solution": (FLAT, (5, 3, 16, 16), "f4"),
        "c": (("sample", "x", "y"), (5, 16, 16), "f8"),
    },
    "Poisson-Gauss": dict.fromkeys(("solution", "source"), (("sample", "x", "y"), (5, 16, 16), "f4")),
    "KF-Long-turbulent": {"vorticity": (FULL, (5, 3, 1, 16, 16), "f4")},
    "KF-Long-smoother": {"vorticity": (FULL, (5, 3, 1, 16, 16), "f4")},
}


def job(name, path, **changes):
    task = registry.task(name)
    sizes = {"split": Split(3, 1, 1), "resolution": 16, "snapshots": 2 if task.steady else 3, "workers": 1, "batch": 2}
    if isinstance(task.source.simulation, KolmogorovTurbulence):
        sizes["simulation"] = KolmogorovTurbulence(warmup=2)
    return plan(task, output=path, **{**sizes, **changes})


@pytest.fixture(scope="module", params=registry.TASKS)
def made(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / f"{request.param}.nc"
    generate(job(request.param, path), overwrite=False)
    return registry.task(request.param), path


def test_the_variables_are_those_of_the_published_file(made):
    task, path = made
    with xr.open_dataset(path, engine="h5netcdf") as file:
        found = {name: (item.dims, item.shape, item.dtype.str[1:]) for name, item in file.data_vars.items()}
    assert found == LAYOUTS[task.name]
    with h5py.File(path) as file:
        assert all(file[name].chunks is None for name in found)


@pytest.fixture
def quick_workers(monkeypatch):
    """Workers that are forked from a process that has imported everything once."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["driftnet.data.generate", "driftnet.pdes.initial", "driftnet.tasks.poseidon"])
    monkeypatch.setattr(module, "get_context", lambda _: context)


def test_the_file_depends_neither_on_batches_nor_on_workers_nor_on_interruptions(made, quick_workers, tmp_path):
    task, path = made
    unfinished = job(task.name, tmp_path / "other.nc", batch=1)
    interrupted(unfinished, after=3)
    assert unfinished.partial.exists()
    generate(replace(unfinished, workers=2), overwrite=False)
    assert checksum(tmp_path / "other.nc") == checksum(path)


def test_merged_shards_are_the_file_that_one_run_writes(made, tmp_path):
    task, path = made
    jobs = [job(task.name, tmp_path / "part.nc", shards=2, shard=number) for number in (0, 1)]
    for each in jobs:
        generate(each, overwrite=False)
    merge([each.output for each in jobs], tmp_path / "merged.nc", overwrite=False)
    assert checksum(tmp_path / "merged.nc") == checksum(path)


def test_what_is_written_is_read_again(made):
    task, path = made
    training = Trajectories(path, task, "train")
    first, static = training[1], training.static([1])[0]
    main, *others = task.source.variables
    with h5py.File(path) as file:
        stored = file[main.name][1]
        given = [file[variable.name][1] if "sample" in variable.dimensions else file[variable.name][:] for variable in others]
    last = stored if task.steady else stored[-1]
    last = last[: len(task.components)] if "channel" in main.dimensions else last[None]
    assert np.array_equal(first[-1], last)
    assert len(static) == len(given)
    assert all(np.array_equal(one, other.astype("f4")) for one, other in zip(static, given, strict=True))


def test_the_grid_of_a_periodic_task_ends_a_step_early_and_that_of_others_at_the_boundary(made):
    task, path = made
    length = task.source.simulation.equation.length
    with h5py.File(path) as file:
        last = file["x"][-1]
    assert last == pytest.approx(length * 15 / 16 if task.boundary == "periodic" else length)


def test_tasks_that_share_a_file_share_its_job(tmp_path):
    velocity, tracer = (job(name, tmp_path / "NS-PwC.nc") for name in ("NS-PwC", "NS-Tracer-PwC"))
    generate(velocity, overwrite=False)
    assert "already complete" in generate(tracer, overwrite=False)
    assert Trajectories(tmp_path / "NS-PwC.nc", registry.task("NS-Tracer-PwC"), "test")[0].shape == (3, 3, 16, 16)


def test_a_steady_map_has_one_pair_from_nothing_to_the_answer(tmp_path):
    task, path = registry.task("Poisson-Gauss"), tmp_path / "Poisson-Gauss.nc"
    generate(job(task.name, path), overwrite=False)
    training = Trajectories(path, task, "train")
    (pair,) = consecutive(Disk(training), batch=3)
    assert training.pairs == len(training) == 3
    nothing, answer = pair.states
    assert nothing.abs().max() == 0
    assert torch.equal(answer[2], training[2][1])
    with h5py.File(path) as file:
        assert np.array_equal(pair.static[:, 0], file["source"][:3])
    with pytest.raises(UsageError, match="Poisson-Gauss is steady"):
        job(task.name, path, snapshots=3)
