"""A person's own initial states, rolled out by a trained model: file in, file out."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path

import h5netcdf
import h5py
import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from driftnet.configs import to_dict
from driftnet.data.formats.containers import readable
from driftnet.data.store import refuse_full_disk
from driftnet.devices import exact_arithmetic
from driftnet.errors import UsageError
from driftnet.evaluate.results import HDF5_EXTRA
from driftnet.files import checksum, refuse_existing, versions, written_aside
from driftnet.models.operator import direct_states, states
from driftnet.models.recorded import record
from driftnet.models.saved import WEIGHTS, describe, load, require_lead_times
from driftnet.options.evaluate import PredictOptions
from driftnet.progress import progress
from driftnet.tasks.base import Task

DIMENSIONS = ("sample", "time", "channel", "x", "y")


@torch.no_grad()
def predict(run: Path, source: Path, options: PredictOptions) -> str:
    """Roll the states in `source` out and write every step as it comes: memory does not grow with their number."""
    refuse_existing(options.output, options.overwrite)
    if options.direct:
        require_lead_times(run)
    exact_arithmetic()
    model, (task, _) = load(run, options.device), describe(run)
    record(model.network)
    given = read_states(source, task)
    initial, static = torch.from_numpy(given).to(options.device).split((len(task.components), len(task.static)), 1)
    torch.manual_seed(options.seed)
    rolled = (direct_states if options.direct else states)(model, initial, static, options.steps)
    state = next(rolled)  # A grid that does not fit the model is refused before a file is begun.
    shape = (len(initial), options.steps + 1, *initial.shape[1:])
    with written_aside(options.output) as aside, _opened(aside, options.output, 4 * prod(shape)) as file:
        values = _lay_out(file, task, shape)
        file.attrs.update(_provenance(run, source, options))
        values[:, 0], values[:, 1] = initial.cpu().numpy(), state.cpu().numpy()
        with progress("predict", options.steps, 1) as advance:
            for step, state in enumerate(rolled, 2):
                values[:, step] = state.cpu().numpy()
                advance()
    broken = ~state.isfinite().flatten(1).all(1)
    warning = f"; {int(broken.sum())} are no longer finite at the end" if broken.any() else ""
    return f"{options.output}: {len(initial)} states, {options.steps} steps{warning}"


def read_states(source: Path, task: Task) -> Float[ndarray, "b c x y"]:
    """Initial states (sample, channel, x, y) or one (channel, x, y), static channels last; refused unless whole and finite."""
    if not source.is_file():
        raise UsageError(f"there is no file {source}")
    with readable(source):
        values = np.load(source, allow_pickle=False) if source.suffix == ".npy" else _from_netcdf(source, task)
    wanted = (*task.components, *task.static)
    values = values[None] if values.ndim == 3 else values
    if values.ndim != 4 or values.shape[1] != len(wanted) or 0 in values.shape or values.dtype.kind not in "fiu":
        raise UsageError(
            f"{source} holds {values.dtype} of shape {values.shape}; {task.name} needs numbers as (sample, channel, x, y) or "
            f"(channel, x, y), the channels {', '.join(wanted)}"
        )
    if not np.isfinite(values).all():
        raise UsageError(f"{source} has values that are not finite")
    return np.ascontiguousarray(values, np.float32)


def _from_netcdf(source: Path, task: Task) -> ndarray:
    """The task's variable, or the only one that could be states; of trajectories, the first snapshots."""
    with h5py.File(source, "r") as file:
        found = {name: item for name, item in file.items() if isinstance(item, h5py.Dataset) and item.ndim >= 3}
        name = task.source.variable if task.source.variable in found else next(iter(found), None)
        if name is None or (len(found) > 1 and name != task.source.variable):
            raise UsageError(f"{source} has no variable '{task.source.variable}'; it has {', '.join(file) or 'none'}")
        variable = found[name]
        if not variable.id.get_storage_size():
            raise UsageError(f"{source}: '{name}' holds no values")
        # A data file may carry channels that are not the task's, a tracer for instance.
        return variable[:, 0, : len(task.components) + len(task.static)] if variable.ndim == 5 else variable[:]


def _opened(aside: Path, output: Path, needed: int) -> h5netcdf.File:
    """A file to write so many bytes to; HDF5 takes the process down where it meets a full disk."""
    refuse_full_disk(output, needed + needed // 100 + HDF5_EXTRA)
    return h5netcdf.File(aside, "w")


def _lay_out(file: h5netcdf.File, task: Task, shape: tuple[int, ...]) -> h5netcdf.Variable:
    """Dimensions, coordinates and the variable, a chunk a state."""
    file.dimensions = dict(zip(DIMENSIONS, shape, strict=True))
    interval, open_end = task.times[1], task.boundary == "periodic"  # Other grids have a point on each side of the domain.
    coordinates = {
        "sample": (np.arange(shape[0]), "initial state"),
        "time": (interval * np.arange(shape[1]), "physical time"),
        "x": (np.linspace(0, 1, shape[3], endpoint=not open_end), "position over the domain's length"),
        "y": (np.linspace(0, 1, shape[4], endpoint=not open_end), "position over the domain's length"),
    }
    for name, (values, meaning) in coordinates.items():
        file.create_variable(name, (name,), data=values).attrs.update({"long_name": meaning, "units": "1"})
    text = h5py.string_dtype()
    units = [quantity.unit for quantity in task.quantities for _ in quantity.components]
    file.create_variable("channel", ("channel",), text, data=np.array(task.components, object))
    file.create_variable("unit", ("channel",), text, data=np.array(units, object))
    chunks = (1, 1, *shape[2:])
    variable = file.create_variable(task.source.variable, DIMENSIONS, "f4", chunks=chunks)
    variable.attrs.update({"coordinates": "unit", "units": units[0] if len(set(units)) == 1 else "see unit"})
    return variable


def _provenance(run: Path, source: Path, options: PredictOptions) -> dict[str, str]:
    task, config = describe(run)
    return {
        "Conventions": "CF-1.10",
        "title": f"{task.name} predicted by {type(config).__name__}, {options.steps} steps from given states",
        "prediction": "every step directly from the given state" if options.direct else "closed loop",
        "task": task.name,
        "model": json.dumps({type(config).__name__: to_dict(config)}, sort_keys=True),
        "weights_sha256": checksum(run / WEIGHTS),
        "input": source.name,
        "input_sha256": checksum(source),
        "seed": str(options.seed),
        "versions": json.dumps(versions()),
    }
