import json
import re
import shutil
from base64 import b64decode
from html.parser import HTMLParser

import numpy as np
import pytest
import xarray as xr

from driftnet import registry
from driftnet.cli import main
from driftnet.report.collect import collect, sections
from driftnet.report.columns import cost, headline, tables_of
from driftnet.report.page import draw, page
from driftnet.report.viewer import group_fields, payload, sampling, shown_groups

VOID = ("meta", "img", "link", "input", "br", "path", "use")


@pytest.fixture(scope="module")
def chosen(results_folder):
    return collect([results_folder], "metrics.nc")


@pytest.fixture(scope="module")
def html(chosen) -> str:
    return rendered(chosen)


def rendered(chosen) -> str:
    tables = {section.name: tables_of(section) for section in chosen}
    return page(chosen, tables, {section.name: draw(section) for section in chosen})


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.cells, self.downloads = [], [], [], {}

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.cells.append([])
        self.ids += [given["id"]] if "id" in given else []
        links = [given.get(name) for name in ("src", "href", "xlink:href")]
        assert all(link.startswith(("data:", "#")) for link in links if link)
        if "download" in given:
            self.downloads[given["download"]] = b64decode(given["href"].partition("base64,")[2]).decode()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1].append(data)


@pytest.fixture(scope="module")
def read(html) -> Reader:
    reader = Reader()
    reader.feed(html)
    return reader


def test_the_page_is_whole_and_asks_for_nothing_from_elsewhere(html, read):
    assert read.open == []
    assert not re.search(r'(?:src|href)="https?:', html)
    assert not re.search(r"url\((?!#)|@import|fetch\(|XMLHttp", html)


def test_no_two_parts_of_the_page_share_a_name(read):
    assert len(read.ids) == len(set(read.ids)) > 20


def test_figures_in_the_page_take_their_colours_from_it(html):
    drawn = "".join(re.findall(r"<svg.*?</svg>", html, re.DOTALL))
    assert "currentColor" in drawn
    assert "var(--series-0)" in drawn
    assert set(re.findall(r"(?:fill|stroke): (#\w+)", drawn)) <= {"#000000"}  # Clip paths and glyph outlines only.
    assert "fill: #ffffff" not in drawn


def test_the_table_shows_what_was_measured_best_first(read, chosen):
    _, *rows = read.cells[: 2 + len(registry.BASELINES)]
    names = [row[0] for row in rows]
    means = [float(next(cell for cell in row[1:] if "." in cell or "e-" in cell)) for row in rows]
    assert means == sorted(means)
    assert means == pytest.approx([float(group.final.mean()) for group in chosen[0].groups], abs=5e-5)
    assert set(names) == {*registry.BASELINES, "drift-net-tiny"}


def test_every_table_can_be_taken_along_as_csv_latex_and_markdown(read, chosen):
    names = {table.name for table in tables_of(chosen[0])}
    assert names == {"errors", "rollout", "physics", "cost", "runs"}
    assert set(read.downloads) == {f"{name}.{suffix}" for name in names for suffix in ("csv", "tex", "md")}
    assert read.downloads["errors.csv"].startswith("model,runs,mean at T* = 3,95 % interval low")
    assert read.downloads["errors.tex"].count(r"\\") == 8


def test_the_page_states_protocol_sizes_seed_parameters_machine_and_time(html):
    for stated in (
        "2 test trajectories on 16 x 16 points",
        "T* is snapshot 3",
        "593,838",
        "12 steps on 12 pairs",
        "5 to 6 in the file",
        "cores",
        "torch",
        "rate: 0.001",
        "3/2",
    ):
        assert stated in html


def test_a_report_is_not_overwritten_unasked_and_its_parts_are_files_where_asked(results_folder, tmp_path, capsys):
    output = tmp_path / "page.html"
    output.write_text("mine")
    with pytest.raises(SystemExit) as stop:
        main(["report", str(results_folder), "--output", str(output)])
    assert stop.value.code == 2
    assert "give --overwrite" in capsys.readouterr().err
    assert output.read_text() == "mine"
    folders = ["--figures", str(tmp_path / "figures"), "--tables", str(tmp_path / "tables")]
    main(["report", str(results_folder), "--output", str(output), "--overwrite", *folders])
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    curves = {"error", "growth", "cost", "bands-velocity", *(f"spectrum-velocity-{step}" for step in (1, 2, 3))}
    assert names == {*(f"{name}.svg" for name in curves), "fields-drift-net-tiny-0.png"}
    assert "var(--" not in (tmp_path / "figures" / "error.svg").read_text()
    assert (tmp_path / "tables" / "errors.tex").read_text().startswith("% \\usepackage{booktabs}")
    assert len(list((tmp_path / "tables").iterdir())) == 15


def test_a_model_that_blew_up_is_shown_as_such(chosen):
    runs = [group.first.copy(deep=True) for group in chosen[0].groups]
    (broken,) = (run for run in runs if "seed" in run.attrs)
    broken.relative_l1[0] = np.inf
    broken.example_prediction[0, -1] = np.nan
    (section,) = sections([runs])
    rollout = tables_of(section)[1]
    (row,) = (dict(zip(rollout.headings(), cells, strict=True)) for cells in rollout.cells() if cells[0] == "drift-net-tiny")
    assert row["blown up"] == "50%"
    assert "inf" in rendered([section])
    shown = json.loads(payload(section, 10**9))["models"][0]
    assert shown["l1"][0][-1] is None
    codes = np.frombuffer(b64decode(shown["error"][0][0]["data"]), np.int8).reshape(-1, 16, 16)
    assert (codes[-1] == -128).all()
    assert (codes[:-1] != -128).all()


def test_the_page_holds_the_fields_to_within_a_level(chosen):
    (section,) = chosen
    shown = json.loads(payload(section, 10**9))
    assert (shown["steps"], shown["size"], shown["channels"]) == ([1, 2, 3], [16, 16], ["u", "v"])
    assert len(shown["truth"]) == 2
    group = shown_groups(section)[0]
    assert shown["models"][0]["name"] == "drift-net-tiny, seed 0"
    truth, prediction = (group_fields(group, side, 1, "v") for side in ("truth", "prediction"))
    stored = shown["truth"][1][1]
    codes = np.frombuffer(b64decode(stored["data"]), np.uint8).reshape(3, 16, 16)
    span = stored["high"] - stored["low"]
    assert stored["low"] + span * codes / 255 == pytest.approx(truth, abs=span / 509)
    entry = shown["models"][0]["error"][1][1]
    scale = np.array(entry["scale"])[:, None, None]
    codes = np.frombuffer(b64decode(entry["data"]), np.int8).reshape(3, 16, 16)
    assert (abs(scale * codes / 127 - (prediction - truth)) <= scale / 253).all()


def test_fields_beyond_the_budget_give_way_trajectories_first_on_a_small_grid(chosen):
    (section,) = chosen
    everything = 4 * 2 * 2 * 3 * 16 * 16  # Truth and three models, two channels, two trajectories, three steps.
    assert sampling(section, everything).trajectories == 2
    less = sampling(section, everything - 1)
    assert (less.trajectories, less.stride, less.frames) == (1, 1, (0, 1, 2))
    assert sampling(section, everything // 8).stride == 2
    fields = np.arange(3 * 16 * 16, dtype=float).reshape(3, 16, 16)
    coarse = sampling(section, everything // 8).of(fields)
    assert coarse.shape == (3, 8, 8)
    assert coarse[0, 0, 0] == fields[0, :2, :2].mean()


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


def test_the_published_convention_shows_per_cent_and_says_so(chosen):
    (section,) = chosen
    table = headline(section, "published")
    at = {heading: index for index, heading in enumerate(table.headings())}
    for kind in ("mean", "median"):
        shown = [row[at[f"{kind} % at T* = 3"]] for row in table.rows]
        stored = [float(group.first[f"{kind}_relative_l1_error"][-1]) for group in section.groups]
        assert shown == pytest.approx(stored)
    for row in table.rows:
        low, high = row[at["95 % interval"]]
        assert low - 1e-9 <= row[at["mean % at T* = 3"]] <= high + 1e-9
    text = page(chosen, {section.name: [table]}, {section.name: []}, "published")
    assert "normalised with the published constants, per cent" in text


def test_the_published_convention_is_refused_where_no_constants_are_published(chosen, tmp_path, capsys):
    from driftnet.evaluate.results import save_metrics

    group = chosen[0].trained[0]
    save_metrics(tmp_path / "metrics.nc", group.first.drop_vars(["mean_relative_l1_error", "median_relative_l1_error"]))
    with pytest.raises(SystemExit) as stop:
        main(["report", str(tmp_path), "--convention", "published", "--output", str(tmp_path / "page.html")])
    assert stop.value.code == 2
    assert "no constants are published for NS-PwC" in capsys.readouterr().err


def test_where_poseidon_measures_stands_beside_the_last_snapshot(chosen):
    late = chosen[0].groups[1].first.assign_coords(snapshot=[13, 14, 20]).assign_attrs(final_snapshot=20)
    (section,) = sections([[late]])
    table = headline(section)
    (row,) = table.rows
    assert row[table.headings().index("mean at 14")] == pytest.approx(float(late.relative_l1.sel(snapshot=14).mean()))
    assert "mean at T* = 20" in table.headings()


def test_error_stands_against_seconds_the_fastest_first(chosen):
    rows = cost(chosen[0]).rows
    seconds = [row[3] for row in rows]
    assert seconds == sorted(seconds)
    assert {"solver", "solver-half", "solver-quarter"} <= {row[0] for row in rows}


def test_a_single_step_has_no_curve_over_time(chosen):
    steady = [group.first.isel(snapshot=[0], shown=[0]).assign_attrs(final_snapshot=1) for group in chosen[0].groups]
    (section,) = sections([steady])
    names = {picture.name for picture in draw(section)}
    assert names == {"cost", "bands-velocity", "spectrum-velocity-1"}
