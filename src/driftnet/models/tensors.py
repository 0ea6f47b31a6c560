"""Tensors on disk: safetensors, whole or absent, with a checksum; no pickle, so nothing in a file is ever executed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from driftnet.errors import DriftnetError
from driftnet.files import written_aside

DIGEST = "sha256"  # Formats and disks let flipped bits through as wrong values; this does not.


class Damaged(DriftnetError):
    """A file that is not what was written."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str] | None = None) -> None:
    """Replace a file of tensors and notes as a whole."""
    notes = dict(notes or {})
    with written_aside(path) as aside:
        try:
            save_file(dict(tensors), aside, {**notes, DIGEST: digest(tensors, notes)})
        except SafetensorError as error:  # A full disk, for one.
            raise DriftnetError(f"could not write {path}: {str(error).splitlines()[0]}") from error


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and notes of a file, as they were written, or an error of one line."""
    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is not a mapping
            notes = dict(file.metadata() or {})
    except (SafetensorError, OSError, ValueError) as error:
        raise Damaged(f"could not read {path}: {str(error).splitlines()[0]}") from error
    stated = notes.pop(DIGEST, None)
    if stated is None:
        raise Damaged(f"{path} was not written by driftnet: it states no checksum")
    if stated != digest(tensors, notes):
        raise Damaged(f"{path} is damaged: its values do not agree with its checksum")
    return tensors, notes


def digest(tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> str:
    """Of names, shapes and bytes, and of the notes."""
    hashed = hashlib.sha256()
    for name in sorted(tensors):
        array = tensors[name].detach().cpu().numpy()
        hashed.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    for name in sorted(notes):
        hashed.update(f"{name} {len(notes[name])} {notes[name]}".encode())
    return hashed.hexdigest()
