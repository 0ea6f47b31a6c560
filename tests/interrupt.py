"""Data sets that are begun and not finished."""

import pytest

from driftnet.data import generate as module
from driftnet.data.jobs import Job


def interrupted(unfinished: Job, after: int) -> None:
    """Write the first `after` times, then be interrupted; in this process alone."""
    calls = []

    def stopping(*arguments):
        if len(calls) == after:
            raise KeyboardInterrupt
        calls.append(arguments)
        write(*arguments)

    write, module.write_in_place = module.write_in_place, stopping
    try:
        with pytest.raises(KeyboardInterrupt):
            module.generate(unfinished, overwrite=False)
    finally:
        module.write_in_place = write
