import re
from pathlib import Path

from driftnet.cli import main
from driftnet.reproduce.page import anchor, page, read
from driftnet.reproduce.recipes import read_cookbook
from driftnet.reproduce.store import Store

PAGE = Path("docs/results.md")


def test_the_committed_page_is_what_the_committed_results_say():
    book, store = read_cookbook(Path("recipes"), "laptop"), Store.open(Path("results/laptop"))
    assert PAGE.read_text() == page(book, store, PAGE, read(book, store)), "driftnet reproduce all --render writes it"


def test_every_link_of_the_page_leads_somewhere():
    text = PAGE.read_text()
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
