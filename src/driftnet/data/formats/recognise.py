"""Which format a file or folder is in."""

from __future__ import annotations

from pathlib import Path

import h5py

from driftnet.data.formats import pdebench, poseidon, the_well
from driftnet.data.formats.containers import open_container
from driftnet.errors import DriftnetError


def recognise(path: Path) -> str:
    """The name of a format, as in `registry.FORMATS`; what is none of the collections' is a person's own arrays."""
    if path.is_dir() and path.suffix != ".zarr":
        return _folder(path)
    container = open_container(path)
    if not isinstance(container, h5py.File):
        return "arrays"
    if the_well.recognises(container):
        return "the-well"
    if pdebench.recognises(container):
        return "pdebench"
    return "poseidon" if "recipe" in container.attrs or path.stem in poseidon.PUBLISHED else "arrays"


def _folder(path: Path) -> str:
    if any((folder / "train").is_dir() for folder in (path, path / "data")):
        return "the-well"
    if any(path.glob("*_0.nc")):
        return "poseidon"
    raise DriftnetError(f"{path} is a folder with neither The Well's data/train nor chunks such as velocity_0.nc")
