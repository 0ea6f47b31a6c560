import json

import numpy as np
import pytest

from driftnet.bench.cache import cached_share, drop
from driftnet.cli import main


def test_a_dropped_file_is_not_in_memory_and_one_that_was_read_is(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(np.random.default_rng(0).bytes(8 * 2**20))
    drop(path)
    if cached_share(path) > 0.5:
        pytest.skip("this file system lives in memory")
    assert cached_share(path) == 0
    content = path.read_bytes()
    assert cached_share(path) == 1
    drop(path)
    assert cached_share(path) == 0
    assert path.read_bytes() == content


def test_the_bench_compares_all_ways_in_one_run_and_leaves_nothing_behind(tmp_path, capsys):
    arguments = ("--size", "20", "--repeats", "2", "--batch", "8", "--buffer", "2", "--threads", "1", "--folder", str(tmp_path))
    main(["bench", "data", *arguments])
    table, _, measured = capsys.readouterr().out.strip().rpartition("\n")
    rows = {row["name"]: row for row in json.loads(measured)["rows"]}
    assert set(rows) == {
        "raw sequential read",
        "plain loop, one slice a pair",
        "the same, file larger than memory",
        "driftnet",
        "driftnet, statistics",
    }
    assert all(name in table for name in rows)
    assert all(len(row["cold"]) == 2 and min(row["cold"]) > 0 for row in rows.values())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named_in_one_line(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["bench", "data", "--folder", str(tmp_path / "none")])
    assert stop.value.code == 1
    assert "none: No such file or directory" in capsys.readouterr().err
