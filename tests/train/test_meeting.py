from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from torch.distributed import HashStore

from driftnet.errors import DriftnetError
from driftnet.train.meeting import _answer, _call

SOON, LATER = timedelta(seconds=0.3), timedelta(seconds=30)


def met(store, size: int) -> set[str]:
    """The names under which so many processes meet on a store."""
    with ThreadPoolExecutor(size) as pool:
        asked = [pool.submit(_answer, store, rank, LATER) for rank in range(1, size)]
        return {_call(store, size, LATER), *(each.result() for each in asked)}


@pytest.mark.parametrize("size", [2, 5])
def test_all_processes_of_a_start_meet_under_one_name_and_those_of_the_next_under_another(size):
    store = HashStore()
    names = [met(store, size) for _ in range(3)]
    assert [len(each) for each in names] == [1, 1, 1]
    assert len(set().union(*names)) == 3


def test_a_process_that_asked_and_died_is_not_taken_for_the_one_that_comes_after_it():
    store = HashStore()
    with pytest.raises(DriftnetError, match="not all processes of the run have come"):
        _answer(store, 1, SOON)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(_call, store, 2, LATER)
        name = _answer(store, 1, LATER)
        assert first.result() == name


def test_who_does_not_come_is_not_waited_for_without_end():
    with pytest.raises(DriftnetError, match="not all processes of the run have come"):
        _call(HashStore(), 2, SOON)
