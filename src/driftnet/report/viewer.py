"""Fields of a section as the page's script reads them: a byte a value, within a budget."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from driftnet.report.collect import Group, Section

SMALLEST_SIDE, FEWEST_FRAMES = 64, 6  # What is left of grids and frames before the other gives way.
LEVELS = 127  # Of an error's size; one code beyond stands for what is not finite.
NOT_FINITE = -128
SHOWN_BASELINES = ("persistence", "solver-half")

Frames = Float[ndarray, "frame x y"]


@dataclass(frozen=True)
class Sampling:
    """How much of the stored fields a page shows."""

    stride: int = 1
    """Mean over squares of this many points."""
    trajectories: int = 1
    frames: tuple[int, ...] = ()

    def of(self, fields: Frames) -> Float[ndarray, "shown height width"]:
        """The part of one trajectory's fields that is shown."""
        chosen, step = fields[list(self.frames)], self.stride
        if step == 1:
            return chosen
        height, width = (size // step * step for size in chosen.shape[1:])
        blocks = chosen[:, :height, :width].reshape(len(chosen), height // step, step, width // step, step)
        return blocks.mean((2, 4))


def shown_groups(section: Section) -> list[Group]:
    """Models, then persistence and the solver on half the grid."""
    return [*section.trained, *(group for group in section.groups if group.model in SHOWN_BASELINES)]


def sampling(section: Section, budget: int) -> Sampling:
    """As much as fits into `budget` bytes: the grid down to 64 points gives way first, then trajectories, frames, the grid."""
    sizes = section.groups[0].first.example_truth.sizes
    copies = (1 + len(shown_groups(section))) * sizes["channel"]
    trajectories = min(group.first.sizes["example"] for group in shown_groups(section) or section.groups)
    stride, frames, side = 1, tuple(range(sizes["shown"])), min(sizes["x"], sizes["y"])
    while copies * trajectories * len(frames) * (sizes["x"] // stride) * (sizes["y"] // stride) > budget:
        if side // stride <= SMALLEST_SIDE and trajectories > 1:
            trajectories = 1
        elif side // stride <= SMALLEST_SIDE and len(frames) > FEWEST_FRAMES:
            frames = frames[::-2][::-1]  # The last stays.
        elif side // stride > 1:
            stride *= 2
        else:
            break
    return Sampling(stride, trajectories, frames)


def payload(section: Section, budget: int) -> str:
    """All that the viewer shows, as JSON that may stand in a script element; empty where no fields were kept."""
    chosen = sampling(section, budget)
    groups, first = shown_groups(section), section.groups[0].first
    if not groups:
        return ""
    steps = first.shown.values[list(chosen.frames)]
    names = _channels(groups[0])
    truth = [[_truth(chosen, group_fields(groups[0], "truth", at, name)) for name in names] for at in _of(chosen)]
    values: dict[str, Any] = {
        "steps": [int(step) for step in steps],
        "times": [float(time) for time in first.time.sel(snapshot=steps).values],
        "last": first.sizes["snapshot"],
        "channels": names,
        "size": list(chosen.of(group_fields(groups[0], "truth", 0, names[0])).shape[1:]),
        "truth": truth,
        "models": [_model(chosen, group, steps) for group in groups],
    }
    return json.dumps(values, separators=(",", ":")).replace("<", "\\u003c")


def _channels(group: Group) -> list[str]:
    return [str(name) for name in group.first.channel.values]


def _of(chosen: Sampling) -> range:
    return range(chosen.trajectories)


def group_fields(group: Group, side: str, trajectory: int, channel: str) -> Frames:
    """Stored fields of a group's first run."""
    return group.first[f"example_{side}"].isel(example=trajectory).sel(channel=channel).values.astype(float)


def _truth(chosen: Sampling, fields: Frames) -> dict[str, Any]:
    """Bytes from the least value to the greatest."""
    seen = chosen.of(fields)
    low, high = float(seen.min()), float(seen.max())
    codes = np.rint((seen - low) / max(high - low, 1e-300) * 255).astype(np.uint8)
    return {"low": low, "high": high, "data": _text(codes)}


def _model(chosen: Sampling, group: Group, steps: ndarray) -> dict[str, Any]:
    errors = group.first.relative_l1.sel(snapshot=steps).mean("quantity").values
    run = f", seed {group.seeds[0]}" if group.trained else ""
    return {
        "name": f"{group.label}{run}",
        "l1": [[float(f"{value:.4g}") if np.isfinite(value) else None for value in errors[at]] for at in _of(chosen)],
        "error": [[_error(chosen, group, at, name) for name in _channels(group)] for at in _of(chosen)],
    }


def _error(chosen: Sampling, group: Group, trajectory: int, channel: str) -> dict[str, Any]:
    """Signed bytes, each frame with the scale of its own largest error."""
    prediction, truth = (chosen.of(group_fields(group, side, trajectory, channel)) for side in ("prediction", "truth"))
    error = np.where(np.isfinite(prediction), prediction, np.nan) - truth
    finite = np.nan_to_num(error)
    scale = abs(finite).max((1, 2))
    codes = np.rint(finite / np.maximum(scale, 1e-300)[:, None, None] * LEVELS).astype(np.int8)
    return {"scale": [float(f"{each:.6g}") for each in scale], "data": _text(np.where(np.isnan(error), NOT_FINITE, codes))}


def _text(codes: ndarray) -> str:
    kind = np.uint8 if codes.dtype == np.uint8 else np.int8
    return b64encode(np.ascontiguousarray(codes, kind).tobytes()).decode()
