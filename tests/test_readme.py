"""What the README says can be done as it says."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from driftnet.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^driftnet (.*)", README, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_its_options(command, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as stop:
        main([*shlex.split(command), "--print_config"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.strip()


def test_the_steps_are_those_of_the_demo():
    """The same verbs on the same names, with the same files of options."""
    recipe = (ROOT / "Makefile").read_text().replace("\\\n", "").replace("$(DRIFTNET)", "driftnet").replace("$(DEMO)/", "")
    demo = re.findall(r"^\tdriftnet (.*)", recipe, re.MULTILINE)
    steps = [re.split(r"\s--(?!config)", command)[0].split() for command in demo]
    assert steps == [command.split() for command in COMMANDS[: len(steps)]]


def test_the_lines_of_python_roll_a_model_out(small_run, small_data, tmp_path, monkeypatch, capsys):
    shutil.copytree(small_run, tmp_path / "runs" / "NS-PwC" / "drift-net-tiny" / "0")
    (tmp_path / "data").mkdir()
    shutil.copy(small_data, tmp_path / "data" / "NS-PwC.nc")
    (lines,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(lines, {})
    assert capsys.readouterr().out == "torch.Size([1, 20, 2, 16, 16])\n"
    assert lines.count("\n") <= 10


def test_every_file_that_it_names_is_there():
    named = set(re.findall(r"`((?:docs/)?[\w-]+\.(?:md|cff))`", README)) | set(re.findall(r"\]\((\S+)\)", README))
    assert {"docs/demo.png", "docs/training.md", "CONTRIBUTING.md"} <= named
    assert not [name for name in named if not (ROOT / name).exists()]


def test_every_page_of_the_documentation_is_named_in_it_or_in_a_page_that_is():
    pages = sorted((ROOT / "docs").glob("*.md"))
    texts = README + "".join(path.read_text() for path in pages) + (ROOT / "CONTRIBUTING.md").read_text()
    assert not [path.name for path in pages if path.name not in texts.replace(path.read_text(), "")]
