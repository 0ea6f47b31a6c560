import pytest

from driftnet.reproduce import digests
from driftnet.reproduce.digests import digest, modules

NET = '''"""A net."""
from driftnet.models.norm import norm

def net(x):
    """Twice."""
    return 2 * norm(x)
'''


@pytest.fixture
def package(tmp_path):
    """A model that imports a norm; a solver that nothing here needs."""
    for name, text in {
        "models/net.py": NET,
        "models/norm.py": '"""A norm."""\n\ndef norm(x):\n    return x\n',
        "pdes/wave.py": '"""Waves."""\nSPEED = 1\n',
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    yield tmp_path
    for cached in (digests._tree, digests._imports, digests._normalised):
        cached.cache_clear()


def changed(package, name, before, after):
    for cached in (digests._tree, digests._imports, digests._normalised):
        cached.cache_clear()
    path = package / name
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))
    return digest(["models.net"], package)


def test_docstrings_comments_and_layout_keep_a_digest(package):
    old = digest(["models.net"], package)
    assert changed(package, "models/net.py", "Twice.", "Two times, said at length.") == old
    assert changed(package, "models/net.py", "    return", "    # A reason.\n\n    return") == old


def test_code_changes_a_digest_also_where_it_is_imported(package):
    old = digest(["models.net"], package)
    new = changed(package, "models/net.py", "2 *", "3 *")
    assert new != old
    assert changed(package, "models/norm.py", "return x", "return -x") not in (old, new)


def test_code_that_is_not_imported_keeps_a_digest(package):
    assert changed(package, "pdes/wave.py", "1", "2") == digest(["models.net"], package)


def test_results_depend_on_their_own_solver_and_model_alone():
    fno = modules(["driftnet.models.fno:build", "train.fit", "models.operator"])
    assert "train.loss" in fno
    assert "models.fno" in fno
    assert "models.mixers.drift" not in fno
    assert "pdes.wave" not in modules(["driftnet.pdes.navier_stokes:Solver"])
    assert not any(name.startswith("report") for name in fno)


def test_a_digest_is_the_same_under_every_version_of_python(package):
    (package / "models" / "net.py").write_text("def net(x, width=9):\n    return f'{x:{width}}'.join([])\n")
    assert digest(["models.net"], package) == "f4d4bf515171"
