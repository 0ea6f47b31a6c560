"""What a process does with memory that it has freed."""

import subprocess
import sys

import pytest

# Page faults of ten buffers of 64 MB, one after the other, each written to and freed.
CODE = """
import resource
import numpy as np
import driftnet.memory
{before}
for turn in range(10):
    np.ones(2**23)
    if turn == 1:
        start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - start)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux alone is told")
def test_freed_buffers_are_used_again():
    plain, reused = (_faults(before) for before in ("", "driftnet.memory.reuse_freed()"))
    assert reused < plain / 10


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux alone is told")
def test_what_the_user_said_of_the_allocator_stays():
    mine = {"MALLOC_TRIM_THRESHOLD_": "100000", "MALLOC_MMAP_THRESHOLD_": "100000", "MALLOC_TOP_PAD_": "0"}
    assert _faults("driftnet.memory.reuse_freed()", mine) > 1000


def _faults(before: str, environment: dict[str, str] | None = None) -> int:
    said = subprocess.run(
        [sys.executable, "-c", CODE.format(before=before)], capture_output=True, text=True, check=True, env=environment or {}
    )
    return int(said.stdout)
