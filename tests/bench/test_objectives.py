import re

from driftnet.bench import objectives
from driftnet.cli import main


def test_ways_of_training_are_measured_against_one_step(capsys, monkeypatch):
    chosen = {name: way for name, way in objectives.WAYS.items() if name in ("one-step", "unrolled, 4 steps")}
    monkeypatch.setattr(objectives, "WAYS", chosen)
    main(["bench", "objectives", "conv-unet-tiny", "--resolution", "32", "--batch", "4", "--repeats", "1", "--steps", "2"])
    rows = re.findall(r"(one-step|unrolled, 4 steps) +[\d.]+ +[\d.]+ +([\d.]+) +\d+ +([\d.]+)$", capsys.readouterr().out, re.M)
    assert rows[0] == ("one-step", "1.00", "1.00")
    assert float(rows[1][1]) > 1
    assert float(rows[1][2]) > 1
