"""Checkpoints of a run: the last one, and the one before it for when the last one is damaged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from driftnet.errors import DriftnetError
from driftnet.models.tensors import Damaged, read_tensors, write_tensors
from driftnet.progress import say

LAST, PREVIOUS, NEXT = "last.ckpt", "previous.ckpt", "next.ckpt"
# The last is safetensors' own name for a file that it is writing.
HALF_WRITTEN = (
    ".*.ckpt.*",
    ".model.safetensors.*",
    ".config.*",
    ".log.csv.*",
    ".provenance.json.*",
    ".failure.txt.*",
    ".tmp??????",
)


@dataclass(frozen=True)
class State:
    """All that a run goes on from."""

    step: int
    tensors: Mapping[str, Tensor]
    notes: dict[str, Any] = field(default_factory=dict)


def write_state(path: Path, state: State) -> None:
    """A state on disk, whole or not at all."""
    write_tensors(path, state.tensors, {"step": str(state.step), "notes": json.dumps(state.notes)})


def read_state(path: Path) -> State:
    """What `write_state` wrote; anything else is refused."""
    tensors, notes = read_tensors(path)
    try:
        return State(int(notes["step"]), tensors, json.loads(notes["notes"]))
    except (KeyError, ValueError) as error:
        raise Damaged(f"{path} is no checkpoint: {error}") from error


def keep(folder: Path, state: State) -> None:
    """Write the last checkpoint; the one that it replaces is kept."""
    write_state(folder / NEXT, state)
    # A kill between the two leaves the previous one, from which the run ends with the same bits.
    with suppress(FileNotFoundError):
        (folder / LAST).replace(folder / PREVIOUS)
    (folder / NEXT).replace(folder / LAST)


def newest(folder: Path, speak: bool = True) -> State | None:
    """The last checkpoint, or the previous one where the last is damaged or missing; None where there is neither."""
    damage = ""
    for path in (folder / LAST, folder / PREVIOUS):
        if not path.exists():
            continue
        try:
            state = read_state(path)
        except Damaged as error:
            damage = damage or str(error)
            continue
        if damage and speak:
            say(f"{damage}; going on from step {state.step} in {path.name}")
        return state
    if damage:
        raise DriftnetError(f"{damage}, and there is no other checkpoint; give --overwrite to train again")
    return None


def tidy(folder: Path) -> None:
    """Remove what killed processes left half written; only under the lock of the folder."""
    for pattern in HALF_WRITTEN:
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
