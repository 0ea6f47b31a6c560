import errno
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace

import pytest
import yaml

from driftnet import registry
from driftnet.cli import COMMANDS, main


def fails(capsys, *arguments: str) -> tuple[int, str]:
    """Exit code and the one line said."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    return stop.value.code, said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "trian",
            "no command is called 'trian'. Did you mean 'train'? Known: bench, evaluate, fetch, generate, info, inspect",
        ),
        ("train NS-PwC drft-net", "no model is called 'drft-net'. Did you mean 'drift-net'? Known: "),
        ("generate NS-PvC", "no task is called 'NS-PvC'. Did you mean 'NS-PwC'? Known: "),
        ("train NS-PwC", "driftnet train needs TASK MODEL, then options"),
        ("evaluate", "driftnet evaluate needs RUN..., then options"),
        ("train NS-PwC drift-net --training.batc 3", "there is no option --training.batc. Did you mean '--training.batch'?"),
        ("train NS-PwC drift-net --training.batch x", "--training.batch: 'x' is not of type int"),
        ("train NS-PwC drift-net --training.batch -3", "training.batch: -3 is not positive"),
        (
            "train NS-PwC drift-net --model.mixer.mask sym",
            "'sym' is not one of symmetric, published. Did you mean 'symmetric'?",
        ),
        ("train NS-PwC drift-net --model.mixer.cutoff 1.5", "mixer.cutoff: 1.5 is not between 0 and 1"),
        ("train NS-PwC drift-net --model.backbone.widths [8]", "backbone: widths, depths and skips name 1, 4 and 4 levels"),
        ("train NS-PwC conv-unet --model.mixer.kernel 4", "mixer.kernel: 4 is not odd"),
        ("train NS-PwC drift-net --training.objective.kind unroled", "Did you mean 'unrolled'?"),
        ("train NS-PwC drift-net --training.objective.steps 3", "training.objective.steps: one-step does not read it"),
        ("train NS-PwC drift-net --training.objective.longest 0", "training.objective.longest: 0 is not positive"),
        ("train NS-PwC drift-net --training.objective.noise -1", "training.objective.noise: -1.0 is negative"),
        ("train NS-PwC drift-net --training.ema 1", "training.ema: 1.0 is not in [0, 1)"),
        ("train NS-PwC drift-net --log tensorbord", "is not one of csv, tensorboard, wandb, both. Did you mean 'tensorboard'?"),
        ("status", "driftnet status needs RUNS..., then options"),
        ("bench objectives --repeats 0", "repeats: 0 is not positive"),
        ("train NS-PwC drift-net --model.mixer.mask", "--model.mixer.mask"),
        ("train NS-PwC drift-net --config none.yaml", "--config: File does not exist"),
        ("generate NS-PwC --split.test 0", "split.test: 0 is not positive"),
        ("generate NS-PwC --simulation.initial.tracer_radius 0.7", "initial.tracer_radius: 0.7 is not in (0, 0.5]"),
        ("generate NS-PwC --simulation.initial.tracer_centre [0.5,-1]", "initial.tracer_centre: -1.0 is not in [0, 1]"),
        ("generate NS-PwC --simulation.initial.tracer_height .nan", "initial.tracer_height: nan is not finite"),
        ("generate FNS-KF --simulation.equation.forcing_mode 0", "equation.forcing_mode: 0 is not positive"),
        (
            "generate NS-SL --simulation.initial.layers [0.75,0.25]",
            "initial.layers: 0.75 and 0.25 are not two places in (0, 1)",
        ),
        ("generate NS-SL --simulation.initial.coefficients [1,0]", "initial.coefficients: [1.0, 0.0] ends before it begins"),
        ("generate NS-SL --simulation.initial.speed .inf", "initial.speed: inf is not finite"),
        ("generate ACE --simulation.initial.coefficients [0,.inf]", "initial.coefficients: [0.0, inf] is not finite"),
        ("generate ACE --simulation.initial.factor 1/k", "'1/k' is not one of 1/K, 1/K^2. Did you mean '1/K'?"),
        ("generate Wave-Gauss --simulation.initial.lattice -1", "initial.lattice: -1 is not in [0, 100]"),
        ("generate Wave-Gauss --simulation.initial.pulses [-2,1]", "initial.pulses: -2 is negative"),
        ("generate Wave-Gauss --simulation.initial.offset -0.1", "initial.offset: -0.1 is negative"),
        ("generate Wave-Gauss --simulation.initial.inclusions [0,1]", "initial.inclusions: 0.0 is not positive"),
        (
            "generate Wave-Gauss --simulation.initial.pulse_heights [2,1]",
            "initial.pulse_heights: [2.0, 1.0] ends before it begins",
        ),
        ("generate Poisson-Gauss --simulation.initial.heights [1,-1]", "initial.heights: [1.0, -1.0] ends before it begins"),
        ("generate KF-Long-smoother --simulation.initial.amplitude 0", "initial.amplitude: 0.0 is not positive"),
        ("generate KF-Long-smoother --simulation.initial.coefficients [0,0]", "initial.coefficients: all are 0"),
        ("generate NS-PwC --resolution 64 extra", "unexpected argument 'extra'; names come first, then options"),
        ("bench dada", "no bench topic is called 'dada'. Did you mean 'data'? Known: all, data, models, "),
        ("bench data --size 0", "size: 0 is not positive"),
        ("bench data drift-net", "driftnet bench data takes no names"),
        ("predict RUN", "driftnet predict needs RUN INPUT, then options"),
        ("predict RUN INPUT --steps 0", "steps: 0 is not positive"),
        ("bench modles", "no bench topic is called 'modles'. Did you mean 'models'?"),
        ("bench models drft-net-tiny", "no model is called 'drft-net-tiny'. Did you mean 'drift-net-tiny'?"),
        ("bench models --repeats 0", "repeats: 0 is not positive"),
        ("evaluate RUN --evaluation.resolution 33", "evaluation.resolution: 33 is not even and at least 8"),
        ("info task", "which task? Known: NS-SL, NS-PwC"),
        ("info task NS-PcW", "no task is called 'NS-PcW'. Did you mean 'NS-PwC'?"),
        ("info nonsense", "no topic is called 'nonsense'"),
        ("info --fast", "driftnet info takes no option --fast"),
    ],
)
def test_a_wrong_command_is_answered_in_one_line_with_code_two(arguments, message, capsys):
    code, said = fails(capsys, *arguments.split())
    assert code == 2
    assert message in said


def test_a_failure_has_code_one(capsys, tmp_path):
    code, said = fails(capsys, "train", "NS-PwC", "drift-net-tiny", "--data", str(tmp_path / "no.nc"), "--runs", str(tmp_path))
    assert code == 1
    assert "there is no data file" in said


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("training: {batchh: 3}", "there is no option --training.batchh. Did you mean '--training.batch'?"),
        ("training: null", "--training: it has to have a value"),
        ("training: 3", "training: '3' stands where a group of options belongs: epochs, steps"),
        ("training: {loss: 3}", "training.loss: '3' stands where a group of options belongs: p, reduction"),
        ("nonsense: 1", "there is no option --nonsense"),
        ("[1, 2]", "Unexpected config"),
        ("a: [", "Problems parsing config"),
        ("\x00", "Problems parsing config"),
    ],
)
def test_a_wrong_config_file_is_answered_in_one_line(content, message, capsys, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(content)
    code, said = fails(capsys, "train", "NS-PwC", "drift-net", "--config", str(path))
    assert code == 2
    assert message in said


def printed_config(capsys, *arguments: str) -> dict:
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--print_config"])
    assert stop.value.code == 0
    return yaml.safe_load(capsys.readouterr().out)


def test_flags_win_over_the_file_and_the_file_over_the_preset(capsys, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("training: {batch: 7, rate: 0.5}\nmodel: {mixer: {bands: 3}}\n")
    shown = printed_config(capsys, "train", "NS-PwC", "drift-net-tiny", "--config", str(path), "--training.batch", "9")
    assert (shown["training"]["batch"], shown["training"]["rate"], shown["training"]["clip"]) == (9, 0.5, 5.0)
    assert (shown["model"]["mixer"]["bands"], shown["model"]["backbone"]["patch"]) == (3, 2)


@pytest.mark.parametrize("task", registry.TASKS)
def test_every_task_shows_its_options_and_itself(task, capsys):
    shown = printed_config(capsys, "generate", task)
    assert set(shown["simulation"]) == {"equation", "initial", "warmup"}
    main(["info", "task", task])
    said = capsys.readouterr().out
    assert all(f"\n{what} " in said for what in ("split", "statistics", "source", "confidence", "inferred"))
    assert registry.task(task).equation in said
    for group in ("equation", "initial"):
        assert all(f"--simulation.{group}.{name} " in said for name in shown["simulation"][group])
    assert "confidence" in said


def test_a_printed_configuration_can_be_read_again(capsys, tmp_path):
    first = printed_config(capsys, "generate", "NS-PwC", "--resolution", "64", "--split.train", "3")
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(first))
    assert printed_config(capsys, "generate", "NS-PwC", "--config", str(path)) == first


@pytest.mark.parametrize(
    "verb", ["generate", "fetch", "inspect", "merge", "train", "status", "evaluate", "predict", "report", "bench", "info"]
)
def test_every_command_explains_itself(verb, capsys):
    with suppress(SystemExit):
        main([verb, "--help"])
    assert f"driftnet {verb}" in capsys.readouterr().out


@pytest.mark.parametrize("topic", ["tasks", "tasks NS-PwC", "models", "models drift-net", "metrics", "baselines", ""])
def test_info_answers_every_topic(topic, capsys, monkeypatch):
    laptop = {name: reference for name, reference in registry.MODELS.items() if name.endswith(("-tiny", "drift-net"))}
    monkeypatch.setattr(registry, "MODELS", laptop)  # The large ones take some seconds.
    main(["info", *topic.split()])
    assert capsys.readouterr().out.strip()


def test_info_shows_a_run(small_run, capsys):
    main(["info", "run", str(small_run)])
    assert "best_validation" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--help"], ["info", "tasks"], ["train", "NS-PwC", "drift-net", "--help"]])
def test_help_answers_at_once_and_without_torch(arguments):
    program = "import sys; from driftnet.cli import main\ntry: main()\nfinally: assert 'torch' not in sys.modules"
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True)
    # 0.05 to 0.3 s on an idle machine; the margin is for a busy one.
    assert time.perf_counter() - began < 1.5


def test_importing_the_package_does_not_import_torch():
    program = "import sys, driftnet; assert 'torch' not in sys.modules; driftnet.load; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_an_interrupted_command_says_so_and_leaves_with_code_130(capsys, monkeypatch):
    def interrupted(names, flags):
        raise KeyboardInterrupt

    monkeypatch.setitem(COMMANDS, "info", replace(COMMANDS["info"], run=interrupted))
    code, said = fails(capsys, "info")
    assert code == 130
    assert said == "driftnet: interrupted; the same command goes on from there\n"


def test_a_group_without_a_value_of_which_a_flag_gives_a_part_is_refused_in_one_line(capsys, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("training: null")
    code, said = fails(capsys, "train", "NS-PwC", "drift-net", "--config", str(path), "--training.steps", "3")
    assert code == 2
    assert said == "driftnet: --training.epochs: it has to have a value\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full: [Errno 28] No space left on device"),
        (RuntimeError("Unable to flush (errno = 28, 'No space left on device')\n, of"), "the disk is full: Unable to flush"),
        (PermissionError(errno.EACCES, "Permission denied", "/a/file"), "/a/file: Permission denied"),
        (MemoryError("Unable to allocate 8 TiB"), "not enough memory: Unable to allocate 8 TiB"),
    ],
)
def test_what_a_person_can_mend_is_said_in_one_line(error, said, capsys, monkeypatch):
    def failing(names, flags):
        raise error

    monkeypatch.setitem(COMMANDS, "info", replace(COMMANDS["info"], run=failing))
    code, line = fails(capsys, "info")
    assert code == 1
    assert line.startswith(f"driftnet: {said}")


def test_what_nobody_foresaw_shows_where_it_happened(monkeypatch):
    def failing(names, flags):
        raise OSError("something else")

    monkeypatch.setitem(COMMANDS, "info", replace(COMMANDS["info"], run=failing))
    with pytest.raises(OSError, match="something else"):
        main(["info"])
