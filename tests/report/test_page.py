import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest
import xarray as xr

from driftnet import registry
from driftnet.cli import main
from driftnet.report import tables
from driftnet.report.page import draw, page


@pytest.fixture(scope="module")
def results_folder(small_run, tmp_path_factory):
    root = tmp_path_factory.mktemp("results") / "runs"
    shutil.copytree(small_run.parents[2], root)
    main(["evaluate", str(root / "NS-PwC" / "drift-net-tiny" / "0"), "--overwrite"])
    return root


@pytest.fixture(scope="module")
def html(results_folder) -> str:
    return rendered(tables.collect([results_folder]))


def rendered(results) -> str:
    task = registry.task("NS-PwC")
    return page(results, task, draw(results, task))


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.cells, self.row = [], [], None

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img"):
            self.open.append(tag)
        if tag == "tr":
            self.cells.append([])
        assert not {"src", "href"} & {name for name, value in attrs if value and not value.startswith(("data:", "#"))}

    def handle_endtag(self, tag):
        if tag not in ("meta", "img"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1].append(data)


def test_the_page_is_whole_and_asks_for_nothing_from_elsewhere(html):
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    assert "<script" not in html
    assert not re.search(r'(?:src|href)="https?:', html)
    assert "url(http" not in html


def test_the_table_shows_what_was_measured_best_first(html, results_folder):
    reader = Reader()
    reader.feed(html)
    _, *rows = reader.cells[: 2 + len(registry.BASELINES)]
    means = [float(cells[1 if cells[0] in registry.BASELINES else 3]) for cells in rows]
    measured = [tables.row(result).final_mean for result in tables.collect([results_folder])]
    assert means == sorted(means)
    assert means == pytest.approx(measured, abs=5e-5)
    assert {cells[0] for cells in rows} == {*registry.BASELINES, "drift-net-tiny"}


def test_the_page_states_protocol_sizes_seed_parameters_machine_and_time(html, results_folder):
    for stated in (
        "2 test trajectories on 16 x 16 points",
        "T* is snapshot 3",
        "593,838",
        "12 steps on 12 pairs",
        "cores",
        "torch",
    ):
        assert stated in html


def test_results_of_different_protocols_are_not_put_in_one_table(results_folder, tmp_path, capsys):
    root = tmp_path / "runs"
    shutil.copytree(results_folder, root)
    main(["evaluate", str(root / "NS-PwC/drift-net-tiny/0"), "--evaluation.steps", "2", "--baselines", "[]", "--overwrite"])
    with pytest.raises(SystemExit) as stop:
        main(["report", str(root), "--output", str(tmp_path / "page.html")])
    assert stop.value.code == 2
    assert "differ in task, data or protocol" in capsys.readouterr().err


def test_a_report_is_not_overwritten_unasked(results_folder, tmp_path, capsys):
    output = tmp_path / "page.html"
    main(["report", str(results_folder), "--output", str(output)])
    with pytest.raises(SystemExit) as stop:
        main(["report", str(results_folder), "--output", str(output)])
    assert stop.value.code == 2
    assert "give --overwrite" in capsys.readouterr().err
    main(["report", str(results_folder), "--output", str(output), "--overwrite", "--figures", str(tmp_path / "figures")])
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    curves = {f"{name}.svg" for name in ("error", "growth", "cost", "spectrum-velocity", "bands-velocity")}
    assert names == {*curves, "fields-drift-net-tiny-0.png"}


def test_a_folder_without_results_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["report", str(tmp_path)])
    assert stop.value.code == 1
    assert "there is no metrics.nc" in capsys.readouterr().err


def test_a_model_that_blew_up_is_shown_as_such(results_folder):
    result = tables.collect([results_folder])[0].copy(deep=True)
    result.relative_l1[0] = np.inf
    line = tables.row(result)
    assert line.final["blown_up"] == 0.5
    assert line.final_mean == float("inf")
    assert "inf" in rendered([result, *tables.collect([results_folder])[1:]])


def test_a_damaged_metrics_file_is_named_in_one_line(results_folder, tmp_path, capsys):
    root = tmp_path / "runs"
    shutil.copytree(results_folder, root)
    broken = root / "NS-PwC" / "zero" / "metrics.nc"
    broken.write_bytes(broken.read_bytes()[:500])
    with pytest.raises(SystemExit) as stop:
        main(["report", str(root), "--output", str(tmp_path / "page.html")])
    assert stop.value.code == 1
    assert "could not read" in capsys.readouterr().err


def test_metrics_open_in_xarray(results_folder):
    with xr.open_dataset(results_folder / "NS-PwC" / "zero" / "metrics.nc", engine="h5netcdf") as dataset:
        assert dataset.relative_l1.dims == ("sample", "snapshot", "quantity")


def as_another_run(result, seed: int, factor: float):
    other = result.copy(deep=True).assign_attrs(seed=seed)
    other.relative_l1[:] = factor * other.relative_l1
    return other


def test_several_runs_of_a_model_are_summed_up_over_runs_and_trajectories(results_folder):
    results = tables.collect([results_folder])
    (run,) = (result for result in results if "seed" in result.attrs)
    assert tables.seeds_table(results) == []
    runs = [run, as_another_run(run, 1, 2.0), as_another_run(run, 2, 3.0)]
    _, (model, count, mean, interval, _) = tables.seeds_table([*results, *runs[1:]])
    low, high = map(float, interval.split(" to "))
    assert (model, count) == ("drift-net-tiny", "3")
    assert float(mean) == pytest.approx(2 * tables.row(run).final_mean, abs=1e-4)
    assert low < float(mean) < high
    assert "The interval is over runs and trajectories" in rendered([*results, *runs[1:]])


def test_the_published_convention_shows_per_cent_and_says_so(results_folder):
    results = tables.collect([results_folder])
    heads, *lines = tables.table(results, "published")
    assert "mean % at T* = 3" in heads
    assert "median % at T* = 3" in heads
    shown = [float(line[heads.index("mean % at T* = 3")]) for line in lines]
    assert shown == pytest.approx([float(result.mean_relative_l1_error[-1]) for result in results], abs=5e-3)
    task = registry.task("NS-PwC")
    assert "normalised with the published constants, per cent" in page(results, task, [], "published")


def test_where_poseidon_measures_stands_beside_the_last_snapshot(results_folder):
    (first, *_) = tables.collect([results_folder])
    late = first.sel(snapshot=[1, 2, 3]).assign_coords(snapshot=[13, 14, 20]).assign_attrs(final_snapshot=20)
    heads, line = tables.table([late])
    assert float(line[heads.index("mean at 14")]) == pytest.approx(float(late.relative_l1.sel(snapshot=14).mean()), abs=1e-4)
    assert "mean at T* = 20" in heads


def test_error_stands_against_seconds_the_fastest_first(results_folder):
    _, *lines = tables.cost_table(tables.collect([results_folder]))
    seconds = [float(line[1]) for line in lines]
    assert seconds == sorted(seconds)
    assert {"solver", "solver-half", "solver-quarter"} <= {line[0] for line in lines}


def test_a_row_shows_interval_and_quartiles(results_folder):
    heads, line, *_ = tables.table(tables.collect([results_folder]))
    low, high = map(float, line[heads.index("95 % interval")].split(" to "))
    first, third = map(float, line[heads.index("quartiles")].split(" to "))
    assert low <= float(line[heads.index("mean at T* = 3")]) <= high
    assert first <= float(line[heads.index("median")]) <= third
