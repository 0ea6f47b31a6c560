"""What is noted beside a file that is being made: checks, so that a flipped bit does not pass for a finished trajectory."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable
from pathlib import Path

from driftnet.data.formats.containers import readable

BLOCK = 2**20


def line_of(done: range) -> str:
    """The line that says that these trajectories are on the disk."""
    said = f"{done.start} {done.stop}"
    return f"{said} {zlib.crc32(said.encode()):08x}\n"


def finished_by(line: str) -> range:
    """The trajectories of a line; none where it is not as it was written, and they are made again."""
    said, _, check = line.rpartition(" ")
    return range(*map(int, said.split())) if check == f"{zlib.crc32(said.encode()):08x}" else range(0)


def seal(path: Path, filled: Iterable[tuple[int, int]]) -> str:
    """The ranges of bytes that trajectories fill, and the checksum of all others: HDF5 may crash on a damaged structure."""
    ranges = sorted(filled)
    return json.dumps({"filled": ranges, "sha256": _digest_outside(path, ranges)})


def seal_again(path: Path, sealed: str) -> str:
    """What `seal` says now of a file of which it said `sealed`."""
    with readable(path):
        return seal(path, [(start, stop) for start, stop in json.loads(sealed)["filled"]])


def _digest_outside(path: Path, ranges: list[tuple[int, int]]) -> str:
    hashed = hashlib.sha256()
    with path.open("rb") as stream:
        end = stream.seek(0, 2)
        for start, stop in zip([0, *(stop for _, stop in ranges)], [*(start for start, _ in ranges), end], strict=True):
            stream.seek(start)
            for place in range(start, stop, BLOCK):
                hashed.update(stream.read(min(BLOCK, stop - place)))
    hashed.update(str(end).encode())
    return hashed.hexdigest()
