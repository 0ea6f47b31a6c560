import re
from pathlib import Path

import pytest

from driftnet.cli import main
from driftnet.reproduce.page import anchor, page, read
from driftnet.reproduce.recipes import read_cookbook
from driftnet.reproduce.store import Store

PAGE = Path("docs/results.md")
PAGES = {"laptop": PAGE, **{path.stem.partition("-")[2]: path for path in Path("docs").glob("results-*.md")}}


@pytest.mark.parametrize("scale", PAGES)
def test_the_committed_page_is_what_the_committed_results_say(scale):
    book, store, path = read_cookbook(Path("recipes"), scale), Store.open(Path("results") / scale), PAGES[scale]
    assert path.read_text() == page(book, store, path, read(book, store)), "driftnet reproduce all --render writes it"


def test_committed_results_have_a_page():
    assert {path.name for path in Path("results").glob("*/") if any(path.glob("*.jsonl"))} <= set(PAGES)


@pytest.mark.parametrize("scale", PAGES)
def test_every_link_of_the_page_leads_somewhere(scale):
    text = PAGES[scale].read_text()
    headings = {anchor(line.lstrip("# ")) for line in text.splitlines() if line.startswith("#")}
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert target[1:] in headings if target.startswith("#") else (PAGE.parent / target).exists(), target


def test_every_recipe_has_a_section_for_each_of_its_frames():
    text = PAGE.read_text()
    for experiment in read_cookbook(Path("recipes"), "laptop").experiments.values():
        assert f"\n## {experiment.title}\n" in text
        if experiment.kind != "costs":
            assert all(f"\n### {experiment.title}, {frame} frame\n" in text for frame in experiment.frames)


def test_configurations_of_the_paper_scale_take_a_real_step_at_full_size(capsys):
    main(["reproduce", "cross-resolution", "--scale", "paper", "--smoke"])
    said = capsys.readouterr().out
    assert "17,498,326 parameters" in said
    assert "one step of 2 configurations" in said
