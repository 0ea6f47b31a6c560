"""Whatever stands in a YAML file: a command does what it says, or is refused in one line; never a traceback."""

import copy
import io
import shutil
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftnet import registry
from driftnet.cli import COMMANDS, main

# The same examples in every run; what they find is kept as a test of its own.
FUZZ = settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
TINY = [name for name in registry.MODELS if name.endswith("-tiny") and not registry.model(name).needs]
NAMES = {
    "train": ["NS-PwC", "drift-net-tiny"],
    "generate": ["NS-PwC"],
    "fetch": ["NS-PwC"],
    "predict": ["RUN", "INPUT"],
    "bench": ["models"],
    "merge": ["FILE"],
}
WRITES = ("output", "runs", "figures", "tables", "folder", "recipes", "results")
FIXED = {
    "train": "--runs OUT --training.steps 1 --training.validations 1 --training.batch 2 --overwrite",
    "generate": "--output OUT/data.nc --overwrite",
    "evaluate": "--overwrite",
    "predict": "--output OUT/prediction.nc --overwrite",
    "report": "--output OUT/report.html --overwrite",
    "inspect": "",
    "merge": "--output OUT/merged.nc",
    "status": "",
}

texts = st.text(max_size=6) | st.sampled_from(["1e-3", "nan", "a\nb", "\0", "~", "cuda", "cuda:99", "published", "physical"])
# No numbers between: what a person asks for and a machine can do for years is no mistake.
numbers = st.sampled_from([-(2**63), -7, -1, 0, 1, 2, 3, 5, 2**63, 10**30]) | st.sampled_from(
    [-1.5, -0.0, 0.5, 1.0, 1e-300, 1e300, float("nan"), float("inf"), float("-inf")]
)
plain = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts | numbers, inner, max_size=2), max_leaves=6
)


def printed(verb: str, names: list[str]) -> dict:
    """The options of a command as it prints them."""
    out = io.StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit):
        main([verb, *names, "--print_config"])
    return yaml.safe_load(out.getvalue())


def paths(options: dict, above: tuple = ()) -> list[tuple]:
    """Where every option and every group of them stands."""
    found = []
    for name, value in options.items():
        found.append((*above, name))
        found.extend(paths(value, (*above, name)) if isinstance(value, dict) else ())
    return found


@st.composite
def altered(draw, options: dict) -> dict:
    """The options with up to three of them changed, renamed or left out."""
    changed = copy.deepcopy(options)
    for path in draw(st.lists(st.sampled_from(paths(options)), min_size=1, max_size=3)):
        group = changed
        for name in path[:-1]:
            group = group.get(name) if isinstance(group, dict) else None
        if not isinstance(group, dict) or path[-1] not in group:
            continue
        how = draw(st.sampled_from(["changed"] * 8 + ["renamed", "left out"]))
        value = group.pop(path[-1])
        if how != "left out":
            new = numbers | st.lists(numbers) if path[-1] in WRITES else values
            group[path[-1] + "s" * (how == "renamed")] = draw(new) if how == "changed" else value
    return changed


def answered(arguments: list[str]) -> int:
    """The exit code of a command in this process; what it says is one line."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as stop:
        main(arguments)
    code = int(stop.value.code or 0)
    assert code in (0, 2), err.getvalue()
    assert err.getvalue().count("\n") == (code == 2), err.getvalue()
    return code


@pytest.mark.parametrize("verb", sorted(set(COMMANDS) - {"info"}))
@given(content=values | st.dictionaries(st.sampled_from(["training", "seed", "split", "evaluation"]) | texts, values))
@settings(FUZZ, max_examples=10)
def test_any_yaml_at_all_is_taken_or_refused_in_one_line(verb, tmp_path, content):
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(content))
    answered([verb, *NAMES.get(verb, ["x"]), "--config", str(path), "--print_config"])


@given(content=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
@settings(FUZZ, max_examples=40)
def test_any_bytes_at_all_are_taken_or_refused_in_one_line(tmp_path, content):
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    answered(["train", "NS-PwC", "drift-net-tiny", "--config", str(path), "--print_config"])


@pytest.mark.parametrize("verb", sorted(set(COMMANDS) - {"info", *FIXED}))
@given(data=st.data())
@settings(FUZZ, max_examples=20)
def test_odd_options_are_taken_or_refused_in_one_line(verb, tmp_path, data):
    names = NAMES.get(verb, ["x"])
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(data.draw(altered(printed(verb, names)))))
    answered([verb, *names, "--config", str(path), "--print_config"])


@pytest.fixture
def carried_out(zygote, small_run, small_data, tmp_path):
    """Carries a command out in a process of its own, in a folder of its own and with little memory."""
    run = tmp_path / "runs" / "NS-PwC" / "model" / "0"
    shutil.copytree(small_run, run)
    prelude = f"import os, resource; os.chdir({str(tmp_path)!r}); resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))"

    def carry_out(words: list[str]) -> None:
        child = zygote.start(words, tmp_path / "said", prelude)
        code, said = child.wait(), child.output.read_text(errors="replace")
        lines = [line for line in said.splitlines() if line.startswith("driftnet:")]
        assert code in (0, 1, 2), said
        assert "Traceback" not in said, said
        assert (len(lines) == 1) if code else (len(lines) == 0), said

    return carry_out


@pytest.mark.parametrize("verb", FIXED)
@given(data=st.data())
@settings(FUZZ, max_examples=20)
def test_a_command_with_odd_options_is_carried_out_or_refused_in_one_line(verb, carried_out, small_data, tmp_path, data):
    run, out = tmp_path / "runs" / "NS-PwC" / "model" / "0", tmp_path / "out"
    names = {"train": ["NS-PwC", data.draw(st.sampled_from(TINY))], "generate": [data.draw(st.sampled_from([*registry.TASKS]))]}
    names |= {"predict": [str(run), str(small_data)], "inspect": [str(small_data)], "merge": [str(small_data)]}
    words = names.get(verb, [str(tmp_path / "runs" if verb in ("report", "status") else run)])
    options = printed(verb, words) | ({"data": str(small_data)} if verb == "train" else {})
    if verb == "generate":
        steady = options["snapshots"] == 2
        options |= {"resolution": 16, "snapshots": 2 if steady else 3, "workers": 1}
        options |= {"split": {"train": 1, "validation": 1, "test": 1}, "simulation": options["simulation"] | {"warmup": 0}}
    if verb == "predict":
        options |= {"steps": 2}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(data.draw(altered(options))))
    carried_out([verb, *words, "--config", str(path), *FIXED[verb].replace("OUT", str(out)).split()])


@given(data=st.data())
@settings(FUZZ, max_examples=25)
def test_any_description_of_ones_own_data_is_taken_or_refused_in_one_line(carried_out, tmp_path, data):
    np.save(tmp_path / "my.npy", np.random.default_rng(0).standard_normal((6, 4, 2, 16, 16), np.float32))
    described = {
        "data": "my.npy",
        "axes": ["sample", "time", "channel", "x", "y"],
        "boundary": "periodic",
        "quantities": {"velocity": ["u", "v"]},
        "split": {"train": 4, "validation": 1, "test": 1},
    }
    (tmp_path / "my.yaml").write_text(yaml.safe_dump(data.draw(altered(described))))
    options = ["--training.steps", "1", "--training.batch", "2", "--runs", "out", "--overwrite"]
    carried_out(["train", "my.yaml", "conv-unet-tiny", *options])
