import os
import pty
import re
import subprocess
import sys

from driftnet import progress as module
from driftnet.progress import progress

TERMINAL = """
import time
from driftnet.progress import progress
with progress("train", 40) as advance:
    for _ in range(30):
        time.sleep(0.02)
        advance(note="loss 0.5")
"""


def test_where_there_is_no_terminal_a_line_says_how_far_how_fast_and_how_long_still(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    with progress("train", 100, done=20) as advance:
        for _ in range(40):
            now[0] += 0.5
            advance(note="loss 0.5")
    assert capsys.readouterr().err.splitlines() == [
        "train: 40/100, 2/s, 30 s left loss 0.5",
        "train: 60/100, 2/s, 20 s left loss 0.5",
    ]


def test_the_last_step_is_said_however_soon_it_comes(capsys):
    with progress("predict", 2) as advance:
        advance()
        advance()
    assert re.fullmatch(r"predict: 2/2, [\d.e+]+/s, 0 s left\n", capsys.readouterr().err)


def test_on_a_terminal_a_bar_says_the_same():
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", TERMINAL], stderr=theirs, env={**os.environ, "COLUMNS": "120"}):
        os.close(theirs)
        said = b""
        while chunk := read(ours):
            said += chunk
    os.close(ours)
    plain = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", said.decode())
    assert re.search(r"train .* 30/40 [\d.]+/s 0:00:0\d loss 0\.5", plain)


def read(terminal: int) -> bytes:
    """What comes next; nothing once the other side is closed, which Linux reports as an error."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""
