"""Several processes train what one would, stop together, and go on as if nothing had happened."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from driftnet.cli import main
from driftnet.errors import UsageError
from driftnet.files import checksum, read_json
from driftnet.models.tensors import read_tensors
from driftnet.train.checkpoints import read_state
from driftnet.train.world import Launch, device_of, first_host, launched
from tests.zygote import Victim, free_port, reached

MODEL = "conv-unet-tiny"
STEPS = 12
EVERY_STEP = "from driftnet.train import fit; fit.CHECKPOINT_SECONDS = 0.0"
SLOWED = (
    EVERY_STEP
    + """
import time
step = fit.Fit._step
fit.Fit._step = lambda *a: (step(*a), time.sleep(0.1))[0]
"""
)


def command(data: Path, runs: Path, *more: str) -> list[str]:
    sizes = ["--training.steps", str(STEPS), "--training.batch", "4", "--training.validations", "3"]
    return ["train", "NS-PwC", MODEL, "--data", str(data), "--runs", str(runs), "--training.rate", "1e-3", *sizes, *more]


def folder(runs: Path) -> Path:
    return runs / "NS-PwC" / MODEL / "0"


def column(run: Path, name: str) -> list[float]:
    with (run / "log.csv").open() as stream:
        return [float(row[name]) for row in csv.DictReader(stream) if row[name]]


def codes(team: list[Victim]) -> list[int]:
    return [victim.wait() for victim in team]


def lines(team: list[Victim]) -> list[str]:
    """What the processes said to the person."""
    return [line for victim in team for line in victim.said().splitlines() if line.startswith("driftnet:")]


@pytest.fixture(scope="module")
def alone(small_data, tmp_path_factory) -> Path:
    """The run of one process."""
    runs = tmp_path_factory.mktemp("alone")
    main(command(small_data, runs))
    return folder(runs)


@pytest.fixture(scope="module")
def two(zygote, small_data, tmp_path_factory) -> Path:
    """The run of two."""
    runs = tmp_path_factory.mktemp("two")
    team = zygote.team(2, command(small_data, runs), runs / "said")
    assert codes(team) == [0, 0]
    assert lines(team) == []
    assert "Warning" not in team[0].said() + team[1].said()
    assert team[0].said().count("validation") == team[0].said().count("\n") - 1  # All but the statistics.
    assert team[1].said() == ""
    return folder(runs)


def same_curve(run: Path, reference: Path) -> None:
    """To 1e-5 of the value, six digits being written: sums over processes are rounded in another order."""
    for name in ("loss", "validation", "gradient_norm"):
        found, expected = column(run, name), column(reference, name)
        assert len(found) == len(expected) == (3 if name == "validation" else STEPS)
        assert found == pytest.approx(expected, rel=1e-5)


def test_two_processes_have_the_loss_curve_of_one(two, alone):
    same_curve(two, alone)
    assert read_json(two / "provenance.json")["processes"] == 2
    found, expected = (read_tensors(run / "model.safetensors")[0] for run in (two, alone))
    assert found.keys() == expected.keys()
    assert all(torch.allclose(found[name], expected[name], atol=1e-4) for name in expected)


@pytest.fixture(scope="module")
def sharded(zygote, small_data, tmp_path_factory) -> Path:
    """The run of two with their weights in shards."""
    runs = tmp_path_factory.mktemp("sharded")
    team = zygote.team(2, command(small_data, runs, "--training.parallel", "fsdp"), runs / "said")
    assert codes(team) == [0, 0], lines(team)
    return folder(runs)


def test_sharded_weights_have_the_loss_curve_of_whole_ones_and_are_stored_whole(sharded, alone):
    same_curve(sharded, alone)
    found, expected = (read_state(run / "last.ckpt").tensors for run in (sharded, alone))
    assert {name: value.shape for name, value in found.items()} == {name: value.shape for name, value in expected.items()}


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_unrolled_steps_and_a_mean_of_the_weights_are_the_same_on_two_processes(parallel, zygote, small_data, tmp_path):
    flags = ["--training.objective.kind", "unrolled", "--training.ema", "0.9", "--training.accumulate"]
    main(command(small_data, tmp_path / "one", *flags, "1"))
    team = zygote.team(
        2, command(small_data, tmp_path / "two", *flags, "2", "--training.parallel", parallel), tmp_path / "said"
    )
    assert codes(team) == [0, 0], lines(team)
    same_curve(folder(tmp_path / "two"), folder(tmp_path / "one"))
    found, expected = (read_tensors(folder(tmp_path / name) / "model.safetensors")[0] for name in ("two", "one"))
    assert all(torch.allclose(found[name], expected[name], atol=1e-4) for name in expected)


@pytest.mark.parametrize("loss", [("batch", "1"), ("batch", "2"), ("sample", "1")], ids="-".join)
def test_a_batch_in_unequal_parts_takes_the_same_steps(loss, small_data, tmp_path):
    """Of the weights, to 1e-5; the mean of the parts' losses would be off by much more with relative norms of a batch."""
    kind = ["--training.loss.reduction", loss[0], "--training.loss.p", loss[1], "--training.steps", "3"]
    for runs, parts in ((tmp_path / "whole", "1"), (tmp_path / "parts", "3")):
        main(command(small_data, runs, *kind, "--training.accumulate", parts))
    found, expected = (column(folder(tmp_path / name), "loss") for name in ("parts", "whole"))
    assert found == pytest.approx(expected, rel=1e-5)
    norms = [column(folder(tmp_path / name), "gradient_norm") for name in ("parts", "whole")]
    assert norms[0] == pytest.approx(norms[1], rel=1e-4)


@pytest.mark.parametrize(("parallel", "kills"), [("ddp", 3), ("fsdp", 1)])
def test_two_killed_processes_started_again_end_with_the_same_bits(parallel, kills, zygote, request, small_data, tmp_path):
    arguments = command(small_data, tmp_path, "--training.parallel", parallel)
    rng, done = np.random.default_rng(0), 0
    for number in range(kills):
        team = zygote.team(2, arguments, tmp_path / f"killed{number}", SLOWED)
        while reached(folder(tmp_path)) <= done and not any(victim.poll() for victim in team):
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.2))
        team[number % 2].send(signal.SIGKILL)
        if number < 2:
            team[1 - number % 2].send(signal.SIGKILL)
            assert codes(team) == [-signal.SIGKILL] * 2
        else:  # The other one notices, and says so in one line.
            assert sorted(codes(team)) == [-signal.SIGKILL, 1]
            (said,) = lines(team)
            assert "lost another (" in said
            assert "the same command goes on from the last checkpoint" in said
        before, done = done, reached(folder(tmp_path))
        assert before < done < STEPS
    assert codes(zygote.team(2, arguments, tmp_path / "last")) == [0, 0]
    reference = request.getfixturevalue("two" if parallel == "ddp" else "sharded")
    assert checksum(folder(tmp_path) / "model.safetensors") == checksum(reference / "model.safetensors")
    assert column(folder(tmp_path), "step") == list(range(1, STEPS + 1))


def test_three_processes_go_on_with_the_same_bits(zygote, small_data, tmp_path):
    """Sums over three depend on their order, which DDP changes after its first gradient."""
    short = ["--training.steps", "4", "--training.validations", "1"]
    for name, prelude in (("whole", ""), ("halves", SLOWED)):
        arguments = command(small_data, tmp_path / name, *short)
        team = zygote.team(3, arguments, tmp_path / name / "said", prelude)
        if prelude:
            while not reached(folder(tmp_path / name)):
                time.sleep(0.02)
            team[2].send(signal.SIGTERM)
            assert codes(team) == [75] * 3
            assert reached(folder(tmp_path / name)) < 4
            team = zygote.team(3, arguments, tmp_path / name / "again")
        assert codes(team) == [0] * 3
    whole, halves = (checksum(folder(tmp_path / name) / "model.safetensors") for name in ("whole", "halves"))
    assert whole == halves


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGUSR1], ids=lambda number: number.name)
def test_a_signal_to_one_of_two_processes_stops_both_with_a_checkpoint(how, zygote, two, small_data, tmp_path):
    team = zygote.team(2, command(small_data, tmp_path), tmp_path / "said", SLOWED)
    while not reached(folder(tmp_path)):
        time.sleep(0.02)
    team[1].send(how)
    assert codes(team) == [75, 75]
    (said,) = lines(team)
    step = reached(folder(tmp_path))
    assert f"stopped at step {step} of {STEPS}; the same command goes on from there" in said
    assert codes(zygote.team(2, command(small_data, tmp_path), tmp_path / "again")) == [0, 0]
    assert checksum(folder(tmp_path) / "model.safetensors") == checksum(two / "model.safetensors")


def test_a_second_job_on_the_folder_of_a_running_one_is_refused_and_changes_nothing(zygote, two, small_data, tmp_path):
    first = zygote.team(2, command(small_data, tmp_path), tmp_path / "first", SLOWED)
    while not reached(folder(tmp_path)):
        time.sleep(0.02)
    second = zygote.team(2, command(small_data, tmp_path, "--overwrite"), tmp_path / "second")
    assert codes(second) == [75, 75]
    (said,) = lines(second)
    assert f"another process is working on {folder(tmp_path)}" in said
    assert codes(first) == [0, 0]
    assert checksum(folder(tmp_path) / "model.safetensors") == checksum(two / "model.safetensors")


def test_going_on_with_another_number_of_processes_is_said(zygote, small_data, two, tmp_path):
    team = zygote.team(2, command(small_data, tmp_path), tmp_path / "said", SLOWED)
    while not reached(folder(tmp_path)):
        time.sleep(0.02)
    team[0].send(signal.SIGTERM)
    assert codes(team) == [75, 75]
    one = zygote.start(command(small_data, tmp_path), tmp_path / "one")
    assert one.wait() == 0
    (said,) = lines([one])
    assert "processes 2 -> 1" in said
    same_curve(folder(tmp_path), two)


def torchrun(*arguments: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--master-port",
        str(free_port()),
        *arguments,
    ]


def test_torchrun_starts_a_killed_worker_again_and_ends_once(small_data, two, tmp_path):
    starter = tmp_path / "starter.py"
    note = f"import os; open({str(tmp_path / 'workers')!r}, 'a').write(str(os.getpid()) + '\\n')"
    starter.write_text(f"{note}\n{SLOWED}\nfrom driftnet.cli import main\nmain()\n")
    run = subprocess.Popen(
        torchrun("--max-restarts", "1", str(starter), *command(small_data, tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    while not reached(folder(tmp_path)) and run.poll() is None:
        time.sleep(0.02)
    workers = [int(line) for line in (tmp_path / "workers").read_text().split()]
    assert len(workers) == 2
    os.kill(workers[1], signal.SIGKILL)
    said, _ = run.communicate(timeout=120)
    assert run.returncode == 0
    assert said.count("validation") == 1
    workers = [int(line) for line in (tmp_path / "workers").read_text().split()]
    assert len(workers) == 4
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    assert checksum(folder(tmp_path) / "model.safetensors") == checksum(two / "model.safetensors")


def test_srun_is_understood_as_torchrun_is(zygote, small_data, two, tmp_path):
    common = {"SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "localhost", "SLURM_JOB_ID": str(free_port() % 10_000)}
    team = [
        zygote.start(
            command(small_data, tmp_path),
            tmp_path / f"said.{rank}",
            "",
            **common,
            SLURM_PROCID=str(rank),
            SLURM_LOCALID=str(rank),
        )
        for rank in range(2)
    ]
    assert codes(team) == [0, 0], lines(team)
    assert checksum(folder(tmp_path) / "model.safetensors") == checksum(two / "model.safetensors")


def test_who_started_the_process_is_read_from_the_environment():
    slurm = {"SLURM_PROCID": "5", "SLURM_LOCALID": "1", "SLURM_STEP_NUM_TASKS": "8", "SLURM_JOB_ID": "123456"}
    assert launched({}) == Launch()
    assert launched({"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "0"}) == Launch(1, 4, 0)
    assert launched({**slurm, "SLURM_STEP_NODELIST": "n[07-09,12]"}) == Launch(5, 8, 1, "tcp://n07:23456")
    assert launched({"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_LOCALID": "0"}) == Launch()  # A batch script's own.
    with pytest.raises(UsageError, match="LOCAL_RANK"):
        launched({"RANK": "1", "WORLD_SIZE": "4"})


@pytest.mark.parametrize(
    ("hosts", "first"), [("a", "a"), ("a,b", "a"), ("n[3,5]", "n3"), ("n[003-010],m", "n003"), ("g-1[1-2]x,b", "g-11x")]
)
def test_the_first_host_of_slurm_is_where_all_meet(hosts, first):
    assert first_host(hosts) == first


def test_a_device_that_is_none_is_refused_in_one_line():
    with pytest.raises(UsageError, match="device: 'gpu' is none"):
        device_of("gpu", Launch())
    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="'cuda' cannot be used on this machine"):
            device_of("cuda", Launch())


def test_a_gpu_is_made_the_current_one_only_where_it_has_a_number(monkeypatch):
    chosen = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    assert device_of("cuda", Launch()) == torch.device("cuda")  # torch.cuda.set_device refuses a device without one.
    assert not chosen
    assert device_of("cuda", Launch(rank=1, size=2, local=1)) == device_of("cuda:1", Launch()) == torch.device("cuda:1")
    assert chosen == [torch.device("cuda:1")] * 2


def test_more_parts_than_pairs_are_refused(small_data, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(command(small_data, tmp_path, "--training.accumulate", "5"))
    assert stop.value.code == 2
    assert "training.batch: 4 is too small for 1 processes x training.accumulate 5" in capsys.readouterr().err


def test_what_the_bits_depend_on_is_noted(two):
    noted = read_state(two / "last.ckpt").notes["place"]
    assert json.loads(json.dumps(noted)) == noted
    assert {"seed", "batch", "processes", "threads", "device", "versions"} <= noted.keys()
    assert noted["processes"] == 2
