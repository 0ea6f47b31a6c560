"""Tables as values: one set of rows, written as text, Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isinf, isnan

Value = str | int | float | tuple[float, float] | None

SMALL = 5e-4  # Below it, four decimals would say nothing.
NOTHING = ""
NUMERIC = re.compile(r"(?:-?(?:inf|[\d.,]+(?:e[+-]\d+)?)%?(?: to (?=.)|$))+")
LATEX = str.maketrans({character: f"\\{character}" for character in "&%$#_{}"} | {"~": r"\textasciitilde{}"})


def number(value: float) -> str:
    """An error: four decimals, or two digits and a power of ten."""
    if isnan(value):
        return NOTHING
    return f"{value:.1e}" if 0 < abs(value) < SMALL else f"{value:.4f}"


def per_cent(value: float) -> str:
    """A figure that is in per cent already."""
    return f"{value:.2f}"


def share(value: float) -> str:
    """A fraction, as per cent."""
    return f"{value:.0%}"


def whole(value: float) -> str:
    """A count."""
    return f"{value:,.0f}"


def seconds(value: float) -> str:
    """A time in three digits."""
    return f"{value:.3g}"


@dataclass(frozen=True)
class Column:
    """A heading, and how its numbers are written; a pair of numbers is an interval."""

    heading: str
    show: Callable[[float], str] = number

    def cell(self, value: Value) -> str:
        """A value as text."""
        if value is None:
            return NOTHING
        if isinstance(value, tuple):
            return f"{self.show(value[0])} to {self.show(value[1])}"
        return value if isinstance(value, str) else self.show(float(value))


@dataclass(frozen=True)
class Table:
    """Headings and rows of values; `name` is that of its files."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    def cells(self) -> list[list[str]]:
        """Every row as text, without the headings."""
        return [[column.cell(value) for column, value in zip(self.columns, row, strict=True)] for row in self.rows]

    def headings(self) -> list[str]:
        """The first line."""
        return [column.heading for column in self.columns]


def as_text(table: Table) -> str:
    """The table for a terminal."""
    lines = [table.headings(), *table.cells()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines)


def as_markdown(table: Table) -> str:
    """A pipe table, numbers to the right."""
    rule = ["---", *["--:"] * (len(table.columns) - 1)]
    lines = [[cell.replace("|", r"\|") for cell in line] for line in (table.headings(), rule, *table.cells())]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def as_latex(table: Table) -> str:
    """A tabular with the rules of booktabs, in a table environment."""
    head, *body = (" & ".join(map(_latex_cell, line)) + r" \\" for line in (table.headings(), *table.cells()))
    aligned = "l" + "r" * (len(table.columns) - 1)
    lines = (
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        rf"\caption{{{table.caption.translate(LATEX)}}}",
        rf"\begin{{tabular}}{{{aligned}}}",
        r"\toprule",
        head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    )
    return "\n".join(lines) + "\n"


def _latex_cell(cell: str) -> str:
    if not NUMERIC.fullmatch(cell):
        return cell.translate(LATEX)
    powers = re.sub(r"e([+-]\d+)", lambda power: rf"$\cdot10^{{{int(power[1])}}}$", cell)
    return powers.replace("inf", r"$\infty$").replace("%", r"\%").replace(" to ", "--")


def as_csv(table: Table) -> str:
    """Numbers as they were computed; an interval takes two columns."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    spans = [any(isinstance(row[index], tuple) for row in table.rows) for index in range(len(table.columns))]
    heads = ([f"{head} low", f"{head} high"] if span else [head] for head, span in zip(table.headings(), spans, strict=True))
    writer.writerow([cell for pair in heads for cell in pair])
    for row in table.rows:
        writer.writerow([cell for value, span in zip(row, spans, strict=True) for cell in _csv_cells(value, span)])
    return stream.getvalue()


def _csv_cells(value: Value, span: bool) -> list[str]:
    if not isinstance(value, tuple):
        return [_csv_cell(value)] + [""] * span
    return [_csv_cell(each) for each in value]


def _csv_cell(value: str | int | float | None) -> str:
    if isinstance(value, float):
        return "inf" if isinf(value) else f"{value:.9g}"
    return "" if value is None else str(value)


WRITERS: dict[str, Callable[[Table], str]] = {"csv": as_csv, "tex": as_latex, "md": as_markdown}
"""By the suffix of the file."""
