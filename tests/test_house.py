"""What holds everywhere."""

import ast
import re
from pathlib import Path

import pytest

from driftnet import registry

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TABLES = {name: table for name, table in vars(registry).items() if isinstance(table, dict) and name.isupper()}


@pytest.mark.parametrize("reference", [reference for table in TABLES.values() for reference in table.values()])
def test_every_registered_name_leads_somewhere(reference):
    assert registry.resolve(reference) is not None


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_files_stay_short_and_functions_shorter(path):
    text = path.read_text()
    assert text.count("\n") <= 250
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    for node in functions:
        assert (node.end_lineno or 0) - node.lineno < 40, node.name
        assert len(node.args.args) <= 7, node.name


def test_every_python_source_is_documented_and_free_of_leftovers():
    for path in SOURCES:
        text = path.read_text()
        assert ast.get_docstring(ast.parse(text)), path
        assert not re.search(r"\b(TODO|FIXME|XXX)\b|NotImplementedError|\bpickle\.load|filterwarnings", text), path


def test_the_license_and_the_version_agree_wherever_they_stand():
    citation, project = (ROOT / "CITATION.cff").read_text(), (ROOT / "pyproject.toml").read_text()
    version = re.search(r'^version = "(.*)"', project, re.MULTILINE)[1]
    assert f"version: {version}" in citation
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text()
    assert "MIT" in (ROOT / "LICENSE").read_text()
    assert "license: MIT" in citation


def test_every_command_in_the_readme_exists():
    from driftnet.cli import COMMANDS

    commands = re.findall(r"^driftnet (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert {"generate", "train", "evaluate", "report"} <= set(commands) <= set(COMMANDS)
