import csv
import io

from driftnet.report.tables import Column, Table, as_csv, as_latex, as_markdown, as_text, number, share

TABLE = Table(
    "errors",
    "Errors_of 50 % & more.",
    (Column("model"), Column("mean"), Column("95 % interval"), Column("blown up", share)),
    (
        ("a|b_c", 0.123456789, (0.1, 0.25), 0.5),
        ("to d", 1.2e-5, (float("inf"), float("inf")), 0.0),
        ("gone", "missing", None, None),
    ),
)


def test_a_small_number_keeps_its_digits_and_nothing_is_shown_for_what_does_not_apply():
    assert [number(value) for value in (0.12345, 1.23e-5, 0.0, float("inf"), float("nan"))] == [
        "0.1235",
        "1.2e-05",
        "0.0000",
        "inf",
        "",
    ]


def test_csv_holds_the_numbers_as_they_were_computed():
    head, first, second, gone = csv.reader(io.StringIO(as_csv(TABLE)))
    assert head == ["model", "mean", "95 % interval low", "95 % interval high", "blown up"]
    assert first == ["a|b_c", "0.123456789", "0.1", "0.25", "0.5"]
    assert second[1:4] == ["1.2e-05", "inf", "inf"]
    assert gone == ["gone", "missing", "", "", ""]


def test_latex_escapes_what_it_would_read_as_commands():
    said = as_latex(TABLE)
    assert r"\caption{Errors\_of 50 \% \& more.}" in said
    assert r"model & mean & 95 \% interval & blown up \\" in said
    assert r"a|b\_c & 0.1235 & 0.1000--0.2500 & 50\% \\" in said
    assert r"to d & 1.2$\cdot10^{-5}$ & $\infty$--$\infty$ & 0\% \\" in said
    assert said.count(r"\\") == 4
    assert r"\begin{tabular}{lrrr}" in said


def test_markdown_escapes_what_would_end_a_cell():
    head, rule, first, *_ = as_markdown(TABLE).splitlines()
    assert head == "| model | mean | 95 % interval | blown up |"
    assert rule == "| --- | --: | --: | --: |"
    assert first == r"| a\|b_c | 0.1235 | 0.1000 to 0.2500 | 50% |"


def test_text_is_aligned():
    lines = as_text(TABLE).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[0].startswith("model ")
