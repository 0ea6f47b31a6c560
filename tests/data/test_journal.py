import numpy as np
import pytest

from driftnet import registry
from driftnet.data.generate import generate
from driftnet.data.jobs import plan
from driftnet.data.journal import finished_by, line_of
from driftnet.errors import DriftnetError
from driftnet.files import checksum
from tests.conftest import SMALL
from tests.data.test_generate import interrupted

FLIPS = 60


def job(path):
    return plan(registry.task("NS-PwC"), output=path, batch=1, **SMALL)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A file of seven trajectories, of which three are there, and its journal; whole files beside them."""
    folder = tmp_path_factory.mktemp("begun")
    interrupted(job(folder / "NS-PwC.nc"), after=3)
    generate(job(folder / "whole.nc"), overwrite=False)
    return {name: (folder / f"NS-PwC.nc.{name}").read_bytes() for name in ("partial", "journal")}, checksum(folder / "whole.nc")


def outcome(folder, contents) -> str | None:
    """The one line with which going on is refused, or the checksum of what it ends with."""
    path = folder / "NS-PwC.nc"
    for name, content in contents.items():
        (folder / f"NS-PwC.nc.{name}").write_bytes(content)
    try:
        generate(job(path), overwrite=False)
    except DriftnetError as error:
        return str(error)
    found = checksum(path)
    path.unlink()
    return found


def flipped(content: bytes, bit: int) -> bytes:
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def test_a_flipped_bit_in_a_journal_is_refused_or_what_it_notes_is_made_again(begun, tmp_path):
    contents, whole = begun
    rng, journal, refused = np.random.default_rng(0), contents["journal"], 0
    for bit in rng.integers(8 * len(journal), size=FLIPS):
        found = outcome(tmp_path, {**contents, "journal": flipped(journal, int(bit))})
        assert found == whole or "NS-PwC.nc" in found
        refused += found != whole
    assert 0 < refused < FLIPS


def test_a_damaged_structure_is_refused_before_hdf5_sees_it(begun, tmp_path):
    contents, _ = begun
    rng, partial = np.random.default_rng(0), contents["partial"]
    for bit in rng.integers(8 * 2048, size=FLIPS):
        assert "is damaged" in outcome(tmp_path, {**contents, "partial": flipped(partial, int(bit))})
    for share in (0, 0.5, 0.99):
        assert "is damaged" in outcome(tmp_path, {**contents, "partial": partial[: int(share * len(partial))]})


def test_a_line_of_a_journal_counts_as_it_was_written_and_in_no_other_way():
    line = line_of(range(3, 7)).rstrip()
    assert finished_by(line) == range(3, 7)
    assert not any(finished_by(flipped(line.encode(), bit).decode(errors="replace")) for bit in range(8 * len(line)))
