"""The system's page cache of a file: how much is in it, and how to have it dropped without being root."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path


def drop(path: Path) -> None:
    """Have the system forget the pages of a file; those not yet on the disk are written first."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def cached_share(path: Path) -> float:
    """Share of a file's pages that are in memory."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY) as mapped:
        pages = -(-len(mapped) // mmap.PAGESIZE)
        resident = (ctypes.c_ubyte * pages)()
        first = ctypes.c_char.from_buffer(mapped)  # mincore wants an address; nothing is read or written there.
        code = ctypes.CDLL(None, use_errno=True).mincore(
            ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(len(mapped)), resident
        )
        del first  # A mapping cannot be closed while its address is held.
        if code:
            raise OSError(ctypes.get_errno(), "mincore")
    return sum(page & 1 for page in resident) / pages
