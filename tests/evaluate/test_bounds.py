"""What `driftnet info bounds` prints of trained runs."""

from driftnet.cli import main


def test_the_bounds_of_a_run_are_printed_block_by_block(small_run, capsys):
    main(["info", "bounds", str(small_run)])
    said = capsys.readouterr().out
    rows = {
        line.split()[0]: line.split()[1:] for line in said.splitlines() if line.startswith(("encoder", "decoder", "network "))
    }
    assert len(rows) == 13
    for name, (printed, bound, measured) in rows.items():
        # The bound holds with the gates at their values, which is all that "~" promises: it is far above what is measured.
        assert float(measured) < float(bound.removeprefix("~")), name
        assert float(printed) > 1


def test_the_bounds_of_drift_net_and_scot_stand_side_by_side(small_run, small_data, tmp_path, capsys):
    steps = ["--training.steps", "1", "--training.batch", "2", "--training.validations", "1"]
    main(["train", "NS-PwC", "scot-tiny", "--data", str(small_data), "--runs", str(tmp_path), *steps])
    capsys.readouterr()
    main(["info", "bounds", str(small_run), str(tmp_path / "NS-PwC" / "scot-tiny" / "0")])
    head, _, *rows = capsys.readouterr().out.partition("\n\n")[2].splitlines()
    assert head.index("drift-net-tiny/0") < head.index("scot-tiny/0")
    figures = {row.split("  ")[0]: row.split()[-6:] for row in rows}
    assert {"encoder.0.0", "decoder.2.1", "network", "network, any state", "one step", "defect"} <= set(figures)
    for name in ("encoder.0.0", "decoder.2.1", "network"):
        lemma, bound, measured, reference, none, other = figures[name]
        assert none == "-"  # Attention has no finite bound.
        assert float(measured) < float(bound.removeprefix("~"))
        assert min(map(float, (lemma, measured, reference, other))) > 0
    for printed, bound, measured in (figures["defect"][:3], figures["defect"][3:]):
        assert float(measured) <= float(bound)
        assert float(printed) > 0
