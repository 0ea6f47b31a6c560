"""metrics.nc: written as a whole, with the checksum of its bytes behind them, and refused where the two disagree.

HDF5 takes no notice of what follows its end, so any reader opens the file; and a damaged one is found before the HDF5
library sees it, which would take some flipped bits for values.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import xarray as xr

from driftnet import registry
from driftnet.configs import Convention, Evaluation
from driftnet.data.store import refuse_full_disk
from driftnet.errors import DriftnetError, UsageError
from driftnet.evaluate.derived import PUBLISHED
from driftnet.files import checksum, written_aside
from driftnet.metrics.summary import bootstrap
from driftnet.tasks.base import Task

METRICS_FILE = "metrics.nc"
HDF5_EXTRA = 1_000_000  # Bytes for the structure of a file, generously.

WITHOUT_MEANING = ("examples",)  # Settings that change no number.

_SEAL = b"\nsha256 "
_SEAL_BYTES = len(_SEAL) + 64


def save_metrics(path: Path, results: xr.Dataset) -> None:
    """Write results, as a whole or not at all."""
    with written_aside(path) as aside:
        refuse_full_disk(path, results.nbytes + HDF5_EXTRA)  # HDF5 takes the process down where it meets a full disk.
        results.to_netcdf(aside, engine="h5netcdf")
        seal = _SEAL + checksum(aside).encode()
        with aside.open("ab") as stream:
            stream.write(seal)


def open_metrics(path: Path) -> xr.Dataset:
    """A metrics.nc in memory; a damaged one is named in one line."""
    try:
        content = path.read_bytes()
        if content[-_SEAL_BYTES:] != _SEAL + hashlib.sha256(content[:-_SEAL_BYTES]).hexdigest().encode():
            raise DriftnetError(f"could not read {path}: it is cut short or damaged, its checksum does not fit; measure again")
        with xr.open_dataset(path, engine="h5netcdf") as stored:
            return stored.load()
    except (OSError, ValueError) as error:
        raise DriftnetError(f"could not read {path}: {str(error).splitlines()[0]}") from error


def require_published(task: Task) -> None:
    """Refuse the published convention where no published number could be meant."""
    if task.published is None:
        known = ", ".join(name for name in registry.TASKS if registry.task(name).published)
        raise UsageError(f"--convention published: no constants are published for {task.name}; they are for {known}")


def summary(results: xr.Dataset, convention: Convention) -> str:
    """The headline in one line."""
    target = results.attrs["final_snapshot"]
    if convention == "published":
        mean, median = (float(results[name].sel(snapshot=target)) for name in PUBLISHED)
        return f"at T* = snapshot {target}, published convention: mean_relative_l1_error {mean:.2f} %, median {median:.2f} %"
    mean, median = (float(results.relative_l1_final.sel(statistic=name).mean()) for name in ("mean", "median"))
    return f"relative L1 at T* = snapshot {target}, physical units: mean {mean:.4g}, median {median:.4g}"


def protocol(result: xr.Dataset) -> tuple[str, ...]:
    """What has to agree before two results may stand in one table."""
    settings = json.loads(result.attrs["settings"])
    chosen = {**asdict(Evaluation()), **settings["evaluation"]}  # Older results lack settings that are younger.
    evaluation = {key: value for key, value in chosen.items() if key not in WITHOUT_MEANING}
    return (result.attrs["task"], json.dumps(evaluation, sort_keys=True), settings["data"], str(settings["test"]))


def final_errors(results: xr.Dataset) -> np.ndarray:
    """Relative L1 at T* by trajectory, averaged over quantities."""
    return results.relative_l1.sel(snapshot=results.attrs["final_snapshot"]).mean("quantity").values


def summary_of_runs(runs: Sequence[xr.Dataset]) -> str:
    """The headline of several runs of one model in one line."""
    if len({(*protocol(run), run.attrs["recipe"]) for run in runs}) > 1:
        return f"{len(runs)} runs of different recipes or protocols, which have no common mean"
    errors = np.stack([final_errors(run) for run in runs])
    low, high = bootstrap(errors)
    return f"{len(runs)} runs, mean {errors.mean():.4g}, 95 % interval over runs and trajectories {low:.4g} to {high:.4g}"
